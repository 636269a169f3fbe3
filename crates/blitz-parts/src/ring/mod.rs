//! A ring of tasks. One worker fills and empties it, others steal half of it. Each task leaves
//! exactly once, and a thief delivers every task that it claimed.
//!
//! # Who calls it
//! The owner (one worker thread, through [`RingOwner`]): `push`, `try_push`, `push_from`, `pop`,
//! `room`. Any thread that owns a ring itself: `steal_into`. Any thread: `len`. Callers:
//! `blitz-core/sched`, `blitz-core/team`.
//!
//! # State
//! Indices count up and wrap around at 2³²; index modulo `N` is the slot.
//!
//! | word | meaning | who writes |
//! |---|---|---|
//! | `head.steal` | slots before it are free | owner, if no thief steals; the thief, when it is done |
//! | `head.real` | oldest task that is not claimed | owner and thieves, by exchange of both halves |
//! | `tail` | end of the tasks | owner |
//! | `slots` | the tasks from `real` to `tail`; from `steal` to `real` those that a thief still copies | owner |
//!
//! `steal <= real <= tail <= steal + N`. A thief is inside if `steal != real`; there is one at
//! most.
//!
//! # Transitions
//! ```text
//!           thief                owner               owner
//!             │                    │                   │
//!    steal ───┴── being copied ── real ── tasks ───── tail ── free ─▶ steal + N
//!
//!  claim    (s, s) ──▶ (s, s + n)     n = half, rounded up; only if no thief is inside
//!  release  (s, r) ──▶ (r, r)         whatever r is by now; never given up
//!  pop      (s, r) ──▶ (s, r + 1), or (r + 1, r + 1) if no thief is inside
//!  push     room (tail - s < N): slot, tail + 1
//!             a chain: a slot for each task while there is room, then tail
//!           full, no thief inside: (s, s) ──▶ (s + N/2, s + N/2), these and the new task overflow
//!           full, a thief inside: busy
//! ```
//!
//! # Invariants
//! - **RING-1** Every pushed task leaves once: by `pop`, by one thief, or in an overflow.
//! - **RING-2** A thief delivers all tasks that it claimed: one to its caller, the others to its
//!   ring.
//! - **RING-3** Tasks leave oldest first; a thief's ring gets them in their order.
//! - **RING-4** What was written before `push` is visible to the thread that gets the task.
//! - **RING-5** A slot is written only when no thief reads it any more: not before its thief has
//!   released it.
//! - **RING-6** At most one thief at a time is inside a ring; another thief finds nothing then.
//! - **RING-7** A ring overflows only if it is full and no thief steals. Then the `N / 2` oldest
//!   tasks and the new one leave, in their order and in one piece.
//! - **RING-8** All of this holds when the indices wrap around.
//! - **RING-9** `is_empty` is right at the moment of its last load: a task that was pushed before,
//!   and that was neither taken nor claimed, is seen.
//! - **RING-10** A task that is still in a ring when the ring is dropped is cancelled.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `tail` store in push and in the thief's own ring | Release | O2 | RING-4: the slots below `tail` are written |
//! | O2 | `tail` load in steal | Acquire | O1 | RING-4 |
//! | O3 | `head` exchange | Release | O4 | a thread that sees the new head sees the tail of that moment, or a newer one: `tail - real` is a length |
//! | O4 | `head` load in steal, also by an exchange that failed; in len, before the tail | Acquire | O3 | as O3; RING-9 |
//! | O5 | `head` exchange that releases | Release | O6 | RING-5: the thief has read the slots |
//! | O6 | `head` load in push, room | Acquire | O5 | RING-5 |
//!
//! The model checker never delays a load beyond a store that follows it, so it would not notice if
//! O5 and O6 were missing. The [`Witness`] of each slot makes the checker notice.
//!
//! # What this does not do
//! It wakes no worker. While a thief copies, the tasks that it has claimed are in no ring. So a
//! thief that steals into its ring notifies the sleep protocol afterwards: by `work_found` if it is
//! counted as inactive, by `new_task` otherwise. A ring never grows.
//!
//! # Lineage
//! The tasks document of `docs/coverage.md`, with the claim and the release as this project's
//! models corrected them: the document advances the wrong half and abandons a steal. The halves of
//! the head have 32 bits. With 16 bits, the indices would wrap around within 65,536 pushes, and a
//! thief that was suspended for so long would take a new head for the head that it read.

