//! Checks that only a few files depend on the platform or on the model checker.

use super::Report;
use crate::source::{after_group, starts_with};
use crate::tree::Tree;

const ALLOWED: &[&str] = &[
    "crates/blitz-inspect/src/socket/mod.rs",
    "crates/blitz-io/src/transfer.rs",
    "crates/blitz-io/src/net/options.rs",
    "crates/blitz-io/src/net/unix/peer.rs",
    "crates/blitz-io/src/process/pidfd.rs",
    "crates/blitz-io/src/poll/selector.rs",
    "crates/blitz-io/src/poll/timer.rs",
    "crates/blitz-io/src/uring/mod.rs",
    "crates/blitz-parts/src/barrier/mod.rs",
    "crates/blitz-parts/src/cycles/mod.rs",
    "crates/blitz-parts/src/lib.rs",
    "crates/blitz-parts/src/park/futex/mod.rs",
    "crates/blitz-parts/src/prim.rs",
    "crates/blitz-parts/src/stack/mod.rs",
    "crates/blitz-parts/src/thread/calls.rs",
    "crates/blitz-parts/src/thread/mod.rs",
    "crates/blitz-parts/src/thread/unknown.rs",
    "bench/contestant/src/os/mod.rs",
    "bench/contestant/src/os/unix.rs",
    "tools/blitz-attack/src/os/mod.rs",
    "tools/blitz-cli/src/ask/os/mod.rs",
];

/// Words that a condition may not contain in other files, unless it also contains `test` or stands
/// in code for tests only.
const WORDS: &[&str] = &[
    "blitz_asan",
    "blitz_loom",
    "blitz_shuttle",
    "target_os",
    "target_arch",
    "target_env",
    "target_family",
    "target_pointer_width",
    "target_vendor",
    "unix",
    "windows",
];

/// The condition that is allowed everywhere: its attribute only passes call sites to the checker
/// (see `prim/weaken.rs`).
const TRACKED: &[&str] = &["(", "blitz_loom", ",", "track_caller", ")"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        if ALLOWED.contains(&file.path.as_str()) {
            continue;
        }
        let tokens = file.tokens();
        for at in 0..tokens.len() {
            let open = match tokens[at].text {
                "cfg" | "cfg_attr" if starts_with(&tokens, at + 1, &["!", "("]) => at + 2,
                "cfg" | "cfg_attr" if starts_with(&tokens, at + 1, &["("]) => at + 1,
                "cfg_select" if starts_with(&tokens, at + 1, &["!"]) => at + 2,
                _ => continue,
            };
            let inside = &tokens[open..after_group(&tokens, open)];
            if starts_with(inside, 0, TRACKED) {
                continue;
            }
            let asks_for = |word: &str| inside.iter().any(|token| token.text == word);
            if let Some(word) = WORDS.iter().find(|word| asks_for(word)) {
                if !asks_for("test") && !file.is_test(tokens[at].line) {
                    let message = format!("a condition on `{word}` outside of the files for it");
                    report.at(&file.path, tokens[at].line, message);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn conditions_outside_of_their_files_are_found() {
        let code = "#[cfg(target_os = \"linux\")]\nmod a;\n#[cfg(all(test, not(blitz_loom)))]\n\
                    mod b;\nfn f() { if cfg!(blitz_loom) {} }\n#[cfg(debug_assertions)]\nmod c;\n\
                    #[cfg_attr(blitz_loom, track_caller)]\nfn g() {}";
        let found =
            run("cfg", &[("crates/a/src/a.rs", code), ("bench/contestant/src/os/mod.rs", code)]);
        let expected = [
            "crates/a/src/a.rs:1: [cfg] a condition on `target_os` outside of the files for it",
            "crates/a/src/a.rs:5: [cfg] a condition on `blitz_loom` outside of the files for it",
        ];
        assert_eq!(found, expected);
    }
}
