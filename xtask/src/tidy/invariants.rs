//! Checks that each `**DEQUE-3**` in a module doc has a test `fn deque_3_…`, and the reverse.

use super::Report;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub fn check(tree: &Tree, report: &mut Report) {
    let mut invariants = BTreeMap::new();
    for file in tree.rust().filter(|file| !file.path.starts_with("xtask/")) {
        for (line, text) in file.module_doc() {
            let Some(key) = defined(text) else { continue };
            if let Some((path, _)) = invariants.insert(key.clone(), (file.path.as_str(), line)) {
                report.at(&file.path, line, format!("{} is defined in {path}, too", name(&key)));
            }
        }
    }
    let families: BTreeSet<&str> = invariants.keys().map(|(family, _)| family.as_str()).collect();
    let mut tested = BTreeSet::new();
    for (test, path, line) in tree.tests() {
        let Some(key) = numbered(test).filter(|(family, _)| families.contains(family.as_str()))
        else {
            continue;
        };
        if !invariants.contains_key(&key) {
            report.at(path, line, format!("`{test}` tests {}, which does not exist", name(&key)));
        }
        tested.insert(key);
    }
    for (key, (path, line)) in &invariants {
        if !tested.contains(key) {
            let (family, number) = key;
            let message = format!("{} has no test `{family}_{number}_…`", name(key));
            report.at(path, *line, message);
        }
    }
}

/// Family in lower case, and number.
type Key = (String, u32);

fn name((family, number): &Key) -> String {
    format!("{}-{number}", family.to_uppercase())
}

/// The invariant that a line of documentation defines: `- **NAME-1** …`.
fn defined(line: &str) -> Option<Key> {
    let rest = line.trim().strip_prefix("- **")?;
    let (key, _) = rest.split_once("**")?;
    let (family, number) = key.split_once('-')?;
    let upper = !family.is_empty() && family.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    Some((upper.then(|| family.to_lowercase())?, number.parse().ok()?))
}

/// The invariant that a test of this name is for: `name_1_…`.
fn numbered(test: &str) -> Option<Key> {
    let (at, _) = test.char_indices().find(|(_, c)| c.is_ascii_digit())?;
    let family = test[..at].strip_suffix('_')?;
    let (number, _) = test[at..].split_once('_')?;
    Some((family.to_owned(), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    const DOC: &str = "//! # Invariants\n//! - **DEQUE-1** Once.\n//! - **DEQUE-2** In order; \
                       see **DEQUE-1**.\n";

    #[test]
    fn pairs_are_fine() {
        let tests = "#[test]\nfn deque_1_once() {}\n#[test]\nfn deque_2_order() {}\n\
                     #[test]\nfn fib_20_is_right() {}\n";
        assert!(run("invariants", &[("a.rs", DOC), ("b.rs", tests)]).is_empty());
    }

    #[test]
    fn orphans_on_either_side_are_found() {
        let tests =
            "#[test]\nfn deque_1_once() {}\n#[test]\nfn deque_7_what() {}\nfn deque_2_no() {}";
        let found = run("invariants", &[("a.rs", DOC), ("b.rs", tests)]);
        let expected = [
            "b.rs:4: [invariants] `deque_7_what` tests DEQUE-7, which does not exist",
            "a.rs:3: [invariants] DEQUE-2 has no test `deque_2_…`",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_number_is_given_once() {
        let found = run("invariants", &[("a.rs", DOC), ("c.rs", "//! - **DEQUE-1** Again.")]);
        assert!(found[0].contains("DEQUE-1 is defined in a.rs, too"), "{found:?}");
    }
}
