//! Checks where atomics are. They come from `prim.rs`, so that the model checker sees each of them.
//! The exceptions are statistics, a table, and words of protocols on whose order no thread relies.
//! Each atomic lies in the folder of a protocol, with its invariants and model, or is listed here
//! with the reason why it needs no model.

use super::Report;
use super::parts::{PROTOCOLS, SOURCES};
use crate::source::{Token, starts_with};
use crate::tree::{File, Tree};

/// Files of the library that may name the standard atomics.
const ATOMICS: &[&str] = &[
    "crates/blitz-parts/src/prim.rs",
    "crates/blitz-parts/src/prim/randomised.rs",
    "crates/blitz-parts/src/prim/stand_ins.rs",
    "crates/blitz-parts/src/counter.rs",
    "crates/blitz-parts/src/slots.rs",
    "crates/blitz-parts/src/sleep/bed.rs",
    "crates/blitz-parts/src/task/join_waker.rs",
    "crates/blitz-parts/src/task/shown.rs",
];

/// Files of the library that name an atomic outside every protocol, and why it needs no model.
const OUTSIDE: &[(&str, &str)] = &[
    ("crates/blitz-parts/src/prim.rs", "it is where atomics come from"),
    ("crates/blitz-core/src/door/backend.rs", "whether any clock was ever stopped: set once"),
    ("crates/blitz-parts/src/prim/randomised.rs", "the atomics of prim.rs under shuttle"),
    ("crates/blitz-parts/src/prim/stand_ins.rs", "stand-ins for what shuttle lacks"),
    ("crates/blitz-parts/src/prim/weaken.rs", "weakened orderings, for `xtask orderings`"),
    ("crates/blitz-parts/src/counter.rs", "statistics: no thread decides anything by them"),
    ("crates/blitz-parts/src/slots.rs", "a table that only grows, each slot set once"),
    ("crates/blitz-parts/src/stock/block.rs", "it uses the alignment of an atomic and has none"),
    (
        "crates/blitz-io/src/batch.rs",
        "written under a lock; a read without the driver's lease is a hint",
    ),
    (
        "crates/blitz-io/src/signal/hook.rs",
        "a count that a signal handler raises; a socket notifies",
    ),
    (
        "crates/blitz-io/src/timers/clock.rs",
        "the clock of tests: a word moved by exchanges, and an offset that changes under a lock",
    ),
    ("crates/blitz-io/src/timers/estimate.rs", "a rate that was measured; any value will do"),
    (
        "crates/blitz-io/src/timers/mod.rs",
        "a tick that is never later than now; an old one will do",
    ),
    ("crates/blitz-par/src/plan.rs", "a measured pace, and a count of allowed forks"),
    ("crates/blitz-par/src/adapt/any.rs", "a count, lowered by exchanges, and hints to end"),
    ("crates/blitz-par/src/adapt/fuse.rs", "a hint to end; the panic itself goes through joins"),
    ("crates/blitz-par/src/adapt/watched.rs", "a statistic, and a hint to end"),
    ("crates/blitz-par/src/collect/from.rs", "set once, and read after the loop has ended"),
    ("crates/blitz-par/src/end/find.rs", "hints to end; results go through joins"),
    ("crates/blitz-par/src/end/try_reduce.rs", "a hint to end; results go through joins"),
    ("crates/blitz-par/src/source/bridge.rs", "a hint to end; the iterator is behind a lock"),
];

/// The checkers, and the files that may name them.
const CHECKERS: &[&str] = &["loom", "shuttle"];
const PRIM: &[&str] = &[
    "crates/blitz-parts/src/prim.rs",
    "crates/blitz-parts/src/prim/randomised.rs",
    "crates/blitz-parts/src/prim/stand_ins.rs",
];

/// Programs around the library, which are not model-checked.
const FREE: &[&str] = &["bench/", "tools/", "xtask/"];

pub fn check(tree: &Tree, report: &mut Report) {
    outside(tree, report);
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
        let uses = |file: &File| {
            let tokens = file.tokens();
            (0..tokens.len()).any(|at| names_std_atomics(&tokens, at))
        };
        if !tree.file(path).is_some_and(uses) {
            report.about(path, "listed as a file with std atomics, and has none");
        }
    }
}

/// Finds atomics that are neither in a protocol's folder nor listed, and entries that are not
/// needed.
fn outside(tree: &Tree, report: &mut Report) {
    let is_protocols = |path: &str| {
        PROTOCOLS.iter().any(|(name, _)| path.starts_with(&format!("{SOURCES}/{name}/")))
    };
    let shipped = |path: &str| ["crates/", "shims/"].iter().any(|folder| path.starts_with(folder));
    for file in tree.rust().filter(|file| shipped(&file.path) && !is_protocols(&file.path)) {
        let listed = OUTSIDE.iter().any(|(path, _)| *path == file.path);
        if let Some(line) = own_atomic(file).filter(|_| !listed) {
            let message = "an atomic outside of every part: move it into one, or list the reason";
            report.at(&file.path, line, message);
        }
    }
    for (path, reason) in OUTSIDE {
        if tree.file(path).is_none_or(|file| own_atomic(file).is_none()) {
            report.about(path, format!("listed as a file with an atomic ({reason}), and has none"));
        }
    }
}

/// The line of the first atomic that a file names outside its tests and examples.
fn own_atomic(file: &File) -> Option<usize> {
    let named = |token: &Token<'_>| {
        token
            .text
            .strip_prefix("Atomic")
            .is_some_and(|kind| kind.starts_with(|letter: char| letter.is_ascii_uppercase()))
    };
    let tokens = file.tokens();
    let found = tokens.iter().find(|token| named(token) && !file.is_test(token.line));
    found.filter(|_| !file.path.contains("/examples/")).map(|token| token.line)
}

/// Whether the token at `at` is the `atomic` of the standard library, in a path or an import.
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
    use super::{ATOMICS, OUTSIDE};
    use crate::tidy::tests::run;

    fn house<'a>(extra: &[(&'a str, &'a str)]) -> Vec<String> {
        let mut files: Vec<_> =
            ATOMICS.iter().map(|path| (*path, "use core::sync::atomic::AtomicU8;")).collect();
        let outside = OUTSIDE.iter().filter(|(path, _)| !ATOMICS.contains(path));
        files.extend(outside.map(|(path, _)| (*path, "use blitz_parts::prim::AtomicBool;")));
        files.extend_from_slice(extra);
        run("atomics", &files)
    }

    #[test]
    fn direct_and_nested_imports_are_found() {
        let found = house(&[
            ("crates/a/src/a.rs", "use std::sync::atomic::fence;"),
            ("crates/a/src/b.rs", "use std::{\n    sync::{Arc, atomic::fence},\n};"),
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
    fn an_unneeded_exception_is_found() {
        assert_eq!(run("atomics", &[]).len(), ATOMICS.len() + OUTSIDE.len());
    }

    #[test]
    fn an_atomic_outside_of_every_part_is_found() {
        let line = "use blitz_parts::prim::AtomicU64;";
        let found = house(&[
            ("crates/a/src/a.rs", line),
            ("crates/blitz-parts/src/sleep/a.rs", line),
            ("crates/blitz-parts/src/nap/a.rs", "// AtomicBool\nstruct Nap(AtomicBool);"),
            ("crates/a/src/b.rs", "fn f() -> Atomicity { Atomic }"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/a.rs:1:"), "{found:?}");
        assert!(found[1].starts_with("crates/blitz-parts/src/nap/a.rs:2:"), "{found:?}");
    }
}
