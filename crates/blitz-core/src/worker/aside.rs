//! What a worker runs in between.

#![forbid(unsafe_code)]

use crate::entered::Entered;
use crate::task::{context, local};

/// Until this is dropped the thread runs work that has nothing to do with the frames below it on the stack:
/// what is the current pool, task or local set down there is not so for the work. Every job but a half of a
/// `join` that its own frame takes back begins under one, or in the main loop, where nothing is current.
pub(crate) struct Aside {
    #[expect(dead_code, reason = "held for their drops")]
    guards: (Entered, local::Entered, context::Aside),
}

impl Aside {
    pub(crate) fn begin() -> Aside {
        Aside { guards: (Entered::none(), local::outside(), context::Aside::begin()) }
    }

    /// Whether no task and no local set is current: so it has to be where a job begins.
    pub(super) fn is_begun() -> bool {
        context::task().is_none() && local::current().is_none()
    }
}
