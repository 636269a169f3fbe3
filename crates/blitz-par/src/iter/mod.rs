//! The traits of parallel iterators, their adaptors, and functions that make parallel iterators.

#![forbid(unsafe_code)]

mod ext;
mod indexed;
mod into;
mod parallel;

pub use crate::adapt::any::{SkipAny, SkipAnyWhile, TakeAny, TakeAnyWhile, WhileSome};
pub use crate::adapt::chain::Chain;
pub use crate::adapt::each::{Cloned, Copied, Inspect, Map, Update};
pub use crate::adapt::filter::{Filter, FilterMap, FlatMapIter, FlattenIter};
pub use crate::adapt::flat::{FlatMap, Flatten};
pub use crate::adapt::fold::{Fold, FoldWith};
pub use crate::adapt::fuse::PanicFuse;
pub use crate::adapt::intersperse::Intersperse;
pub use crate::adapt::try_fold::{TryFold, TryFoldWith};
pub use crate::adapt::tuned::{FixedShape, MaxLen, MaxWorkers, MinLen};
pub use crate::adapt::watched::{CancelOn, OnProgress};
pub use crate::adapt::with::{MapInit, MapWith};
pub use crate::indexed::blocks::{ExponentialBlocks, UniformBlocks};
pub use crate::indexed::chunks::{Chunks, FoldChunks, FoldChunksWith};
pub use crate::indexed::interleave::{Interleave, InterleaveShortest};
pub use crate::indexed::multizip::MultiZip;
pub use crate::indexed::order::Rev;
pub use crate::indexed::part::{Skip, Take};
pub use crate::indexed::positions::Positions;
pub use crate::indexed::step::StepBy;
pub use crate::indexed::zip::{Enumerate, Zip, ZipEq};
pub use crate::piece::{Exact, Piece};
pub use crate::source::bridge::{IterBridge, ParallelBridge};
pub use crate::source::option::{Empty, Once, empty, once};
pub use crate::source::piece::{Source, from_piece};
#[allow(deprecated, reason = "`repeatn` is the old name of `repeat_n`")]
pub use crate::source::repeat::repeatn;
pub use crate::source::repeat::{Repeat, RepeatN, repeat, repeat_n};
pub use crate::source::walk::{Split, WalkTree, WalkTreePostfix, WalkTreePrefix};
pub use crate::source::walk::{split, walk_tree, walk_tree_postfix, walk_tree_prefix};
pub use either::Either;
pub use ext::ParallelIteratorExt;
pub use indexed::IndexedParallelIterator;
pub(crate) use into::into_par_iter_of_refs;
pub use into::{FromParallelIterator, IntoParallelIterator, ParallelExtend};
pub use into::{IntoParallelRefIterator, IntoParallelRefMutIterator};
pub use into::{ParallelDrainFull, ParallelDrainRange};
pub use parallel::ParallelIterator;
