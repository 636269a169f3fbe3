//! Writes the parts of an answer's JSON that this crate composes itself.

use std::fmt::Write;

/// Writes a string of JSON, in quotes.
///
/// ```
/// assert_eq!(blitz_inspect::json::string("a \"b\"\n"), r#""a \"b\"\u000a""#);
/// ```
#[must_use]
pub fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            // Line ends of JavaScript that `is_control` does not include.
            '\u{2028}' | '\u{2029}' => escape(&mut quoted, character),
            control if control.is_control() => escape(&mut quoted, control),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(quoted: &mut String, character: char) {
    // Writing to a string does not fail.
    let _ = write!(quoted, "\\u{:04x}", character as u32);
}

/// Writes a JSON list of items that are JSON already.
pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::{list, string};

    #[test]
    fn characters_that_could_end_a_string_or_a_line_are_escaped() {
        assert_eq!(string("\\\"\u{1}\u{2028}\u{7f}é<"), "\"\\\\\\\"\\u0001\\u2028\\u007fé<\"");
    }

    #[test]
    fn lists_are_joined() {
        assert_eq!(list([string("a"), string("b")]), r#"["a","b"]"#);
        assert_eq!(list([]), "[]");
    }
}
