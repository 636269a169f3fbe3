//! The files of the workspace, and which of their lines are test code.

use crate::source::{self, Token, after_group, layers, starts_with, tokens};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Every Rust, Markdown, TOML and SVG file of the workspace.
#[derive(Default)]
pub struct Tree {
    pub files: Vec<File>,
}

/// One file.
pub struct File {
    /// Relative to the workspace's root, with slashes.
    pub path: String,
    pub text: String,
    pub code: String,
    pub comments: String,
    /// One entry per line: whether the line is compiled for tests only.
    test_lines: Vec<bool>,
}

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

impl Tree {
    /// Reads the workspace.
    pub fn load(root: &Path) -> io::Result<Tree> {
        let mut paths = Vec::new();
        walk(root, root, &mut paths)?;
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let text = fs::read_to_string(root.join(&path))?;
            files.push((path, text));
        }
        Ok(Tree::of(files))
    }

    /// A tree of files that are given by path and text.
    pub fn of(files: Vec<(String, String)>) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.files.push(File::new(path, text));
        }
        let gated: BTreeSet<String> =
            tree.rust().flat_map(|file| gated_modules(&file.path, &file.code)).collect();
        let is_gated = |path: &str| {
            let module = path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
            gated.iter().any(|gate| {
                module == gate || module.strip_prefix(gate).is_some_and(|r| r.starts_with('/'))
            })
        };
        for file in &mut tree.files {
            if lies_among_tests(&file.path) || is_gated(&file.path) {
                file.test_lines.fill(true);
            }
        }
        tree
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The Markdown files.
    pub fn markdown(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The names of all test functions, with their places.
    pub fn tests(&self) -> Vec<(&str, &str, usize)> {
        let mut found = Vec::new();
        for file in self.rust() {
            for (name, line) in test_functions(&file.tokens()) {
                found.push((name, file.path.as_str(), line));
            }
        }
        found
    }
}

impl File {
    fn new(path: String, text: String) -> File {
        let (code, comments) = if path.ends_with(".rs") {
            let split = layers(&text);
            (split.code, split.comments)
        } else {
            (String::new(), String::new())
        };
        let mut test_lines = vec![false; text.lines().count()];
        for (first, last) in gated_regions(&tokens(&code)) {
            test_lines[first..=last].fill(true);
        }
        File { path, text, code, comments, test_lines }
    }

    /// The words and marks of the code.
    pub fn tokens(&self) -> Vec<Token<'_>> {
        source::tokens(&self.code)
    }

    /// Whether `line`, counted from 0, is compiled for tests only.
    pub fn is_test(&self, line: usize) -> bool {
        self.test_lines.get(line).copied().unwrap_or(false)
    }

    /// The lines of the module's own documentation, without its marks, with their numbers.
    pub fn module_doc(&self) -> Vec<(usize, &str)> {
        let lines = self.comments.lines().enumerate();
        lines
            .filter_map(|(number, line)| Some((number, line.trim_start().strip_prefix("//!")?)))
            .collect()
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let built = name.starts_with("target") || name == ".git";
            if !built {
                walk(root, &path, found)?;
            }
        } else if ["rs", "md", "toml", "svg"].iter().any(|end| name.ends_with(&format!(".{end}"))) {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            found.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

fn lies_among_tests(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "benches")
}

/// Where the attribute `#[cfg(… test …)]` begins in `tokens`, and the index after it.
fn test_gates(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if !starts_with(tokens, at, &["#", "[", "cfg", "("]) {
            continue;
        }
        let end = after_group(tokens, at + 1);
        let inside = &tokens[at..end];
        let wanted = inside.iter().any(|token| token.text == "test");
        let unwanted = (0..inside.len()).any(|i| starts_with(inside, i, &["not", "(", "test"]));
        if wanted && !unwanted {
            found.push((at, end));
        }
    }
    found
}

