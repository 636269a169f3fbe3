//! A Chase-Lev deque with a private end. Each item leaves exactly once, through the owner's end or
//! through one thief. A fork that only its owner touches costs no fence, no exchange and no slot.
//!
//! # Who calls it
//! The owner (one worker thread, through [`Owner`]): `fork`, `take_back` and `take_back_public` for
//! forks in frames of its own stack; `push`, `pop` and, with a `mark`, `pop_above` for other items;
//! `publish`, `has_public`, `shrink`. Any thread: `steal`, `steal_if`, `force`, and the methods
//! that return lengths and counts. Callers: `blitz-core/team`, `blitz-core/worker`;
//! `blitz-core/door` and `blitz-core/sched` only read lengths and counts.
//!
//! # State
//! Public items lie in a growing ring, oldest first. Private forks form a list, newest first, whose
//! links lie in the forks themselves. All private forks are newer than all public items. A public
//! fork stays in the list until its owner takes it back; `published` is the newest public fork. An
//! owner that is about to take back a public fork has already set `newest` to the fork that `guard`
//! names. In that state no fork is private.
//!
//! | word | meaning | who writes |
//! |---|---|---|
//! | `top` | oldest public item | thieves and, for the last public item, the owner: by exchange |
//! | `end` | end of the public part | owner while `busy`; a forcing thief while `force` is 1 |
//! | `newest` | newest fork that was not taken back; null if there is none | owner |
//! | `published` | newest public fork; null if there is none | as `end` |
//! | `guard` | the fork older than `published`, or `nobody()` | as `end` |
//! | `force` | 1 while a thief forces exposure, or a thread counts the private forks | thieves: 0→1 by exchange, back by store |
//! | `busy` | 1 while the owner changes what thieves change, too | owner |
//! | `buffer` | the ring, and whether it is large: more than [`DEQUE_KEEPS`](tuning::DEQUE_KEEPS) slots | as `end` |
//! | `ring` | the same ring, for the thread that may change it | as `end` |
//! | `readers` | thieves that read a slot of a large ring | thieves |
//! | `left` | large rings that are not in use any more, and not yet freed | owner |
//!
//! # Transitions
//! ```text
//!        thieves                           owner
//!           │                                │
//!      top ─┴─▶ public ◀── end, published ──┴─▶ private forks ◀── newest
//!           steal          publish, force, push           fork, take_back
//!
//!  force:  0 ──exchange──▶ 1: heavy fence, owner not busy? move older half of list into ring
//!          0 ◀───store──── 1
//!  take_back: newest = older one, light fence, force is 0 and guard is another? it was private
//!                                              else: wait for force to be 0, and look at published
//!
//!  shrink, in an empty deque:  buffer := an earlier, small one ─▶ fence
//!                              ─▶ readers 0? free the large ones
//!                                 else: the next shrink looks again
//! ```
//!
//! # Invariants
//! - **DEQUE-1** Every item is handed out exactly once, by `take_back` or `pop`, or by `steal`.
//! - **DEQUE-2** Items leave the owner's end newest first and the thieves' end oldest first.
//! - **DEQUE-3** A thief only takes items below `end`; the owner takes a fork without an exchange
//!   only if it was the newest, no thief forced, and `published` was a different fork.
//! - **DEQUE-4** Everything that the owner wrote before `fork` or `push` is visible to the thief
//!   that gets the item.
//! - **DEQUE-5** A buffer that is not large lives as long as the deque: a slow thief may still read
//!   it. The owner frees a large buffer once it is out of use and no thief reads it. A thief that
//!   comes later finds another buffer.
//! - **DEQUE-6** After a [`barrier::heavy`] a non-empty deque looks non-empty to every thread, and
//!   `force` can then make private forks public without the owner's help.
//! - **DEQUE-7** Steals fail only if the deque's public part was empty, another taker succeeded, or
//!   the thief's own condition did not hold. In the last case the item stays.
//! - **DEQUE-8** Links are followed only by the owner, or by a thread that has set `force` to 1 and
//!   then saw the owner not `busy`: no fork of the list is taken back before that thread is done.
//! - **DEQUE-9** `pop_above` takes no item that was there when its mark was made, as long as the
//!   fork that was the newest then was not taken back.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `newest` stores | Release | O7 | a fork and its link are written before `newest` names the fork; a thief that sees an older fork, because a newer one was taken back, sees the older fork's link, too |
//! | O2 | `end` stores | Release | O5 | the slots below `end` are written |
//! | O3 | pop: fence between `end` store and `top` load | SeqCst | O4 | owner and thief cannot both miss each other |
//! | O4 | steal: fence between `top` load and `end` load | SeqCst | O3 | the same; the fence also acquires what the Relaxed load of `top` read |
//! | O5 | `end` load in steal | Acquire | O2 | DEQUE-4; `steal_if` calls `valid` after it, so `valid` sees what the owner wrote before |
//! | O6 | take_back: light fence between `newest` store and `force` load | asymmetric | O8 | either the owner sees that a thief forces or the thief sees the fork gone |
//! | O7 | `newest` load in force | Acquire | O1 | DEQUE-4 |
//! | O8 | force: heavy fence between `force` exchange and `busy`, `newest` loads | asymmetric | O6, O9, O10 | the same; it begins with a `fence(SeqCst)`, so the exchange may be Relaxed: a thief still sees what the thief before it has written |
//! | O9 | light fence between `busy` store and `force` load | asymmetric | O8 | owner and forcing thief exclude each other |
//! | O10 | `force` store 0 | Release | O11 | the owner sees the thief's `end`, `published` and `guard` |
//! | O11 | `force` load, before that of `guard` | Acquire | O10 | the same |
//! | O12 | `buffer` store / load | Release / Acquire | – | a thief sees the copied slots |
//! | O13 | `top` exchange | SeqCst | O14 | one winner per index; a thief reads a slot before that slot becomes free |
//! | O14 | `top` load before a slot is written again | Acquire | O13 | the same. In pop it is Relaxed: an owner that finds an item taken has armed it itself, or has waited for the thief that armed it (O11) |
//! | O15 | `published` store, after that of `end` | Release | O16 | a thread that finds nothing private sees what became public |
//! | O16 | `published` load in is_empty, before those of `newest`, `end` and `top` | Acquire | O15 | the same. The other three are Relaxed, in any order: if `published` is older than a fork, then `newest` is that fork or its owner has it back |
//! | O17 | `busy` store 0 / load in force | Release / Acquire | itself | the thief sees what the owner did while busy |
//! | O18 | steal: fence between adding to `readers` and loading `buffer` again | after_exchange | O19 | DEQUE-5: either the thief sees the other buffer or the owner sees the thief |
//! | O19 | shrink: fence between exchanging `buffer` and loading `readers` | after_exchange | O18 | the same |
//! | O20 | `readers` subtraction / load in shrink | Release / Acquire | each other | a thief has read its slot before the buffer is freed |
//! | O21 | `ring` stores and loads | Relaxed | – | a thread that may use it has got it through O10 and O11, O17 or O16 |
//! | O22 | `buffer` exchange in shrink | Relaxed | O12 | O19 follows. The exchange continues the release sequence of the store of the large ring. So a thief that finds the small ring acquires that store, which came after the small ring was made |
//!
//! # What this does not do
//! It wakes no worker and does not decide when to publish, nor when to shrink. An owner that leaves
//! a fork's frame while a thief forces waits for that thief: for the thief's fence, which takes
//! microseconds, and for its walk over the private forks. Every publisher, a forcing thief
//! included, must notify a worker: the owner assumes that public items were announced.
//!
//! # Lineage
//! Chase and Lev 2005 with the fences of Lê, Pop, Cohen and Zappa Nardelli 2013 for the public
//! part; the private part follows the idea of split task queues (Dinan et al. 2009), with exposure
//! on demand and, new here, with links in the frames of the forks and exposure by force through an
//! asymmetric fence.

