//! Tasks on the workers: where a runnable task waits, and who takes it from there.
//!
//! ```text
//!  woken or spawned on a worker ─▶ its LIFO slot ─evicts─▶ its ring ─overflows─▶ the queue
//!  woken during its own poll ───────────────────────────▶ its ring
//!  woken by what happened in the driver, but for the first ▶ its ring (as others if rings are not shared)
//!  woken or spawned elsewhere ─────────────────────────────────────────────────▶ the queue
//!
//!  a worker takes: batch buffer, LIFO slot (three in a row at most), ring; every `interval` polls, or
//!  when it has none of its own: a fair batch of the queue; else half of another's ring, which goes before
//!  own tasks if that worker is stuck
//! ```
//!
//! The sleep protocol is that of jobs: what is put where others can take it is told to a sleeper if
//! nobody looks for work. A LIFO slot is its owner's: if the owner is stuck, `watch` moves what is in it
//! to the queue.

mod bitmap;
pub(crate) mod cancel;
mod choice;
mod crowd;
mod histogram;
mod metrics;
mod queue;
mod stealing;
mod tick;
mod trace;
pub(crate) mod watch;

pub(crate) use bitmap::{BitmapPart, BitmapTotals};
pub use choice::Scheduler;
pub use histogram::Histogram;
pub(crate) use metrics::TaskCounters;
pub use metrics::{SignalMetrics, TaskMetrics};
pub(crate) use queue::TaskQueue;

use crate::panic::Payload;
use crate::task::context;
use crate::team::Team;
use crate::worker::{Worker, current};
use blitz_parts::bitmap::Position;
use blitz_parts::lifo::LifoSlot;
use blitz_parts::ring::Ring;
use blitz_parts::task::{self, Header, LateReport, Owned, Place, Runnable};
use blitz_parts::tuning::{BATCH_SLOTS, RING_SLOTS};
use crowd::Crowd;
use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use tick::Tick;

/// One worker's tasks. The fields below the line are touched by its own thread only.
pub(crate) struct WorkerTasks {
    lifo: LifoSlot,
    /// Taken from the queue in one batch; a ring, so that others can take them back.
    batch: Ring<BATCH_SLOTS>,
    ring: Ring<RING_SLOTS>,
    /// What the signal scheduler adds; `None` in the stealing one.
    pub(crate) signal: Option<Box<BitmapPart>>,
    /// Tasks that wait after a first poll on this worker.
    pub(crate) owned: Owned,
    pub(crate) counters: TaskCounters,
    // ------
    tick: Tick,
    crowd: Crowd,
    /// Polls in a row whose task came from the LIFO slot.
    lifo_polls: Cell<u32>,
    /// There may be something in the batch buffer.
    has_batch: Cell<bool>,
    /// This worker is between its last task and sleep: what is woken now goes to the queue.
    parking: Cell<bool>,
    /// Which worker the next fair turn looks at, and how many polls that had begun in the last one.
    suspect: Cell<(usize, u64)>,
}

impl WorkerTasks {
    /// `all_timed`: every poll is timed. `signal`: this worker's part in the signal scheduler.
    pub(crate) fn new(all_timed: bool, signal: Option<BitmapPart>) -> WorkerTasks {
        WorkerTasks {
            lifo: LifoSlot::new(),
            batch: Ring::new(),
            ring: Ring::new(),
            signal: signal.map(Box::new),
            owned: Owned::new(),
            counters: TaskCounters::default(),
            tick: Tick::new(all_timed),
            crowd: Crowd::default(),
            lifo_polls: Cell::new(0),
            has_batch: Cell::new(false),
            parking: Cell::new(false),
            suspect: Cell::new((0, 0)),
        }
    }

    /// Whether there is a task that other workers could take.
    pub(crate) fn has_public(&self) -> bool {
        !self.ring.is_empty() || !self.batch.is_empty()
    }

