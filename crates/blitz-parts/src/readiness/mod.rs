//! Keeps the known readiness of one descriptor, and the tasks that wait for it.
//!
//! An event wakes each task that waits for it, whether the wait began before or after the event.
//!
//! # Who calls it
//! The driver, one thread at a time: `set`, `end`. Tasks that use the descriptor, on any thread:
//! `poll`, `poll_listed`, `unlist`, `look`, `is_fresh`, and `clear` after an attempt that would
//! block, or that transferred less than there was room for. Dumps: `for_each_waiting`, `waiting`.
//!
//! # State
//! | where | bits | meaning | who sets | who clears |
//! |---|---|---|---|---|
//! | word | 0 READABLE, 1 WRITABLE | an attempt may succeed | `set` | `clear` |
//! | word | 2 READ_CLOSED, 3 WRITE_CLOSED, 4 ERROR | an attempt returns how the direction ended | `set` | `clear`, of an attempt that would block |
//! | word | 5 URGENT | a read may end early, before urgent data | `set` | never |
//! | word | 6 PRIORITY | an attempt to read urgent data may succeed | `set` | `clear` |
//! | word | 7 ENDED | no more events come | `end` | never |
//! | word | 8..64 | tick: how many events there were | `set` | never |
//! | waiters | `reader`, `writer` | the newest task that polls each direction | `poll` | `set`, `end`, by waking |
//! | waiters | `crowd`, in a box of its own | any number of tasks, each with its interest | `poll_listed` | `set`, `end`, by waking; `unlist` |
//!
//! # Transitions
//! ```text
//!  driver:  word |= event, tick + 1 ──▶ lock: take out the tasks that it concerns
//!              ──▶ (later, no lock) wake them
//!  task:    look at the word ──ready──▶ attempt ──would block──▶ clear, unless the tick is another
//!              │    ▲                                            │
//!              │    └────────────────────────────────────────────┘
//!              │ not ready
//!              └──▶ lock: look again ──ready──▶ attempt
//!                          │ not ready
//!                          └──▶ leave the waker, pending
//! ```
//!
//! # Invariants
//! - **READINESS-1** No event is missed. Once `set` has returned, the waker of every task that
//!   waited for the event is in the batch that the driver has passed to `set`. A task that polls
//!   after that finds the descriptor ready until a task has cleared the event.
//! - **READINESS-2** A clear removes only the readiness in its sight: if another event came
//!   meanwhile, the clear does nothing.
//! - **READINESS-3** An event wakes every task that waits for its direction, in the list or not,
//!   and no task that waits only for the other direction. An error concerns both directions.
//! - **READINESS-4** After `end` no task is pending, and none becomes pending.
//! - **READINESS-5** A task that left the list, by `unlist` or because it was woken, has no waker
//!   there any more.
//! - **READINESS-6** After a short transfer the clear leaves closed directions and errors, which
//!   cause no second event; after an attempt that would block the clear removes all bits of its
//!   direction, so no task spins.
//! - **READINESS-7** Once there was urgent data a short transfer clears nothing: a read stops
//!   before the urgent data, and no second event announces the data after it.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `set`, `end`: exchange of the word, before the lock | Release | O3 | READINESS-2: a task that sees the tick sees what the system had by then |
//! | O2 | the lock | acquire, release | itself | READINESS-1, READINESS-4, READINESS-5: the thread of O1 finds a waiter that took the lock before it; a waiter that takes the lock after it sees the word |
//! | O3 | load before an attempt | Acquire | O1 | READINESS-2: the attempt, a system call, comes after the tick that its clear names |
//! | O4 | `clear`: exchange of the word | Relaxed | – | READINESS-2: an exchange compares the tick with the newest; no thread reads data because of a clear, and a load of O3 that reads the cleared word still acquires from O1 |
//!
//! # What this does not do
//! It wakes no task itself: wakers go into a batch, which the caller wakes when it holds no lock.
//! It does not know the descriptor. It may report readiness when an attempt would block; it never
//! withholds readiness when an attempt would not block.
//!
//! # Lineage
//! Runtimes on edge-triggered queues have a readiness word with a tick against late clears; Tokio
//! is one of them. Ours: one word of 64 bits, so that the tick does not wrap around; clears by
//! evidence (READINESS-6); the lists of waiters.

#[cfg(all(test, blitz_loom))]
mod model;
mod ready;
#[cfg(all(test, not(blitz_loom)))]
mod test;
mod waiters;

pub use ready::{Interest, Ready};
pub use waiters::{Direction, Place};

