//! A worker: the part that its thread owns, and the part that others may see.

use super::Team;
use super::origin::Analysing;
use crate::state::{
    Attention, Backoff, Insight, LabelCache, OwnTasks, OwnerOnly, TaskQueues, WorkerCounters,
};
use blitz_parts::deque::{Deque, Steal};
use blitz_parts::job::{Header, Work};
use blitz_parts::mail::Mailbox;
use blitz_parts::rng::XorShift64Star;
use blitz_parts::seats::Seat;
use blitz_parts::sleep::{Bed, Counters, Counts, Demand};
use blitz_parts::trail::Trail;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::ptr::NonNull;

/// One worker, at a stable address in its [`Team`]. Any thread may call its methods. Methods that
/// only its own thread may call are those of [`Owner`](super::Owner).
#[repr(C)]
pub(crate) struct Worker {
    pub(crate) deque: Deque<Header>,
    /// Read after every fork and push: whether another worker could use the job. Points to counters
    /// of the team.
    demand: Demand,
    bed: NonNull<Bed>,
    team: NonNull<Team>,
    index: usize,
    /// Jobs that only this worker may run.
    pub(crate) mail: Mailbox,
    /// Which run this worker is in, and what that run waits for. Other workers that wait for a run
    /// of this worker check this.
    pub(crate) trail: Trail,
    pub(crate) counters: WorkerCounters,
    /// Notes of the watch about this worker, read after each poll and job.
    pub(crate) seat: Seat,
    pub(crate) queues: TaskQueues,
    pub(crate) insight: Box<Insight>,
    pub(super) own: OwnerOnly<Own>,
}

/// The order in which a worker takes its own jobs in the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The newest first: all of them were spawned by jobs.
    Newest,
    /// The oldest first: tasks or other threads have spawned the latest jobs.
    Oldest,
    /// The newest first, and now and then the oldest: jobs have spawned others on top of jobs from
    /// tasks or other threads.
    Mixed,
}

/// The part of a worker that only its own thread touches.
pub(crate) struct Own {
    pub(crate) rng: XorShift64Star,
    pub(crate) tasks: OwnTasks,
    /// Whether tasks go before own jobs next time.
    pub(crate) tasks_first: Cell<bool>,
    /// How many calls on the stack have given this worker's seat away.
    pub(crate) without_seat: Cell<u32>,
    /// The order in which the main loop takes own jobs.
    pub(crate) order: Cell<Order>,
    pub(crate) opened_mail: RefCell<VecDeque<Work>>,
    pub(crate) backoff: Backoff,
    pub(crate) attention: Attention,
    /// Whether events of the driver are waking tasks right now.
    pub(crate) dispatching: Cell<bool>,
    /// Whether the last fair turn was for wakers that the driver had deferred.
    pub(crate) called_wakers: Cell<bool>,
    /// How many calls of deferred wakers are on the stack.
    pub(crate) in_wakers: Cell<u32>,
    /// Whether this worker polls as the relief worker, which measures its polls itself.
    pub(crate) measures_polls: Cell<bool>,
    pub(crate) noted: Noted,
    /// Set if this worker measures work and span.
    pub(super) analysing: OnceCell<Box<Analysing>>,
}

/// State for recording events.
#[derive(Default)]
pub(crate) struct Noted {
    /// When the last poll ended, if nothing else came since; else zero.
    pub(super) poll_end: Cell<u64>,
    /// The number of polls, and of jobs, that had begun at the last event.
    pub(super) polls: Cell<u64>,
    pub(super) jobs: Cell<u64>,
    /// The number of polls that had begun when a poll was last timed.
    pub(super) timed_polls: Cell<u64>,
    /// The clock as of the last reading, for stamps of tasks.
    pub(crate) coarse: Cell<u32>,
    pub(super) names: Box<LabelCache>,
}

// SAFETY: the shared fields are atomics or built of them; only the worker's thread reaches `own`.
// The pointers point into the team that holds the worker.
unsafe impl Sync for Worker {}
// SAFETY: as above; a worker is made on one thread and then belongs to another.
unsafe impl Send for Worker {}

