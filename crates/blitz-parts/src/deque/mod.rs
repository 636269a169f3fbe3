//! A Chase-Lev deque with a private end: each item leaves exactly once, through the owner's end or
//! through one thief, and an item that only its owner touches costs no fence and no exchange.
//!
//! # Who calls it
//! The owner (one worker thread, through [`Owner`]): `push`, `pop`, `take_back`, `publish`. Any
//! thread: `steal`, `steal_if`, `force`, `len`, `public_len`. Callers: `blitz-core/worker`.
//!
//! # State
//! Four indices into one growing ring, `top <= split <= bottom`:
//!
//! | word | meaning | who writes |
//! |---|---|---|
//! | `top` | oldest item | thieves and, for the last public item, the owner: by exchange |
//! | `split` | end of the public part | owner; a forcing thief while `force` is 1 |
//! | `bottom` | end of the private part | owner |
//! | `guard` | below it the owner must not pop privately; `>= split` | owner; a forcing thief |
//! | `force` | 1 while a thief forces exposure | thieves: 0→1 by exchange, back by store |
//! | `busy` | 1 while the owner changes `split` | owner |
//!
//! # Transitions
//! ```text
//!        thieves                 owner
//!           │                      │
//!      top ─┴─▶ public ◀── split ──┴─▶ private ◀── bottom
//!           steal         publish, force        push, pop
//!
//!  force:  0 ──exchange──▶ 1: raise guard by one, heavy fence,
//!                             owner not busy and item still there? split = guard
//!          0 ◀───store──── 1: (else the guard stays too high: the owner lowers it, the next thief
//!                             takes it as raised)
//! ```
//!
//! # Invariants
//! - **DEQUE-1** Every pushed item is handed out exactly once, by `pop`/`take_back` or by `steal`.
//! - **DEQUE-2** Items leave the owner's end newest first and the thieves' end oldest first.
//! - **DEQUE-3** A thief only takes items below `split`; the owner takes an item without an exchange
//!   only at or above `guard`, and `guard >= split` whenever the owner looks.
//! - **DEQUE-4** What the owner wrote before `push` is visible to the thief that gets the item.
//! - **DEQUE-5** An outgrown buffer lives as long as the deque: a slow thief may still read it.
//! - **DEQUE-6** After a [`barrier::heavy`] a non-empty deque looks non-empty to every thread, and
//!   `force` can then bring the oldest private item into the open without the owner's help.
//! - **DEQUE-7** Steals fail only if the deque's public part was empty, another taker succeeded, or
//!   the thief's own condition did not hold; then the item stays.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `bottom` store in push | Release | O7 | the slot is written before the item counts |
//! | O2 | `split` stores | Release | O5 | the slots below `split` are written |
//! | O3 | pop: fence between `split` store and `top` load | SeqCst | O4 | owner and thief cannot both miss each other |
//! | O4 | steal: fence between `top` load and `split` load | SeqCst | O3 | the same |
//! | O5 | `split` load in steal | Acquire | O2 | DEQUE-4; `steal_if` judges after it, so by what the owner wrote before |
//! | O6 | pop: light fence between `bottom` store and `guard` load | asymmetric | O8 | either the owner sees the raised guard or the thief the lowered bottom |
//! | O7 | `bottom` load in force, len | Acquire | O1 | DEQUE-4 |
//! | O8 | force: heavy fence between `guard` exchange and `busy`, `bottom` loads | asymmetric | O6, O9 | the same |
//! | O9 | light fence between `busy` store and `force` load | asymmetric | O8 | owner and forcing thief exclude each other |
//! | O10 | `force` store 0 | Release | O11 | the owner sees the thief's `split` |
//! | O11 | `force` load | Acquire | O10 | the same |
//! | O12 | `buffer` store / load | Release / Acquire | – | a thief sees the copied slots |
//! | O13 | `top` exchange | SeqCst | O14 | one winner per index |
//! | O14 | `top` load by the owner | Acquire | O13 | an owner that finds an item taken sees it armed |
//! | O15 | fence after a `guard` load that sent the owner to the public way | Acquire | O8 | then `force` is seen, too |
//! | O16 | force: `guard` exchange, also if it fails | AcqRel, Acquire | itself | what another thief raised counts as raised before O8 |
//!
//! # What this does not do
//! It wakes nobody and does not decide when to publish; it never shrinks. The owner waits for a
//! forcing thief (a few microseconds) if both want the last private item at once.
//!
//! # Lineage
//! Chase and Lev 2005 with the fences of Lê, Pop, Cohen and Zappa Nardelli 2013 for the public part;
//! the private part follows the idea of split task queues (Dinan et al. 2009), with exposure on
//! demand and, new here, exposure by force through an asymmetric fence.

