//! Remembers which tasks have long polls.

use crate::prim::{AtomicUsize, MODELLED, Relaxed};
use std::fmt;

const SLOTS: usize = 256;

/// Marks an address that was noted twice. Addresses are even.
const TWICE: usize = 1;

/// The addresses of tasks that had a long poll.
///
/// One long poll may be an accident: the processor time of a virtual machine includes the time that
/// its host takes away. So a task belongs to the list only after two long polls without a short one
/// between them.
///
/// A type of tasks has an address, too: its
/// [kind](crate::task::Runnable::kind), which is never the address of a task. Two addresses may
/// share an entry, and then one of them is forgotten. A new task may have the address of a task
/// that has ended. So use this only for choices where a mistake just costs time.
pub struct LongTasks {
    places: [AtomicUsize; SLOTS],
    /// The kind of the task that the relief worker polls for the first time; zero if there is none.
    tried: AtomicUsize,
}

impl LongTasks {
    /// Creates an empty list.
    ///
    /// ```
    /// use blitz_parts::seats::LongTasks;
    /// let long = LongTasks::new();
    /// long.remember(64);
    /// assert!(!long.contains(64), "this may have been an accident");
    /// long.remember(64);
    /// assert!(long.contains(64) && !long.contains(128));
    /// long.forget(64);
    /// assert!(!long.contains(64));
    /// ```
    pub fn new() -> LongTasks {
        LongTasks {
            places: std::array::from_fn(|_| AtomicUsize::new(0)),
            tried: AtomicUsize::new(0),
        }
    }

    /// Notes that the task at `address` had a long poll.
    pub fn remember(&self, address: usize) {
        debug_assert!(address & TWICE == 0);
        let place = self.place(address);
        let is_known = place.load(Relaxed) & !TWICE == address; // O4
        place.store(if is_known { address | TWICE } else { address }, Relaxed); // O4
    }

    /// Whether the last two polls of the task at `address` were long.
    pub fn contains(&self, address: usize) -> bool {
        self.place(address).load(Relaxed) == address | TWICE // O4
    }

    /// Notes that a poll of the task at `address` was short.
    pub fn forget(&self, address: usize) {
        let place = self.place(address);
        // O4
        if place.load(Relaxed) & !TWICE == address {
            // Meanwhile another task may have been noted in the same entry. That task is forgotten,
            // too.
            place.store(0, Relaxed); // O4
        }
    }

    /// Notes that the relief worker begins a poll. `key` is the task's kind if that is the first
    /// poll of the task, otherwise `None`.
    pub fn set_tried(&self, key: Option<usize>) {
        self.tried.store(key.unwrap_or(0), Relaxed); // O4
    }

    /// Notes that the relief worker has ended the poll that it began with this `key`. Returns
    /// whether that poll was [remembered](Self::remember_tried) already.
    ///
    /// ```
    /// use blitz_parts::seats::LongTasks;
    /// let long = LongTasks::new();
    /// long.set_tried(Some(64));
    /// assert!(!long.end_tried(Some(64)));
    /// long.set_tried(Some(64));
    /// long.remember_tried();
    /// assert!(long.end_tried(Some(64)));
    /// ```
    pub fn end_tried(&self, key: Option<usize>) -> bool {
        // O4
        key.is_some_and(|key| self.tried.compare_exchange(key, 0, Relaxed, Relaxed).is_err())
    }

    /// Notes that the relief worker does not return from its current poll. If that is the first
    /// poll of a task, remembers the task's kind.
    pub fn remember_tried(&self) {
        match self.tried.swap(0, Relaxed) {
            0 => {} // O4
            key => self.remember(key),
        }
    }

    fn place(&self, address: usize) -> &AtomicUsize {
        // In a model all tasks share one entry: their addresses differ between executions, and a
        // seed must always lead to the same execution.
        let address = if MODELLED { 0 } else { address };
        // The product's upper bits depend on all bits of the address.
        const ODD: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;
        &self.places[(address.wrapping_mul(ODD) >> (usize::BITS - 8)) % SLOTS]
    }
}

impl Default for LongTasks {
    fn default() -> LongTasks {
        LongTasks::new()
    }
}

impl fmt::Debug for LongTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.places.iter().filter(|place| place.load(Relaxed) != 0).count();
        f.debug_struct("LongTasks").field("known", &known).finish()
    }
}
