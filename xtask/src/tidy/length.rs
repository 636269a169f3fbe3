//! Finds Rust files of more than 800 lines.

use super::Report;
use crate::tree::Tree;

const LINES_MAX: usize = 800;

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            report.about(&file.path, format!("{lines} lines, at most {LINES_MAX} are allowed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn only_long_files_are_found() {
        let (short, long) = ("x\n".repeat(800), "x\n".repeat(801));
        let found = run("length", &[("a.rs", &short), ("b.rs", &long), ("c.md", &long)]);
        assert_eq!(found, ["b.rs: [length] 801 lines, at most 800 are allowed"]);
    }
}
