//! Checks that a test asserts the traits of every public type: `Send`, `Sync`, `Debug`, `Error`.
//!
//! The rule follows `pub mod` and `pub use` from a crate's `lib.rs`. It expects each name of a type
//! in the crate's `tests/traits.rs`, behind the name of its module. It does not see names that only
//! a macro writes.

use super::Report;
use crate::source::{Token, after_group, starts_with};
use crate::tree::{File, Tree};
use std::collections::BTreeSet;

/// A crate whose types users name.
struct Door {
    krate: &'static str,
    /// The name that stands before the crate's own types in the test; `None` if the test imports
    /// them.
    root: Option<&'static str>,
}

const DOORS: &[Door] = &[
    Door { krate: "crates/blitz", root: Some("blitz") },
    Door { krate: "crates/blitz-hyper", root: None },
    Door { krate: "crates/blitz-quinn", root: None },
];

/// Second names of types that the test asserts under their first names: module and type.
const ALIASES: &[(&str, &str)] = &[
    ("delay_queue", "DelayQueue"),
    ("error", "Elapsed"),
    ("tcp", "TcpListener"),
    ("tcp", "TcpSocket"),
    ("tcp", "TcpStream"),
    ("unix", "UnixDatagram"),
    ("unix", "UnixListener"),
    ("unix", "UnixSocket"),
    ("unix", "UnixStream"),
];

pub fn check(tree: &Tree, report: &mut Report) {
    let traits = traits(tree);
    for door in DOORS {
        let lib = format!("{}/src/lib.rs", door.krate);
        let Some(file) = tree.file(&lib) else { continue };
        let test = format!("{}/tests/traits.rs", door.krate);
        let Some(asserted) = tree.file(&test) else {
            report.about(&lib, format!("no {test} asserts the traits of this crate's types"));
            continue;
        };
        let asserted = asserted.tokens();
        let mut walk = Walk { tree, found: Vec::new() };
        walk.file(file, door.root);
        for Public { module, name, path, line } in walk.found {
            let is_there = (0..asserted.len()).any(|at| match module {
                Some(module) => starts_with(&asserted, at, &[module, ":", ":", name]),
                None => asserted[at].text == name,
            });
            let is_alias = module.is_some_and(|module| ALIASES.contains(&(module, name)));
            if !is_there && !is_alias && !traits.contains(name) {
                let prefix = module.map_or(String::new(), |module| format!("{module}::"));
                report.at(path, line, format!("{test} does not assert `{prefix}{name}`"));
            }
        }
    }
}

/// The names of all public traits of the workspace.
fn traits(tree: &Tree) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/")) {
        let tokens = file.tokens();
        for at in 0..tokens.len() {
            if starts_with(&tokens, at, &["pub", "trait"]) {
                found.extend(tokens.get(at + 2).map(|token| token.text));
            }
        }
    }
    found
}

/// The public name of a type.
struct Public<'t> {
    module: Option<&'t str>,
    name: &'t str,
    path: &'t str,
    line: usize,
}

/// Collects the public names of types.
struct Walk<'t> {
    tree: &'t Tree,
    found: Vec<Public<'t>>,
}

impl<'t> Walk<'t> {
    fn file(&mut self, file: &'t File, module: Option<&'t str>) {
        self.items(file, &file.tokens(), module);
    }

