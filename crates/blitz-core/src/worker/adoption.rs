//! Which thread is worker 0 of a pool that was built with `use_current_thread`.
//!
//! ```text
//!        ┌──sit_down──▶ HERE ──stand_up──┐
//!      AWAY ◀───────────────────────────┘
//!        │ end            │ stand_up, if the thread is to leave
//!        └──────▶ OVER ◀──┘
//! ```
//!
//! The thread that built the pool is the worker while it is inside of one of the pool's operations: HERE. The
//! thread that brings the state to OVER answers for the worker: it is the worker itself until the pool ends, or has
//! a thread started that is.

#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the thread that built the pool is its first worker.
pub(crate) struct Adoption {
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The thread is in none of the pool's operations.
    Away,
    /// The thread is in one.
    Here,
    /// The thread is the worker no more, or never was.
    Over,
}

impl Adoption {
    /// `adopts`: the pool has a first worker without a thread of its own.
    pub(crate) fn new(adopts: bool) -> Adoption {
        Adoption { state: Mutex::new(if adopts { State::Away } else { State::Over }) }
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.lock() == State::Over
    }

    /// AWAY to HERE. Returns false if the caller cannot be the worker.
    pub(crate) fn sit_down(&self) -> bool {
        self.change(State::Away, State::Here)
    }

    /// HERE to AWAY after `rise`, by which the caller stops being the worker. If it `leaves` instead, HERE to OVER:
    /// then this returns true, and the caller, still the worker, answers for it.
    pub(crate) fn stand_up(&self, leaves: impl FnOnce() -> bool, rise: impl FnOnce()) -> bool {
        let mut state = self.lock();
        // Asked under the lock: a thread that drops the handle says so before it calls `end`.
        let left = leaves();
        if left {
            *state = State::Over;
        } else {
            rise();
            *state = State::Away;
        }
        left
    }

    /// AWAY to OVER, by another thread. If this returns true, the caller answers for the worker.
    pub(crate) fn end(&self) -> bool {
        self.change(State::Away, State::Over)
    }

    /// Takes [`end`](Adoption::end) back, for a caller that can have no thread started.
    pub(crate) fn resume(&self) {
        self.change(State::Over, State::Away);
    }

    fn change(&self, from: State, to: State) -> bool {
        let mut state = self.lock();
        let changes = *state == from;
        if changes {
            *state = to;
        }
        changes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
