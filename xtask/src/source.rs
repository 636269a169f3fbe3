//! Separates the code of a Rust text from its comments and literals. It is a lexer just large
//! enough for the rules.

/// A text in two layers of the same shape. A character of code or of a comment is in one of them,
/// with a space in its place in the other. Line breaks are in both. The contents of literals are in
/// neither.
pub struct Layers {
    /// The code, without the contents of literals.
    pub code: String,
    /// The comments.
    pub comments: String,
}

/// One word or one punctuation mark of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub text: &'a str,
    /// Counted from 0.
    pub line: usize,
    /// Counted from 0, in characters.
    pub column: usize,
}

/// Splits `text` into its layers.
pub fn layers(text: &str) -> Layers {
    let mut splitter = Splitter {
        chars: text.chars().collect(),
        at: 0,
        code: String::with_capacity(text.len()),
        comments: String::new(),
    };
    splitter.run();
    Layers { code: splitter.code, comments: splitter.comments }
}

/// The words and punctuation marks of a code layer.
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (line, text) in code.lines().enumerate() {
        let (mut rest, mut column) = (text, 0);
        while let Some(first) = rest.chars().next() {
            let len = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(len);
            if !first.is_whitespace() {
                found.push(Token { text: token, line, column });
            }
            rest = after;
            column += token.chars().count();
        }
    }
    found
}

/// The index after the bracket that closes the one at `open`; the end if none does.
pub fn after_group(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the texts of `tokens` from `at` on begin with `words`.
pub fn starts_with(tokens: &[Token<'_>], at: usize, words: &[&str]) -> bool {
    tokens.len() >= at + words.len()
        && tokens[at..].iter().zip(words).all(|(token, word)| token.text == *word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Splitter {
    chars: Vec<char>,
    at: usize,
    code: String,
    comments: String,
}

impl Splitter {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('r', _) if self.raw_hashes().is_some() => self.raw_string(),
                ('\'', Some('\\')) => self.char_literal(),
                ('\'', _) if self.peek(2) == Some('\'') => self.char_literal(),
                _ => self.take_code(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take_code(&mut self) {
        if let Some(c) = self.next_char() {
            self.code.push(c);
            self.comments.push(blank(c));
        }
    }

    fn take_comment(&mut self) {
        if let Some(c) = self.next_char() {
            self.comments.push(c);
            self.code.push(blank(c));
        }
    }

    fn take_literal(&mut self) {
        if let Some(c) = self.next_char() {
            self.comments.push(blank(c));
            self.code.push(blank(c));
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        Some(c)
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.take_comment();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return,
                _ => {
                    self.take_comment();
                    continue;
                }
            }
            self.take_comment();
            self.take_comment();
            if depth == 0 {
                return;
            }
        }
    }

    /// A string or byte string: everything up to an unescaped quote.
    fn string(&mut self) {
        self.take_code();
        while let Some(c) = self.peek(0) {
            match c {
                '"' => return self.take_code(),
                '\\' => {
                    self.take_literal();
                    self.take_literal();
                }
                _ => self.take_literal(),
            }
        }
    }

    /// If a raw string begins here, returns how many hashes it has.
    fn raw_hashes(&self) -> Option<usize> {
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        let word_goes_on = before.is_some_and(|&c| is_word(c) && c != 'b' && c != 'c');
        let hashes = self.chars[self.at + 1..].iter().take_while(|&&c| c == '#').count();
        (!word_goes_on && self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        for _ in 0..hashes + 2 {
            self.take_code();
        }
        while self.peek(0).is_some() {
            let closes = self.peek(0) == Some('"')
                && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                for _ in 0..=hashes {
                    self.take_code();
                }
                return;
            }
            self.take_literal();
        }
    }

    fn char_literal(&mut self) {
        self.take_code();
        if self.peek(0) == Some('\\') {
            self.take_literal();
        }
        self.take_literal();
        while self.peek(0).is_some_and(|c| c != '\'') {
            self.take_literal();
        }
        self.take_code();
    }
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::{after_group, layers, tokens};

    fn words(text: &str) -> Vec<String> {
        tokens(&layers(text).code).iter().map(|token| token.text.to_owned()).collect()
    }

    #[test]
    fn comments_are_not_code() {
        let split = layers("a // b\n/* c /* d */ e */ f");
        assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
        assert!(split.comments.contains("b") && split.comments.contains("d */ e"));
        assert_eq!(split.code.lines().count(), split.comments.lines().count());
    }

    #[test]
    fn literals_are_neither() {
        assert_eq!(words(r#"f("unsafe // no", 'x', '\'', b"\"y")"#).concat(), r#"f("",'','',b"")"#);
        assert_eq!(words(r###"(r#"a " unsafe"#, br"b")"###).concat(), r##"(r#""#,br"")"##);
    }

    #[test]
    fn lifetimes_do_not_open_literals() {
        assert_eq!(words("fn f<'a>(x: &'a str) {}").concat(), "fnf<'a>(x:&'astr){}");
    }

    #[test]
    fn groups_end_where_they_close() {
        let code = "a ( b { c } [ d ] ) e";
        let tokens = tokens(code);
        assert_eq!(tokens[after_group(&tokens, 1)].text, "e");
    }

    #[test]
    fn lines_are_kept() {
        let code = layers("a\n\"x\ny\"\nb").code;
        let found: Vec<_> = tokens(&code).iter().map(|t| (t.text.to_owned(), t.line)).collect();
        assert_eq!(found.last(), Some(&("b".to_owned(), 3)));
    }
}
