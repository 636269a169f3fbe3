//! What a user has to change, and where.

use crate::tokens::{at, group, parse};
use proc_macro::{Delimiter, Literal, Span, TokenStream, TokenTree};

/// A message for the compiler to show.
#[derive(Debug)]
pub struct Error {
    span: Span,
    message: String,
}

impl Error {
    /// `message`, shown at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Error {
        Error { span, message: message.into() }
    }

    /// What makes the compiler show it.
    pub fn into_tokens(self) -> TokenStream {
        let message = TokenTree::from(Literal::string(&self.message)).into();
        let call = [parse("::core::compile_error!"), group(Delimiter::Brace, message)];
        at(self.span, call.into_iter().collect())
    }
}
