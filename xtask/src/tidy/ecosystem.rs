//! Checks that `docs/crates.md` matches the programs of `ecosystem/`.

use super::Report;
use crate::crates;
use crate::tree::Tree;

pub fn check(tree: &Tree, report: &mut Report) {
    // The trees in other rules' tests have no `ecosystem/`.
    if tree.file("ecosystem/Cargo.toml").is_none() {
        return;
    }
    for (path, message) in crates::findings(tree) {
        report.about(&path, message);
    }
}