mod buffer;
#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::barrier;
use crate::counter::Counter;
use crate::prim::{
    AcqRel, Acquire, AtomicIsize, AtomicPtr, AtomicU32, Relaxed, Release, SeqCst, Step, broken,
    fence, spin_loop, yield_now,
};
use crate::tuning;
use buffer::Buffer;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;

/// The shared deque. The owner works on it through [`Deque::owner`], everybody else directly.
pub struct Deque<T> {
    own: CachePadded<OwnerLine<T>>,
    top: CachePadded<AtomicIsize>,
    open: CachePadded<PublicLine<T>>,
}

/// What the owner touches on every fork: one cache line, written by others only when they force.
struct OwnerLine<T> {
    bottom: AtomicIsize,
    guard: AtomicIsize,
    // The three below are the owner's copies; only `Owner` reads or writes them.
    limit: Cell<isize>,
    mask: Cell<isize>,
    slots: Cell<*const AtomicPtr<T>>,
    pushes: Counter,
    /// Items that the owner itself took through the top, in the race for the last one.
    own_top: Counter,
}

/// What thieves read and what changes when items become public.
struct PublicLine<T> {
    split: AtomicIsize,
    force: AtomicU32,
    busy: AtomicU32,
    buffer: AtomicPtr<Buffer<T>>,
}

// SAFETY: the words are atomics; the owner's copies are touched only through `Owner`, of which
// `Deque::owner` allows one thread at a time. Items are plain addresses to the deque.
unsafe impl<T> Sync for Deque<T> {}
// SAFETY: as above; moving the deque moves no item.
unsafe impl<T> Send for Deque<T> {}

/// The owner's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
pub struct Owner<'a, T> {
    deque: &'a Deque<T>,
    stays_here: PhantomData<*mut ()>,
}

impl<T> Clone for Owner<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Owner<'_, T> {}

/// What a thief got.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// The public part was empty.
    Empty,
    /// Somebody else took the item first; there may be more.
    Retry,
    /// The oldest public item, now the caller's.
    Success(NonNull<T>),
}

/// What [`Owner::publish`] did.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// How many items became public.
    pub count: usize,
    /// Whether no item was public before.
    pub was_empty: bool,
}

impl<T> Deque<T> {
    /// An empty deque.
    pub fn new() -> Deque<T> {
        let buffer = Buffer::new(tuning::DEQUE_SLOTS);
        Deque {
            own: CachePadded::new(OwnerLine {
                bottom: AtomicIsize::new(0),
                guard: AtomicIsize::new(0),
                limit: Cell::new(tuning::DEQUE_SLOTS as isize),
                mask: Cell::new(buffer.mask()),
                slots: Cell::new(buffer.slots()),
                pushes: Counter::new(),
                own_top: Counter::new(),
            }),
            top: CachePadded::new(AtomicIsize::new(0)),
            open: CachePadded::new(PublicLine {
                split: AtomicIsize::new(0),
                force: AtomicU32::new(0),
                busy: AtomicU32::new(0),
                buffer: AtomicPtr::new(Box::into_raw(buffer)),
            }),
        }
    }

