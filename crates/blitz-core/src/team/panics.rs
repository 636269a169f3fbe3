//! Passes panics to the pool's handler if no thread waits for them.

#![forbid(unsafe_code)]

use super::Team;
use crate::base::panic::{Payload, discard, message, say};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Team {
    /// Reports a panic in a job that no thread waits for.
    pub(crate) fn report_panic(&self, payload: Payload) {
        self.report_panic_of("a detached job", payload);
    }

    /// Passes a panic to the handler, or prints it in one line to standard error. No thread waits
    /// for the panic.
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

    /// Runs `f`. Reports a panic of `f` to the handler, as a panic of `who`.
    pub(crate) fn catch(&self, who: &str, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.report_panic_of(who, payload);
        }
    }
}
