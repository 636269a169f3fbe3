//! Constants, each with its reason.

/// How many ticks of the clock a block should take: about 10 microseconds. An idle worker waits up
/// to that long for a part of a loop. A block costs about 20 nanoseconds on top of its items.
pub(crate) const BLOCK_TICKS: u64 = 30_000;

/// The overhead of a block in ticks: about 20 nanoseconds. It is subtracted from the time of a
/// block, because a tiny item, such as the single item of the first block, takes less.
pub(crate) const TICKS_BESIDES: u64 = 60;

/// A part that is given away takes at least 1 / `PARTS_OF_BLOCK` of a block's time, which is about
/// 2 microseconds. The worker that cut it off would finish a shorter part before a thief arrives.
/// If shorter parts were allowed, a loop would fork for each item while another worker searches.
pub(crate) const PARTS_OF_BLOCK: usize = 5;

/// A block takes at least 1 / `LEAST_OF_BLOCK` of the time that it should take, which is about a
/// microsecond. The overhead of a block is a fiftieth of that.
pub(crate) const LEAST_OF_BLOCK: usize = 10;

/// A block is at most 1 / `TAIL_BLOCKS` of the rest of its part, unless that is shorter than the
/// least block. Without this limit, one worker got the last hundred of ten thousand items in one
/// block, and each of them took a thousand times as long as an earlier item.
pub(crate) const TAIL_BLOCKS: usize = 4;

/// The largest factor by which blocks grow. The first block has one item of unknown cost, which may
/// be the whole work. Each step of growth costs a reading of the clock: a loop of 1,000 tiny items
/// needs three, which take as long as 100 items. Other workers cannot take items of a block; but
/// until the pace is known the part is small, and they can take the other parts.
pub(crate) const GROWTH: usize = 64;

/// At the start of a loop, parts are halved until there is one for each worker, and then this many
/// more times, unless the pace shows that a half is too short to give away. The forks cost some
/// nanoseconds each; while a long item runs, only these forks let other workers take later items.
pub(crate) const EAGER_MORE: u32 = 2;

/// A loop with fewer items tries some of them even if a worker is idle, and forks the rest. If the
/// items are as short as possible, a quarter of a nanosecond, they all take no longer than a steal.
/// If they are long, a thief has the rest at once, and cuts it. A loop with more items gives an
/// idle worker half of them at once.
pub(crate) const FEW: usize = 512;

/// How many cuts may lie on one stack. Work that is cut in halves has fewer. Work of unknown
/// length, such as a tree, would get deeper with each idle worker.
pub(crate) const DEPTH_MAX: u32 = 128;

/// After how many cuts `par_bridge` begins anew, with an empty stack.
pub(crate) const BRIDGE_DEPTH_MAX: u32 = 32;

/// How many times all parts of a loop inside an item of another loop are halved at the start, if
/// items of the outer loop take long.
pub(crate) const EAGER_INSIDE: u32 = 2;

/// Into how many parts a loop of a fixed shape is cut: enough for 64 workers, and few enough to
/// keep the overhead small.
pub(crate) const FIXED_PARTS: usize = 128;

/// How many steps a window of `for_each_in_order` has for each worker by default. A window of
/// `par::stream` has as many items for each worker by default. A window of pulled items never has
/// more.
pub(crate) const WINDOW: usize = 1024;

/// The maximum number of items that a worker pulls at once from the iterator of a `par_bridge`.
/// While one worker pulls, other workers cannot pull. A batch costs an allocation, two locks and
/// two readings of the clock, about 100 nanoseconds.
pub(crate) const BATCH_MAX: usize = 1024;

/// How many items a worker pulls between two readings of the clock.
pub(crate) const BATCH_UNTIMED: usize = 64;

/// How many bytes the items of a batch have at most, unless they are at most [`BATCH_UNTIMED`].
pub(crate) const BATCH_BYTES: usize = 16 << 10;

/// Slices of less than twice this length are sorted by the standard library alone. Parts of at most
/// this length are not cut.
pub(crate) const SORT_ALONE: usize = 4096;

/// Into how many parts per worker a slice is cut to be sorted. Each doubling is one more merge of
/// all items: with 4, two workers took 4 to 13 % longer. With 1, a worker that is held up makes the
/// other wait: 200,000 strings took up to 1.8 times as long.
pub(crate) const SORT_PARTS: usize = 2;

/// From this many bytes on, several workers move items. Below that, the caches of one core are
/// faster.
pub(crate) const MOVE_ALONE: usize = 1 << 18;
