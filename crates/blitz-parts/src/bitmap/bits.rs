//! A word of bits that many threads set and clear.

#![forbid(unsafe_code)]

use crate::prim::{AtomicU64, Ordering, Turns};
use core::fmt;

/// 64 bits, all of them clear at first.
#[derive(Default)]
pub(super) struct Bits {
    word: AtomicU64,
    turns: Turns,
}

impl Bits {
    #[inline]
    #[cfg_attr(blitz_loom, track_caller)]
    pub(super) fn load(&self, order: Ordering) -> u64 {
        self.turns.take();
        self.word.load(order)
    }

    /// Sets `bits`, by an exchange; returns the word before.
    #[inline]
    #[cfg_attr(blitz_loom, track_caller)]
    pub(super) fn set(&self, bits: u64, order: Ordering) -> u64 {
        self.turns.take();
        self.word.fetch_or(bits, order)
    }

    /// Clears `bits`, by an exchange; returns the word before.
    #[inline]
    #[cfg_attr(blitz_loom, track_caller)]
    pub(super) fn clear(&self, bits: u64, order: Ordering) -> u64 {
        self.turns.take();
        self.word.fetch_and(!bits, order)
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.word.load(Ordering::Relaxed))
    }
}