impl Worker {
    /// A worker of `team`, which must hold the worker, the bed and `demand`. `queues` and `tasks`
    /// are empty.
    pub(super) fn new(
        team: NonNull<Team>,
        bed: &Bed,
        demand: &CachePadded<Counters>,
        queues: TaskQueues,
        tasks: OwnTasks,
        insight: Insight,
    ) -> Worker {
        Worker {
            deque: Deque::new(),
            // SAFETY: the team holds the counters as long as the worker.
            demand: unsafe { Demand::new(demand) },
            bed: NonNull::from(bed),
            team,
            index: bed.index(),
            mail: Mailbox::new(),
            trail: Trail::new(),
            counters: WorkerCounters::default(),
            seat: Seat::new(),
            queues,
            insight: Box::new(insight),
            own: OwnerOnly::new(Own {
                rng: XorShift64Star::new(bed.index() as u64 + 1),
                tasks,
                tasks_first: Cell::new(false),
                without_seat: Cell::new(0),
                order: Cell::new(Order::Newest),
                opened_mail: RefCell::new(VecDeque::new()),
                backoff: Backoff::default(),
                attention: Attention::default(),
                dispatching: Cell::new(false),
                called_wakers: Cell::new(false),
                in_wakers: Cell::new(0),
                measures_polls: Cell::new(false),
                noted: Noted::default(),
                analysing: OnceCell::new(),
            }),
        }
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: the team holds the worker, so the team is alive while `self` is.
        unsafe { self.team.as_ref() }
    }

    #[inline]
    pub(crate) fn is_in(&self, team: &Team) -> bool {
        std::ptr::eq(self.team.as_ptr(), team)
    }

    #[inline]
    pub(crate) fn bed_ptr(&self) -> NonNull<Bed> {
        self.bed
    }

    #[inline]
    pub(crate) fn bed(&self) -> &Bed {
        // SAFETY: the team holds this worker and its bed, so the bed is alive while `self` is.
        unsafe { self.bed.as_ref() }
    }

    /// Reads whether other workers could use a job. Forks stay private until a worker can use one.
    /// If all jobs are wanted, each is published at once.
    #[inline(always)]
    pub(crate) fn demand(&self) -> Counts {
        self.demand.peek()
    }

    /// Makes the worker publish each fork at once, starting at some later moment. `always` points
    /// to counters of the team that always want all jobs.
    pub(super) fn publish_all(&self, always: &CachePadded<Counters>) {
        // SAFETY: the team holds the counters as long as the worker.
        unsafe { self.demand.tell_by(always) };
    }

    /// Makes the worker read its demand from `to`, if it reads it from `from`. Returns whether it
    /// did. Both are counters of the team.
    pub(super) fn change_demand(
        &self,
        from: &CachePadded<Counters>,
        to: &CachePadded<Counters>,
    ) -> bool {
        // SAFETY: the team holds the counters as long as the worker.
        unsafe { self.demand.change(from, to) }
    }

    /// Arms a job of this worker's deque just before other threads can see it.
    pub(crate) fn arm(&self) -> impl Fn(NonNull<Header>) + '_ {
        // SAFETY: the deque calls this closure for a job that no other thread can see yet (JOB-5).
        |job| unsafe { Header::arm(job, self.bed) }
    }

    /// Takes the oldest public job of this worker, for the caller to run.
    pub(crate) fn give(&self) -> Option<Work> {
        self.give_if(|| true)
    }

    /// Takes a job as [`give`](Self::give) does, if `valid` still holds when the job is known.
    pub(crate) fn give_if(&self, valid: impl Fn() -> bool) -> Option<Work> {
        loop {
            match self.deque.steal_if(&valid) {
                Steal::Success(job) => return Some(taken(job)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// Whether the worker is inside a poll or a job, at some recent moment.
    pub(crate) fn is_in_work(&self) -> bool {
        self.trail.is_in_run() || self.queues.counters.are_polling()
    }

    /// Whether the worker was running a poll or a job at some recent moment. A worker that sleeps
    /// inside one, or has said that it blocks, does not count.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_in_work() && !self.insight.states.is_idle() && !self.is_in_place()
    }

    /// Whether the worker is inside of `block_in_place`, and has begun nothing else there.
    pub(crate) fn is_in_place(&self) -> bool {
        self.insight.in_place.get() == self.progress() + 1
    }

    /// A count that grows when the worker begins a poll or a job, and when it forks or pushes a
    /// job.
    pub(crate) fn progress(&self) -> u64 {
        self.queues.counters.polled.get() + self.counters.executed.get() + self.deque.pushes()
    }

    /// Whether jobs wait that only this worker may run.
    pub(crate) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }
}

/// A job that just left a deque.
pub(crate) fn taken(job: NonNull<Header>) -> Work {
    // SAFETY: jobs in a deque come from `Work::into_raw`, and by DEQUE-1 each job leaves the deque
    // once.
    unsafe { Work::new(job) }
}