mod buffer;
#[cfg(all(test, blitz_loom))]
mod model;
mod owner;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use owner::{Mark, Owner, Place, Published, TakeBack};

use crate::barrier;
use crate::counter::Counter;
use crate::prim::{
    Acquire, AtomicIsize, AtomicPtr, AtomicU32, Relaxed, Release, SeqCst, Step, broken, fence,
};
use crate::tuning;
use buffer::{Buffer, Tagged};
use core::cell::Cell;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;

/// A type that can be forked: it has room for a link to the previous fork.
///
/// # Safety
/// `older` returns what `set_older` was given last, whichever thread calls it.
pub unsafe trait Linked {
    /// Writes the link.
    ///
    /// # Safety
    /// 1. `this` is alive, and no other thread uses its link at the same time.
    unsafe fn set_older(this: NonNull<Self>, older: *mut Self);

    /// Reads the link.
    ///
    /// # Safety
    /// 1. `this` is alive, and `set_older` was called before.
    /// 2. No thread writes the link at the same time.
    unsafe fn older(this: NonNull<Self>) -> *mut Self;
}

/// The shared deque. The owner works on it through [`Deque::owner`], all other threads directly.
pub struct Deque<T> {
    own: CachePadded<OwnerLine<T>>,
    top: CachePadded<AtomicIsize>,
    open: CachePadded<PublicLine<T>>,
    rings: CachePadded<RingLine<T>>,
}

