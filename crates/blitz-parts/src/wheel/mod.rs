//! Keeps timers in slots, sorted by their ticks, and hands due timers to the driver.
//!
//! The cost of inserting and removing a timer does not depend on how many there are.
//!
//! # Who calls it
//! A timer's owner, any thread: [`Wheel::insert`], and [`Entry`]'s methods. The driver, one thread
//! at a time: [`Wheel::open`], [`Wheel::earliest`], [`Wheel::next`], [`Wheel::expire`],
//! [`Wheel::close`], [`Wheel::give_back`]. Threads that explain what a pool does:
//! [`Wheel::for_each_waiting`].
//!
//! # State
//! An [`Entry`] lies in the future that sleeps, so that a timer costs no allocation.
//!
//! | entry's state | meaning | who sets | who may touch the node |
//! |---|---|---|---|
//! | IDLE 0 | in no wheel | its owner | its owner |
//! | WAITING 1 | in a slot of its wheel | its owner, under the lock | the holder of the wheel's lock |
//! | FIRED 2 | its time has come | the driver, under the lock, as its last access | its owner |
//! | CLOSED 3 | its wheel was closed | the driver, under the lock, as its last access | its owner |
//!
//! The wheel has eleven levels of 64 slots; a slot of level `n` is `64^n` ticks long, so every tick
//! of 64 bits has a place. `elapsed` is the current tick of the wheel. An entry's level is the
//! highest of its digits, to base 64, that differs from `elapsed`. So all entries of one level come
//! before all entries of the next one. Two bitmaps lead to the first slot in use, which holds the
//! entries that are due first.
//!
//! When the first entry of a slot above level 0 may be due, the driver clears that slot: it moves
//! the entries to lower levels, a few at a time, and lets go of the lock in between. Until the slot
//! is empty the driver fires nothing, `elapsed` stays, and a new entry whose tick is in the slot's
//! range goes to the end of the slot.
//!
//! # Transitions
//! ```text
//!  IDLE ──insert──▶ WAITING ──expire──▶ FIRED ──reset, cancel──▶ IDLE
//!   ▲                │  ▲ └────close───▶ CLOSED ──reset, cancel──▲
//!   └─cancel, drop───┘  └── reset, expire: into another slot
//! ```
//!
//! # Invariants
//! - **WHEEL-1** No entry is fired before its tick.
//! - **WHEEL-2** `expire(now)` fires every entry whose tick is not after `now`, unless it returns
//!   true: then it may have left some for the next call.
//! - **WHEEL-3** Entries are fired in the order of their ticks; those of one tick in the order in
//!   which they came.
//! - **WHEEL-4** Each WAITING entry is in one slot, which is in use; only the lock's holder touches
//!   slots and the nodes of WAITING entries.
//! - **WHEEL-5** `elapsed` is before the beginning of every slot in use above level 0, except the
//!   slot that is being cleared, and not after the tick of any entry. So the level of an entry does
//!   not change.
//! - **WHEEL-6** Only its owner touches an entry that is FIRED or CLOSED: it may be freed without a
//!   lock.
//! - **WHEEL-7** The waker of an entry is called once if the entry is fired or its wheel closed,
//!   and not if it was cancelled before. No waker is called, cloned or dropped under the lock.
//! - **WHEEL-8** `earliest` is not after the tick of any entry, and a thread that lowers it
//!   notifies the wheel's [`OnEarlier`].
//! - **WHEEL-9** A closed wheel takes no entry. Its memory is never freed, so an owner that finds
//!   its entry WAITING may always take the lock.
//! - **WHEEL-10** A slot that is being cleared is the first slot until it is empty: `elapsed` is
//!   its `soonest` and no entry is due before; every entry in a lower level came before the entries
//!   that are still in the slot.
//! - **WHEEL-11** A search for the next tick points to an entry of its slot. If that entry leaves,
//!   the search points to the next one.
//! - **WHEEL-12** Each holder of the lock touches a constant number of entries, however many are in
//!   the wheel: [`TIMERS_AT_ONCE`], or the limit passed to `expire`, and their neighbours. The
//!   driver yields between two turns if another thread waits for the lock.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | lock taken, given back | Acquire, Release | each other | WHEEL-4 |
//! | O2 | state := FIRED or CLOSED | Release | O3 | WHEEL-6, and the owner sees everything that the driver did before |
//! | O3 | state read by the owner, without the lock | Acquire | O2 | as O2 |
//! | O4 | state := WAITING or IDLE, under the lock; read under the lock | Relaxed | – | ordered by O1, or written by the owner itself |
//!
//! # What this does not do
//! It knows no clock: a tick is a number. It calls no waker: `expire` hands them out. An `earliest`
//! that belongs to a cancelled entry stays until the driver corrects it, so cancelling notifies no
//! thread. [`Wheel::next`] may name the tick of an entry that was cancelled during the call.
//!
//! # Lineage
//! Hashed hierarchical wheels (Varghese and Lauck), with occupancy bitmaps and the level taken from
//! the highest digit that differs. Added: one wheel per worker, fired by the worker that has the
//! driver's lease, and slots that are cleared step by step.

