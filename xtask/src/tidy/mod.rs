//! Rules of this repository that no compiler checks. They also run as a test in `cargo test`.

mod atomics;
mod cfgs;
mod direction;
mod ecosystem;
mod invariants;
mod inventory;
mod leftovers;
mod length;
mod links;
mod manifests;
mod models;
mod order;
mod orderings;
mod packages;
mod parts;
mod pictures;
mod threads;
mod tokio;
mod tour;
mod traits;
mod unsafety;
mod words;

pub use direction::{draw, graphs};
pub use inventory::{inventory, write as write_inventory};
pub use manifests::rust_version;
pub use packages::{ORDER, name_of, placeholders};

use crate::tree::Tree;
use std::fmt;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// Counted from 1; 0 for the file as a whole.
    pub line: usize,
    pub rule: &'static str,
    pub message: String,
}

/// Collects the findings of rules.
pub struct Report {
    rule: &'static str,
    pub findings: Vec<Finding>,
}

type Rule = fn(&Tree, &mut Report);

/// Every rule: its name, its demand, and its function.
pub const RULES: &[(&str, &str, Rule)] = &[
    ("length", "no Rust file is longer than 800 lines", length::check),
    ("parts", "a protocol has a model.rs, and the headings of its doc in order", parts::check),
    (
        "invariants",
        "a numbered invariant has a test, and a numbered test has an invariant",
        invariants::check,
    ),
    ("models", "each model states a minimum, each breakable step has a canary", models::check),
    (
        "orderings",
        "each ordering is in docs/orderings.md, and each listed reason has an ordering",
        orderings::check,
    ),
    (
        "atomics",
        "atomics come from prim.rs and lie in parts; prim.rs alone names loom",
        atomics::check,
    ),
    ("threads", "blitz-core takes locks, threads and time from prim.rs", threads::check),
    ("traits", "tests/traits.rs asserts the traits of every public type", traits::check),
    ("tokio", "in blitz-io only borrowed.rs and io/mod.rs name Tokio", tokio::check),
    ("cfg", "only a few files depend on the platform or on the model checker", cfgs::check),
    (
        "unsafe",
        "unsafe stays in blitz-parts and in the files that unsafety.rs lists",
        unsafety::check,
    ),
    ("inventory", "SECURITY.md counts the unsafe code of every file", inventory::check),
    ("direction", "calls go down inside of a crate, by the table in order.rs", direction::check),
    ("ecosystem", "docs/crates.md says what the programs of ecosystem/ show", ecosystem::check),
    ("links", "relative links in Markdown files lead somewhere", links::check),
    ("pictures", "docs/images/fork.svg has the words of its program", pictures::check),
    ("tour", "the tour of ARCHITECTURE.md has at most 1,500 lines", tour::check),
    (
        "words",
        "comments name actors, have at most 100 columns and name no document by number",
        words::check,
    ),
    ("leftovers", "no todo!, unimplemented!, dbg!; no sleeping in tests", leftovers::check),
    ("manifests", "every manifest inherits lints, licence and rust-version", manifests::check),
    ("packages", "the crates in crates/ can be published, and no other package", packages::check),
];

/// Returns all findings in `tree`, sorted by place.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut all = Vec::new();
    for (rule, _, check) in RULES {
        let mut report = Report { rule, findings: Vec::new() };
        check(tree, &mut report);
        all.append(&mut report.findings);
    }
    all.sort();
    all
}

impl Report {
    /// Notes a finding in `line`, counted from 0, of `path`.
    fn at(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.push(path, line + 1, message.into());
    }

    /// Notes a finding about a file as a whole.
    fn about(&mut self, path: &str, message: impl Into<String>) {
        self.push(path, 0, message.into());
    }

    fn push(&mut self, path: &str, line: usize, message: String) {
        self.findings.push(Finding { path: path.to_owned(), line, rule: self.rule, message });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}", self.rule, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::{RULES, Report, findings};
    use crate::tree::{Tree, root};

    #[test]
    fn this_workspace_is_tidy() {
        let tree = Tree::load(&root()).expect("the workspace can be read");
        let found: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
    }

    /// Runs `rule` on files given by path and text; returns one message per finding.
    pub(super) fn run(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
        let owned = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        let tree = Tree::of(owned);
        let (name, _, check) = RULES.iter().find(|(name, ..)| *name == rule).expect("a rule");
        let mut report = Report { rule: name, findings: Vec::new() };
        check(&tree, &mut report);
        report.findings.iter().map(ToString::to_string).collect()
    }
}
