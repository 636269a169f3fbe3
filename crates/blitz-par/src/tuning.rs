//! Constants, each with its reason.

/// How many ticks of the clock a block should take: about 10 microseconds. An idle worker waits
/// that long for a part of a loop. A block costs about 20 nanoseconds besides its items.
pub(crate) const BLOCK_TICKS: u64 = 30_000;

/// How many ticks of a block go by besides its items: about 20 nanoseconds. The first block has one
/// item, which takes less if it is tiny.
pub(crate) const TICKS_BESIDES: u64 = 60;

/// A part that is given away takes at least this fraction of a block: about 2 microseconds. A
/// shorter part is done before a thief comes, and a loop would fork for each item while a worker
/// looks for work.
pub(crate) const PARTS_OF_BLOCK: usize = 5;

/// The largest factor by which blocks grow. The first block has one item of unknown cost, which may
/// be all there is to do. Each step costs a look at the clock: a loop of 1,000 tiny items takes
/// three of them, as long as 100 items. Other workers cannot take items of a block; but until the
/// pace is known the part is small, and they can take the other parts.
pub(crate) const GROWTH: usize = 64;

/// Forks beyond those that give each worker a part. They cost some nanoseconds each; while a long
/// item runs, only these forks let other workers take later items.
pub(crate) const EAGER_MORE: u32 = 2;

/// Forks in a pool of one worker: only a spare could take them, while the worker blocks.
pub(crate) const EAGER_ALONE: u32 = 1;

/// How many cuts may lie on one stack. Work that is cut in halves has fewer. Work of unknown
/// length, such as a tree, would get deeper with each idle worker.
pub(crate) const DEPTH_MAX: u32 = 128;

/// After how many cuts `par_bridge` begins anew, with an empty stack.
pub(crate) const BRIDGE_DEPTH_MAX: u32 = 32;

/// Forks of a loop inside of an item of another loop, if such items take long.
pub(crate) const EAGER_INSIDE: u32 = 2;

/// Into how many parts a loop of a fixed shape is cut: enough for 64 workers, few enough to keep
/// what a part costs small.
pub(crate) const FIXED_PARTS: usize = 128;

/// How many items `for_each_in_order` computes at once per worker by default.
pub(crate) const WINDOW: usize = 1024;

/// How many items `par_bridge` takes out at most in one go, under its lock.
pub(crate) const BATCH_MAX: usize = 64;

/// Slices below this are sorted by the standard library alone, and parts have at least this length.
pub(crate) const SORT_ALONE: usize = 4096;

/// Into how many parts per worker a slice is cut to be sorted.
pub(crate) const SORT_PARTS: usize = 4;

/// From this many bytes on several workers move items. Below, the caches of one core are faster.
pub(crate) const MOVE_ALONE: usize = 1 << 18;
