//! Keeps the memory of ended tasks and boxed jobs for the next ones of the same worker.
//!
//! Allocators keep a few blocks of each size for a thread (glibc keeps seven) and share the rest
//! among all threads. A worker makes and frees blocks by the thousand. It puts the blocks that it
//! frees onto its own stacks, one for each size, and takes new ones from there without
//! synchronisation. If one worker creates tasks and another worker ends them, the creator's stock
//! runs empty while the stock of the other worker fills up. Then blocks move from the full stock to
//! the empty one in bundles, through a depot.
//!
//! # Who calls it
//! `task` and `job`, for their memory. `blitz-core` [opens](Stock::open) the stock of a thread that
//! becomes a worker. Any other thread, including one that a pool adopts, is a guest: it spawns
//! tasks that workers end, so it takes bundles from the depot while there are any. Otherwise, and
//! after the stock was closed, memory comes from the allocator and goes back to it.
//!
//! # Invariants
//! - **STOCK-1** A block is in at most one place: in one stock, in the depot, or with one task or
//!   job.
//! - **STOCK-2** A block is used for the layout that it was allocated with, and no other.
//! - **STOCK-3** A thread's stock holds no more than [`STOCK_BYTES`], the depot no more than
//!   `DEPOT_BYTES`; the rest goes to the allocator. If there are many blocks of another size, those
//!   go first, since that size is perhaps not needed any more. These limits also bound the stock of
//!   a thread that only frees blocks. A guest that takes a bundle has less than a bundle of each
//!   other size; until it takes the next bundle, it puts in no more bytes than it takes out.
//! - **STOCK-4** Closing a stock frees its blocks; memory that is freed later goes to the
//!   allocator. A stock is closed before the thread's locals are destroyed, because their
//!   destructors may free blocks. A guest's stock is closed by one of those destructors, and the
//!   thread takes no bundle after that. The last open stock frees the depot's blocks when it is
//!   closed.
//!
//! # What this does not do
//! No thread takes from another thread's stock: a full stock gives blocks away. Under model
//! checkers and AddressSanitizer no stock is ever open ([`STOCKED`]), so that they see each
//! allocation and each free.

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
    // `Blocks` needs no drop, so this lives as long as the thread.
    static BLOCKS: Blocks = const { Blocks::closed(&DEPOT) };
    // Frees the blocks of a guest when its thread ends.
    static GUEST: Guest = const { Guest };
}

struct Guest;

impl Drop for Guest {
    fn drop(&mut self) {
        BLOCKS.with(|blocks| {
            // A worker closes its stock itself.
            if !blocks.is_open.get() {
                blocks.free_all();
            }
        });
    }
}

/// One thread's blocks.
struct Blocks {
    is_open: Cell<bool>,
    /// Bytes that may still be put in. Closing the stock sets it to zero; the blocks that a guest
    /// takes add to it.
    room: Cell<usize>,
    /// The newest block of each size, or null.
    tops: [Cell<*mut Block>; CLASSES],
    depot: &'static Mutex<Depot>,
    /// How many more blocks come from the allocator before this stock asks the depot again. Set
    /// when the depot had no bundle.
    takes_in_vain: Cell<usize>,
    /// How many more blocks go to the allocator before this stock looks for room again. Set when
    /// there was none.
    puts_in_vain: Cell<usize>,
    /// The class that was evicted last.
    evicted: Cell<usize>,
}

/// While it lives, the current thread keeps memory. Neither `Send` nor `Sync`.
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
    /// The stack for blocks of this kind; [`UNKEPT`] if they are not kept.
    class: usize,
}

/// There is no stack with this number.
const UNKEPT: usize = CLASSES;

impl Kind {
    /// The kind of a `T`. A `T` must have room for the data that stocks and the depot write into
    /// its memory.
    pub(crate) const fn of<T>() -> Kind {
        assert!(size_of::<T>() >= size_of::<Block>());
        let layout = Layout::new::<T>();
        Kind { layout, class: class(layout) }
    }
}