    /// Tasks that wait in this worker's queues, the LIFO slot included.
    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.batch.len() + usize::from(!self.lifo.is_empty())
    }
}

impl fmt::Debug for WorkerTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerTasks")
            .field("lifo", &!self.lifo.is_empty())
            .field("batch", &self.batch.len())
            .field("ring", &self.ring.len())
            .field("waiting", &self.owned.len())
            .finish_non_exhaustive()
    }
}

/// Whose panic nobody waits for.
const DETACHED: &str = "a detached task";

/// The team that a task belongs to, in one word. It counts nothing: a team does not end before each of
/// its tasks is complete (see `cancel`), and a task that is complete asks nothing of it.
#[derive(Clone, Copy)]
pub(crate) struct Home(NonNull<Team>);

// SAFETY: a team is shared between threads; the pointer is followed only while the team is alive.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    pub(crate) fn of(team: &Team) -> Home {
        Home(NonNull::from(team))
    }

    /// Schedules a task on a thread that is no worker of its team.
    #[inline(never)]
    fn schedule_elsewhere(self, task: Runnable) {
        let team = self.team();
        // Once the task is in the queue it may be run, and the team may end: it is kept until everybody has
        // been told. A team that is being dropped waits for its tasks to be complete.
        match team.try_arc() {
            Some(team) => team.schedule_from_outside(task),
            None => team.cancel_late(task),
        }
    }

    #[inline]
    fn team(&self) -> &Team {
        // SAFETY: the task that asks is not complete, so its team is alive.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a team is not gone before its tasks are complete, and whoever runs or drops one of them keeps the
// team meanwhile: workers do, `try_arc` does, and a team that is being dropped waits (`late`). The lists are
// the workers', which the team keeps in place. Nothing here unwinds: the panic handler's own panics are
// caught.
unsafe impl task::Scheduler for Home {
    // A team takes tasks until the last of those that wait is complete, so no wake finds it closed.
    const ONLY_QUEUES: bool = true;

    #[inline]
    fn schedule(&self, task: Runnable) {
        match current::current() {
            Some(worker) if worker.is_in(self.team()) => worker.schedule(task),
            _ => self.schedule_elsewhere(task),
        }
    }

    #[inline]
    fn has_yielded(&self) -> bool {
        context::has_yielded()
    }

    fn settle(&self, task: NonNull<Header>) -> (Place, &Owned) {
        let Some(worker) = current::current() else {
            unreachable!("tasks are polled on workers");
        };
        match self.team().signals() {
            None => {
                // What is polled on a worker is its team's, and the team keeps the worker in place.
                (Place::new(worker.index()), &worker.tasks().owned)
            }
            Some(signals) => {
                let place = worker.reserve_slot(signals, task);
                (place, self.owned(place))
            }
        }
    }

    fn unsettle(&self, place: Place) {
        if let Some(worker) = current::current() {
            worker.free_slot(place);
        }
    }

    fn owned(&self, place: Place) -> &Owned {
        let team = self.team();
        let list = match team.signals() {
            None => {
                // Most tasks end where they waited first, and the table of workers is a detour.
                let here = |worker: &&Worker| worker.index() == place.index() && worker.is_in(team);
                if let Some(worker) = current::current().filter(here) {
                    return &worker.tasks().owned;
                }
                place.index()
            }
            // Not whose the leaf is now: a task stays in its list.
            Some(_) => Position::of(place).leaf % team.lists,
        };
        match team.worker(list) {
            Some(worker) => &worker.tasks().owned,
            None => unreachable!("workers stay"),
        }
    }

    fn report_panic(&self, payload: Payload) {
        self.team().report_panic_of(DETACHED, payload);
    }

    fn late_report(&self) -> Option<LateReport> {
        let team = self.team().try_arc()?;
        Some(Box::new(move |payload| team.report_panic_of(DETACHED, payload)))
    }
}