    /// The owner's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `Owner`s of this deque, and a change of that thread
    ///    is ordered by some other synchronisation.
    #[inline(always)]
    pub unsafe fn owner(&self) -> Owner<'_, T> {
        Owner { deque: self, stays_here: PhantomData }
    }

    /// Takes the oldest public item.
    pub fn steal(&self) -> Steal<T> {
        self.steal_if(|| true)
    }

    /// Takes the oldest public item, if `valid` holds at a moment when the item is in the deque: what the
    /// owner wrote before it published the item is visible to `valid`.
    pub fn steal_if(&self, valid: impl FnOnce() -> bool) -> Steal<T> {
        let top = self.top.load(Acquire);
        if !broken(Step::DequeStealFence) {
            fence(SeqCst); // O4
        }
        if top >= self.open.split.load(Acquire) {
            return Steal::Empty; // O5
        }
        // SAFETY: by DEQUE-5 every buffer that was ever current is alive.
        let buffer = unsafe { &*self.open.buffer.load(Acquire) }; // O12
        let item = buffer.slot(top).load(Relaxed);
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

    /// Makes the oldest private item public without the owner's help, after arming it as the owner
    /// would, and says whether something was made public. Costs a [`barrier::heavy`]: for owners that
    /// sit in a long leaf.
    #[cold]
    pub fn force(&self, arm: impl FnOnce(NonNull<T>)) -> bool {
        let open = &*self.open;
        if open.force.compare_exchange(0, 1, AcqRel, Relaxed).is_err() {
            return false;
        }
        let split = open.split.load(Relaxed);
        let raised = self.own.bottom.load(Relaxed) > split
            && match self.own.guard.compare_exchange(split, split + 1, AcqRel, Acquire) {
                Ok(_) => true, // O16
                // An earlier thief raised it in vain, and the owner has not been back since.
                Err(guard) => guard == split + 1 && !broken(Step::DequeForceAgain),
            };
        let mut exposed = false;
        if raised {
            if !broken(Step::DequeForceFence) {
                barrier::heavy(); // O8
            }
            // From here on the owner either was seen busy or waits for `force` to be 0 before it
            // changes `split` or `guard`; so what is read now stays true until then.
            exposed = open.busy.load(Acquire) == 0
                && self.own.guard.load(Relaxed) == split + 1
                && open.split.load(Relaxed) == split
                && self.own.bottom.load(Acquire) > split; // O7
            if exposed {
                // SAFETY: by DEQUE-5 the buffer is alive.
                let buffer = unsafe { &*open.buffer.load(Acquire) }; // O12
                NonNull::new(buffer.slot(split).load(Relaxed)).map(arm);
                open.split.store(split + 1, Release); // O2
            }
        }
        open.force.store(0, Release); // O10
        exposed
    }

    /// How many items there are, private ones included, at some recent moment.
    #[inline]
    pub fn len(&self) -> usize {
        let bottom = self.own.bottom.load(Acquire); // O7
        let top = self.top.load(Acquire);
        usize::try_from(bottom.wrapping_sub(top)).unwrap_or(0)
    }

    /// Whether there is no item, private ones included.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items a thief could take at some recent moment.
    #[inline]
    pub fn public_len(&self) -> usize {
        let split = self.open.split.load(Acquire);
        let top = self.top.load(Acquire);
        usize::try_from(split.wrapping_sub(top)).unwrap_or(0)
    }

    /// How many items were ever pushed.
    pub fn pushes(&self) -> u64 {
        self.own.pushes.get()
    }

    /// How many items thieves ever took.
    pub fn stolen(&self) -> u64 {
        (self.top.load(Relaxed) as u64).saturating_sub(self.own.own_top.get())
    }
}

