//! Continues a panic on the thread that waits, reads the text of a panic, and aborts the process
//! where a frame must not unwind.

use blitz_parts::prim::{model_has_failed, thread};
use std::io::Write;
use std::panic::resume_unwind;

pub(crate) use blitz_parts::panic::{Payload, discard};

/// Returns the value, or continues the panic here.
#[inline]
pub(crate) fn resume_if_err<R>(result: thread::Result<R>) -> R {
    match result {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

/// Returns the text of a panic, or a fixed phrase if the payload is not a string.
pub(crate) fn message(payload: &Payload) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a value that is not a string"
    }
}

/// Writes one line to standard error. Ignores a failure to write; `eprintln!` would panic.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "blitz: {text}");
}

/// Aborts the process if dropped: for code that must not unwind because other threads hold
/// references into its frame.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        say(&format!("unexpected panic inside {}; aborting", self.0));
        std::process::abort();
    }
}
