//! Checks that the tour of ARCHITECTURE.md stays short.

use super::Report;
use crate::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- tour: begin -->";
const END: &str = "<!-- tour: end -->";

/// The most lines that a newcomer can read in an hour.
const LINES_MAX: usize = 1_500;

/// Marks a table row whose file counts only with the lines of its module documentation.
const DOC_ONLY: &str = "documentation only";

pub fn check(tree: &Tree, report: &mut Report) {
    let Some(page) = tree.file(PAGE) else { return };
    let between = page.text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    let Some((tour, _)) = between else {
        report.about(PAGE, format!("the marks `{BEGIN}` and `{END}` are missing"));
        return;
    };
    let mut lines = 0;
    for row in tour.lines() {
        let Some(path) = row.split_once("](").and_then(|(_, rest)| rest.split_once(')')) else {
            continue;
        };
        // The rule `links` reports a link that leads nowhere.
        let Some(file) = tree.file(path.0) else { continue };
        lines += match row.contains(DOC_ONLY) {
            true => file.module_doc().len(),
            false => file.text.lines().count(),
        };
    }
    if lines > LINES_MAX {
        report.about(PAGE, format!("the tour has {lines} lines, more than {LINES_MAX}"));
    }
    if lines == 0 {
        report.about(PAGE, "the tour leads to no file");
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn a_tour_that_is_too_long_is_found() {
        let page = "<!-- tour: begin -->\n| 1 | [`a`](a.rs) | x |\n| 2 | [`b`](b.rs), documentation only | y |\n\
                    <!-- tour: end -->\n";
        let (long, code) = ("//! Doc.\n".repeat(1_490), "fn f() {}\n".repeat(100));
        let documented = format!("//! Doc.\n\n{code}");
        let fits = [("ARCHITECTURE.md", page), ("a.rs", &long), ("b.rs", &documented)];
        assert_eq!(run("tour", &fits), Vec::<String>::new());
        let too_long = [("ARCHITECTURE.md", page), ("a.rs", &long), ("b.rs", &long)];
        let found = run("tour", &too_long);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("2980 lines"), "{found:?}");
    }

    #[test]
    fn a_page_without_a_tour_is_found() {
        assert_eq!(run("tour", &[("ARCHITECTURE.md", "no marks")]).len(), 1);
        let empty = "<!-- tour: begin -->\n<!-- tour: end -->\n";
        assert_eq!(run("tour", &[("ARCHITECTURE.md", empty)]).len(), 1);
    }
}
