//! `docs/crates.md` says what the programs of `ecosystem/` show.

use super::Report;
use crate::crates;
use crate::tree::Tree;

pub fn check(tree: &Tree, report: &mut Report) {
    // The trees of other rules' tests have none.
    if tree.file("ecosystem/Cargo.toml").is_none() {
        return;
    }
    for (path, message) in crates::findings(tree) {
        report.about(&path, message);
    }
}