/// Words that the owner uses for every fork: one cache line, which other threads write only when
/// they force.
struct OwnerLine<T> {
    newest: AtomicPtr<T>,
    guard: AtomicPtr<T>,
    force: AtomicU32,
    pushes: Counter,
    /// Items that the owner itself took by an exchange of `top`, in the race for the last item.
    own_top: Counter,
}

/// Words that thieves read, or that change when items become public.
struct PublicLine<T> {
    end: AtomicIsize,
    published: AtomicPtr<T>,
    busy: AtomicU32,
    /// The ring's [`Tagged`] address, for thieves.
    buffer: AtomicPtr<Buffer<T>>,
    /// The same address without the tag, for the thread that may change it.
    ring: AtomicPtr<Buffer<T>>,
}

/// Fields that matter only after a burst of items.
struct RingLine<T> {
    readers: AtomicU32,
    /// Used by the owner only.
    left: Cell<*mut Buffer<T>>,
}

// SAFETY: the words are atomics, and `left` is the owner's. DEQUE-5 and DEQUE-8 say which thread
// may follow which pointer when.
unsafe impl<T> Sync for Deque<T> {}
// SAFETY: as above; moving the deque moves no item.
unsafe impl<T> Send for Deque<T> {}

/// The result of a steal.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// The public part was empty, or the thief's condition did not hold.
    Empty,
    /// Another thread took the item first; there may be more.
    Retry,
    /// The oldest public item, now the caller's.
    Success(NonNull<T>),
}

/// Stands for "no fork" in `guard`, where null means "older than the oldest fork".
fn nobody<T>() -> *mut T {
    NonNull::dangling().as_ptr()
}

impl<T> Deque<T> {
    /// An empty deque.
    pub fn new() -> Deque<T> {
        let buffer = Box::into_raw(Buffer::new(tuning::DEQUE_SLOTS));
        Deque {
            own: CachePadded::new(OwnerLine {
                newest: AtomicPtr::new(core::ptr::null_mut()),
                guard: AtomicPtr::new(nobody()),
                force: AtomicU32::new(0),
                pushes: Counter::new(),
                own_top: Counter::new(),
            }),
            top: CachePadded::new(AtomicIsize::new(0)),
            open: CachePadded::new(PublicLine {
                end: AtomicIsize::new(0),
                published: AtomicPtr::new(core::ptr::null_mut()),
                busy: AtomicU32::new(0),
                buffer: AtomicPtr::new(buffer),
                ring: AtomicPtr::new(buffer),
            }),
            rings: CachePadded::new(RingLine {
                readers: AtomicU32::new(0),
                left: Cell::new(core::ptr::null_mut()),
            }),
        }
    }

    /// Takes the oldest public item.
    pub fn steal(&self) -> Steal<T> {
        self.steal_if(|| true)
    }

    /// Takes the oldest public item, if `valid` holds at a moment when the item is in the deque:
    /// everything that the owner wrote before it published the item is visible to `valid`.
    pub fn steal_if(&self, valid: impl FnOnce() -> bool) -> Steal<T> {
        let top = self.top.load(Relaxed);
        if !broken(Step::DequeStealFence) {
            fence(SeqCst); // O4
        }
        if top >= self.open.end.load(Acquire) {
            return Steal::Empty; // O5
        }
        let item = self.read_as_thief(top);
        // The exchange below succeeds only if the item has not left since.
        if !valid() {
            return Steal::Empty;
        }
        if self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_err() {
            return Steal::Retry; // O13
        }
        match NonNull::new(item) {
            Some(item) => Steal::Success(item),
            None => unreachable!("a public slot holds an item"),
        }
    }