/// The index of the first token after attributes that begin at `at`.
fn after_attributes(tokens: &[Token<'_>], mut at: usize) -> usize {
    while starts_with(tokens, at, &["#", "["]) {
        at = after_group(tokens, at + 1);
    }
    at
}

/// First and last line of every item that is compiled for tests only.
fn gated_regions(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, end) in test_gates(tokens) {
        let mut at = after_attributes(tokens, end);
        let last = loop {
            match tokens.get(at).map(|token| token.text) {
                None => break tokens.len(),
                Some(";") => break at + 1,
                Some("{") => break after_group(tokens, at),
                Some("(" | "[") => at = after_group(tokens, at),
                Some(_) => at += 1,
            }
        };
        if let Some(token) = tokens.get(last.saturating_sub(1)) {
            found.push((tokens[start].line, token.line));
        }
    }
    found
}

/// Paths, without `.rs` or `/mod.rs`, of modules that `path` declares for tests only.
fn gated_modules(path: &str, code: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let tokens = tokens(code);
    let mut found = Vec::new();
    for (_, end) in test_gates(&tokens) {
        let mut at = after_attributes(&tokens, end);
        if starts_with(&tokens, at, &["pub"]) {
            at += 1;
            if starts_with(&tokens, at, &["("]) {
                at = after_group(&tokens, at);
            }
        }
        if starts_with(&tokens, at, &["mod"]) && starts_with(&tokens, at + 2, &[";"]) {
            found.push(format!("{base}/{}", tokens[at + 1].text));
        }
    }
    found
}

/// Names and lines of functions that carry `#[test]` or `#[blitz::test]`.
fn test_functions<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let plain = starts_with(tokens, at, &["#", "[", "test", "]"]);
        if plain || starts_with(tokens, at, &["#", "[", "blitz", ":", ":", "test"]) {
            let first = after_attributes(tokens, at);
            let name = first + 1 + usize::from(starts_with(tokens, first, &["async"]));
            if starts_with(tokens, name - 1, &["fn"]) && name < tokens.len() {
                found.push((tokens[name].text, tokens[name].line));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Tree;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::of(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }

    #[test]
    fn gated_items_are_test_code() {
        let tree = tree(&[(
            "src/lib.rs",
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n#[cfg(not(test))]\nfn c() {}\n",
        )]);
        let file = &tree.files[0];
        let marked: Vec<_> = (0..7).filter(|&line| file.is_test(line)).collect();
        assert_eq!(marked, [1, 2, 3, 4]);
    }

    #[test]
    fn gated_modules_are_test_files() {
        let tree = tree(&[
            ("p/src/lib.rs", "#[cfg(all(test, x))]\nmod compose;\nmod deque;\n"),
            ("p/src/compose/mod.rs", "mod a;"),
            ("p/src/compose/a.rs", "x"),
            ("p/src/deque/mod.rs", "#[cfg(test)]\npub(crate) mod test;"),
            ("p/src/deque/test.rs", "x"),
            ("p/src/composer.rs", "x"),
            ("p/tests/api.rs", "x"),
        ]);
        let marked: Vec<_> =
            tree.files.iter().filter(|f| f.is_test(0)).map(|f| f.path.as_str()).collect();
        let expected = [
            "p/src/lib.rs",
            "p/src/compose/mod.rs",
            "p/src/compose/a.rs",
            "p/src/deque/mod.rs",
            "p/src/deque/test.rs",
            "p/tests/api.rs",
        ];
        assert_eq!(marked, expected);
    }

    #[test]
    fn test_functions_are_found_by_their_attribute() {
        let tree = tree(&[(
            "a.rs",
            "#[test]\n#[should_panic]\nfn one() {}\nfn two() {}\nproptest! { #[test] fn three(x in y) {} }\n\
             #[blitz::test(workers = 2)]\nasync fn four() {}\n#[blitz::main]\nasync fn five() {}",
        )]);
        let names: Vec<_> = tree.tests().into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["one", "three", "four"]);
    }
}
