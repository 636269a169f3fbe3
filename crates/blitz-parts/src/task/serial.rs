//! Serial numbers of tasks: no two tasks of a process have the same number.

#![forbid(unsafe_code)]

use crate::counter::Counter;
use core::cell::Cell;
use core::fmt;
use core::num::NonZeroU64;

/// How many numbers a thread takes at once, so that threads rarely compete for the counter.
const BLOCK: u64 = 256;

/// Bits of a number: a million tasks per second use them up in nine years.
const MASK: u64 = (1 << 48) - 1;

/// The first number of the block that was taken last; zero if no block was taken.
static TAKEN: Counter = Counter::new();

thread_local! {
    /// This thread's next number. A multiple of [`BLOCK`] if the thread has to take a new block.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// A number of 48 bits that identifies a task among all tasks of this process.
///
/// Threads take numbers in blocks, so of two tasks the older one may have the greater number.
///
/// ```
/// use blitz_parts::task::Serial;
/// assert_ne!(Serial::next(), Serial::next());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serial(
    /// Never zero.
    u64,
);

impl Serial {
    /// A number that no task has had.
    #[must_use]
    pub fn next() -> Serial {
        Serial::next_of_block().unwrap_or_else(Serial::next_of_new_block)
    }

    /// The next number of this thread's block, if there is one.
    #[inline]
    pub(super) fn next_of_block() -> Option<Serial> {
        // On a thread that is ending, its locals may be gone.
        let number = NEXT.try_with(|next| {
            let number = next.get();
            (number % BLOCK != 0).then(|| {
                next.set(number + 1);
                Serial(number)
            })
        });
        number.ok().flatten()
    }

    /// The first number of a new block, whose other numbers are for this thread's next tasks.
    #[cold]
    #[inline(never)]
    fn next_of_new_block() -> Serial {
        let first = take_block();
        // Fails if the thread's locals are gone; then no task gets the other numbers.
        let _ = NEXT.try_with(|next| next.set(first + 1));
        Serial(first)
    }

    /// Returns the newest possible number with this low half.
    pub(super) fn latest(low: u32) -> Serial {
        Serial::newest_before(TAKEN.get() + BLOCK, low)
    }

    fn newest_before(end: u64, low: u32) -> Serial {
        let same_half = end & !u64::from(u32::MAX) | u64::from(low);
        let is_taken = same_half < end;
        Serial::of(if is_taken { same_half } else { same_half.saturating_sub(1 << 32) })
    }

    fn of(number: u64) -> Serial {
        Serial((number & MASK).max(1))
    }

    /// The number.
    #[inline]
    #[must_use]
    pub fn get(self) -> NonZeroU64 {
        NonZeroU64::new(self.0).unwrap_or(NonZeroU64::MIN)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of 48 bits")]
    pub(super) fn halves(self) -> (u16, u32) {
        ((self.0 >> 32) as u16, self.0 as u32)
    }

    #[inline]
    pub(super) fn of_halves(high: u16, low: u32) -> Serial {
        Serial::of(u64::from(high) << 32 | u64::from(low))
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The first of [`BLOCK`] numbers for this thread; never zero.
fn take_block() -> u64 {
    let block = (TAKEN.take_shared(BLOCK) + BLOCK) & MASK;
    if block == 0 { take_block() } else { block }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{BLOCK, Serial};
    use std::collections::BTreeSet;
    use std::thread;

    #[test]
    fn no_number_is_given_twice() {
        let take = || (0..2 * BLOCK + 3).map(|_| Serial::next()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(take)).collect();
        let mut all = take();
        threads.into_iter().for_each(|thread| all.extend(thread.join().unwrap()));
        let different: BTreeSet<_> = all.iter().map(|serial| serial.get()).collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn the_newest_number_with_a_low_half_is_found() {
        let newest = |end, low| Serial::newest_before(end, low).get().get();
        assert_eq!(newest(0x200, 0x17), 0x17);
        assert_eq!(newest(0x3_0000_0200, 0x17), 0x3_0000_0017);
        assert_eq!(newest(0x3_0000_0200, 0x200), 0x2_0000_0200);
        let (high, low) = Serial::next().halves();
        assert_eq!(Serial::latest(low), Serial::of_halves(high, low));
    }

    #[test]
    fn a_number_survives_its_halves() {
        for number in [1, 0xffff_ffff, 0x1_0000_0000, 0xffff_ffff_ffff] {
            let (high, low) = Serial::of(number).halves();
            assert_eq!(Serial::of_halves(high, low).get().get(), number);
        }
    }
}
