//! The owner's end of the deque.

use super::buffer::{Buffer, Tagged};
use super::{Deque, Linked};
use crate::barrier;
use crate::prim::{Acquire, Relaxed, Release, SeqCst, Step, broken, fence, spin_loop, yield_now};
use crate::tuning;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The owner's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
pub struct Owner<'a, T> {
    deque: &'a Deque<T>,
    stays_here: PhantomData<*mut ()>,
}

impl<T> Deque<T> {
    /// Returns the owner's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `Owner`s of this deque. If another thread takes over,
    ///    some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> Owner<'_, T> {
        Owner { deque: self, stays_here: PhantomData }
    }
}

impl<T> Clone for Owner<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Owner<'_, T> {}

/// The place of a fork: remembers the fork that was the newest before it.
#[must_use = "a fork has to be taken back"]
#[derive(Debug)]
pub struct Place<T>(*mut T);

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Place<T> {}

/// A moment of a deque. Separates later items from earlier ones.
#[derive(Debug)]
pub struct Mark<T> {
    end: isize,
    /// The fork that was the newest at that moment. If it becomes public, all later items lie above
    /// it. The pointer is only compared, never followed.
    newest: *mut T,
}

impl<T> Mark<T> {
    /// The mark before all items.
    pub const START: Mark<T> = Mark { end: isize::MIN, newest: core::ptr::null_mut() };
}

impl<T> Clone for Mark<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Mark<T> {}

/// The result of [`Owner::publish`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// How many items became public.
    pub count: usize,
    /// Whether no item was public before.
    pub was_empty: bool,
}

/// The result of [`Owner::take_back_public`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeBack {
    /// The fork is the caller's again.
    Taken,
    /// The fork is public: it lies in the deque below all items pushed since, unless a thief has
    /// taken it.
    Public,
}

impl<'a, T: Linked> Owner<'a, T> {
    /// Puts a fork on the private end, and returns its place.
    ///
    /// # Safety
    /// 1. The fork stays alive and in place until the owner has taken it back. If the owner finds
    ///    the fork public, the fork stays until the owner has popped it, or has seen that its taker
    ///    is done with it. Its link stays unchanged even if another thread runs it.
    /// 2. Forks are taken back newest first, each once, with the place they got here: `take_back`
    ///    and `take_back_public` rely on this.
    #[inline(always)]
    pub unsafe fn fork(self, fork: NonNull<T>) -> Place<T> {
        let own = &*self.deque.own;
        let older = own.newest.load(Relaxed);
        // SAFETY: the fork is alive (obligation 1), and no other thread knows it yet.
        unsafe { T::set_older(fork, older) };
        let order = if broken(Step::DequeForkRelease) { Relaxed } else { Release };
        own.newest.store(fork.as_ptr(), order); // O1
        own.pushes.add(1);
        Place(older)
    }

    /// Takes back the newest fork, which lies at `place`, if it is private and `force` is 0.
    /// Otherwise returns false, and the caller calls [`take_back_public`](Self::take_back_public).
    ///
    /// The stored value comes from the caller's `place`, not from the fork's link. Otherwise each
    /// fork would wait for the store of the fork before it, which would cost more than the rest of
    /// a fork.
    #[inline(always)]
    pub fn take_back(self, place: Place<T>) -> bool {
        let own = &*self.deque.own;
        let order = if broken(Step::DequeTakeBackRelease) { Relaxed } else { Release };
        own.newest.store(place.0, order); // O1
        barrier::light(); // O6
        let order = if broken(Step::DequeForceAcquire) { Relaxed } else { Acquire };
        own.force.load(order) == 0 && own.guard.load(Relaxed) != place.0 // O11, DEQUE-3
    }

    /// Takes `fork` back after [`take_back`](Self::take_back) failed. A thief has made the fork
    /// public or tries to, or its owner has published it, or a thread counts the private forks.
    #[cold]
    pub fn take_back_public(self, fork: NonNull<T>, place: Place<T>) -> TakeBack {
        self.enter();
        let public = self.deque.open.published.load(Relaxed) == fork.as_ptr();
        if public {
            // All older forks are public, too.
            self.deque.set_published(place.0);
        }
        self.leave();
        if public { TakeBack::Public } else { TakeBack::Taken }
    }

    /// Puts an item on the public end, after all forks. The forks are armed and become public, too.
    /// Returns how many items became public.
    pub fn push(self, item: NonNull<T>, arm: impl Fn(NonNull<T>)) -> usize {
        let deque = self.deque;
        self.enter();
        let newest = deque.own.newest.load(Relaxed);
        let has_forks = newest != deque.open.published.load(Relaxed);
        let forks = if has_forks { deque.expose(newest, |private| private, arm) } else { 0 };
        let end = deque.open.end.load(Relaxed);
        deque.make_room(end, 1);
        deque.buffer().slot(end).store(item.as_ptr(), Relaxed);
        deque.set_end(end + 1);
        self.leave();
        deque.own.pushes.add(1);
        forks + 1
    }

    /// Arms the oldest private forks and makes them public. `wanted` maps the number of private
    /// forks to the number to publish. Arming comes this late so that private forks do not pay for
    /// it.
    pub fn publish(
        self,
        wanted: impl FnOnce(usize) -> usize,
        arm: impl Fn(NonNull<T>),
    ) -> Published {
        let was_empty = !self.has_public();
        if !self.deque.has_private() {
            return Published { count: 0, was_empty };
        }
        self.enter();
        let count = self.deque.expose(self.deque.own.newest.load(Relaxed), wanted, arm);
        self.leave();
        Published { count, was_empty }
    }