mod head;
#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::prim::{
    Acquire, AtomicPtr, AtomicU32, AtomicU64, MODELLED, Relaxed, Release, Step, Turns, Witness,
    broken, model_has_failed, prefetch,
};
use crate::queue::Chain;
use crate::task::{Header, Runnable};
use core::marker::PhantomData;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;
use head::Head;

/// The shared ring. The owner works on it through [`Ring::owner`], all other threads directly.
pub struct Ring<const N: usize> {
    head: CachePadded<AtomicU64>,
    turns: Turns,
    tail: CachePadded<AtomicU32>,
    slots: [Slot; N],
}

/// A place for one task.
#[derive(Default)]
struct Slot {
    task: AtomicPtr<Header>,
    uses: Witness,
}

impl Slot {
    /// Reads a slot that the caller has taken or claimed.
    #[inline]
    fn read(&self) -> *mut Header {
        self.uses.read();
        self.task.load(Relaxed)
    }
}

/// The owner's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
pub struct RingOwner<'a, const N: usize> {
    ring: &'a Ring<N>,
    stays_here: PhantomData<*mut ()>,
}

impl<const N: usize> Clone for RingOwner<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize> Copy for RingOwner<'_, N> {}

/// The result of pushing a task.
#[must_use = "a task that did not go into the ring has to go elsewhere"]
#[derive(Debug)]
pub enum Pushed {
    /// The task is in the ring.
    Ok,
    /// The ring was full. These tasks have to go elsewhere; the last of them is the pushed task.
    Overflow(Chain),
    /// The ring is full, and a thief is about to make room. The pushed task has to go elsewhere.
    Busy(Runnable),
}

/// The result of a steal.
#[must_use = "a task that is dropped is cancelled"]
#[derive(Debug)]
pub struct Stolen {
    /// The oldest task, to run now.
    pub first: Runnable,
    /// How many tasks were stolen, `first` included; the others are in the thief's ring.
    pub count: usize,
}

impl<const N: usize> Ring<N> {
    /// Half of the ring overflows at a time, so it has at least two slots. `N` must divide 2³², so
    /// that the slots stay in order when the indices wrap around.
    const SLOTS: u32 = {
        assert!(N.is_power_of_two() && N >= 2 && N <= 1 << 16);
        N as u32
    };

    /// An empty ring.
    ///
    /// ```
    /// use blitz_parts::ring::Ring;
    /// assert!(Ring::<32>::new().is_empty());
    /// ```
    pub fn new() -> Ring<N> {
        Ring::starting_at(0)
    }

    /// An empty ring whose first task gets this index.
    fn starting_at(index: u32) -> Ring<N> {
        Ring {
            head: CachePadded::new(AtomicU64::new(Head::at(index).to_bits())),
            turns: Turns::default(),
            tail: CachePadded::new(AtomicU32::new(index)),
            slots: core::array::from_fn(|_| Slot::default()),
        }
    }

    /// The number of tasks that were not claimed at some recent moment. It is never less than the
    /// number at the moment of the last load.
    #[inline]
    pub fn len(&self) -> usize {
        if broken(Step::RingLenHeadFirst) {
            let tail = self.tail.load(Acquire);
            return tail.saturating_sub(self.load_head().real) as usize;
        }
        // Load the head first. If the head has moved since, the difference is too large, and never
        // zero by mistake.
        let real = self.load_head().real; // O4
        let tail = self.tail.load(Relaxed);
        (tail.wrapping_sub(real) as usize).min(N)
    }

