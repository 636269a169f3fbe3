//! Parses the function below an attribute.

use crate::tokens::{is_mark, is_word};
use crate::{Error, Kind};
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use std::iter::Peekable;

/// An async function without arguments and generics.
pub struct Function {
    pub attributes: TokenStream,
    pub visibility: TokenStream,
    /// The keyword `fn`, whose span the compiler shows.
    pub keyword: TokenTree,
    pub name: TokenTree,
    /// `-> T` and a `where` clause, if there are any.
    pub output: TokenStream,
    pub body: TokenStream,
}

type Tokens = Peekable<proc_macro::token_stream::IntoIter>;

impl Function {
    pub fn parse(item: TokenStream, kind: Kind) -> Result<Function, Error> {
        let mut tokens = item.into_iter().peekable();
        let attributes = attributes(&mut tokens, kind)?;
        let visibility = visibility(&mut tokens);
        let first = tokens.peek().map_or_else(Span::call_site, TokenTree::span);
        let is_async = is_word(tokens.peek(), "async");
        if is_async {
            tokens.next();
        }
        let Some(keyword) = tokens.next_if(|token| is_word(Some(token), "fn")) else {
            return Err(no_plain_function(tokens, first, kind));
        };
        if !is_async {
            let message = format!(
                "{} is for async functions: write `async fn`, or leave the attribute out",
                kind.name()
            );
            return Err(Error::new(keyword.span(), message));
        }
        let name = match tokens.next() {
            Some(TokenTree::Ident(name)) => name,
            other => return Err(end_of(other, "a function has a name")),
        };
        no_generics(&mut tokens, &name, kind)?;
        no_arguments(tokens.next(), &name, kind)?;
        let (output, body) = output_and_body(tokens)?;
        Ok(Function { attributes, visibility, keyword, name: name.into(), output, body })
    }
}

/// Returns the attributes of the function as they are.
fn attributes(tokens: &mut Tokens, kind: Kind) -> Result<TokenStream, Error> {
    let mut found = TokenStream::new();
    while is_mark(tokens.peek(), '#') {
        found.extend(tokens.next());
        if let Some(TokenTree::Group(attribute)) = tokens.peek() {
            if kind == Kind::Test && is_plain_test(attribute) {
                let message = "#[blitz::test] adds `#[test]` itself: with both, the test would run twice; \
                               leave this one out";
                return Err(Error::new(attribute.span(), message));
            }
        }
        found.extend(tokens.next());
    }
    Ok(found)
}

/// Whether an attribute is the compiler's own `#[test]`.
fn is_plain_test(attribute: &Group) -> bool {
    let text: String = attribute.stream().into_iter().map(|token| token.to_string()).collect();
    let path = text.trim_start_matches(':');
    matches!(path, "test" | "core::prelude::v1::test" | "std::prelude::v1::test")
}

fn visibility(tokens: &mut Tokens) -> TokenStream {
    let mut found = TokenStream::new();
    let invisible = |group: &Group| group.delimiter() == Delimiter::None;
    if matches!(tokens.peek(), Some(TokenTree::Group(group)) if invisible(group)) {
        // A visibility that came from a macro's `$vis`.
        found.extend(tokens.next());
    } else if is_word(tokens.peek(), "pub") {
        found.extend(tokens.next());
        if matches!(tokens.peek(), Some(TokenTree::Group(_))) {
            found.extend(tokens.next());
        }
    }
    found
}

/// The error for an item that begins neither with `fn` nor with `async fn`.
fn no_plain_function(mut tokens: Tokens, first: Span, kind: Kind) -> Error {
    let name = kind.name();
    let is_function = tokens.any(|token| is_word(Some(&token), "fn"));
    let message = if is_function {
        format!("{name} is for plain functions: `async fn`, without `const`, `unsafe` or `extern`")
    } else {
        format!("{name} is for async functions, and this is not one")
    };
    Error::new(first, message)
}

fn no_generics(tokens: &mut Tokens, name: &Ident, kind: Kind) -> Result<(), Error> {
    if !is_mark(tokens.peek(), '<') {
        return Ok(());
    }
    let span = tokens.peek().map_or_else(Span::call_site, TokenTree::span);
    let message = format!("`{name}` has generics, and {} cannot choose them", kind.name());
    Err(Error::new(span, message))
}

fn no_arguments(token: Option<TokenTree>, name: &Ident, kind: Kind) -> Result<(), Error> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            if group.stream().is_empty() {
                return Ok(());
            }
            let message = format!("`{name}` has arguments, but {} cannot pass any", kind.name());
            Err(Error::new(group.span(), message))
        }
        other => Err(end_of(other, "a function has parentheses")),
    }
}

/// Splits the tokens after the parentheses into the output and the body.
///
/// The body is the last token; before it come `-> T` and a `where` clause, if there are any.
fn output_and_body(tokens: Tokens) -> Result<(TokenStream, TokenStream), Error> {
    let mut output: Vec<TokenTree> = tokens.collect();
    match output.pop() {
        // A body without visible braces came from a macro's `$block`.
        Some(TokenTree::Group(body))
            if matches!(body.delimiter(), Delimiter::Brace | Delimiter::None) =>
        {
            Ok((output.into_iter().collect(), TokenTree::from(body).into()))
        }
        other => Err(end_of(other, "a function that is to be run has a body")),
    }
}

/// An error at a token that should be something else, or at the attribute if there is none.
fn end_of(token: Option<TokenTree>, message: &str) -> Error {
    Error::new(token.map_or_else(Span::call_site, |token| token.span()), message)
}
