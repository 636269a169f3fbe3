//! Shields: while a task has one, an abort waits.

use super::state::Wake;
use super::{Header, TaskRef};
use core::fmt;

/// A task has 255 shields already, and no room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl TaskRef {
    /// Adds a shield. An abort takes effect when the last shield is removed.
    pub fn add_shield(&self) -> Result<(), TooDeep> {
        if self.as_header().state.add_shield() { Ok(()) } else { Err(TooDeep) }
    }

    /// Removes a shield. If it was the last, and the task has been aborted meanwhile, the task is
    /// cancelled: at the end of its current poll, or before the next one.
    ///
    /// # Panics
    /// If the task has no shield.
    pub fn remove_shield(&self) {
        let duty = self.as_header().state.remove_shield();
        if duty.expect("a shield is removed once for each that was added") == Wake::Schedule {
            // SAFETY: the exchange made the task SCHEDULED, with a reference for the queue entry.
            unsafe { Header::schedule(self.header()) };
        }
    }
}

impl fmt::Display for TooDeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task can be shielded at most 255 times at once")
    }
}

impl core::error::Error for TooDeep {}
