//! Blocks of memory, with one class for each size.

use crate::prim::{self, AtomicU64};
use crate::tuning::STOCK_CELL_MAX;
use core::alloc::Layout;

/// Sizes and addresses of blocks are multiples of this. Types that need a larger alignment go to
/// the allocator.
pub(super) const GRAIN: usize = align_of::<AtomicU64>();

/// The number of classes: one for each size.
pub(super) const CLASSES: usize = STOCK_CELL_MAX / GRAIN + 1;

/// The first words of a block in a stock.
pub(super) struct Block {
    /// The next older block, or null.
    pub(super) below: *mut Block,
    /// In the first block of a bundle in the depot: the first block of the next bundle, or null.
    pub(super) next_bundle: *mut Block,
}

/// Bytes of a block.
pub(super) const fn size_of_class(class: usize) -> usize {
    class * GRAIN
}

/// Gives a list of blocks to the allocator; `first` may be null.
///
/// # Safety
/// 1. The caller owns the blocks and gives them up, and they are of this class.
pub(super) unsafe fn free_all(first: *mut Block, class: usize) {
    let mut at = first;
    while !at.is_null() {
        // SAFETY: the caller owns the block.
        let below = unsafe { (*at).below };
        // SAFETY: the grain is a power of two, and sizes are small multiples of it.
        let layout = unsafe { Layout::from_size_align_unchecked(size_of_class(class), GRAIN) };
        // SAFETY: the block was allocated with this layout (STOCK-2), and no thread has it any more
        // (obligation 1).
        unsafe { prim::dealloc(at.cast(), layout) };
        at = below;
    }
}