impl<T> Default for Deque<T> {
    fn default() -> Self {
        Deque::new()
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw`; nobody else has the deque any more.
        drop(unsafe { Box::from_raw(self.open.buffer.load(Relaxed)) });
    }
}

impl<T> core::fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Deque")
            .field("top", &self.top.load(Relaxed))
            .field("split", &self.open.split.load(Relaxed))
            .field("bottom", &self.own.bottom.load(Relaxed))
            .field("guard", &self.own.guard.load(Relaxed))
            .finish()
    }
}

impl<'a, T> Owner<'a, T> {
    /// Puts `item` on the private end and returns its index.
    #[inline(always)]
    pub fn push(self, item: NonNull<T>) -> isize {
        let own = &*self.deque.own;
        let bottom = own.bottom.load(Relaxed);
        if bottom >= own.limit.get() {
            return self.push_after_making_room(item);
        }
        self.slot(bottom).store(item.as_ptr(), Relaxed);
        let order = if broken(Step::DequePushRelease) { Relaxed } else { Release };
        own.bottom.store(bottom + 1, order); // O1
        own.pushes.add(1);
        bottom
    }

    /// A call that ends in `push` instead of one that returns into it: nothing of the fast path has to
    /// survive it in registers.
    #[cold]
    #[inline(never)]
    fn push_after_making_room(self, item: NonNull<T>) -> isize {
        self.make_room(self.bottom());
        self.push(item)
    }

    /// The index that the next pushed item will get.
    #[inline(always)]
    pub fn bottom(self) -> isize {
        self.deque.own.bottom.load(Relaxed)
    }

    /// Whether a thief could take something right now, as far as the owner knows. `top` may have moved
    /// on since; then the next push looks again, and a thief that is about to sleep looks for itself.
    #[inline(always)]
    pub fn has_public(self) -> bool {
        self.deque.open.split.load(Relaxed) > self.deque.top.load(Relaxed)
    }

    /// Takes the item back that was pushed at `index`, if it is the newest one and still here. Nobody else
    /// may have popped it: an index is given out again once its item has left this end.
    ///
    /// The index comes from the caller rather than from `bottom`, which is only compared: a value that goes
    /// through memory, from each fork to the next, costs more than all the rest of a fork.
    #[inline(always)]
    pub fn take_back(self, index: isize) -> TakeBack {
        let own = &*self.deque.own;
        // If a thief has it then `bottom` is no lower than `top`, and `pop_public` finds out.
        if own.bottom.load(Relaxed) != index + 1 {
            return TakeBack::NotNewest;
        }
        own.bottom.store(index, Relaxed);
        barrier::light(); // O6
        if index >= own.guard.load(Relaxed) {
            return TakeBack::Taken; // DEQUE-3
        }
        match self.pop_public(index) {
            Some(_) => TakeBack::Taken,
            None => TakeBack::Stolen,
        }
    }

    /// Takes the newest item.
    #[inline]
    pub fn pop(self) -> Option<NonNull<T>> {
        let own = &*self.deque.own;
        let bottom = own.bottom.load(Relaxed);
        // `top` only grows, so an old reading that says "empty" is right. Acquire: see O14.
        if self.deque.top.load(Acquire) >= bottom {
            return None;
        }
        let index = bottom - 1;
        own.bottom.store(index, Relaxed);
        barrier::light(); // O6
        if index >= own.guard.load(Relaxed) {
            return self.read(index); // DEQUE-3
        }
        self.pop_public(index)
    }

    /// Makes up to `count` of the oldest private items public, after arming each: what others need of
    /// an item has to be written only if others will see it.
    pub fn publish(self, count: usize, arm: impl Fn(NonNull<T>)) -> Published {
        let open = &*self.deque.open;
        let split = open.split.load(Relaxed);
        let bottom = self.deque.own.bottom.load(Relaxed);
        let was_empty = self.deque.top.load(Relaxed) >= split;
        if bottom <= split {
            return Published { count: 0, was_empty };
        }
        self.enter();
        // A thief that forced exposure while we were not yet inside may have moved the split.
        let split = open.split.load(Relaxed);
        let count = (bottom - split).min(count.try_into().unwrap_or(isize::MAX));
        for index in split..split + count {
            self.read(index).into_iter().for_each(&arm);
        }
        self.set_split(split + count);
        self.leave();
        Published { count: count as usize, was_empty }
    }

    /// The public way to take the item at `index`, the newest: against thieves, with a fence.
    #[cold]
    fn pop_public(self, index: isize) -> Option<NonNull<T>> {
        let deque = self.deque;
        fence(Acquire); // O15: whoever raised the guard that sent us here set `force` before
        self.enter();
        let split = deque.open.split.load(Relaxed);
        if index >= split {
            // A forcing thief raised the guard and gave up: the item is private after all.
            deque.own.guard.store(split, Relaxed);
            self.leave();
            return self.read(index);
        }
        self.set_split(index);
        if !broken(Step::DequePopFence) {
            fence(SeqCst); // O3
        }
        let top = deque.top.load(Acquire); // O14
        if top < index {
            self.leave();
            return self.read(index);
        }
        // The last item, or none: the exchange decides between us and a thief (O13).
        let won = top == index && deque.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        let item = if won { self.read(index) } else { None };
        deque.own.own_top.add(u64::from(won));
        deque.own.bottom.store(index + 1, Relaxed);
        self.set_split(index + 1);
        self.leave();
        item
    }

    #[inline(always)]
    fn slot(self, index: isize) -> &'a AtomicPtr<T> {
        let own = &self.deque.own;
        let at = (index & own.mask.get()) as usize;
        // SAFETY: `mask` belongs to `slots`, so the masked index is within the buffer.
        let slot = unsafe { own.slots.get().add(at) };
        // SAFETY: a buffer that was ever current is alive while the deque is (DEQUE-5).
        unsafe { &*slot }
    }

    fn read(self, index: isize) -> Option<NonNull<T>> {
        NonNull::new(self.slot(index).load(Relaxed))
    }

    fn set_split(self, split: isize) {
        let order = if broken(Step::DequePublishRelease) { Relaxed } else { Release };
        self.deque.own.guard.store(split, Relaxed);
        self.deque.open.split.store(split, order); // O2
    }

    /// From here until `leave` no thief changes `split` or `guard`.
    fn enter(self) {
        let open = &*self.deque.open;
        open.busy.store(1, Relaxed);
        barrier::light(); // O9
        if broken(Step::DequeForceWait) {
            return;
        }
        let mut turns = 0u32;
        while open.force.load(Acquire) != 0 {
            // O11. The thief may be off its core inside the heavy fence.
            turns += 1;
            if turns < tuning::FORCE_WAIT_SPINS { spin_loop() } else { yield_now() }
        }
    }

    fn leave(self) {
        self.deque.open.busy.store(0, Release);
    }

    /// Re-reads `top` and, if the ring is really full, moves to one twice as large.
    fn make_room(self, bottom: isize) {
        let own = &*self.deque.own;
        let slots = own.mask.get() + 1;
        let top = self.deque.top.load(Acquire);
        if bottom < top + slots {
            own.limit.set(top + slots);
            return;
        }
        let open = &*self.deque.open;
        let old = open.buffer.load(Relaxed);
        // SAFETY: `old` is the current buffer, from `Box::into_raw`; the larger one keeps it alive
        // (DEQUE-5).
        let grown = unsafe { Buffer::replacing(old, top, bottom) };
        own.mask.set(grown.mask());
        own.slots.set(grown.slots());
        own.limit.set(top + grown.mask() + 1);
        let order = if broken(Step::DequeGrowRelease) { Relaxed } else { Release };
        open.buffer.store(Box::into_raw(grown), order); // O12
    }
}

/// What [`Owner::take_back`] found.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeBack {
    /// The item is the caller's again.
    Taken,
    /// A thief has it.
    Stolen,
    /// Newer items lie above it; pop those first.
    NotNewest,
}
