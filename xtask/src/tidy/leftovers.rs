//! Finds unfinished code, and tests that sleep.

use super::Report;
use crate::source::starts_with;
use crate::tree::Tree;

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Tests whose subject is a worker that sleeps. None of them waits for an event by a sleep.
const ABOUT_SLEEP: &[&str] = &["crates/blitz/tests/stalls.rs"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        let tokens = file.tokens();
        for at in 0..tokens.len() {
            let line = tokens[at].line;
            let word = tokens[at].text;
            if MACROS.contains(&word) && starts_with(&tokens, at + 1, &["!"]) {
                report.at(&file.path, line, format!("`{word}!` is left over"));
            }
            let may_sleep = !file.is_test(line) || ABOUT_SLEEP.contains(&file.path.as_str());
            if !may_sleep && starts_with(&tokens, at, &["thread", ":", ":", "sleep"]) {
                let message = "a test that sleeps is slow on a good day and wrong on a bad one: wait \
                               for an event";
                report.at(&file.path, line, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn leftovers_are_found() {
        let code = "fn f() {\n    todo!();\n    let todo = !x;\n    // dbg!(x)\n}";
        assert_eq!(
            run("leftovers", &[("a.rs", code)]),
            ["a.rs:2: [leftovers] `todo!` is left over"]
        );
    }

    #[test]
    fn sleeping_is_for_programs_not_for_tests() {
        let code = "fn f() { std::thread::sleep(x) }";
        assert!(run("leftovers", &[("bench/src/a.rs", code)]).is_empty());
        assert_eq!(run("leftovers", &[("crates/a/tests/a.rs", code)]).len(), 1);
        let gated = format!("#[cfg(test)]\nmod tests {{ {code} }}");
        assert_eq!(run("leftovers", &[("crates/a/src/a.rs", &gated)]).len(), 1);
    }

    #[test]
    fn tests_about_sleep_may_sleep() {
        let code = "#[test]\nfn f() {\n    std::thread::sleep(x);\n}";
        assert_eq!(run("leftovers", &[("crates/blitz/tests/stalls.rs", code)]).len(), 0);
        assert_eq!(run("leftovers", &[("crates/blitz/tests/tasks.rs", code)]).len(), 1);
    }
}
