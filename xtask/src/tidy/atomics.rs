//! Atomics come from `prim.rs`, so that the model checker sees each of them; statistics and tables
//! that take no part in a protocol are the exceptions.

use super::Report;
use crate::source::{Token, starts_with};
use crate::tree::Tree;

/// Files of the library that may name the standard atomics.
const ATOMICS: &[&str] = &[
    "crates/blitz-parts/src/prim.rs",
    "crates/blitz-parts/src/prim/randomised.rs",
    "crates/blitz-parts/src/prim/stand_ins.rs",
    "crates/blitz-parts/src/counter.rs",
    "crates/blitz-parts/src/slots.rs",
    "crates/blitz-parts/src/sleep/bed.rs",
];

/// The checkers, and the files that may name them.
const CHECKERS: &[&str] = &["loom", "shuttle"];
const PRIM: &[&str] = &[
    "crates/blitz-parts/src/prim.rs",
    "crates/blitz-parts/src/prim/randomised.rs",
    "crates/blitz-parts/src/prim/stand_ins.rs",
];

/// Programs around the library; nothing of theirs is model-checked.
const FREE: &[&str] = &["bench/", "tools/", "xtask/"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        if FREE.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        let tokens = file.tokens();
        let is_example = file.path.contains("/examples/");
        let may_use_atomics = is_example || ATOMICS.contains(&file.path.as_str());
        for at in 0..tokens.len() {
            let line = tokens[at].line;
            if names_std_atomics(&tokens, at) && !may_use_atomics && !file.is_test(line) {
                let message =
                    "take atomics from `blitz_parts::prim`, or the model checker is blind";
                report.at(&file.path, line, message);
            }
            let checker = CHECKERS.iter().find(|name| starts_with(&tokens, at, &[name, ":", ":"]));
            if let Some(checker) = checker.filter(|_| !PRIM.contains(&file.path.as_str())) {
                report.at(&file.path, line, format!("only prim.rs names {checker}"));
            }
        }
    }
    for path in ATOMICS {
        let uses = |file: &crate::tree::File| {
            let tokens = file.tokens();
            (0..tokens.len()).any(|at| names_std_atomics(&tokens, at))
        };
        if !tree.file(path).is_some_and(uses) {
            report.about(path, "listed as a file with std atomics, and has none");
        }
    }
}

/// Whether the token at `at` is an `atomic` that some path or import of the standard library leads to.
fn names_std_atomics(tokens: &[Token<'_>], at: usize) -> bool {
    if tokens[at].text != "atomic" {
        return false;
    }
    let direct = at >= 3 && starts_with(tokens, at - 3, &["sync", ":", ":", "atomic"]);
    // In `use std::sync::{Arc, atomic::AtomicBool}` the path is further back in the statement.
    let statement = tokens[..at].iter().rev().take_while(|token| token.text != ";");
    let imported = matches!(tokens[at - usize::from(at > 0)].text, "{" | ",")
        && statement.take_while(|token| token.text != "use").any(|token| token.text == "sync");
    direct || imported
}

#[cfg(test)]
mod tests {
    use super::ATOMICS;
    use crate::tidy::tests::run;

    fn house<'a>(extra: &[(&'a str, &'a str)]) -> Vec<String> {
        let mut files: Vec<_> =
            ATOMICS.iter().map(|path| (*path, "use core::sync::atomic::AtomicU8;")).collect();
        files.extend_from_slice(extra);
        run("atomics", &files)
    }

    #[test]
    fn direct_and_nested_imports_are_found() {
        let found = house(&[
            ("crates/a/src/a.rs", "use std::sync::atomic::AtomicBool;"),
            ("crates/a/src/b.rs", "use std::{\n    sync::{Arc, atomic::AtomicBool},\n};"),
            ("crates/a/src/c.rs", "fn f() { loom::model(f) }"),
            ("crates/a/src/d.rs", "use shuttle::thread;"),
        ]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[1].starts_with("crates/a/src/b.rs:2:"), "{found:?}");
        assert!(found[2].contains("only prim.rs names loom"), "{found:?}");
        assert!(found[3].contains("only prim.rs names shuttle"), "{found:?}");
    }

    #[test]
    fn tests_comments_and_tools_are_free() {
        let line = "use std::sync::atomic::AtomicBool;";
        let gated = format!("// {line}\n#[cfg(test)]\nmod tests {{\n    {line}\n}}");
        let found = house(&[
            ("crates/a/src/a.rs", &gated),
            ("crates/a/tests/a.rs", line),
            ("crates/a/examples/a.rs", line),
            ("bench/src/a.rs", line),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn an_exception_that_nobody_needs_is_found() {
        assert_eq!(run("atomics", &[]).len(), ATOMICS.len());
    }
}
