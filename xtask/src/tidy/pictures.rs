//! Compares the words of a drawn picture with those of the program that draws it.

use super::Report;
use crate::tree::Tree;

const PICTURE: &str = "docs/images/fork.svg";
const PROGRAM: &str = "crates/blitz/examples/draw_trace.rs";

/// How the captions begin in the program: a quotation mark, then the kind of a moment.
const KINDS: &[&str] = &["\"fork: ", "\"wake: ", "\"steal: ", "\"sleep: "];

/// What ends each caption in the picture.
const END: &str = "</text></g>";

pub fn check(tree: &Tree, report: &mut Report) {
    let Some(program) = tree.file(PROGRAM) else { return };
    let Some(picture) = tree.file(PICTURE) else {
        report.about(PICTURE, "the picture is missing");
        return;
    };
    let written: Vec<&str> = program.text.lines().filter_map(caption_in_program).collect();
    let drawn: Vec<&str> = picture.text.lines().filter_map(caption_in_picture).collect();
    if written.is_empty() {
        report.about(PROGRAM, "no caption is found");
    } else if written != drawn {
        report.about(PICTURE, format!("{PROGRAM} writes other words: draw the picture again"));
    }
}

/// Returns the caption in `line` of the program, without its quotation marks.
fn caption_in_program(line: &str) -> Option<&str> {
    let begin = KINDS.iter().find_map(|kind| line.find(kind))?;
    line[begin + 1..].split('"').next()
}

/// Returns the caption in `line` of the picture.
fn caption_in_picture(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix(END)?.rsplit('>').next()
}

#[cfg(test)]
mod tests {
    use super::{PICTURE, PROGRAM};
    use crate::tidy::tests::run;

    const CODE: &str = "moment(a, 0, \"fork: one\"),\n    \"wake: two\",\n";

    #[test]
    fn a_picture_with_the_words_of_its_program_is_tidy() {
        let drawn =
            "<text>head</text>\n<text x=\"1\">fork: one</text></g>\n<text>wake: two</text></g>\n";
        assert!(run("pictures", &[(PROGRAM, CODE), (PICTURE, drawn)]).is_empty());
    }

    #[test]
    fn a_picture_with_other_words_or_none_is_found() {
        let other = "<text>fork: one</text></g>\n<text>wake: 2</text></g>\n";
        assert_eq!(run("pictures", &[(PROGRAM, CODE), (PICTURE, other)]).len(), 1);
        let less = "<text>fork: one</text></g>\n";
        assert_eq!(run("pictures", &[(PROGRAM, CODE), (PICTURE, less)]).len(), 1);
        assert_eq!(run("pictures", &[(PROGRAM, CODE)]).len(), 1);
        assert_eq!(run("pictures", &[(PROGRAM, "fn main() {}"), (PICTURE, less)]).len(), 1);
    }
}
