//! Which tasks have long polls.

use crate::prim::{AtomicUsize, Relaxed};
use std::fmt;

const SLOTS: usize = 256;

/// The addresses of tasks that had a long poll. Two tasks may share a place, and then one of them
/// is forgotten. A new task may have the address of one that has ended. So use this only for
/// choices where a mistake costs time and nothing else.
pub struct LongTasks([AtomicUsize; SLOTS]);

impl LongTasks {
    /// None yet.
    ///
    /// ```
    /// use blitz_parts::seats::LongTasks;
    /// let long = LongTasks::new();
    /// long.remember(64);
    /// assert!(long.contains(64) && !long.contains(128));
    /// long.forget_all();
    /// assert!(!long.contains(64));
    /// ```
    pub fn new() -> LongTasks {
        LongTasks(std::array::from_fn(|_| AtomicUsize::new(0)))
    }

    /// Notes that the task at `address` had a long poll.
    pub fn remember(&self, address: usize) {
        self.place(address).store(address, Relaxed); // O4
    }

    /// Whether the task at `address` had a long poll lately.
    pub fn contains(&self, address: usize) -> bool {
        self.place(address).load(Relaxed) == address // O4
    }

    /// Gives every task another chance.
    pub fn forget_all(&self) {
        self.0.iter().for_each(|place| place.store(0, Relaxed));
    }

    fn place(&self, address: usize) -> &AtomicUsize {
        // The product's upper bits depend on all bits of the address.
        const ODD: usize = 0x9E37_79B9_7F4A_7C15_u64 as usize;
        &self.0[(address.wrapping_mul(ODD) >> (usize::BITS - 8)) % SLOTS]
    }
}

impl Default for LongTasks {
    fn default() -> LongTasks {
        LongTasks::new()
    }
}

impl fmt::Debug for LongTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.iter().filter(|place| place.load(Relaxed) != 0).count();
        f.debug_struct("LongTasks").field("known", &known).finish()
    }
}
