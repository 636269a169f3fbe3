//! Putting token streams together.

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

/// Parses Rust code that this crate has composed. The tokens have the span of the attribute.
pub fn parse(text: &str) -> TokenStream {
    match text.parse() {
        Ok(tokens) => tokens,
        Err(error) => unreachable!("`{text}` is Rust: {error}"),
    }
}

/// Wraps `inside` in delimiters.
pub fn group(delimiter: Delimiter, inside: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(delimiter, inside)).into()
}

/// Returns the same tokens with `span`, for the compiler's messages.
pub fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let moved = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), at(span, group.stream())).into();
        }
        token.set_span(span);
        token
    });
    moved.collect()
}

/// Whether a token is this mark.
pub fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Whether a token is this word.
pub fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident.to_string() == word)
}
