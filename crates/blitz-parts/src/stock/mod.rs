//! Memory of tasks and boxed jobs that have ended, kept by a worker's thread for those that it
//! makes next.
//!
//! Allocators keep a few blocks of each size for a thread (glibc's seven) and go to where all
//! threads go for more; a worker makes and frees them by the thousand. What it frees it puts onto a
//! stack of its own, one for each size, and takes from there without asking another thread. If one
//! worker makes what another ends, that one's stock fills up while the first has none: then blocks
//! go from one to the other in bundles, through a depot.
//!
//! # Who calls it
//! `task` and `job` for the memory of theirs. `blitz-core` [opens](Stock::open) the stock of a
//! thread that becomes a worker; on any other thread, one that a pool adopts included, and after it
//! was closed, memory comes from the allocator and goes back to it.
//!
//! # Invariants
//! - **STOCK-1** A block is in one stock or in the depot at most, or with one task or job: what is
//!   taken out is no longer in.
//! - **STOCK-2** A block is used for the layout that it was allocated with, and no other.
//! - **STOCK-3** A thread's stock holds no more than [`STOCK_BYTES`], the depot no more than
//!   `DEPOT_BYTES`; what is beyond goes to the allocator: blocks of another size if there are many,
//!   which may not be used any more. So that is what is hoarded at worst by threads that free what
//!   others made and make nothing.
//! - **STOCK-4** What is in a stock is freed when it is closed, and what is freed later goes to the
//!   allocator. It is closed before the thread's locals are destroyed, whose destructors may free
//!   some. What is in the depot is freed with the last stock.
//!
//! # What this does not do
//! No thread takes from another's stock: a stock that is full gives. Model checkers and
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
    // Nothing in it is dropped, so it is there as long as the thread.
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
    /// Blocks to be had from the allocator, and to be given to it, before the depot is asked again:
    /// it had none, or no room.
    takes_in_vain: Cell<usize>,
    puts_in_vain: Cell<usize>,
    /// The class that had to go last.
    evicted: Cell<usize>,
}

/// The current thread keeps memory until this is dropped. Neither `Send` nor `Sync`.
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

/// The memory of one kind of task or job: what an allocator has to know of it, and where it is
/// kept.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    layout: Layout,
    /// Which stack its blocks are on; [`UNKEPT`] if they are not kept.
    class: usize,
}

/// There is no stack with this number.
const UNKEPT: usize = CLASSES;

impl Kind {
    /// That of a `T`, which is at least as large as what stocks and the depot write into it.
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

/// The same for a block for which there was no room. By itself, so that the way of most blocks is a
/// short one.
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
        // No foreign code runs under the lock, but for the allocator's.
        self.depot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether it was closed before.
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
        // The next one will be written there.
        prim::prefetch(below);
        self.room.set(self.room.get() + size_of_class(class));
        Some(block)
    }

    /// Puts a block onto the stack of its class, if it has one and there is room.
    ///
    /// # Safety
    /// 1. The block is the caller's, which gives it up if the answer is yes, and its layout is that
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

    /// The same after there was no room: makes some.
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

    /// Makes room for a block of a class: gives others what there is too much of, or does without
    /// what was not used for long. Says whether there is some now.
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

    /// Gives the newest blocks of a class to the depot, if there are enough and `has_room` says
    /// that there is room.
    fn give_bundle(&self, class: usize, has_room: impl FnOnce(&mut Depot, usize) -> bool) -> bool {
        if self.bundle(class).is_none() {
            return false;
        }
        let mut depot = self.depot();
        let bundle = if has_room(&mut depot, class) { self.unstack(class) } else { None };
        // SAFETY: the blocks are out of the stock, of this class, and as many as a bundle has.
        bundle.map(|bundle| unsafe { depot.put(bundle, class) }).is_some()
    }

    /// Gives a bundle of another class to the depot, else to the allocator. What a thread frees it
    /// makes again, while what fills the stock may be of another time; the classes take turns, so
    /// that one that is used fills up again.
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
