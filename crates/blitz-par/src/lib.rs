//! Parallel iterators of the Blitz runtime. Use them through `blitz-rt`, as `blitz::par` and
//! `blitz::prelude`.
//!
//! ```
//! use blitz::prelude::*;
//!
//! let numbers: Vec<u64> = (0..100_000).collect();
//! let sum: u64 = numbers.par_iter().map(|n| n * n).filter(|n| n % 3 == 0).sum();
//! assert_eq!(sum, numbers.iter().map(|n| n * n).filter(|n| n % 3 == 0).sum());
//! ```
//!
//! Names and meanings are those of the crate `rayon`. The differences:
//!
//! - A loop is cut when another worker is idle, and blocks have more items if an item takes less
//!   time. So small loops and loops of uneven items need no tuning.
//! - The state of [`map_init`](iter::ParallelIterator::map_init) and similar methods outlives cuts:
//!   the left part goes on with the state, and only the right part gets a new one. But if an
//!   indexed adaptor follows, each block gets a new state.
//! - [`par_bridge`](iter::ParallelBridge::par_bridge) pulls batches, and no worker waits for the
//!   batch of another.
//! - [`ParallelIteratorExt`](iter::ParallelIteratorExt) has further methods.
//!
//! # How it works
//! Sources and indexed adaptors are [`Piece`](iter::Piece)s: work that can be cut, handed out in
//! blocks that are ordinary iterators. A reducer consumes the items; other adaptors wrap the
//! reducer. One loop feeds blocks of a piece into a reducer. It cuts the piece and forks where
//! another worker could use a part.
//!
//! # In async code
//! If a loop is short, call it right inside a task: idle workers take parts of it. To keep the
//! task's worker free, run the loop in a job and await the handle of `blitz::spawn_cpu`. A panic of
//! the loop becomes the handle's error. Dropping the handle lets the loop run on; a [`CancelToken`]
//! ends the loop.
//!
//! ```
//! use blitz::par::CancelToken;
//! use blitz::prelude::*;
//!
//! # blitz::block_on(async {
//! let (numbers, token) = ((0..10_000_u64).collect::<Vec<_>>(), CancelToken::new());
//! let stop = token.clone();
//! let sum = blitz::spawn_cpu(move || numbers.par_iter().cancel_on(&stop).sum::<u64>());
//! assert_eq!(sum.await.unwrap(), 49_995_000);
//! // To stop the loop half way, call `token.cancel()` elsewhere.
//! # drop(token);
//! # });
//! ```
//!
//! With the feature `stream`, `par::stream` returns the results of a loop as a stream, in order,
//! and computes at most one window of items ahead of its consumer.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::must_use_candidate)]

#[macro_use]
mod adapt;
mod collect;
pub mod collections;
mod end;
mod here;
#[macro_use]
mod indexed;
pub mod iter;
#[cfg(test)]
mod laws;
mod piece;
mod place;
mod plan;
mod range_of;
mod reducer;
mod run;
#[cfg(test)]
mod script;
pub mod slice;
mod sort;
mod source;
pub mod str;
#[cfg(feature = "stream")]
mod stream;
mod tried;
mod tuning;

pub use adapt::watched::CancelToken;
#[cfg(feature = "stream")]
pub use stream::{ResultStream, stream};

/// The items of arrays.
pub mod array {
    pub use crate::source::array::IntoIter;
}

/// Parallel iterators over the value inside an `Option`.
pub mod option {
    pub use crate::source::option::{IntoIter, Iter, IterMut};
}

/// The items of ranges.
pub mod range {
    pub use crate::source::range::Iter;
}

/// The items of inclusive ranges, such as `0..=9`.
pub mod range_inclusive {
    pub use crate::source::range_inclusive::Iter;
}

/// Parallel iterators over the value inside a `Result`.
pub mod result {
    pub use crate::source::option::{IntoIter, Iter, IterMut};
}

/// The items of vectors, by value.
pub mod vec {
    pub use crate::source::vec::{Drain, IntoIter};
}

/// The traits that parallel loops need: `use blitz::prelude::*`.
pub mod prelude {
    pub use crate::iter::{FromParallelIterator, IndexedParallelIterator, IntoParallelIterator};
    pub use crate::iter::{IntoParallelRefIterator, IntoParallelRefMutIterator};
    pub use crate::iter::{ParallelBridge, ParallelDrainFull, ParallelDrainRange, ParallelExtend};
    pub use crate::iter::{ParallelIterator, ParallelIteratorExt};
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
    pub use crate::str::ParallelString;
}
