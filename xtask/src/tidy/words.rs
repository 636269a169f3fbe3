//! Checks the words and the width of comments. Also checks that no comment and no page names a
//! document by its number.

use super::Report;
use crate::tree::Tree;

/// Pronouns without an actor: a comment names the owner, the thief, the waker, the caller.
const PRONOUNS: &[&str] = &["somebody", "nobody", "whoever", "everybody", "anybody"];

/// Phrases that should be `notify` or `announce`.
const PHRASES: &[&str] = &["tell of", "tells of", "told of", "telling of"];

/// Columns of a line that holds nothing but a comment.
const COLUMNS_MAX: usize = 100;

/// The page that names the source documents.
const DOCUMENTS: &str = "docs/coverage.md";

/// Words before the number of a source document.
const NUMBERED: &[&str] = &["seed", "seeds", "document", "documents"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        let mut in_code = false;
        for (number, (comment, line)) in file.comments.lines().zip(file.text.lines()).enumerate() {
            let text = comment.trim();
            let alone = line.trim_start().starts_with("//");
            let body = text.trim_start_matches('/').trim_start_matches('!').trim();
            if !alone && !line.trim_start().starts_with("#[doc") {
                in_code = false;
            } else if body.starts_with("```") {
                in_code = !in_code;
                continue;
            }
            if in_code || body.is_empty() {
                continue;
            }
            if let Some(complaint) = complaint(body) {
                report.at(&file.path, number, complaint);
            }
            let columns = line.chars().count();
            if alone && columns > COLUMNS_MAX && can_be_wrapped(body) {
                let message = format!("{columns} columns, a comment has at most {COLUMNS_MAX}");
                report.at(&file.path, number, message);
            }
        }
    }
    for file in tree.markdown().filter(|file| file.path != DOCUMENTS) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(document) = document(&words(line)) {
                report.at(&file.path, number, by_number(&document));
            }
        }
    }
}

/// The complaint about the words of a comment, if any.
fn complaint(body: &str) -> Option<String> {
    let words = words(body);
    if let Some(word) = words.iter().find(|word| PRONOUNS.contains(&word.as_str())) {
        return Some(format!("`{word}` names no actor: say owner, thief, waker, caller, worker"));
    }
    let text = words.join(" ");
    let padded = format!(" {text} ");
    if let Some(phrase) = PHRASES.iter().find(|phrase| padded.contains(&format!(" {phrase} "))) {
        return Some(format!("`{phrase}`: say notify, announce or report"));
    }
    document(&words).map(|document| by_number(&document))
}

/// The words of a text in lower case, without text between backticks.
fn words(text: &str) -> Vec<String> {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    prose
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// A document that is named by its number: `document 003`.
fn document(words: &[String]) -> Option<String> {
    let is_number = |word: &str| word.len() == 3 && word.starts_with("00");
    let pair = |pair: &&[String]| NUMBERED.contains(&pair[0].as_str()) && is_number(&pair[1]);
    words.windows(2).find(pair).map(|pair| pair.join(" "))
}

fn by_number(document: &str) -> String {
    format!("`{document}`: {DOCUMENTS} has the document's name")
}

/// Whether a long line could be shorter: rows of tables and single words cannot.
fn can_be_wrapped(body: &str) -> bool {
    !body.starts_with('|') && body.contains(' ')
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn comments_name_actors() {
        let code = "// Nobody looks.\nlet nobody = \"nobody\"; // `nobody()` is code\n/// ```\n\
                    /// struct Nobody;\n/// ```\n// is told\n// of it\n/// It tells of a job.\n";
        let found = run("words", &[("a.rs", code)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: [words] `nobody` names no actor"), "{found:?}");
        assert!(found[1].starts_with("a.rs:8: [words] `tells of`"), "{found:?}");
    }

    #[test]
    fn comments_are_wrapped() {
        let (long, table) = ("word ".repeat(25), format!("//! |{}|\n", "cell ".repeat(25)));
        let word = format!("// {}\n", "x".repeat(120));
        let code = format!("// {long}\nlet x = 1; // {long}\n{table}{word}let s = \"{long}\";\n");
        let found = run("words", &[("a.rs", &code)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: [words] 128 columns"), "{found:?}");
    }

    #[test]
    fn documents_are_named_not_numbered() {
        let page = "Blitz implements document 003.\n";
        let found = run(
            "words",
            &[("docs/coverage.md", page), ("docs/a.md", page), ("a.rs", "// As in seed 000.\n")],
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|text| text.starts_with("a.rs:1: [words] `seed 000`")));
    }
}
