//! Keeps one thread running for each seat of the pool, although threads may block.
//!
//! # Who calls it
//! The pool's watch: [`Seat::lose`], [`Seat::note_long`], [`Seat::note_stuck`],
//! [`Seat::note_slice`], [`LongTasks::remember_tried`]; [`Seats::take_back`] when it gives the
//! relief worker a seat; [`Seat::attend`] for a spare that rests. The owner of a worker:
//! [`Seat::attend`], and [`Seat::lose`] before a call that may block. The thread that calls a
//! spare: [`Seats::try_fill`], and [`Seats::vacate`] if no spare comes. The relief worker:
//! [`Seats::try_fill`] for a free seat, and [`Seats::vacate`] if the watch has given it a seat,
//! too. A spare that could leave: [`Seats::try_leave`]. Callers: `blitz-core/worker`,
//! `blitz-core/team/spares`, `blitz-core/sched/tasks`.
//!
//! # State
//! | word | meaning | who raises it | who lowers it |
//! |---|---|---|---|
//! | `free` | seats that no thread has; below zero, threads that run without a seat | the watch or a worker, for a seat that is lost; a spare that leaves; the caller of a spare that does not come; the relief worker that got two seats | the caller of a spare; a worker that is back; the relief worker; the watch, for the relief worker or for a spare that has gone to rest |
//! | `Seat`, LOST | the worker's seat was given away while it was blocked | the watch; the worker, before it may block | the worker |
//! | `Seat`, LONG | the worker's current poll or job has run for long | the watch | the worker |
//! | `Seat`, STUCK | the worker has waited for a processor for long | the watch | the worker |
//! | `Seat`, SLICE | the watch has changed the slice of the worker's thread, the time that the kernel lets it run at once | the watch | the worker, which changes the slice back |
//! | `Seat`, thread | which thread the worker is, for the watch | the thread, when it begins | never |
//! | [`LongTasks`] | addresses of tasks with long polls, and of types with long first polls, noted once or twice; entries may be lost or wrong | the relief worker, the owner of a worker, the watch | the worker that polls such a task, if the poll was short |
//! | [`LongTasks`], tried | the type of the task that the relief worker polls, if that is the task's first poll | the relief worker | the relief worker; the watch, when it has noted that type |
//!
//! A spare may go to rest before it has seen its notes. Then the watch takes the notes instead.
//!
//! # Transitions
//! ```text
//!  watch:    worker blocked ─▶ LOST set? ──no──▶ set it, free +1 ─▶ a spare is called
//!  spare:    free > 0 ──▶ free -1, works … free < 0 ──▶ free +1, rests
//!  worker:   back from its poll or job ─▶ LOST taken, free -1
//! ```
//!
//! # Invariants
//! - **SEATS-1** `free` is the number of seats minus the number of threads that have one. It is
//!   zero once each worker that lost its seat is back and all surplus spares have left.
//! - **SEATS-2** A seat that was given away once is filled once: of two threads that call
//!   `try_fill`, only one gets true and fills the seat.
//! - **SEATS-3** A spare leaves only while there are too many threads: if there is one thread too
//!   many, one of two spares leaves.
//! - **SEATS-4** A worker takes a seat back once for each time that it lost one.
//! - **SEATS-5** After each change of the slice of a worker's thread, `attend` tells that worker to
//!   change it back.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `free` | Relaxed | – | exchanges of one word have one order; no thread reads other data because of `free` |
//! | O2 | `Seat` exchanges, load | Relaxed | – | as O1: a note carries no other data |
//! | O3 | `Seat` thread | Relaxed | – | a number that is only passed to the system |
//! | O4 | `LongTasks` | Relaxed | – | hints |
//!
//! # What this does not do
//! These counts and notes neither wake nor start a thread, and do not decide which thread is
//! blocked. A surplus thread goes on until it reaches a point at which it may leave.
//!
//! # Lineage
//! Ours. Go's `P` and the workers of the sleep document (`docs/coverage.md`), reduced to a count:
//! all seats are alike, so no thread needs to know which one it has.

mod long;
#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use long::LongTasks;

use crate::prim::{AtomicIsize, AtomicU32, Relaxed, Step, broken};
use crate::thread::ThreadId;

/// The seats of a pool.
#[derive(Debug, Default)]
pub struct Seats {
    free: AtomicIsize,
}

impl Seats {
    /// Creates the seats of a pool in which every worker has one.
    ///
    /// ```
    /// use blitz_parts::seats::{Seat, Seats};
    /// let (seats, seat) = (Seats::new(), Seat::new());
    /// assert!(seat.lose(&seats) && seats.try_fill());
    /// assert!(seat.attend(&seats).lost && seats.try_leave());
    /// assert_eq!(seats.free(), 0);
    /// ```
    pub fn new() -> Seats {
        Seats::default()
    }

    /// Frees a seat whose thread is blocked, or did not come.
    pub fn vacate(&self) {
        self.free.fetch_add(1, Relaxed); // O1
    }