mod entry;
mod levels;
mod lock;
#[cfg(all(test, blitz_loom))]
mod model;
mod spare;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use entry::{Entry, Waiting};

use crate::alarm::{Earliest, NEVER};
use crate::tuning::TIMERS_AT_ONCE;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::Waker;
use levels::{ALL_SLOTS, Levels};
use lock::{Guard, Lock};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Is notified when a wheel gets an earlier first timer.
pub trait OnEarlier: Send + Sync {
    /// Called when this wheel has got a timer for `tick`, which is earlier than its other timers.
    fn is_earlier(&self, tick: u64);
}

/// Timers, sorted by the ticks at which they are due.
pub struct Wheel {
    earliest: Earliest,
    timers: Lock<Timers>,
}

/// The data behind the lock.
struct Timers {
    levels: Levels,
    /// `None` if the wheel is closed.
    on_earlier: Option<Arc<dyn OnEarlier>>,
}

/// The error of a timer that is put into a closed wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wheel is closed")
    }
}

impl std::error::Error for Closed {}

/// A pending notification of an earlier tick, made after the lock is released.
#[must_use]
struct Earlier(Option<Arc<dyn OnEarlier>>, u64);

impl Earlier {
    #[inline]
    fn tell(self) {
        if let Some(on_earlier) = self.0 {
            on_earlier.is_earlier(self.1);
        }
    }
}

impl Wheel {
    /// Creates a closed wheel, which is never freed.
    fn new() -> Wheel {
        let timers = Timers { levels: Levels::new(), on_earlier: None };
        Wheel { earliest: Earliest::new(), timers: Lock::new(timers) }
    }

    fn begin(&self, now: u64, on_earlier: Arc<dyn OnEarlier>) {
        let mut timers = self.lock();
        timers.levels.forward(now);
        timers.on_earlier = Some(on_earlier);
    }

    /// Puts `entry` into this wheel, to be fired at `tick`, and takes it out of any other wheel.
    /// `now` is some recent tick, to which the wheel may move.
    ///
    /// # Errors
    /// If the wheel is closed; then the entry is idle.
    #[inline]
    pub fn insert(
        &'static self,
        mut entry: Pin<&mut Entry>,
        tick: u64,
        now: u64,
        waker: Waker,
    ) -> Result<(), Closed> {
        entry.as_mut().cancel();
        let earlier = {
            let mut timers = self.lock();
            if timers.on_earlier.is_none() {
                return Err(Closed);
            }
            timers.levels.forward(now);
            let at = entry.as_ref().get_ref().begin(self, waker);
            // SAFETY: the entry is pinned, idle until now, and leaves the wheel before it is gone;
            // this thread holds the lock (WHEEL-4).
            unsafe { self.place(&mut timers, at, tick) }
        };
        earlier.tell();
        Ok(())
    }