    fn items(&mut self, file: &'t File, tokens: &[Token<'t>], module: Option<&'t str>) {
        let mut at = 0;
        // Whether an attribute hides the next item, or says that its home is elsewhere.
        let mut hidden = false;
        while at < tokens.len() {
            if starts_with(tokens, at, &["#", "["]) {
                let end = after_group(tokens, at + 1);
                let says = |word| tokens[at..end].iter().any(|token| token.text == word);
                hidden |= says("hidden") || says("no_inline") || says("doctest");
                at = end;
                continue;
            }
            let second = tokens.get(at + 1).map(|token| token.text);
            let is_public = tokens[at].text == "pub" && !file.is_test(tokens[at].line);
            at = match second {
                Some("use") if is_public => {
                    let end = (at..tokens.len()).find(|&i| tokens[i].text == ";");
                    let end = end.unwrap_or(tokens.len());
                    if !hidden {
                        self.reexports(file, &tokens[at + 2..end], module);
                    }
                    end + 1
                }
                Some("mod") if is_public && at + 3 < tokens.len() => {
                    let name = tokens[at + 2].text;
                    let end = after_group(tokens, at + 3);
                    let is_inline = tokens[at + 3].text == "{";
                    if !hidden && is_inline {
                        self.items(file, &tokens[at + 4..end - 1], Some(name));
                    } else if !hidden {
                        self.module(&folder_of(&file.path), name, name);
                    }
                    if is_inline { end } else { at + 4 }
                }
                Some("struct" | "enum" | "type") if is_public && at + 2 < tokens.len() => {
                    let Token { text: name, line, .. } = tokens[at + 2];
                    if !hidden && starts_upper(name) {
                        self.found.push(Public { module, name, path: &file.path, line });
                    }
                    at + 3
                }
                _ => at + 1,
            };
            hidden = false;
        }
    }

    /// Follows the module `name` in `folder`, which users call `module`.
    fn module(&mut self, folder: &str, name: &str, module: &'t str) {
        let paths = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
        if let Some(file) = paths.iter().find_map(|path| self.tree.file(path)) {
            self.file(file, Some(module));
        }
    }

    /// The names at the ends of a `pub use`, without `pub use` and the semicolon.
    fn reexports(&mut self, file: &'t File, tokens: &[Token<'t>], module: Option<&'t str>) {
        let Some(root) = tokens.first().map(|token| token.text) else { return };
        if matches!(root, "std" | "tokio" | "tokio_util" | "either") && tokens.len() > 1 {
            return;
        }
        for (at, &Token { text: name, line, .. }) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1).map(|token| token.text);
            if !matches!(next, None | Some("," | "}")) {
                continue;
            }
            if starts_upper(name) {
                self.found.push(Public { module, name, path: &file.path, line });
            } else if let Some(krate) = root.strip_prefix("blitz_") {
                let folder = format!("crates/blitz-{krate}/src");
                let is_crate = at == 2 && tokens[1].text == "as";
                let inside = if is_crate { "lib" } else { name };
                self.module(&folder, inside, name);
            }
        }
    }
}

/// The folder of the modules that the file at `path` declares.
fn folder_of(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

fn starts_upper(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    const LIB: &str = "pub use blitz_io::{net, Backend};\npub use blitz_par as par;\n\
                       pub mod task;\nmod private;\n#[doc(hidden)]\npub use a::Hidden;\n\
                       pub mod inspect { pub use x::{Page, Unpage as Token, Shows}; }\n";

    fn found(test: &str) -> Vec<String> {
        run(
            "traits",
            &[
                ("crates/blitz/src/lib.rs", LIB),
                ("crates/blitz/src/task.rs", "pub use blitz_core::{Id, id};"),
                ("crates/blitz/src/private.rs", "pub struct Private;"),
                ("crates/blitz-io/src/net/mod.rs", "pub struct Socket;\npub mod tcp;"),
                ("crates/blitz-io/src/net/tcp.rs", "pub use std::io::Error;\npub enum Half {}"),
                ("crates/blitz-par/src/lib.rs", "pub mod iter;\npub struct Stop;"),
                ("crates/blitz-par/src/iter/mod.rs", "pub use crate::a::{Map, Rev};"),
                ("crates/blitz-core/src/shows.rs", "pub trait Shows {}"),
                ("crates/blitz/tests/traits.rs", test),
            ],
        )
    }

    #[test]
    fn types_are_found_through_modules_and_crates() {
        let found = found("fn none() {}");
        let expected = [
            "blitz::Backend",
            "inspect::Page",
            "inspect::Token",
            "iter::Map",
            "iter::Rev",
            "net::Socket",
            "par::Stop",
            "task::Id",
            "tcp::Half",
        ];
        let mut names: Vec<_> = found.iter().filter_map(|line| line.split('`').nth(1)).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{found:?}");
    }

    #[test]
    fn asserted_types_are_fine() {
        let found = found(
            "fn all() { a::<(blitz::Backend, blitz::inspect::Page, inspect::Token, par::Stop)>();\n\
             a::<(iter::Map<u8>, iter::Rev, net::Socket, blitz::task::Id, tcp::Half)>(); }",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_crate_needs_the_test() {
        let found = run("traits", &[("crates/blitz-quinn/src/lib.rs", "pub struct A;")]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