    /// Whether there is no item, public or private.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.has_private() && self.public_len() == 0
    }

    /// Whether there are forks that are not public.
    #[inline]
    pub fn has_private(&self) -> bool {
        let published = self.open.published.load(Acquire); // O16
        self.own.newest.load(Relaxed) != published
    }

    /// How many items a thief could take at some recent moment.
    #[inline]
    pub fn public_len(&self) -> usize {
        let end = self.open.end.load(Relaxed);
        let top = self.top.load(Relaxed);
        usize::try_from(end.wrapping_sub(top)).unwrap_or(0)
    }

    /// How many items were ever pushed, forks included.
    pub fn pushes(&self) -> u64 {
        self.own.pushes.get()
    }

    /// How many items thieves have ever taken.
    pub fn stolen(&self) -> u64 {
        (self.top.load(Relaxed) as u64).saturating_sub(self.own.own_top.get())
    }

    /// Reads a slot; the value may be old.
    #[inline]
    fn read_as_thief(&self, index: isize) -> *mut T {
        let current = Tagged::from_word(self.open.buffer.load(Acquire)); // O12
        if current.is_large() {
            return self.read_large(index);
        }
        // SAFETY: the ring is not large, so by DEQUE-5 it lives as long as the deque.
        unsafe { &*current.buffer() }.slot(index).load(Relaxed)
    }

    /// Reads a slot of a large ring, which its owner may be about to leave.
    #[cold]
    fn read_large(&self, index: isize) -> *mut T {
        let readers = &self.rings.readers;
        readers.fetch_add(1, Relaxed);
        if !broken(Step::DequeReaderFence) {
            barrier::after_exchange(); // O18
        }
        let current = Tagged::from_word(self.open.buffer.load(Acquire)); // O12
        // SAFETY: the owner has not left the ring, or sees a reader and does not free it (DEQUE-5).
        let item = unsafe { &*current.buffer() }.slot(index).load(Relaxed);
        let order = if broken(Step::DequeReaderRelease) { Relaxed } else { Release };
        readers.fetch_sub(1, order); // O20
        item
    }

    /// Returns the current ring, for the thread that may change it.
    fn buffer(&self) -> &Buffer<T> {
        // SAFETY: the current buffer is alive, and only the caller could replace it.
        unsafe { &*self.open.ring.load(Relaxed) } // O21
    }
}

impl<T: Linked> Deque<T> {
    /// Makes the older half of the private forks public without the owner's help, and arms them
    /// first as the owner would. Returns whether it made any public. A thief calls this if the
    /// owner seems to compute for long without forking. The call costs a [`barrier::heavy`], and
    /// does nothing if that fence is refused.
    #[cold]
    pub fn force(&self, arm: impl Fn(NonNull<T>)) -> bool {
        let expose = |newest| self.expose(newest, |private| private.div_ceil(2), arm);
        self.has_private() && self.beside_owner(expose).is_some_and(|exposed| exposed > 0)
    }

    /// How many items, public and private, there were at some recent moment. The call costs a
    /// [`barrier::heavy`] if there are private forks. These count as one item if they cannot be
    /// counted: the fence is refused, or in each of two attempts the owner or another thread was
    /// changing or counting them.
    pub fn len(&self) -> usize {
        let count = || self.beside_owner(|newest| self.count(newest));
        let private = match self.has_private() {
            true if barrier::available() => count().or_else(count).unwrap_or(1),
            one => usize::from(one),
        };
        self.public_len() + private
    }