use crate::prim::{Acquire, AtomicU64, Mutex, MutexGuard, Relaxed, Release, Step, Turns, broken};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use waiters::{Spare, Waiters};

const READY_BITS: u64 = 0b101_1111;
const ENDED: u64 = 1 << 7;
const TICK: u64 = 1 << 8;

/// The known readiness of one descriptor, and the tasks that wait for it. It fits into one cache
/// line: with many descriptors each event loads it from memory.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Readiness {
    word: AtomicU64,
    turns: Turns,
    waiters: Mutex<Waiters>,
}

const _: () = assert!(crate::prim::MODELLED || size_of::<Readiness>() == 64);

/// A descriptor's readiness as a task saw it. The task passes it to `clear` when that readiness is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    word: u64,
    interest: Interest,
}

/// The reason why an attempt could not transfer more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The attempt said that it would block.
    WouldBlock,
    /// The attempt transferred less than there was room for.
    ShortTransfer,
}

/// No more events will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl Sight {
    /// Returns the part of the interest that was ready.
    pub fn ready(&self) -> Ready {
        Ready::from_bits(self.word & READY_BITS).of(self.interest)
    }

    /// Returns the same sight, restricted to `ready`.
    ///
    /// ```
    /// use blitz_parts::readiness::{Evidence, Interest, Readiness, Ready};
    /// let (readiness, mut batch) = (Readiness::new(), Default::default());
    /// readiness.set(Ready::READABLE | Ready::WRITABLE, &mut batch);
    /// let both = Interest::READABLE | Interest::WRITABLE;
    /// let sight = readiness.look(both).unwrap().unwrap();
    /// readiness.clear(sight.only(Ready::READABLE), Evidence::WouldBlock);
    /// assert_eq!(readiness.look(both).unwrap().unwrap().ready(), Ready::WRITABLE);
    /// ```
    #[must_use]
    pub fn only(self, ready: Ready) -> Sight {
        Sight { word: self.word & (!READY_BITS | ready.bits()), ..self }
    }

    /// The bits that an attempt that would block has shown to be over. An attempt for a priority
    /// event does not clear "closed for reading", which concerns readers.
    fn over(&self) -> Ready {
        let ready = self.ready();
        if self.interest.is_readable() { ready } else { ready - Ready::READ_CLOSED }
    }

    /// Whether there was urgent data.
    fn is_urgent(&self) -> bool {
        self.word & Ready::URGENT.bits() != 0
    }
}

impl Readiness {
    /// Creates the readiness of a descriptor that has had no event yet.
    ///
    /// ```
    /// use blitz_parts::readiness::{Interest, Readiness, Ready};
    /// let (readiness, mut batch) = (Readiness::new(), Default::default());
    /// readiness.set(Ready::WRITABLE, &mut batch);
    /// assert!(readiness.look(Interest::READABLE).unwrap().is_none());
    /// assert!(readiness.look(Interest::WRITABLE).unwrap().is_some());
    /// ```
    pub fn new() -> Readiness {
        Readiness::default()
    }

