//! Checks that models explore enough, and that canaries show that they notice errors.

use super::Report;
use crate::source::{Token, after_group, starts_with};
use crate::tree::{File, Tree};
use std::collections::BTreeSet;

const PRIM: &str = "crates/blitz-parts/src/prim.rs";

pub fn check(tree: &Tree, report: &mut Report) {
    let Some(prim) = tree.file(PRIM) else {
        return report.about(PRIM, "the file is missing");
    };
    let (mut broken, mut canaries) = (BTreeSet::new(), BTreeSet::new());
    for file in tree.rust().filter(|file| file.path.starts_with("crates/")) {
        let tokens = file.tokens();
        broken.extend(steps(&tokens, "broken"));
        if file.path != PRIM {
            canaries.extend(canary_steps(&tokens));
            minimums(file, &tokens, report);
        }
    }
    for (step, line) in variants(&prim.tokens()) {
        if !broken.contains(step) {
            report.at(PRIM, line, format!("no code asks `broken(Step::{step})`"));
        }
        if !canaries.contains(step) {
            report.at(PRIM, line, format!("no model runs `canary(&[Step::{step}], …)`"));
        }
    }
}

/// Every `X` of `Step::X` in the first argument of a `call(…)`.
fn steps<'a>(tokens: &[Token<'a>], call: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| starts_with(tokens, at, &[call, "("])) {
        let first = &tokens[at + 2..argument_end(tokens, at + 2)];
        let named = (0..first.len()).filter(|&i| starts_with(first, i, &["Step", ":", ":"]));
        found.extend(named.filter_map(|i| Some(first.get(i + 3)?.text)));
    }
    found
}

/// Every `X` of `Step::X` in functions that run a canary, because a step may first be bound to a
/// name. Steps that only a `check_without` names do not count.
fn canary_steps<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for start in (0..tokens.len()).filter(|&at| tokens[at].text == "fn") {
        let open = (start..tokens.len()).find(|&at| matches!(tokens[at].text, "{" | ";"));
        let Some(open) = open.filter(|&at| tokens[at].text == "{") else { continue };
        let body = &tokens[open..after_group(tokens, open)];
        if (0..body.len()).any(|at| starts_with(body, at, &["canary", "("])) {
            let left_out_in_checks = steps(body, "check_without");
            let named = (0..body.len()).filter(|&at| starts_with(body, at, &["Step", ":", ":"]));
            let named = named.filter_map(|at| Some(body.get(at + 3)?.text));
            found.extend(named.filter(|step| !left_out_in_checks.contains(step)));
            found.extend(steps(body, "canary"));
        }
    }
    found
}

/// The index after the argument that begins at `at`.
fn argument_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    loop {
        match tokens.get(at).map(|token| token.text) {
            None | Some("," | ")") => return at,
            Some("(" | "[" | "{") => at = after_group(tokens, at),
            Some(_) => at += 1,
        }
    }
}

/// The variants of `enum Step`.
fn variants<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, usize)> {
    let start = (0..tokens.len()).find(|&at| starts_with(tokens, at, &["enum", "Step", "{"]));
    let inside = start.map_or(&[][..], |at| &tokens[at + 3..]);
    let inside = inside.iter().take_while(|token| token.text != "}");
    inside.filter(|token| token.text != ",").map(|token| (token.text, token.line)).collect()
}

/// Finds calls of `check(minimum, …)` and `check_without(step, minimum, …)` whose minimum is not a
/// number above zero.
fn minimums(file: &File, tokens: &[Token<'_>], report: &mut Report) {
    if !tokens.iter().any(|token| token.text == "prim") {
        return;
    }
    for at in 0..tokens.len() {
        let minimum = match tokens[at].text {
            "check" => at + 2,
            "check_without" => argument_end(tokens, at + 2) + 1,
            _ => continue,
        };
        let is_call = starts_with(tokens, at + 1, &["("])
            && !(at > 0 && matches!(tokens[at - 1].text, "fn" | "."));
        let Some(minimum) = tokens.get(minimum).filter(|_| is_call) else { continue };
        // This call is in a folder's own `check`, whose callers state the minimum.
        let passes_on = ["fn", "check", "(", minimum.text, ":"];
        if (0..tokens.len()).any(|at| starts_with(tokens, at, &passes_on)) {
            continue;
        }
        match value(minimum.text, tokens) {
            Some(n) if n > 0 => {}
            Some(_) => report.at(&file.path, minimum.line, "a model needs a minimum above 0"),
            None => {
                let message = format!("`{}` is no number that this file states", minimum.text);
                report.at(&file.path, minimum.line, message);
            }
        }
    }
}

/// The value of a literal, or of a constant of the same file.
fn value(word: &str, tokens: &[Token<'_>]) -> Option<u64> {
    if let Ok(number) = word.replace('_', "").parse() {
        return Some(number);
    }
    let at = (0..tokens.len()).find(|&at| starts_with(tokens, at, &["const", word, ":"]))?;
    let equals = (at..tokens.len()).find(|&at| tokens[at].text == "=")?;
    tokens.get(equals + 1)?.text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::PRIM;
    use crate::tidy::tests::run;

    const STEPS: &str =
        "pub enum Step {\n    /// One.\n    One,\n    /// Two.\n    Two,\n    Four,\n}";

    #[test]
    fn steps_need_a_place_and_a_canary() {
        let code = "fn f() { if broken(Step::One) {} }\nfn m() { canary(\n    &[Step::Two, Step::Three], None, m) }\n\
                    fn n() { let steps = [Step::Four]; canary(&steps, None, m); check_without(Step::One, 1, None, m) }";
        let found = run("models", &[(PRIM, STEPS), ("crates/a.rs", code)]);
        let expected = [
            format!("{PRIM}:3: [models] no model runs `canary(&[Step::One], …)`"),
            format!("{PRIM}:5: [models] no code asks `broken(Step::Two)`"),
            format!("{PRIM}:6: [models] no code asks `broken(Step::Four)`"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn minimums_are_numbers_above_zero() {
        let code = "use crate::prim::{check};\nconst MIN: usize = 1_000;\nfn m() {\n    \
                    check(10, None, m);\n    check(MIN, None, m);\n    prim::check(0, None, m);\n    \
                    check(x(), None, m);\n    self.check(0);\n    check_without(Step::One, 0, None, m);\n}";
        let found = run("models", &[(PRIM, "pub enum Step {}"), ("crates/a.rs", code)]);
        let expected = [
            "crates/a.rs:6: [models] a model needs a minimum above 0",
            "crates/a.rs:7: [models] `x` is no number that this file states",
            "crates/a.rs:9: [models] a model needs a minimum above 0",
        ];
        assert_eq!(found, expected);
    }
}
