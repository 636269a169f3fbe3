//! Checks `docs/coverage.md`: each row names files, items and tests that exist, and no line of the
//! source documents' checklist is missing. Also checks that `blitz-par` has every item of Rayon's
//! API.

mod inventory;

use crate::tree::{File, Tree};
use std::collections::BTreeSet;
use std::fmt;

const PAGE: &str = "docs/coverage.md";
/// The folders whose code composes the names of benchmarks.
const CATALOGUE: &[&str] = &["bench/src/catalogue/", "bench/contestant/src/"];

/// The letters of the source documents, and how many lines the checklist has for each.
const CHECKLIST: &[(char, usize)] = &[('A', 8), ('B', 7), ('C', 5), ('D', 13), ('E', 6)];

/// A wrong statement on the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 1; 0 for the page as a whole.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{PAGE}:{}: ", self.line)?;
        }
        f.write_str(&self.message)
    }
}

/// One row of a table: `| A1.2 | what | where | shown by | instead |`.
struct Row<'a> {
    line: usize,
    id: &'a str,
    places: Vec<&'a str>,
    proofs: Vec<&'a str>,
}

/// Returns the wrong statements on the page, and the items that `blitz-par` lacks.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = page_findings(tree);
    found.extend(inventory::findings(tree));
    found
}

/// All wrong statements of the page.
fn page_findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding { line: 0, message: format!("{PAGE} does not exist") }];
    };
    let tests: BTreeSet<&str> = tree.tests().into_iter().map(|(name, ..)| name).collect();
    let mut seen = BTreeSet::new();
    for row in rows(&page.text) {
        let mut complain = |message: String| {
            found.push(Finding { line: row.line + 1, message: format!("{}: {message}", row.id) });
        };
        if !seen.insert(row.id) {
            complain("there is another row of this name".into());
        }
        check_places(tree, &row.places, &mut complain);
        if row.proofs.is_empty() {
            complain("no test and no benchmark is named".into());
        }
        for proof in &row.proofs {
            let known = if let Some(case) = proof.strip_prefix("bench:") {
                is_case(tree, case)
            } else if let Some(beginning) = proof.strip_suffix('…') {
                tests.iter().any(|test| test.starts_with(beginning))
            } else {
                tests.contains(proof)
            };
            if !known {
                complain(format!("`{proof}` does not exist"));
            }
        }
    }
    for (letter, lines) in CHECKLIST {
        for number in 1..=*lines {
            let wanted = format!("{letter}{number}.");
            if !seen.iter().any(|id| id.starts_with(&wanted)) {
                found.push(Finding { line: 0, message: format!("{PAGE}: no row {wanted}1 …") });
            }
        }
    }
    found
}

/// Checks that files exist, and that each item is in one of the files that its row names.
fn check_places(tree: &Tree, places: &[&str], complain: &mut impl FnMut(String)) {
    let (paths, items): (Vec<&str>, Vec<&str>) =
        places.iter().partition(|place| place.contains('/') || place.ends_with(".rs"));
    let files: Vec<&File> = paths.iter().filter_map(|path| tree.file(path)).collect();
    for path in &paths {
        if tree.file(path).is_none() {
            complain(format!("the file `{path}` does not exist"));
        }
    }
    if paths.is_empty() {
        complain("no file is named".into());
    }
    for item in items {
        let name = item.rsplit("::").next().unwrap_or(item);
        let has = |file: &&File| file.tokens().iter().any(|token| token.text == name);
        if !files.iter().any(has) {
            complain(format!("`{item}` is in none of the files"));
        }
    }
}

/// Whether the catalogue of benchmarks has every word of the case's name.
fn is_case(tree: &Tree, case: &str) -> bool {
    let in_catalogue = |word: &str| {
        let of_catalogue = |path: &str| CATALOGUE.iter().any(|place| path.starts_with(place));
        tree.rust().any(|file| of_catalogue(&file.path) && file.text.contains(word))
    };
    case.split('/').all(|part| {
        let stem = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        in_catalogue(if stem.is_empty() { part } else { stem })
    })
}

fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    text.lines().enumerate().filter_map(|(line, text)| {
        let mut cells = text.strip_prefix('|')?.split('|').map(str::trim);
        let id = cells.next()?;
        let numbered = id.starts_with(|c: char| c.is_ascii_uppercase()) && id.contains('.');
        let cells: Vec<&str> = cells.collect();
        (numbered && cells.len() >= 4).then(|| Row {
            line,
            id,
            places: code(cells[1]),
            proofs: code(cells[2]),
        })
    })
}

/// The texts between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::{CHECKLIST, PAGE, page_findings};
    use crate::tree::{Tree, root};

    #[test]
    fn the_coverage_page_is_true() {
        let tree = Tree::load(&root()).expect("the workspace can be read");
        let found: Vec<String> = page_findings(&tree).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
    }

    fn check(rows: &str) -> Vec<String> {
        let all: String = CHECKLIST
            .iter()
            .flat_map(|(letter, lines)| (1..=*lines).map(move |n| format!("{letter}{n}.9")))
            .map(|id| format!("| {id} | what | `a/b.rs` | `works` | |\n"))
            .collect();
        let tree = Tree::of(vec![
            (PAGE.into(), format!("{rows}{all}")),
            ("a/b.rs".into(), "struct Here;\n#[test]\nfn works() {}\nfn helper() {}".into()),
            ("bench/src/catalogue/mod.rs".into(), "\"fork-join\" \"fib-35\" \"inside\"".into()),
        ]);
        page_findings(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn true_rows_are_fine() {
        let good =
            "| A1.1 | what | `a/b.rs` `Here` | `works`, `wor…`, `bench:fork-join/fib-35` | – |\n";
        assert_eq!(check(good), Vec::<String>::new());
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        let bad = "| A1.1 | what | `a/c.rs` `There` | `helper` `wor_…` `bench:nap/fib-35` | – |\n\
                   | A1.2 | what | nothing | nothing | – |\n| A1.2 | what | `a/b.rs` | `works` | |\n";
        let found = check(bad);
        for wanted in [
            "`a/c.rs`",
            "`There`",
            "`helper`",
            "`wor_…`",
            "`bench:nap",
            "no file",
            "no test",
            "another",
        ] {
            assert!(found.iter().any(|f| f.contains(wanted)), "{wanted}: {found:#?}");
        }
        assert_eq!(found.len(), 8);
    }

    #[test]
    fn missing_lines_are_found() {
        let tree = Tree::of(vec![(PAGE.into(), String::new())]);
        assert_eq!(page_findings(&tree).len(), CHECKLIST.iter().map(|(_, n)| n).sum::<usize>());
    }
}
