//! Checks that `blitz-core` takes locks, threads, thread-locals and its clock from `prim.rs`, so
//! that the shipped code runs under shuttle.

use super::Report;
use crate::source::{Token, starts_with};
use crate::tree::Tree;

const CORE: &str = "crates/blitz-core/src/";

/// The thread-locals of users do not belong to the core: they are the standard ones in every build.
const FREE: &[&str] = &["crates/blitz-core/src/task/task_local.rs"];

/// Items that the checker must see, by their names in the standard library.
const WATCHED: &[&str] = &[
    "Barrier",
    "Condvar",
    "Instant",
    "LazyLock",
    "Mutex",
    "Once",
    "OnceLock",
    "RwLock",
    "SystemTime",
    "mpsc",
    "thread",
    "thread_local",
];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust().filter(|file| file.path.starts_with(CORE)) {
        if FREE.contains(&file.path.as_str()) {
            continue;
        }
        let tokens = file.tokens();
        let imports_locals = (0..tokens.len()).any(|at| {
            tokens[at].text == "thread_local" && is_imported_from(&tokens, at, "blitz_parts")
        });
        for at in 0..tokens.len() {
            let (name, line) = (tokens[at].text, tokens[at].line);
            if !WATCHED.contains(&name) || file.is_test(line) {
                continue;
            }
            let is_own_macro =
                name == "thread_local" && starts_with(&tokens, at + 1, &["!"]) && !imports_locals;
            let is_std = is_path_in_std(&tokens, at) || is_imported_from(&tokens, at, "std");
            if is_std || is_own_macro {
                let message =
                    format!("take `{name}` from `blitz_parts::prim`, or shuttle is blind");
                report.at(&file.path, line, message);
            }
        }
    }
}

/// Whether the token at `at` is the end of a path like `std::thread` or `std::sync::Mutex`.
fn is_path_in_std(tokens: &[Token<'_>], at: usize) -> bool {
    let direct = at >= 3 && starts_with(tokens, at - 3, &["std", ":", ":"]);
    direct
        || at >= 6 && starts_with(tokens, at - 6, &["std", ":", ":"]) && tokens[at - 1].text == ":"
}

/// Whether the token at `at` stands in a `use` of the crate `root`.
fn is_imported_from(tokens: &[Token<'_>], at: usize, root: &str) -> bool {
    let mut before = tokens[..at].iter().rev().take_while(|token| token.text != ";");
    let mut next = "";
    let found = before.any(|token| {
        if token.text == "use" {
            return true;
        }
        next = token.text;
        false
    });
    found && next == root
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn imports_paths_and_bare_macros_are_found() {
        let found = run(
            "threads",
            &[
                ("crates/blitz-core/src/a.rs", "use std::sync::{Arc, Mutex};"),
                ("crates/blitz-core/src/b.rs", "fn f() { std::thread::yield_now() }"),
                ("crates/blitz-core/src/c.rs", "thread_local! { static A: u8 = 1; }"),
                ("crates/blitz-core/src/d.rs", "use std::{io, thread};"),
                ("crates/blitz-core/src/e.rs", "use std::time::Instant;"),
            ],
        );
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(found[0].contains("take `Mutex` from `blitz_parts::prim`"), "{found:?}");
    }

    #[test]
    fn imports_from_prim_and_tests_are_allowed() {
        let good = "use blitz_parts::prim::{Mutex, thread_local};\nuse std::sync::Arc;\n\
                    thread_local! { static A: u8 = 1; }\nfn f(m: Mutex<()>) { thread::park() }\n\
                    #[cfg(test)]\nmod tests {\n    use std::thread;\n}";
        let elsewhere = ("crates/blitz-io/src/a.rs", "use std::thread;");
        let found = run("threads", &[("crates/blitz-core/src/a.rs", good), elsewhere]);
        assert!(found.is_empty(), "{found:?}");
    }
}
