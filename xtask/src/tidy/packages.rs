//! Checks that the crates in `crates/` can be published, in the order of [`ORDER`], and that no
//! other package can be published.

use super::{Finding, Report, manifests};
use crate::tree::{File, Tree};

/// The folders of `crates/` in the order in which they are published: each after those that it
/// depends on.
pub const ORDER: &[&str] = &[
    "blitz-parts",
    "blitz-inspect",
    "blitz-core",
    "blitz-macros",
    "blitz-par",
    "blitz-io",
    "blitz",
    "blitz-hyper",
    "blitz-quinn",
];

/// Fields that every published manifest must have.
const FIELDS: &[&str] = &[
    "description = ",
    "repository.workspace = ",
    "readme",
    "keywords = ",
    "categories = ",
    "[package.metadata.docs.rs]",
];

/// How many keywords a registry takes at most, and how many categories.
const TAGS_MAX: usize = 5;

/// The host of addresses that are not known yet. The domain `invalid` is reserved and never
/// resolves.
const PLACEHOLDER: &str = "//blitz.invalid";

const LINTS: &str = "clippy.toml";

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        match file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) {
            Some(folder) => check_published(tree, file, folder, report),
            None if !file.text.contains("[package]") || has(file, "publish") => {}
            None => report.about(&file.path, "lacks `publish = false`, and is not in crates/"),
        }
    }
    if let Some(lints) = tree.file(LINTS) {
        let stated = manifests::rust_version(tree).unwrap_or_default();
        if !has(lints, &format!("msrv = \"{stated}\"")) {
            report.about(LINTS, format!("`msrv` is not the workspace's rust-version, {stated}"));
        }
    }
}

/// The placeholders that are left, with their places.
pub fn placeholders(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !file.path.ends_with(".rs")) {
        for (number, line) in file.text.lines().enumerate() {
            if line.contains(PLACEHOLDER) {
                found.push(Finding {
                    path: file.path.clone(),
                    line: number + 1,
                    rule: "placeholder",
                    message: format!("to be replaced before a release: {}", line.trim()),
                });
            }
        }
    }
    found
}

/// The name of the package in `folder` of `crates/`.
pub fn name_of(folder: &str) -> &str {
    if folder == "blitz" { "blitz-rt" } else { folder }
}

fn check_published(tree: &Tree, file: &File, folder: &str, report: &mut Report) {
    for field in FIELDS {
        if !has(file, field) {
            report.about(&file.path, format!("lacks `{field}`, which a registry shows"));
        }
    }
    for list in ["keywords = ", "categories = "] {
        let tags = file.text.lines().find_map(|line| line.strip_prefix(list));
        if tags.is_some_and(|tags| tags.split(',').count() > TAGS_MAX) {
            report.about(&file.path, format!("more than {TAGS_MAX} in `{list}`"));
        }
    }
    if has(file, "[features]") {
        if !has(file, "all-features = true") {
            report.about(&file.path, "its features are not shown: `all-features = true`");
        }
        let library = format!("crates/{folder}/src/lib.rs");
        let shows = |library: &File| has(library, "#![cfg_attr(docsrs, feature(doc_cfg))]");
        if tree.file(&library).is_some_and(|library| !shows(library)) {
            report.about(&library, "does not show which feature an item needs: `doc_cfg`");
        }
    }
    let Some(place) = ORDER.iter().position(|name| *name == folder) else {
        report.about(&file.path, "has no place in the order of xtask/src/tidy/packages.rs");
        return;
    };
    for (line, needed) in dependencies(&file.text) {
        if !ORDER[..place].contains(&needed) {
            report.at(&file.path, line, format!("`{needed}` is published later than {folder}"));
        }
    }
}

/// Our crates that the manifest `text` depends on outside tests, with their lines.
fn dependencies(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        }
        let name = line.split([' ', '.', '=']).next().unwrap_or("");
        if inside && (name == "blitz" || name.starts_with("blitz-")) {
            found.push((number, name));
        }
    }
    found
}

fn has(file: &File, beginning: &str) -> bool {
    file.text.lines().any(|line| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::{ORDER, placeholders};
    use crate::tidy::tests::run;
    use crate::tree::Tree;

    const GOOD: &str = "[package]\ndescription = \"x\"\nrepository.workspace = true\n\
                        readme = \"README.md\"\nkeywords = [\"a\"]\ncategories = [\"b\"]\n\
                        [package.metadata.docs.rs]\nall-features = true\n[features]\n\
                        [dependencies]\nblitz-parts.workspace = true\n\
                        [dev-dependencies]\nblitz = { path = \"../blitz\" }\n";
    const SHOWN: &str = "#![cfg_attr(docsrs, feature(doc_cfg))]\n";
    const CORE: &str = "crates/blitz-core/Cargo.toml";
    const LIBRARY: &str = "crates/blitz-core/src/lib.rs";

    #[test]
    fn a_package_that_is_ready_passes() {
        let root = "[workspace]\n[workspace.package]\nrust-version = \"1.85\"\n";
        let tool = "[package]\npublish = false\n";
        let files = [
            ("Cargo.toml", root),
            ("clippy.toml", "msrv = \"1.85\"\n"),
            (CORE, GOOD),
            (LIBRARY, SHOWN),
            ("xtask/Cargo.toml", tool),
        ];
        assert_eq!(run("packages", &files), Vec::<String>::new());
    }

    #[test]
    fn missing_registry_fields_are_found() {
        let bad = GOOD
            .replace("keywords = [\"a\"]", "keywords = [1, 2, 3, 4, 5, 6]")
            .replace("description", "title")
            .replace("all-features = true\n", "")
            .replace("blitz-parts.workspace", "blitz.workspace");
        let files = [(CORE, bad.as_str()), (LIBRARY, ""), ("xtask/Cargo.toml", "[package]\n")];
        let found = run("packages", &files);
        assert_eq!(found.len(), 6, "{found:#?}");
        let stranger = run("packages", &[("crates/stranger/Cargo.toml", GOOD)]);
        assert_eq!(stranger.len(), 1, "{stranger:?}");
    }

    #[test]
    fn lints_have_the_minimum_compiler_of_the_workspace() {
        let root = "[workspace]\n[workspace.package]\nrust-version = \"1.85\"\n";
        let found = run("packages", &[("Cargo.toml", root), ("clippy.toml", "msrv = \"1.84\"\n")]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn placeholders_are_listed_with_their_places() {
        let text = "[workspace.package]\nrepository = \"https://blitz.invalid/blitz\"\n";
        let tree = Tree::of(vec![("Cargo.toml".into(), text.into())]);
        let found: Vec<String> = placeholders(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("Cargo.toml:2: [placeholder]"), "{found:?}");
    }

    #[test]
    fn no_folder_is_published_twice() {
        let mut sorted = ORDER.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), ORDER.len());
    }
}
