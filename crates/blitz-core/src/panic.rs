//! Where a panic goes: to the thread that waits, else to the pool's handler, never to nowhere.

use crate::team::Team;
use blitz_parts::prim::thread;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub(crate) use blitz_parts::panic::{Payload, discard};

/// The value, or the panic continues here.
#[inline]
pub(crate) fn resume_if_err<R>(result: thread::Result<R>) -> R {
    match result {
        Ok(value) => value,
        Err(payload) => resume_unwind(payload),
    }
}

/// The text of a panic, where it has one.
pub(crate) fn message(payload: &Payload) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a value that is not a string"
    }
}

/// One line on standard error, if there is anybody to read it: `eprintln!` would panic if not.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "blitz: {text}");
}

impl Team {
    /// A panic in a job that nobody waits for.
    pub(crate) fn report_panic(&self, payload: Payload) {
        self.report_panic_of("a detached job", payload);
    }

    /// A panic that nobody waits for: the handler's, or one line on standard error.
    pub(crate) fn report_panic_of(&self, who: &str, payload: Payload) {
        self.panics.add_shared(1);
        match &self.config.panic_handler {
            Some(handler) => {
                let handled = catch_unwind(AssertUnwindSafe(|| handler(payload)));
                if let Err(second) = handled {
                    say(&format!("the panic handler itself panicked: {}", message(&second)));
                    discard(second);
                }
            }
            None => {
                say(&format!(
                    "{who} panicked: {} (set PoolBuilder::panic_handler to handle this)",
                    message(&payload)
                ));
                discard(payload);
            }
        }
    }

    /// Runs `f`; a panic goes to the handler, as that of `who`.
    pub(crate) fn catch(&self, who: &str, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.report_panic_of(who, payload);
        }
    }
}

/// Aborts the process if dropped: for code that must not unwind because other threads hold
/// references into its frame.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        say(&format!("unexpected panic inside {}; aborting", self.0));
        std::process::abort();
    }
}