    /// Calls `f` with the newest fork. Meanwhile the owner takes no fork back and does not change
    /// the public part. Returns `None` if the owner is `busy`, if another thread is in this
    /// function, or if the heavy fence is refused.
    fn beside_owner<R>(&self, f: impl FnOnce(*mut T) -> R) -> Option<R> {
        let force = &self.own.force;
        if force.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
            return None;
        }
        let fenced = broken(Step::DequeForceFence) || barrier::heavy(); // O8
        // The fence makes one of two things certain: this thread sees the owner busy, or the owner
        // waits for `force` to be 0 before it leaves a fork's frame. Without the fence neither is
        // certain, and only the owner may touch private forks.
        let result = if fenced && self.open.busy.load(Acquire) == 0 {
            Some(f(self.own.newest.load(Acquire))) // O17, O7
        } else {
            None
        };
        force.store(0, Release); // O10
        result
    }

    /// Returns the number of private forks, from `newest` on. The caller is the owner, or
    /// [`beside_owner`](Self::beside_owner).
    fn count(&self, newest: *mut T) -> usize {
        if newest == self.own.guard.load(Relaxed) {
            // The owner is about to take the newest public fork back, and waits for this thread.
            return 0;
        }
        let published = self.open.published.load(Relaxed);
        let (mut at, mut count) = (newest, 0);
        while at != published {
            at = older(at);
            count += 1;
        }
        count
    }

    /// Moves the oldest private forks into the ring, and arms each before another thread can see
    /// it. `wanted` maps the number of private forks to the number to move. The caller is the
    /// owner, `busy`, or [`beside_owner`](Self::beside_owner).
    fn expose(
        &self,
        newest: *mut T,
        wanted: impl FnOnce(usize) -> usize,
        arm: impl Fn(NonNull<T>),
    ) -> usize {
        let private = self.count(newest);
        let count = wanted(private).min(private);
        if count == 0 {
            return 0;
        }
        let end = self.open.end.load(Relaxed);
        self.make_room(end, count);
        let buffer = self.buffer();
        let last = (count..private).fold(newest, |at, _| older(at));
        let mut at = last;
        for index in (end..end + count as isize).rev() {
            buffer.slot(index).store(at, Relaxed);
            NonNull::new(at).map(&arm);
            at = older(at);
        }
        self.set_end(end + count as isize);
        self.set_published(last);
        count
    }

    /// Makes `fork` the newest public fork.
    fn set_published(&self, fork: *mut T) {
        let guard = if fork.is_null() { nobody() } else { older(fork) };
        self.own.guard.store(guard, Relaxed);
        let order = if broken(Step::DequePublishedRelease) { Relaxed } else { Release };
        self.open.published.store(fork, order); // O15
    }

    fn set_end(&self, end: isize) {
        let order = if broken(Step::DequePublishRelease) { Relaxed } else { Release };
        self.open.end.store(end, order); // O2
    }

    /// Moves to a larger ring if `count` more items do not fit behind `end`.
    #[inline]
    fn make_room(&self, end: isize, count: usize) {
        let top = self.top.load(Acquire); // O14
        let needed = (end - top) as usize + count;
        if needed > self.buffer().len() {
            self.grow(top, end, needed);
        }
    }

    #[cold]
    fn grow(&self, top: isize, end: isize, needed: usize) {
        let old = self.open.ring.load(Relaxed);
        // SAFETY: `old` is the current buffer, from `Box::into_raw`; the larger one keeps it alive
        // (DEQUE-5).
        let grown = unsafe { Buffer::replacing(old, top, end, needed) };
        let (len, grown) = (grown.len(), Box::into_raw(grown));
        let order = if broken(Step::DequeGrowRelease) { Relaxed } else { Release };
        self.open.ring.store(grown, Relaxed); // O21
        self.open.buffer.store(Tagged::of(grown, len).into_word(), order); // O12
    }
}

/// Returns the fork before `fork`, for a thread that may follow links (DEQUE-8).
fn older<T: Linked>(fork: *mut T) -> *mut T {
    match NonNull::new(fork) {
        // SAFETY: the fork is in the list, so it is alive and its link was written. Meanwhile it is
        // not taken back, and its memory is not used for anything else (DEQUE-8).
        Some(fork) => unsafe { T::older(fork) },
        None => unreachable!("nothing is older than the oldest fork"),
    }
}

impl<T> Default for Deque<T> {
    fn default() -> Self {
        Deque::new()
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw`, and no other thread has the deque any
        // more.
        drop(unsafe { Box::from_raw(self.open.ring.load(Relaxed)) });
        // SAFETY: as above.
        unsafe { Buffer::free(self.rings.left.get()) };
    }
}

impl<T> core::fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Deque")
            .field("top", &self.top.load(Relaxed))
            .field("end", &self.open.end.load(Relaxed))
            .field("newest", &self.own.newest.load(Relaxed))
            .field("published", &self.open.published.load(Relaxed))
            .field("guard", &self.own.guard.load(Relaxed))
            .field("force", &self.own.force.load(Relaxed))
            .field("busy", &self.open.busy.load(Relaxed))
            .finish()
    }
}