    /// Whether there was no event yet. Then an attempt may succeed, although no readiness is known.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        self.word.load(Relaxed) < TICK
    }

    /// Returns the ready part of `interest`, if there is any.
    ///
    /// # Errors
    /// If nothing is ready, and no more events will come.
    #[inline]
    pub fn look(&self, interest: Interest) -> Result<Option<Sight>, Ended> {
        self.turns.take();
        let word = self.word.load(Acquire); // O3
        let sight = Sight { word, interest };
        if !sight.ready().is_empty() {
            return Ok(Some(sight));
        }
        if word & ENDED != 0 { Err(Ended) } else { Ok(None) }
    }

    /// Returns the ready part of `interest`. If nothing is ready, the task is woken later. One task
    /// per direction can wait in this way: a newer task replaces the task that waited before. For
    /// [errors alone](Interest::ERROR) a task has to wait by [`poll_listed`](Self::poll_listed):
    /// they have no direction, so this function would keep no waker.
    ///
    /// # Errors
    /// If nothing is ready, and no more events will come.
    #[inline]
    pub fn poll(&self, cx: &mut Context<'_>, interest: Interest) -> Poll<Result<Sight, Ended>> {
        match self.look(interest).transpose() {
            Some(seen) => Poll::Ready(seen),
            None => self.begin_to_wait(cx, interest),
        }
    }

    /// This is a separate function, so that the fast path saves no registers for it.
    #[inline(never)]
    fn begin_to_wait(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<Result<Sight, Ended>> {
        let spare = Spare::new(interest, cx.waker());
        self.look_locked(interest, spare, |waiters, spare| waiters.put(spare))
    }

    /// Polls like [`poll`](Readiness::poll), for any number of tasks: each has a place in the list,
    /// which it gives back by [`unlist`](Readiness::unlist).
    ///
    /// # Errors
    /// If nothing is ready, and no more events will come.
    pub fn poll_listed(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        place: &mut Option<Place>,
    ) -> Poll<Result<Sight, Ended>> {
        if let Some(seen) = self.look(interest).transpose() {
            return Poll::Ready(seen);
        }
        let spare = Spare::one(cx.waker());
        self.look_locked(interest, spare, |waiters, spare| waiters.list(interest, spare, place))
    }

    /// Looks once more under the lock. If nothing is ready, `wait` moves a waker from `spare` to
    /// the waiters. Cloning a waker runs foreign code, so clones are made before the lock is taken,
    /// and unused clones are dropped after it is released.
    fn look_locked(
        &self,
        interest: Interest,
        mut spare: Spare,
        wait: impl FnOnce(&mut Waiters, &mut Spare),
    ) -> Poll<Result<Sight, Ended>> {
        let mut waiters = self.lock();
        // A thread that sets the word takes the lock afterwards: either that thread finds the
        // waker, or this one sees the word.
        let seen = if broken(Step::ReadinessLookLocked) { Ok(None) } else { self.look(interest) };
        if let Some(seen) = seen.transpose() {
            return Poll::Ready(seen);
        }
        wait(&mut waiters, &mut spare);
        drop(waiters);
        Poll::Pending
    }

    /// Gives a place in the list back.
    pub fn unlist(&self, place: Place) {
        let old = self.lock().unlist(place);
        drop(old);
    }

    /// Clears the readiness in `sight` after an attempt has shown that it is over. Does nothing if
    /// an event came since.
    #[inline]
    pub fn clear(&self, sight: Sight, evidence: Evidence) {
        let over = match evidence {
            Evidence::WouldBlock => sight.over(),
            Evidence::ShortTransfer if sight.is_urgent() => return,
            Evidence::ShortTransfer => sight.ready().without_ends(),
        };
        self.turns.take();
        let mut word = self.word.load(Relaxed);
        while word / TICK == sight.word / TICK || broken(Step::ReadinessTick) {
            let cleared = word & !over.bits();
            if cleared == word {
                return;
            }
            self.turns.take();
            match self.word.compare_exchange(word, cleared, Relaxed, Relaxed) {
                Ok(_) => return, // O4
                Err(now) => word = now,
            }
        }
    }

    /// Records an event: attempts of the kinds in `ready` may succeed. Wakers of tasks that wait
    /// for the event go into the batch.
    pub fn set(&self, ready: Ready, batch: &mut VecDeque<Waker>) {
        if broken(Step::ReadinessSetFirst) {
            self.lock().wake(ready, batch);
            self.change(|word| (word | ready.bits()).wrapping_add(TICK));
            return;
        }
        self.change(|word| (word | ready.bits()).wrapping_add(TICK));
        self.lock().wake(ready, batch);
    }

    /// Records that no more events will come. Wakers of all waiting tasks go into the batch.
    pub fn end(&self, batch: &mut VecDeque<Waker>) {
        if broken(Step::ReadinessEndFirst) {
            self.lock().wake(Ready::ALL, batch);
            self.change(|word| word | ENDED);
            return;
        }
        self.change(|word| word | ENDED);
        self.lock().wake(Ready::ALL, batch);
    }

    /// Calls `each` with the waker of each task that waits, and with its direction. `each` runs
    /// under the lock: it must not clone the waker or wake with it.
    pub fn for_each_waiting(&self, each: &mut dyn FnMut(&Waker, Direction)) {
        self.lock().for_each(each);
    }

    /// How many tasks wait. A task that waits in both directions by [`poll`](Self::poll) counts
    /// twice.
    pub fn waiting(&self) -> usize {
        self.lock().len()
    }

    fn change(&self, change: impl Fn(u64) -> u64) {
        let order = if broken(Step::ReadinessSetRelease) { Relaxed } else { Release };
        self.turns.take();
        let mut word = self.word.load(Relaxed);
        loop {
            self.turns.take();
            match self.word.compare_exchange(word, change(word), order, Relaxed) {
                Ok(_) => return, // O1
                Err(now) => word = now,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiters> {
        // Nothing under the lock panics.
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner) // O2
    }
}