    /// Whether every task is claimed or gone (RING-9).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The owner's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `RingOwner`s of this ring. If another thread takes
    ///    over, some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> RingOwner<'_, N> {
        RingOwner { ring: self, stays_here: PhantomData }
    }

    /// Steals half of the tasks, rounded up, but no more than `into` has room for besides the one
    /// that is returned. Finds nothing while another thief is inside.
    pub fn steal_into<const M: usize>(&self, into: RingOwner<'_, M>) -> Option<Stolen> {
        let room = into.room() as u32;
        let (claimed, count) = self.claim(room + 1)?;
        let first = self.slot(claimed.steal).read();
        let mut tail = into.tail();
        for offset in 1..count {
            let task = self.slot(claimed.steal.wrapping_add(offset)).read();
            into.write(tail, task);
            tail = tail.wrapping_add(1);
        }
        if !self.release(claimed) {
            return None;
        }
        into.set_tail(tail);
        match taken(first) {
            Some(first) => Some(Stolen { first, count: count as usize }),
            None => unreachable!("a claimed slot holds a task"),
        }
    }

    /// Begins a steal: claims up to `limit` of the oldest tasks, if no other thief is inside.
    fn claim(&self, limit: u32) -> Option<(Head, u32)> {
        let mut head = self.load_head(); // O4
        loop {
            if head.is_claimed() && !broken(Step::RingOneThief) {
                return None; // RING-6
            }
            let tail = self.tail.load(Acquire); // O2
            let count = tail.wrapping_sub(head.real).div_ceil(2).min(limit);
            if count == 0 {
                return None;
            }
            let claimed = head.claimed(count);
            // If the exchange finds the head as it was read, no task has left since. The tail was
            // read after the head, and it only grows. So there are at least `count` tasks.
            match self.exchange(head, claimed) {
                Ok(()) => return Some((claimed, count)),
                Err(now) => head = now,
            }
        }
    }

    /// Ends a steal: releases the claimed slots, which have been read. The owner may have popped
    /// meanwhile, so the exchange is tried until it succeeds (RING-2); no other thread changes
    /// `steal`.
    fn release(&self, claimed: Head) -> bool {
        let mut head = claimed;
        while let Err(now) = self.exchange(head, head.released()) {
            if broken(Step::RingNeverAbandon) {
                return false;
            }
            head = now;
        }
        true
    }

    #[inline]
    fn load_head(&self) -> Head {
        self.turns.take();
        Head::from_bits(self.head.load(Acquire))
    }

    /// Exchanges the head if it is `old`; otherwise returns the current head.
    #[inline]
    fn exchange(&self, old: Head, new: Head) -> Result<(), Head> {
        let order = if broken(Step::RingHeadRelease) { Relaxed } else { Release };
        self.turns.take();
        match self.head.compare_exchange(old.to_bits(), new.to_bits(), order, Acquire) {
            Ok(_) => Ok(()),                       // O3, O5
            Err(now) => Err(Head::from_bits(now)), // O4
        }
    }

    /// Prefetches the task in a slot, if there is one, because it will run soon.
    #[inline]
    fn prefetch(&self, index: u32) {
        if !MODELLED {
            // The value of a slot without a task does not matter.
            prefetch(self.slot(index).task.load(Relaxed));
        }
    }

    #[inline]
    fn slot(&self, index: u32) -> &Slot {
        &self.slots[(index % Self::SLOTS) as usize]
    }
}

impl<'a, const N: usize> RingOwner<'a, N> {
    /// Appends a task if there is room. Returns whether the task is alone: no other task waits in
    /// the ring.
    ///
    /// # Errors
    /// The task itself, if the ring is full.
    #[inline]
    pub fn try_push(self, task: Runnable) -> Result<bool, Runnable> {
        let (head, tail) = (self.head(), self.tail()); // O6
        if room_beyond::<N>(head, tail) == 0 {
            return Err(task);
        }
        self.write(tail, task.into_raw().as_ptr());
        self.set_tail(tail.wrapping_add(1));
        Ok(head.real == tail)
    }

    /// Appends the oldest tasks of `chain` until the ring is full. Other threads see all of them at
    /// once.
    pub fn push_from(self, chain: &mut Chain) {
        let count = self.room().min(chain.len());
        let mut tail = self.tail();
        for task in chain.take(count) {
            self.write(tail, task.into_raw().as_ptr());
            tail = tail.wrapping_add(1);
        }
        self.set_tail(tail);
    }

