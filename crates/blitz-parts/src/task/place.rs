//! The place of a task in its scheduler: a number that the scheduler chooses.

#![forbid(unsafe_code)]

use core::num::NonZeroU32;

/// A number that a scheduler gives a task: which of its lists the task is in, or which slot it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(NonZeroU32);

impl Place {
    /// The greatest index there can be.
    pub const MAX: usize = u32::MAX as usize - 1;

    /// The place with this index.
    ///
    /// # Panics
    /// If the index is greater than [`MAX`](Place::MAX).
    ///
    /// ```
    /// use blitz_parts::task::Place;
    /// assert_eq!(Place::new(7).index(), 7);
    /// ```
    #[inline]
    pub fn new(index: usize) -> Place {
        // Stores one more than the index, so that `Option<Place>` takes no more memory than a
        // `Place`.
        let place = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Place(place.expect("there are at most 2^32 - 1 places"))
    }

    /// Its index.
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}
