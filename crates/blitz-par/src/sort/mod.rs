//! Parallel sorting. The standard library sorts the parts.

mod cached;
mod merge;
mod stable;
mod unstable;

pub(crate) use cached::by_cached_key;
pub(crate) use stable::stable;
pub(crate) use unstable::unstable;