    /// Appends a task. If the ring is full and no thief is about to make room, the older half of
    /// the ring overflows.
    pub fn push(self, task: Runnable) -> Pushed {
        match self.try_push(task) {
            Ok(_) => Pushed::Ok,
            Err(task) => self.push_full(task),
        }
    }

    /// Puts a task into a ring that was full.
    #[cold]
    fn push_full(self, task: Runnable) -> Pushed {
        loop {
            let (head, tail) = (self.head(), self.tail()); // O6
            if room_beyond::<N>(head, tail) > 0 {
                self.write(tail, task.into_raw().as_ptr());
                self.set_tail(tail.wrapping_add(1));
                return Pushed::Ok;
            }
            if head.is_claimed() {
                return Pushed::Busy(task);
            }
            if let Some(mut overflow) = self.pop_half(head) {
                overflow.push(task);
                return Pushed::Overflow(overflow);
            }
        }
    }

    /// Takes the oldest task.
    #[inline]
    pub fn pop(self) -> Option<Runnable> {
        let ring = self.ring;
        let tail = self.tail();
        let mut head = ring.load_head();
        loop {
            if head.real == tail {
                return None;
            }
            match ring.exchange(head, head.popped(1)) {
                // Only the owner writes slots, so the task is still there.
                Ok(()) => {
                    ring.prefetch(head.real.wrapping_add(1));
                    return taken(ring.slot(head.real).read());
                }
                Err(now) => head = now,
            }
        }
    }

    /// Returns for how many tasks there is room, at least: thieves only make more room.
    #[inline]
    pub fn room(self) -> usize {
        room_beyond::<N>(self.head(), self.tail()) as usize // O6
    }

    /// Takes the older half of a full ring, unless a thief took a task first.
    #[cold]
    fn pop_half(self, head: Head) -> Option<Chain> {
        let half = Ring::<N>::SLOTS / 2;
        self.ring.exchange(head, head.popped(half)).ok()?;
        // The chain also has room for the task that did not fit into the ring.
        Some(Chain::of((0..half).map(|offset| {
            match taken(self.ring.slot(head.real.wrapping_add(offset)).read()) {
                Some(task) => task,
                None => unreachable!("a slot between head and tail holds a task"),
            }
        })))
    }

    /// Returns the head, which shows the owner the free slots.
    #[inline]
    fn head(self) -> Head {
        let order = if broken(Step::RingRoomAcquire) { Relaxed } else { Acquire };
        self.ring.turns.take();
        Head::from_bits(self.ring.head.load(order))
    }

    /// The end of the tasks; only the owner changes it.
    #[inline]
    fn tail(self) -> u32 {
        self.ring.tail.load(Relaxed)
    }

    /// Writes the free slot of this index.
    #[inline]
    fn write(self, index: u32, task: *mut Header) {
        let slot = self.ring.slot(index);
        slot.uses.write();
        slot.task.store(task, Relaxed);
    }

    /// Moves the tail, behind slots that were just written.
    #[inline]
    fn set_tail(self, tail: u32) {
        let order = if broken(Step::RingPushRelease) { Relaxed } else { Release };
        self.ring.tail.store(tail, order); // O1
    }
}

/// The number of free slots of a ring whose owner saw this head.
#[inline]
fn room_beyond<const N: usize>(head: Head, tail: u32) -> u32 {
    let start = if broken(Step::RingSlotsOfThief) { head.real } else { head.steal };
    Ring::<N>::SLOTS - tail.wrapping_sub(start)
}

/// Converts the word that the taker of a task read from its slot.
#[inline]
fn taken(task: *mut Header) -> Option<Runnable> {
    // SAFETY: the word came from `Runnable::into_raw`, and by RING-1 one taker gets it.
    NonNull::new(task).map(|task| unsafe { Runnable::from_raw(task) })
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<const N: usize> Drop for Ring<N> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // SAFETY: no other thread has the ring any more.
        let own = unsafe { self.owner() };
        core::iter::from_fn(|| own.pop()).for_each(drop);
    }
}

impl<const N: usize> core::fmt::Debug for Ring<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ring").field("head", &self.load_head()).field("len", &self.len()).finish()
    }
}