/// Takes memory of this kind from this thread's stock, if the stock has some.
#[inline]
pub(crate) fn take(kind: Kind) -> Option<NonNull<u8>> {
    if kind.class == UNKEPT {
        return None;
    }
    BLOCKS.with(|blocks| blocks.take_top(kind.class)).map(NonNull::cast)
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
/// 1. [`alloc`] returned the memory for this kind, on any thread, and no thread uses it any more.
#[inline]
pub(crate) unsafe fn dealloc(memory: NonNull<u8>, kind: &'static Kind) {
    // SAFETY: no thread uses the block, and it is of that class if it is of any (obligation 1).
    let kept = BLOCKS.with(|blocks| unsafe { blocks.put(memory.cast(), kind.class) });
    if !kept {
        // SAFETY: obligation 1.
        unsafe { dealloc_beyond(memory, kind) };
    }
}

/// As `dealloc`, for a block for which there was no room. It is a separate function, so that the
/// usual path stays short.
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

/// Returns the stack for blocks of this layout.
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
        // The only foreign code under the lock is the allocator.
        self.depot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stock; returns whether it was closed before.
    fn open(&self) -> bool {
        if self.is_open.replace(true) {
            return false;
        }
        // `room` does not count the blocks that the thread kept as a guest.
        self.free_all();
        self.room.set(STOCK_BYTES);
        self.depot().open_stock();
        true
    }

    fn close(&self) {
        // Close it first, so that no block comes back.
        self.is_open.set(false);
        self.free_all();
        self.depot().close_stock();
    }

    /// Frees all blocks, and leaves no room for others.
    fn free_all(&self) {
        self.room.set(0);
        (0..CLASSES).for_each(|class| self.free_class(class));
    }

    /// Frees the blocks of a class.
    fn free_class(&self, class: usize) {
        // SAFETY: the stock owns the blocks on its stacks; they are of that class, and out of the
        // stock now.
        unsafe { free_all(self.tops[class].replace(null_mut()), class) };
    }

    /// Takes the newest block of a class, if the stock has one or the depot has a bundle.
    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<Block>> {
        if self.tops[class].get().is_null() {
            self.take_bundle(class)?;
        }
        self.take_top(class)
    }

    /// Takes the newest block of a class, if the stock has one.
    #[inline]
    fn take_top(&self, class: usize) -> Option<NonNull<Block>> {
        let top = &self.tops[class];
        let block = NonNull::new(top.get())?;
        // SAFETY: the stock owns the blocks on its stacks.
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
    /// 1. The caller owns the block, and gives it up if this returns true. Its layout is that of
    ///    the class.
    #[inline]
    unsafe fn put(&self, block: NonNull<Block>, class: usize) -> bool {
        let room = self.room.get().checked_sub(size_of_class(class));
        let (Some(top), Some(room)) = (self.tops.get(class), room) else { return false };
        self.room.set(room);
        // SAFETY: the caller owns the block, which is large enough and aligned for a pointer.
        unsafe { (*block.as_ptr()).below = top.get() };
        top.set(block.as_ptr());
        true
    }

    /// As `put`, after there was no room: makes room first.
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
        if !is_time(&self.takes_in_vain) {
            return None;
        }
        let room = match self.is_open.get() {
            true => self.room.get().checked_sub(bundle_bytes(class))?,
            false => self.room_of_guest()?,
        };
        let Some(bundle) = self.depot().take(class) else {
            self.takes_in_vain.set(STOCK_BUNDLE);
            return None;
        };
        self.room.set(room);
        self.tops[class].set(bundle.as_ptr());
        Some(bundle)
    }

    /// The room of a guest that is about to take a bundle: none. The guest first frees each stack
    /// that has at least a bundle. Returns `None` if its thread ends.
    fn room_of_guest(&self) -> Option<usize> {
        let is_kept = STOCKED && GUEST.try_with(|_| ()).is_ok();
        for class in (0..CLASSES).filter(|class| self.bundle(*class).is_some()) {
            self.free_class(class);
        }
        is_kept.then_some(0)
    }

    /// Makes room for a block of a class: gives a surplus to the depot, or evicts blocks of another
    /// class, which is perhaps not needed any more. Returns whether there is room now.
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

    /// Gives a bundle of another class to the depot, or to the allocator if the depot is full. The
    /// size that a thread has just freed is usually allocated again, while blocks of other classes
    /// may be left over from earlier. The classes take turns, so that a class in use fills up again
    /// later.
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
        // SAFETY: the stock owns the blocks on its stacks.
        let below = unsafe { &mut (*last.as_ptr()).below };
        self.tops[class].set(core::mem::replace(below, null_mut()));
        self.room.set(self.room.get() + bundle_bytes(class));
        Some(first)
    }

    /// The first and the last of the newest blocks of a class, if there are enough for a bundle.
    fn bundle(&self, class: usize) -> Option<(NonNull<Block>, NonNull<Block>)> {
        let first = NonNull::new(self.tops[class].get())?;
        let last = (1..STOCK_BUNDLE).try_fold(first, |block, _| {
            // SAFETY: the stock owns the blocks on its stacks.
            NonNull::new(unsafe { (*block.as_ptr()).below })
        })?;
        Some((first, last))
    }
}

/// Whether it is time to ask the depot, or to look for room, again; counts down to that time.
fn is_time(in_vain: &Cell<usize>) -> bool {
    let left = in_vain.get();
    in_vain.set(left.saturating_sub(1));
    left == 0
}
