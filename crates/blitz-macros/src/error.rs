//! An error that the compiler shows to the user.

use crate::tokens::{at, group, parse};
use proc_macro::{Delimiter, Literal, Span, TokenStream, TokenTree};

/// A message for the compiler to show.
#[derive(Debug)]
pub struct Error {
    span: Span,
    message: String,
}

impl Error {
    /// Creates an error that shows `message` at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Error {
        Error { span, message: message.into() }
    }

    /// Returns the tokens that make the compiler show the error.
    pub fn into_tokens(self) -> TokenStream {
        let message = TokenTree::from(Literal::string(&self.message)).into();
        let call = [parse("::core::compile_error!"), group(Delimiter::Brace, message)];
        at(self.span, call.into_iter().collect())
    }
}