    /// Takes a seat for a thread that runs already, even if no seat is free.
    pub fn take_back(&self) {
        self.free.fetch_sub(1, Relaxed); // O1
    }

    /// Takes a free seat, for a spare that the caller brings or for the calling relief worker.
    #[must_use = "the seat has to be filled"]
    pub fn try_fill(&self) -> bool {
        self.step_if(|free| free > 0, -1, broken(Step::SeatsFillOnce))
    }

    /// Returns true if there is a thread too many: then the caller leaves.
    #[must_use = "the caller has to leave"]
    pub fn try_leave(&self) -> bool {
        self.has_too_many() && self.step_if(|free| free < 0, 1, broken(Step::SeatsLeaveOnce))
    }

    /// Whether more threads run than there are seats.
    #[inline]
    pub fn has_too_many(&self) -> bool {
        self.free() < 0
    }

    /// Seats that no thread has; below zero, threads that are too many.
    #[inline]
    pub fn free(&self) -> isize {
        self.free.load(Relaxed) // O1
    }

    fn step_if(&self, wanted: impl Fn(isize) -> bool, step: isize, twice: bool) -> bool {
        if twice {
            let seen = wanted(self.free());
            self.free.fetch_add(if seen { step } else { 0 }, Relaxed);
            return seen;
        }
        let mut free = self.free();
        while wanted(free) {
            match self.free.compare_exchange(free, free + step, Relaxed, Relaxed) {
                Ok(_) => return true, // O1
                Err(now) => free = now,
            }
        }
        false
    }
}

const LOST: u32 = 1;
const LONG: u32 = 2;
const SLICE: u32 = 4;
const STUCK: u32 = 8;

/// The watch's notes about one worker.
#[derive(Debug, Default)]
pub struct Seat {
    noted: AtomicU32,
    thread: AtomicU32,
}

/// The notes that a worker gets when it returns from a poll or job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The worker's seat was given away; now the worker has a seat again.
    pub lost: bool,
    /// The worker's poll or job took long.
    pub long: bool,
    /// The slice of the worker's thread was changed; the worker has to change it back.
    pub slice: bool,
}

impl Seat {
    /// Creates a seat without notes.
    pub fn new() -> Seat {
        Seat::default()
    }

    /// Makes `thread`, which calls this, the worker from now on.
    pub fn sit_down(&self, thread: ThreadId) {
        self.thread.store(thread.to_bits(), Relaxed); // O3
    }

    /// The thread of this worker, now or last; `None` if it never had one.
    pub fn thread(&self) -> Option<ThreadId> {
        ThreadId::from_bits(self.thread.load(Relaxed)) // O3
    }

    /// Whether anything was noted.
    #[inline(always)]
    pub fn is_noted(&self) -> bool {
        self.noted.load(Relaxed) != 0 // O2
    }

    /// Gives away the seat of this worker, which is blocked or may block now. Returns false if the
    /// seat was given away already.
    pub fn lose(&self, seats: &Seats) -> bool {
        let before = if broken(Step::SeatsLoseOnce) {
            let before = self.noted.load(Relaxed);
            self.noted.store(before | LOST, Relaxed);
            before
        } else {
            self.noted.fetch_or(LOST, Relaxed) // O2
        };
        let first = before & LOST == 0;
        if first {
            seats.vacate();
        }
        first
    }

    /// Notes that the worker's current poll or job has run for long.
    pub fn note_long(&self) {
        self.noted.fetch_or(LONG, Relaxed); // O2
    }

    /// Notes that the worker does not return from its poll or job because it has no processor.
    pub fn note_stuck(&self) {
        self.noted.fetch_or(STUCK, Relaxed); // O2
    }

    /// Notes that the slice of the worker's thread was changed, so that the worker changes it back.
    /// Called after the change: a worker that came back between the change and the note finds the
    /// note when it comes back again.
    pub fn note_slice(&self) {
        self.noted.fetch_or(SLICE, Relaxed); // O2
    }

    /// Whether the slice of the worker's thread was changed and the worker is not back.
    pub fn has_slice(&self) -> bool {
        self.noted.load(Relaxed) & SLICE != 0 // O2
    }

    /// Whether the worker's current poll or job has run for long.
    pub fn is_long(&self) -> bool {
        self.noted.load(Relaxed) & LONG != 0 // O2
    }

    /// Whether the worker has no seat.
    pub fn is_lost(&self) -> bool {
        self.noted.load(Relaxed) & LOST != 0 // O2
    }

    /// Takes the notes for a worker that has returned from a poll or job, and gives it a seat
    /// again.
    #[cold]
    pub fn attend(&self, seats: &Seats) -> Noted {
        let noted = if broken(Step::SeatsAttendExchange) {
            let noted = self.noted.load(Relaxed);
            self.noted.store(0, Relaxed);
            noted
        } else {
            self.noted.swap(0, Relaxed) // O2
        };
        let lost = noted & LOST != 0;
        if lost {
            seats.take_back();
        }
        Noted { lost, long: noted & LONG != 0, slice: noted & SLICE != 0 }
    }
}
