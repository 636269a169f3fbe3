//! Blocks a thread on a 32-bit word: the contract of every backend.
//!
//! # Who calls it
//! `latch` and `park/parker`. Every wait stands in a loop that re-reads the word. `sleep` calls
//! `pause` and `wake_all`.
//!
//! # State
//! The caller's word. The backend keeps only the list of waiting threads.
//!
//! # Invariants
//! - **FUTEX-1** `wait(word, expected)` blocks only if the word still holds `expected` at a moment
//!   that every later `wake_one` on the word can see: a change that is followed by `wake_one` is
//!   never missed.
//! - **FUTEX-2** `wake_one` wakes at least one thread that blocks on the word, if there is one.
//! - **FUTEX-3** `wait` may return for no reason; callers loop.
//! - **FUTEX-4** `pause` blocks as `wait` does, but not for much longer than it is told. `wake_all`
//!   wakes every thread that blocks on the word.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | the re-read in `wait` | Relaxed, under the bucket's lock | O2 | FUTEX-1: the lock orders it; callers acquire for themselves |
//! | O2 | `wake_one`, `wake_all` | takes the bucket's lock after the word was changed | O1 | FUTEX-1 |
//!
//! # What this does not do
//! It is not fair. `wait` has no timeout, since liveness never rests on a timeout. `pause` is for
//! callers that lose nothing but time if it ends early or late.
//!
//! # Lineage
//! Linux futex(2), private. `generic` is a hashed table of mutex and condition variable for systems
//! without a futex; it is compiled and tested on every system. `model` is a table of condition
//! variables for the model checker.

use crate::prim::AtomicU32;
use std::time::Duration;

#[cfg(not(blitz_loom))]
pub mod generic;
#[cfg(all(target_os = "linux", not(any(blitz_loom, blitz_shuttle))))]
mod linux;
#[cfg(any(blitz_loom, blitz_shuttle))]
mod model;

#[cfg(all(not(target_os = "linux"), not(any(blitz_loom, blitz_shuttle))))]
use generic as backend;
#[cfg(all(target_os = "linux", not(any(blitz_loom, blitz_shuttle))))]
use linux as backend;
#[cfg(any(blitz_loom, blitz_shuttle))]
use model as backend;

/// Whether a pause in a model ends only when it is woken: the checkers have no time.
#[cfg(blitz_loom)]
const PAUSES_ARE_WOKEN: bool = true;
#[cfg(blitz_shuttle)]
const PAUSES_ARE_WOKEN: bool = false;

/// Blocks while `word` holds `expected`, or returns early (FUTEX-3).
pub fn wait(word: &AtomicU32, expected: u32) {
    backend::wait(word, expected);
}

/// Wakes at least one thread that blocks on `word`, if there is one (FUTEX-2).
pub fn wake_one(word: &AtomicU32) {
    backend::wake_one(word);
}

/// Blocks while `word` holds `expected`, for about `time` at most (FUTEX-4).
pub fn pause(word: &AtomicU32, expected: u32, time: Duration) {
    backend::pause(word, expected, time);
}

/// Wakes all threads that block on `word` (FUTEX-4).
pub fn wake_all(word: &AtomicU32) {
    backend::wake_all(word);
}

/// The name of the backend, for people.
pub fn backend_name() -> &'static str {
    backend::NAME
}

#[cfg(all(test, not(blitz_loom)))]
mod test;
