//! Keeps the memory of ended tasks and boxed jobs for those that the same worker makes next.
//!
//! Allocators keep a few blocks of each size for a thread (glibc keeps seven) and share the rest
//! among all threads. A worker makes and frees blocks by the thousand. It puts the blocks that it
//! frees onto its own stacks, one for each size, and takes new ones from there without
//! synchronisation. If one worker makes what another ends, the stock of the second fills up while
//! the first has none. Then blocks move from one to the other in bundles, through a depot.
//!
//! # Who calls it
//! `task` and `job`, for their memory. `blitz-core` [opens](Stock::open) the stock of a thread that
//! becomes a worker. On any other thread, including one that a pool adopts, and after the stock was
//! closed, memory comes from the allocator and goes back to it.
//!
//! # Invariants
//! - **STOCK-1** A block is in at most one place: in one stock, in the depot, or with one task or
//!   job.
//! - **STOCK-2** A block is used for the layout that it was allocated with, and no other.
//! - **STOCK-3** A thread's stock holds no more than [`STOCK_BYTES`], the depot no more than
//!   `DEPOT_BYTES`; the rest goes to the allocator. If there are many blocks of another size, those
//!   go first, since they may not be used any more. So these limits bound what threads hoard that
//!   only free what others made.
//! - **STOCK-4** Closing a stock frees its blocks; memory that is freed later goes to the
//!   allocator. A stock is closed before the thread's locals are destroyed, because their
//!   destructors may free blocks. The last stock frees the blocks of the depot.
//!
//! # What this does not do
//! No thread takes from another thread's stock: a full stock gives blocks away. Model checkers and
//! AddressSanitizer see each allocation, and each block that is freed: for them no stock is ever
//! open ([`STOCKED`]).

mod block;
mod depot;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::prim::{self, STOCKED};
use crate::tuning::{STOCK_BUNDLE, STOCK_BYTES, STOCK_CELL_MAX};
use block::{Block, CLASSES, GRAIN, free_all, size_of_class};
use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut};
use depot::{DEPOT, Depot, bundle_bytes, in_turn};
use std::alloc::handle_alloc_error;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    // It needs no drop, so it lives as long as the thread.
    static BLOCKS: Blocks = const { Blocks::closed(&DEPOT) };
}

/// One thread's blocks.
struct Blocks {
    is_open: Cell<bool>,
    /// Bytes that may still be put in. Zero while the stock is closed.
    room: Cell<usize>,
    /// The newest block of each size, or null.
    tops: [Cell<*mut Block>; CLASSES],
    depot: &'static Mutex<Depot>,
    /// How many more blocks to take from the allocator, or to give to it, before asking the depot
    /// again: last time the depot had no block, or no room.
    takes_in_vain: Cell<usize>,
    puts_in_vain: Cell<usize>,
    /// The class that was evicted last.
    evicted: Cell<usize>,
}

/// The current thread keeps memory until this is dropped. Neither `Send` nor `Sync`.
#[derive(Debug)]
#[must_use = "a stock is open until this is dropped"]
pub struct Stock {
    /// Whether this value has opened the stock.
    opened: bool,
    stays_here: PhantomData<*mut ()>,
}

impl Stock {
    /// Opens the stock of the current thread, unless it is open.
    ///
    /// ```
    /// let stock = blitz_parts::stock::Stock::open();
    /// // Tasks and jobs are made and run.
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

/// The memory of one kind of task or job: its layout, and the stack that keeps it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    layout: Layout,
    /// Which stack its blocks are on; [`UNKEPT`] if they are not kept.
    class: usize,
}

/// There is no stack with this number.
const UNKEPT: usize = CLASSES;

impl Kind {
    /// The kind of a `T`, made at least as large as what stocks and the depot write into it.
    pub(crate) const fn of<T>() -> Kind {
        assert!(size_of::<T>() >= size_of::<Block>());
        let layout = Layout::new::<T>();
        Kind { layout, class: class(layout) }
    }
}

