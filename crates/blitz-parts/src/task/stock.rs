//! Memory of tasks that have ended, kept by a worker's thread for the tasks that it makes next.
//!
//! Allocators keep a few blocks of each size for a thread (glibc's seven) and go to where all threads go for more;
//! a worker makes and frees tasks by the thousand. What it frees it puts onto a stack of its own, one for each
//! size, and takes from there without asking anybody.
//!
//! # Who calls it
//! `cell` for the memory of tasks. `blitz-core` [opens](Stock::open) the stock of a thread that becomes a worker;
//! on any other thread, and after it was closed, memory comes from the allocator and goes back to it.
//!
//! # Invariants
//! - **STOCK-1** A block is in one stock at most, or with one task: what is taken out is no longer in.
//! - **STOCK-2** A block is used for the layout that it was allocated with, and no other.
//! - **STOCK-3** A thread's stock holds no more than [`STOCK_BYTES`]; what is beyond goes to the allocator. So that
//!   is what a thread hoards at worst that frees the tasks of others and makes none.
//! - **STOCK-4** What is in a stock is freed when it is closed, and what is freed later goes to the allocator. It is
//!   closed before the thread's locals are destroyed, whose destructors may free tasks.
//!
//! # What this does not do
//! No thread takes from another's stock. Model checkers and AddressSanitizer see each allocation, and each block
//! that is freed: for them no stock is ever open ([`STOCKED`]).

#[cfg(all(test, not(blitz_loom)))]
mod test;

use super::Header;
use crate::prim::{self, STOCKED};
use crate::tuning::{STOCK_BYTES, STOCK_CELL_MAX};
use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut};
use std::alloc::handle_alloc_error;

/// Sizes are multiples of this, and so is where a block begins. Tasks with a future that asks for more go to
/// the allocator.
const GRAIN: usize = align_of::<Header>();

thread_local! {
    // Nothing in it is dropped, so it is there as long as the thread.
    static BLOCKS: Blocks = const { Blocks::closed() };
}

/// One for each size up to the largest.
const CLASSES: usize = STOCK_CELL_MAX / GRAIN + 1;

/// One thread's blocks.
struct Blocks {
    is_open: Cell<bool>,
    /// Bytes that may still be put in. Zero while the stock is closed.
    room: Cell<usize>,
    /// The newest block of each size, or null.
    tops: [Cell<*mut Block>; CLASSES],
}

/// What a block in a stock begins with.
struct Block {
    /// The next older one, or null.
    below: *mut Block,
}

/// The current thread keeps the memory of tasks until this is dropped. Neither `Send` nor `Sync`.
#[derive(Debug)]
#[must_use = "a stock is open until this is dropped"]
pub struct Stock {
    /// Whether this one has opened it.
    opened: bool,
    stays_here: PhantomData<*mut ()>,
}

impl Stock {
    /// Opens the stock of the current thread, unless it is open.
    ///
    /// ```
    /// let stock = blitz_parts::task::Stock::open();
    /// // Tasks are made and run.
    /// drop(stock);
    /// ```
    pub fn open() -> Stock {
        let opened = STOCKED && BLOCKS.with(Blocks::open);
        Stock { opened, stays_here: PhantomData }
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        if self.opened {
            BLOCKS.with(Blocks::close);
        }
    }
}

/// The memory of one kind of task: what an allocator has to know of it, and where it is kept.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    layout: Layout,
    /// Which stack its blocks are on; [`UNKEPT`] if they are not kept.
    class: usize,
}

/// There is no task without a header, so no block is of this class.
const UNKEPT: usize = 0;

impl Kind {
    /// That of a `T`, which is not empty.
    pub(super) const fn of<T>() -> Kind {
        assert!(size_of::<T>() > 0);
        let layout = Layout::new::<T>();
        Kind { layout, class: class(layout) }
    }
}

/// As [`std::alloc::alloc`]; does not return if there is no memory.
#[inline]
pub(super) fn alloc(kind: Kind) -> NonNull<u8> {
    if kind.class != UNKEPT {
        if let Some(block) = BLOCKS.with(|blocks| blocks.take(kind.class)) {
            return block.cast();
        }
    }
    // SAFETY: the layout is not empty.
    match NonNull::new(unsafe { prim::alloc(kind.layout) }) {
        Some(memory) => memory,
        None => handle_alloc_error(kind.layout),
    }
}

/// As [`std::alloc::dealloc`].
///
/// # Safety
/// 1. [`alloc`] returned the memory for this kind, on whatever thread, and nobody uses it any more.
#[inline]
pub(super) unsafe fn dealloc(memory: NonNull<u8>, kind: Kind) {
    // SAFETY: the block is nobody's, and of that class if it is of any (obligation 1).
    let kept = BLOCKS.with(|blocks| unsafe { blocks.put(memory.cast(), kind.class) });
    if !kept {
        // SAFETY: obligation 1.
        unsafe { prim::dealloc(memory.as_ptr(), kind.layout) };
    }
}

/// Which stack blocks of this layout are on.
const fn class(layout: Layout) -> usize {
    let fits = layout.align() == GRAIN && layout.size() <= STOCK_CELL_MAX;
    if fits { layout.size() / GRAIN } else { UNKEPT }
}

impl Blocks {
    const fn closed() -> Blocks {
        let tops = [const { Cell::new(null_mut()) }; CLASSES];
        Blocks { is_open: Cell::new(false), room: Cell::new(0), tops }
    }

    /// Says whether it was closed before.
    fn open(&self) -> bool {
        if self.is_open.replace(true) {
            return false;
        }
        self.room.set(STOCK_BYTES);
        true
    }

    fn close(&self) {
        // First, so that nothing comes back.
        self.is_open.set(false);
        self.room.set(0);
        for (class, top) in self.tops.iter().enumerate() {
            let mut at = top.replace(null_mut());
            while !at.is_null() {
                // SAFETY: what is on a stack is a block of the stock's own.
                let below = unsafe { (*at).below };
                let size = class * GRAIN;
                // SAFETY: the grain is a power of two, and sizes are small multiples of it.
                let layout = unsafe { Layout::from_size_align_unchecked(size, GRAIN) };
                // SAFETY: it was allocated with this layout (STOCK-2), and is out of the stock.
                unsafe { prim::dealloc(at.cast(), layout) };
                at = below;
            }
        }
    }

    /// Takes the newest block of a class, if there is one.
    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<Block>> {
        let top = &self.tops[class];
        let block = NonNull::new(top.get())?;
        // SAFETY: what is on a stack is a block of the stock's own.
        let Block { below } = unsafe { block.read() };
        top.set(below);
        // The next task will be written there.
        prim::prefetch(below);
        self.room.set(self.room.get() + class * GRAIN);
        Some(block)
    }

    /// Puts a block onto the stack of its class, if it has one and there is room.
    ///
    /// # Safety
    /// 1. The block is the caller's, who gives it up if the answer is yes, and its layout is that of the class.
    #[inline]
    unsafe fn put(&self, block: NonNull<Block>, class: usize) -> bool {
        let Some(room) = self.room.get().checked_sub(class * GRAIN) else { return false };
        if class == UNKEPT {
            return false;
        }
        self.room.set(room);
        let top = &self.tops[class];
        // SAFETY: the block is the caller's, and large enough and aligned for a pointer.
        unsafe { block.write(Block { below: top.get() }) };
        top.set(block.as_ptr());
        true
    }
}
