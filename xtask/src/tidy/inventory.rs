//! Counts the unsafe code of the crates in `crates/` and `shims/`, and compares the counts with
//! SECURITY.md.

use super::Report;
use crate::source::{Token, starts_with};
use crate::tree::{File, Tree};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::AddAssign;
use std::path::Path;
use std::{fs, io};

const PAGE: &str = "SECURITY.md";
const COMMAND: &str = "cargo xtask unsafe --write";
const BEGIN: &str = "<!-- unsafe: begin, written by `cargo xtask unsafe --write` -->";
const END: &str = "<!-- unsafe: end -->";

pub fn check(tree: &Tree, report: &mut Report) {
    let Some(page) = tree.file(PAGE) else { return };
    match rewritten(tree, &page.text) {
        None => report.about(PAGE, format!("the marks `{BEGIN}` and `{END}` are missing")),
        Some(text) if text != page.text => {
            report.about(PAGE, format!("the inventory of unsafe code is old: `{COMMAND}`"));
        }
        Some(_) => {}
    }
}

/// Writes the inventory into the page.
///
/// # Errors
/// If a file cannot be read or written, or the page lacks the marks.
pub fn write(root: &Path) -> io::Result<bool> {
    let tree = Tree::load(root)?;
    let page = fs::read_to_string(root.join(PAGE))?;
    let missing = || io::Error::other(format!("{PAGE} lacks `{BEGIN}` or `{END}`"));
    fs::write(root.join(PAGE), rewritten(&tree, &page).ok_or_else(missing)?)?;
    Ok(true)
}

/// The inventory of `tree`: one table by crate, one by file.
pub fn inventory(tree: &Tree) -> String {
    let mut crates: BTreeMap<&str, (usize, Counts)> = BTreeMap::new();
    let mut total = (0, Counts::default());
    let mut rows = String::new();
    for file in tree.rust() {
        let Some(name) = published(&file.path) else { continue };
        let counts = Counts::of(file);
        if counts == Counts::default() {
            continue;
        }
        for (files, sum) in [crates.entry(name).or_default(), &mut total] {
            *files += 1;
            *sum += counts;
        }
        let _ = writeln!(rows, "| [`{0}`]({0}) | {counts} |", file.path);
    }
    let mut text = "| crate | files | blocks | functions | implementations |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for (name, (files, counts)) in crates {
        let _ = writeln!(text, "| `{name}` | {files} | {counts} |");
    }
    let (files, counts) = total;
    let _ = writeln!(text, "| all | {files} | {counts} |\n");
    text += "<details>\n<summary>Every file with unsafe code</summary>\n\n\
             | file | blocks | functions | implementations |\n|---|---|---|---|\n";
    text + &rows + "\n</details>\n"
}

/// The unsafe code of a file, without its tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    blocks: usize,
    functions: usize,
    /// Unsafe implementations of traits, and unsafe traits.
    implementations: usize,
}

impl Counts {
    fn of(file: &File) -> Counts {
        let tokens = file.tokens();
        let mut counts = Counts::default();
        for (at, token) in tokens.iter().enumerate() {
            if token.text == "unsafe" && !file.is_test(token.line) {
                counts.count(&tokens, at + 1);
            }
        }
        counts
    }

    /// Counts the `unsafe` before `at`.
    fn count(&mut self, tokens: &[Token<'_>], at: usize) {
        let is = |words: &[&str]| starts_with(tokens, at, words);
        if is(&["{"]) {
            self.blocks += 1;
        } else if is(&["impl"]) || is(&["trait"]) {
            self.implementations += 1;
        } else if is(&["fn", "("]) {
            // The type of a pointer to a function.
        } else if is(&["fn"]) || is(&["extern"]) {
            self.functions += 1;
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.blocks += other.blocks;
        self.functions += other.functions;
        self.implementations += other.implementations;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.blocks, self.functions, self.implementations)
    }
}

/// The folder of the crate that `path` belongs to, if `path` is a source of a crate in `crates/` or
/// `shims/`.
fn published(path: &str) -> Option<&str> {
    let mut parts = path.splitn(4, '/');
    let (place, name, folder) = (parts.next()?, parts.next()?, parts.next()?);
    (["crates", "shims"].contains(&place) && folder == "src").then_some(name)
}

/// The page with the inventory between its marks.
fn rewritten(tree: &Tree, page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n{END}{after}", inventory(tree)))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, inventory, rewritten};
    use crate::tidy::tests::run;
    use crate::tree::Tree;

    const CODE: &str = "unsafe fn f(g: unsafe fn(u8)) { unsafe { h() } }\nunsafe impl Send for X {}\n\
                        // unsafe {}\n#[cfg(test)]\nmod tests { fn t() { unsafe { h() } } }\n";

    fn tree() -> Tree {
        let files = ["crates/a/src/lib.rs", "crates/a/tests/t.rs", "tools/b/src/main.rs"];
        Tree::of(files.map(|path| (path.to_owned(), CODE.to_owned())).into())
    }

    #[test]
    fn blocks_functions_and_implementations_are_counted_outside_of_tests() {
        let text = inventory(&tree());
        assert!(text.contains("| `a` | 1 | 1 | 1 | 1 |\n| all | 1 | 1 | 1 | 1 |"), "{text}");
        assert!(text.contains("| [`crates/a/src/lib.rs`](crates/a/src/lib.rs) | 1 | 1 | 1 |"));
        assert!(!text.contains("tools/b") && !text.contains("tests/t.rs"), "{text}");
    }

    #[test]
    fn an_old_inventory_is_found() {
        let old = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = rewritten(&tree(), &old).expect("the marks are there");
        assert!(new.starts_with("before\n") && new.ends_with("\nafter\n") && !new.contains("old"));
        let source = ("crates/a/src/lib.rs", CODE);
        assert_eq!(run("inventory", &[source, ("SECURITY.md", &new)]), Vec::<String>::new());
        assert_eq!(run("inventory", &[source, ("SECURITY.md", &old)]).len(), 1);
        assert_eq!(run("inventory", &[source, ("SECURITY.md", "no marks")]).len(), 1);
    }
}