/// As [`std::alloc::alloc`]; does not return if there is no memory.
#[inline]
pub(crate) fn alloc(kind: Kind) -> NonNull<u8> {
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
/// 1. [`alloc`] returned the memory for this kind, on whatever thread, and no thread uses it any
///    more.
#[inline]
pub(crate) unsafe fn dealloc(memory: NonNull<u8>, kind: &'static Kind) {
    // SAFETY: no thread uses the block, and it is of that class if it is of any (obligation 1).
    let kept = BLOCKS.with(|blocks| unsafe { blocks.put(memory.cast(), kind.class) });
    if !kept {
        // SAFETY: obligation 1.
        unsafe { dealloc_beyond(memory, kind) };
    }
}

/// The same for a block for which there was no room. A function of its own, so that the usual path
/// stays short.
///
/// # Safety
/// 1. As for [`dealloc`].
#[cold]
#[inline(never)]
unsafe fn dealloc_beyond(memory: NonNull<u8>, kind: &'static Kind) {
    // SAFETY: no thread uses the block, and it is of that class if it is of any (obligation 1).
    let kept = BLOCKS.with(|blocks| unsafe { blocks.put_beyond(memory.cast(), kind.class) });
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
    const fn closed(depot: &'static Mutex<Depot>) -> Blocks {
        let tops = [const { Cell::new(null_mut()) }; CLASSES];
        Blocks {
            is_open: Cell::new(false),
            room: Cell::new(0),
            tops,
            depot,
            takes_in_vain: Cell::new(0),
            puts_in_vain: Cell::new(0),
            evicted: Cell::new(0),
        }
    }

    fn depot(&self) -> MutexGuard<'static, Depot> {
        // No foreign code but the allocator runs under the lock.
        self.depot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stock; returns whether it was closed before.
    fn open(&self) -> bool {
        if self.is_open.replace(true) {
            return false;
        }
        self.room.set(STOCK_BYTES);
        self.depot().open_stock();
        true
    }

    fn close(&self) {
        // First, so that nothing comes back.
        self.is_open.set(false);
        self.room.set(0);
        for (class, top) in self.tops.iter().enumerate() {
            // SAFETY: what is on a stack is the stock's own, and of that class; it is out of the
            // stock now.
            unsafe { free_all(top.replace(null_mut()), class) };
        }
        self.depot().close_stock();
    }

    /// Takes the newest block of a class, if there is one.
    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<Block>> {
        let top = &self.tops[class];
        let block = NonNull::new(top.get()).or_else(|| self.take_bundle(class))?;
        // SAFETY: what is on a stack is a block of the stock's own.
        let below = unsafe { (*block.as_ptr()).below };
        top.set(below);
        // The next take reads this block.
        prim::prefetch(below);
        self.room.set(self.room.get() + size_of_class(class));
        Some(block)
    }

    /// Puts a block onto the stack of its class, if it has one and there is room.
    ///
    /// # Safety
    /// 1. The block is the caller's, which gives it up if this returns true, and its layout is that
    ///    of the class.
    #[inline]
    unsafe fn put(&self, block: NonNull<Block>, class: usize) -> bool {
        let room = self.room.get().checked_sub(size_of_class(class));
        let (Some(top), Some(room)) = (self.tops.get(class), room) else { return false };
        self.room.set(room);
        // SAFETY: the block is the caller's, and large enough and aligned for a pointer.
        unsafe { (*block.as_ptr()).below = top.get() };
        top.set(block.as_ptr());
        true
    }

    /// The same after there was no room: makes room first.
    ///
    /// # Safety
    /// 1. As for [`put`](Blocks::put).
    unsafe fn put_beyond(&self, block: NonNull<Block>, class: usize) -> bool {
        // SAFETY: obligation 1.
        class != UNKEPT && self.make_room(class) && unsafe { self.put(block, class) }
    }

    /// Takes a bundle out of the depot and onto the stack of its class, which is empty; returns its
    /// first block, which is then on top.
    #[cold]
    fn take_bundle(&self, class: usize) -> Option<NonNull<Block>> {
        let room = self.room.get().checked_sub(bundle_bytes(class))?;
        if !self.is_open.get() || !is_time(&self.takes_in_vain) {
            return None;
        }
        let Some(bundle) = self.depot().take(class) else {
            self.takes_in_vain.set(STOCK_BUNDLE);
            return None;
        };
        self.room.set(room);
        self.tops[class].set(bundle.as_ptr());
        Some(bundle)
    }

    /// Makes room for a block of a class: gives a surplus to the depot, or evicts blocks that may
    /// not be in use any more. Returns whether there is room now.
    fn make_room(&self, class: usize) -> bool {
        if !self.is_open.get() || !is_time(&self.puts_in_vain) {
            return false;
        }
        let made = self.give_bundle(class, Depot::make_room) || self.evict_for(class);
        if !made {
            self.puts_in_vain.set(STOCK_BUNDLE);
        }
        made
    }

    /// Gives the newest blocks of a class to the depot, if there are enough and `has_room` returns
    /// true.
    fn give_bundle(&self, class: usize, has_room: impl FnOnce(&mut Depot, usize) -> bool) -> bool {
        if self.bundle(class).is_none() {
            return false;
        }
        let mut depot = self.depot();
        let bundle = if has_room(&mut depot, class) { self.unstack(class) } else { None };
        // SAFETY: the blocks are out of the stock, of this class, and as many as a bundle has.
        bundle.map(|bundle| unsafe { depot.put(bundle, class) }).is_some()
    }

    /// Gives a bundle of another class to the depot, else to the allocator. A thread usually makes
    /// again what it has just freed, while the other blocks may be left over from earlier. The
    /// classes take turns, so that a class in use fills up again.
    fn evict_for(&self, newcomer: usize) -> bool {
        let last = self.evicted.get();
        let mut classes = in_turn(last).filter(|class| *class != newcomer);
        let Some(class) = classes.find(|class| self.bundle(*class).is_some()) else { return false };
        self.evicted.set(class);
        if !self.give_bundle(class, |depot, class| depot.has_room(class)) {
            let bundle = self.unstack(class).map_or(null_mut(), NonNull::as_ptr);
            // SAFETY: the blocks are out of the stock, and of this class.
            unsafe { free_all(bundle, class) };
        }
        true
    }

    /// Takes the newest blocks of a class off its stack, if there are enough for a bundle.
    fn unstack(&self, class: usize) -> Option<NonNull<Block>> {
        let (first, last) = self.bundle(class)?;
        // SAFETY: what is on a stack is a block of the stock's own.
        let below = unsafe { &mut (*last.as_ptr()).below };
        self.tops[class].set(core::mem::replace(below, null_mut()));
        self.room.set(self.room.get() + bundle_bytes(class));
        Some(first)
    }

    /// The first and the last of the newest blocks of a class, if there are enough for a bundle.
    fn bundle(&self, class: usize) -> Option<(NonNull<Block>, NonNull<Block>)> {
        let first = NonNull::new(self.tops[class].get())?;
        let last = (1..STOCK_BUNDLE).try_fold(first, |block, _| {
            // SAFETY: what is on a stack is a block of the stock's own.
            NonNull::new(unsafe { (*block.as_ptr()).below })
        })?;
        Some((first, last))
    }
}

/// Whether it is time to ask the depot again; counts down to it.
fn is_time(in_vain: &Cell<usize>) -> bool {
    let left = in_vain.get();
    in_vain.set(left.saturating_sub(1));
    left == 0
}
