//! Checks the dependencies of a program that uses Blitz: no second runtime and no model checker.
//! mio serves Blitz's own driver; Tokio is there for its channels, its locks and its I/O traits,
//! without the features that would bring its scheduler, timers or reactor along.

use crate::commands::cargo;

/// The packages that users depend on.
pub const PACKAGES: &[&str] = &["blitz-rt", "blitz-hyper", "blitz-quinn"];

/// The features that Tokio may have.
const TOKIO_FEATURES: &[&str] = &["bytes", "default", "io-util", "sync"];

/// Packages that only another runtime would need.
const OTHER_RUNTIMES: &[&str] =
    &["async-executor", "async-io", "async-std", "polling", "rayon", "rayon-core", "smol"];

/// Packages that only `--cfg blitz_loom` and `--cfg blitz_shuttle` may bring.
const CHECKERS: &[&str] = &["loom", "shuttle"];

/// `cargo tree`: a line for each package below `package`, with its features.
///
/// # Errors
/// If cargo fails.
pub fn tree(package: &str) -> Result<String, String> {
    let mut command = cargo();
    command.args(["tree", "--package", package, "--edges", "normal"]);
    command.args(["--prefix", "none", "--format", "{p} [{f}]"]);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A complaint for each package or feature that should not be in the tree of `root`, and one if the
/// tree lacks `root` itself.
pub fn findings(root: &str, tree: &str) -> Vec<String> {
    let mut found = Vec::new();
    let packages: Vec<(&str, &str)> = tree.lines().filter_map(package).collect();
    if !packages.iter().any(|(name, _)| *name == root) {
        found.push(format!("`cargo tree` does not begin with {root}"));
    }
    for (name, features) in packages {
        if OTHER_RUNTIMES.contains(&name) {
            found.push(format!("{name} is a part of another runtime"));
        }
        if CHECKERS.contains(&name) {
            found.push(format!("{name} comes without its cfg"));
        }
        if name == "tokio" {
            let surplus = features.split(',').filter(|feature| !TOKIO_FEATURES.contains(feature));
            found.extend(surplus.map(|feature| format!("tokio comes with its feature {feature}")));
        }
    }
    found
}

/// Name and features of `name v1.2.3 (where) [a,b]`.
fn package(line: &str) -> Option<(&str, &str)> {
    let name = line.split(' ').next().filter(|name| !name.is_empty())?;
    let features = line.split_once('[')?.1.split_once(']')?.0;
    Some((name, features))
}

#[cfg(test)]
mod tests {
    use super::{PACKAGES, findings, tree};

    #[test]
    fn tokio_comes_without_its_runtime_and_nothing_else_brings_one() {
        for package in PACKAGES {
            let tree = tree(package).unwrap();
            assert!(tree.contains("\ntokio v"), "{tree}");
            assert_eq!(findings(package, &tree), Vec::<String>::new());
        }
    }

    #[test]
    fn a_second_runtime_or_a_checker_is_found() {
        let good = "blitz-rt v0.1.0 (somewhere) []\ntokio v1.54.1 [bytes,io-util,sync]\n";
        assert_eq!(findings("blitz-rt", good), Vec::<String>::new());
        let bad =
            good.replace("sync", "net,rt,sync") + "polling v3.0.0 [default]\nsmol v2.0.0 []\n";
        assert_eq!(findings("blitz-rt", &bad).len(), 4);
        let checked = format!("{good}loom v0.7.2 []\nshuttle v0.9.9 []\n");
        assert_eq!(findings("blitz-rt", &checked).len(), 2);
        assert_eq!(findings("blitz-rt", "").len(), 1);
    }
}
