//! Checks that every package inherits edition, licence, lints and minimum compiler. Packages that
//! are workspaces of their own inherit nothing, so they are left out.

use super::Report;
use crate::tree::Tree;

const INHERITED: &[&str] =
    &["edition.workspace = true", "license.workspace = true", "rust-version.workspace = true"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        if file.text.contains("[workspace]") {
            if rust_version(tree).is_none() {
                report.about(&file.path, "no `rust-version = \"…\"` in [workspace.package]");
            }
            continue;
        }
        let has = |wanted: &str| file.text.lines().any(|line| line.trim() == wanted);
        for line in INHERITED {
            if !has(line) {
                report.about(&file.path, format!("lacks `{line}`"));
            }
        }
        if !file.text.replace("\r\n", "\n").contains("[lints]\nworkspace = true") {
            report.about(&file.path, "lacks `[lints] workspace = true`");
        }
    }
}

/// The minimum compiler that the workspace states.
pub fn rust_version(tree: &Tree) -> Option<String> {
    let manifest = tree.file("Cargo.toml")?;
    let value =
        manifest.text.lines().find_map(|line| line.trim().strip_prefix("rust-version = "))?;
    Some(value.trim_matches('"').to_owned()).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    const GOOD: &str = "[package]\nedition.workspace = true\nlicense.workspace = true\n\
                        rust-version.workspace = true\n[lints]\nworkspace = true\n";

    #[test]
    fn missing_inheritance_is_found() {
        let root = "[workspace]\n[workspace.package]\nrust-version = \"1.85\"\n";
        assert!(run("manifests", &[("Cargo.toml", root), ("a/Cargo.toml", GOOD)]).is_empty());
        let bad = GOOD.replace("rust-version", "version");
        let found = run("manifests", &[("Cargo.toml", "[workspace]"), ("a/Cargo.toml", &bad)]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