    /// Returns a mark of this moment.
    #[inline]
    pub fn mark(self) -> Mark<T> {
        // If a thief forces between the two loads, it moves only items that belong below the mark.
        let newest = self.deque.own.newest.load(Relaxed);
        Mark { end: self.deque.open.end.load(Relaxed), newest }
    }

    /// Takes the newest item if it came after `mark`. The fork that was the newest at `mark` must
    /// not have been taken back since. Returns `None` if there are private forks: their frames take
    /// them back.
    pub fn pop_above(self, mark: Mark<T>) -> Option<NonNull<T>> {
        if self.deque.has_private() {
            return None;
        }
        let end = self.deque.open.end.load(Relaxed);
        // Items older than the mark lie below the fork that was the newest then. If that fork was
        // stolen, these items were stolen, too.
        let above = end > mark.end && self.slot(end - 1) != mark.newest;
        if above { self.pop() } else { None }
    }

    /// Takes the newest public item. Call it only if there are no private forks, which would be
    /// newer.
    #[inline]
    pub fn pop(self) -> Option<NonNull<T>> {
        // `top` only grows, so even an old value that means "empty" is right.
        if self.deque.top.load(Relaxed) >= self.deque.open.end.load(Relaxed) {
            return None;
        }
        self.pop_public()
    }

    /// Takes a public item in a race with thieves, with a fence.
    fn pop_public(self) -> Option<NonNull<T>> {
        let deque = self.deque;
        self.enter();
        let index = deque.open.end.load(Relaxed) - 1;
        deque.set_end(index);
        if !broken(Step::DequePopFence) {
            fence(SeqCst); // O3
        }
        let top = deque.top.load(Relaxed);
        if top < index {
            let item = self.read(index);
            self.leave();
            return item;
        }
        // At most one item is left: the exchange decides whether a thief or this thread gets it
        // (O13).
        let won = top == index && deque.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        let item = if won { self.read(index) } else { None };
        deque.own.own_top.add(u64::from(won));
        deque.set_end(index + 1);
        self.leave();
        item
    }

    fn read(self, index: isize) -> Option<NonNull<T>> {
        NonNull::new(self.slot(index))
    }

    fn slot(self, index: isize) -> *mut T {
        self.deque.buffer().slot(index).load(Relaxed)
    }

    /// From here until `leave` no thief changes `end`, `published` or `guard`, or follows links.
    fn enter(self) {
        self.deque.open.busy.store(1, Relaxed);
        barrier::light(); // O9
        if broken(Step::DequeForceWait) {
            return;
        }
        let mut turns = 0u32;
        while self.deque.own.force.load(Acquire) != 0 {
            // O11. The thief may have lost its core inside the heavy fence.
            turns += 1;
            if turns < tuning::FORCE_WAIT_SPINS { spin_loop() } else { yield_now() }
        }
    }

    fn leave(self) {
        self.deque.open.busy.store(0, Release); // O17
    }
}

impl<T: Linked> Owner<'_, T> {
    /// Whether [`shrink`](Self::shrink) might free something.
    #[inline]
    pub fn is_oversized(self) -> bool {
        let current = Tagged::from_word(self.deque.open.buffer.load(Relaxed));
        current.is_large() || !self.deque.rings.left.get().is_null()
    }

    /// Frees the large rings, if the deque is empty and no thief reads one just now. Returns
    /// whether none is left.
    #[cold]
    pub fn shrink(self) -> bool {
        self.enter();
        let is_done = self.deque.is_empty() && self.leave_large_rings();
        self.leave();
        is_done
    }

    /// Goes back to the largest ring that does not count as large. The deque is empty and stays
    /// empty.
    fn leave_large_rings(self) -> bool {
        let deque = self.deque;
        let current = deque.open.ring.load(Relaxed);
        // SAFETY: the rings are alive, since unused rings are freed only below; `busy` keeps out
        // thieves that force.
        let (large, small) = unsafe { Buffer::split_large(current, deque.rings.left.get()) };
        deque.rings.left.set(large);
        if current != small {
            // A thief that saw an item in the large ring may read the small ring instead. The item
            // is gone, so the thief's exchange fails, whatever it reads.
            deque.open.ring.store(small, Relaxed); // O21
            deque.open.buffer.swap(small, Relaxed); // O22
        }
        if !broken(Step::DequeShrinkFence) {
            barrier::after_exchange(); // O19
        }
        let mut turns = tuning::SHRINK_TURNS;
        loop {
            // O20
            if deque.rings.readers.load(Acquire) == 0 {
                // SAFETY: no thief reads the large rings, and a thief that comes now finds the
                // small ring (DEQUE-5).
                unsafe { Buffer::free(deque.rings.left.replace(core::ptr::null_mut())) };
                return true;
            }
            match turns.checked_sub(1) {
                Some(left) => turns = left,
                None => return false,
            }
            yield_now();
        }
    }
}

impl<T> Owner<'_, T> {
    /// Whether a thief could take an item now, as far as the owner knows. A thief may have moved
    /// `top` since. Then the owner's next fork checks again, and a thief that is about to sleep
    /// looks at private forks, too.
    #[inline(always)]
    pub fn has_public(self) -> bool {
        self.deque.open.end.load(Relaxed) > self.deque.top.load(Relaxed)
    }
}