    /// Puts an entry into its slot and updates the earliest tick.
    ///
    /// # Safety
    /// 1. The entry is in no slot, and its owner takes it out before it drops it.
    /// 2. The lock is held.
    #[inline]
    unsafe fn place(&self, timers: &mut Timers, entry: NonNull<Entry>, tick: u64) -> Earlier {
        // SAFETY: obligations 1 and 2.
        unsafe { timers.levels.place(entry, tick) };
        let on_earlier = if self.earliest.lower(tick) { timers.on_earlier.clone() } else { None };
        Earlier(on_earlier, tick)
    }

    /// Moves the wakers of entries that are due at `now` to `fired`, and entries of coarse slots to
    /// finer ones: at most `max` in all. Returns whether there may be more. `fired` gets room for
    /// `max` wakers before the lock is taken, and so does not reallocate under it.
    pub fn expire(&self, now: u64, max: usize, fired: &mut VecDeque<Waker>) -> bool {
        self.expire_with(now, max, fired, |_| ())
    }

    /// As [`expire`](Self::expire). Calls `on_fire` under the lock for each entry that is due, with
    /// its tick.
    pub fn expire_with(
        &self,
        now: u64,
        max: usize,
        fired: &mut VecDeque<Waker>,
        on_fire: impl FnMut(u64),
    ) -> bool {
        if self.earliest.get() > now {
            return false;
        }
        fired.reserve(max);
        let more = {
            let mut timers = self.lock();
            let more = timers.levels.expire(now, max, fired, on_fire);
            self.earliest.set(timers.levels.first().unwrap_or(NEVER));
            more
        };
        if more {
            self.timers.give_way();
        }
        more
    }

    /// The earliest tick at which a timer may be due.
    #[inline]
    pub fn earliest(&self) -> u64 {
        self.earliest.get()
    }

    /// Returns the exact tick of the first timer; [`Wheel::earliest`] may be too early. Checks each
    /// entry of a slot, in as many turns as needed.
    pub fn next(&self) -> u64 {
        loop {
            {
                let mut timers = self.lock();
                if let Ok(next) = timers.levels.next(TIMERS_AT_ONCE) {
                    let next = next.unwrap_or(NEVER);
                    self.earliest.set(next);
                    return next;
                }
            }
            self.timers.give_way();
        }
    }

    /// Calls `each` with the waker and the tick of each timer that waits. `each` runs under the
    /// lock, so it must not clone the waker or wake with it.
    ///
    /// The lock is taken anew for each slot. If a slot has more than [`TIMERS_AT_ONCE`] timers,
    /// only the oldest are shown. A timer that moves meanwhile may be shown twice or not at all.
    pub fn for_each_waiting(&self, each: &mut dyn FnMut(&Waker, u64)) {
        for slot in 0..ALL_SLOTS {
            self.lock().levels.for_each_in(slot, TIMERS_AT_ONCE, each);
        }
    }

    /// Closes the wheel: it takes no more entries. Moves the wakers of all its entries to `woken`.
    pub fn close(&self, woken: &mut VecDeque<Waker>) {
        let on_earlier = self.lock().on_earlier.take();
        // Drop this `Arc` without the lock: it may be the last reference to foreign state, whose
        // drop runs foreign code.
        drop(on_earlier);
        loop {
            woken.reserve(TIMERS_AT_ONCE);
            {
                let mut timers = self.lock();
                if !timers.levels.close(TIMERS_AT_ONCE, woken) {
                    self.earliest.set(NEVER);
                    return;
                }
            }
            self.timers.give_way();
        }
    }

    #[inline]
    fn lock(&self) -> Guard<'_, Timers> {
        self.timers.lock()
    }
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel").field("earliest", &self.earliest.get()).finish_non_exhaustive()
    }
}
