//! Tracks which thread is worker 0 of a pool that was built with `use_current_thread`.
//!
//! ```text
//!        ┌──sit_down──▶ HERE ──stand_up──┐
//!      AWAY ◀───────────────────────────┘
//!        │ end            │ stand_up, if the thread is to leave
//!        └──────▶ OVER ◀──┘
//! ```
//!
//! The thread that built the pool is the worker while it is inside one of the pool's operations:
//! HERE. The thread that sets the state to OVER is responsible for the worker: it becomes the
//! worker until the pool ends, or starts a thread that does.
//!
//! The end of the pool waits until the responsible thread has retired the worker; by then the
//! worker's tasks are dropped. It does not wait for an operation of the adopted thread, because
//! that operation may wait for the thread that drops the pool. In that case the dropping thread
//! gives up the worker's count, and the adopted thread retires the worker later.
//!
//! A thread may be only lent, as for a runtime with a paused clock. A lent thread also leaves when
//! another thread needs the worker: when that thread waits for the pool, or spawns a task or job,
//! while the lent thread is AWAY; and when the lent thread stands up while another thread waits.

#![forbid(unsafe_code)]

use blitz_parts::prim::{Mutex, MutexGuard, Step, broken};
use std::sync::PoisonError;

/// Whether the thread that built the pool is its first worker.
pub(crate) struct Adoption {
    place: Mutex<Place>,
}

struct Place {
    state: State,
    /// How many other threads wait for the pool. Counted only if the adopted thread is lent.
    waiting: usize,
    /// Whether the worker still has its count, which the team's end waits for.
    counts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The thread is in none of the pool's operations.
    Away,
    /// The thread is in one of the pool's operations.
    Here,
    /// The thread is no longer the worker, or never was.
    Over,
}

impl Adoption {
    /// `adopts` says that the pool's first worker has no thread of its own.
    pub(crate) fn new(adopts: bool) -> Adoption {
        let state = if adopts { State::Away } else { State::Over };
        Adoption { place: Mutex::new(Place { state, waiting: 0, counts: adopts }) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().state == State::Over
    }

    /// Whether the adopted thread is in one of the pool's operations.
    pub(crate) fn is_here(&self) -> bool {
        self.lock().state == State::Here
    }

    /// Whether the worker has no thread now: the adopted thread is in none of the pool's
    /// operations.
    pub(crate) fn is_away(&self) -> bool {
        self.lock().state == State::Away
    }

    /// Changes AWAY to HERE. Returns false if the caller cannot be the worker.
    pub(crate) fn sit_down(&self) -> bool {
        self.change(State::Away, State::Here)
    }

    /// Changes HERE to AWAY after `rise`, in which the caller stops being the worker.
    ///
    /// If the pool is `closing`, or if another thread waits for a lent thread and the caller
    /// `makes_room`, the state changes to OVER instead. Then this returns true, and the caller is
    /// still the worker and responsible for it.
    pub(crate) fn stand_up(
        &self,
        closing: impl Fn() -> bool,
        makes_room: bool,
        rise: impl FnOnce(),
    ) -> bool {
        let too_early = broken(Step::AdoptionLooksLocked).then(&closing);
        let mut place = self.lock();
        // Check this under the lock: a thread that drops the handle notes the drop before it calls
        // `end`.
        let is_closing = too_early.unwrap_or_else(closing);
        let makes_room = makes_room && !broken(Step::AdoptionMakesRoom);
        let leaves = is_closing || makes_room && place.waiting > 0;
        if leaves {
            place.state = State::Over;
        } else {
            rise();
            place.state = State::Away;
        }
        leaves
    }

    /// Changes AWAY to OVER, for a thread that is not the adopted one. If this returns true, the
    /// caller is responsible for the worker.
    pub(crate) fn end(&self) -> bool {
        self.change(State::Away, State::Over)
    }

    /// Undoes [`end`](Adoption::end), for a caller that cannot start a thread.
    pub(crate) fn resume(&self) {
        self.change(State::Over, State::Away);
    }

    /// Returns true once if the worker still has its count. The caller, which has retired the
    /// worker, must give that count up.
    pub(crate) fn take_count(&self) -> bool {
        std::mem::take(&mut self.lock().counts)
    }

    /// Works like `take_count`, for a thread that drops the pool while the adopted thread is HERE.
    pub(crate) fn take_count_while_here(&self) -> bool {
        let mut place = self.lock();
        place.state == State::Here && std::mem::take(&mut place.counts)
    }

    /// Notes that another thread waits for the pool, whose adopted thread is lent.
    pub(crate) fn begin_waiting(&self) {
        self.lock().waiting += 1;
    }

    /// Notes that the other thread no longer waits.
    pub(crate) fn end_waiting(&self) {
        self.lock().waiting -= 1;
    }

    fn change(&self, from: State, to: State) -> bool {
        let mut place = self.lock();
        let changes = place.state == from;
        if changes {
            place.state = to;
        }
        changes
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        // No user code runs under the lock.
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
