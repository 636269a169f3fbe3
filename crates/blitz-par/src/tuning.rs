//! Constants, each with its reason.

/// How many ticks of the clock a block should take, and so how long an idle worker waits for a part
/// of a loop that has none to give: about 10 microseconds. A block costs about 20 nanoseconds
/// besides its items.
pub(crate) const BLOCK_TICKS: u64 = 30_000;

/// How many ticks of a block go by besides its items: about 20 nanoseconds. The first block has one
/// item, which takes less if it is tiny.
pub(crate) const TICKS_BESIDES: u64 = 60;

/// A part that is given away takes at least as long as this part of a block: about 2 microseconds.
/// What is less is done before a thief has come, and while a worker looks for work in vain a loop
/// would fork for each item.
pub(crate) const PARTS_OF_BLOCK: usize = 5;

/// By which factor blocks grow at most. The first has one item, whose cost is not known: it may be
/// everything that there is to do. Each step costs a look at the clock: a loop of 1,000 tiny items
/// takes three of them, as long as 100 items. What is in a block cannot be taken by other workers;
/// but until the pace is known the part is a small one, and the others can be taken.
pub(crate) const GROWTH: usize = 64;

/// Forks beyond those that give each worker a part. They cost some nanoseconds each; while a long
/// item runs, nothing else makes the items after it takeable.
pub(crate) const EAGER_MORE: u32 = 2;

/// Forks in a pool of one worker: only a spare could take them, while the worker blocks.
pub(crate) const EAGER_ALONE: u32 = 1;

/// How many cuts may lie on one stack. Work that is cut in halves has fewer; work whose length is
/// not known, as a tree, would get deeper with each worker that asks.
pub(crate) const DEPTH_MAX: u32 = 128;

/// After how many cuts `par_bridge` begins anew, with an empty stack.
pub(crate) const BRIDGE_DEPTH_MAX: u32 = 32;

/// Forks of a loop inside of an item of another loop, if such items take long.
pub(crate) const EAGER_INSIDE: u32 = 2;

/// Into how many parts a loop of a fixed shape is cut: enough for 64 workers, few enough to keep
/// what a part costs small.
pub(crate) const FIXED_PARTS: usize = 128;

/// How many items `for_each_in_order` computes at once per worker if it is told nothing else.
pub(crate) const WINDOW: usize = 1024;

/// How many items `par_bridge` takes out at most in one go, under its lock.
pub(crate) const BATCH_MAX: usize = 64;

/// Slices below this are sorted by the standard library alone, and parts have at least this length.
pub(crate) const SORT_ALONE: usize = 4096;

/// Into how many parts per worker a slice is cut to be sorted.
pub(crate) const SORT_PARTS: usize = 4;

/// Bytes from which on it pays to move items by several workers: below, the caches of one core do
/// better.
pub(crate) const MOVE_ALONE: usize = 1 << 18;
