//! Counts the reasons that keep a pool running. When it ends, each duty goes to exactly one thread.
//!
//! # Who calls it
//! Holders of the pool: its handle, spawned jobs, closures that block, calls of other threads that
//! wait for jobs, shielded sections of tasks. Workers, when they begin and when they leave. Threads
//! that wake a task of a team that is being dropped. Callers: `blitz-core/team`,
//! `blitz-core/sched`, `blitz-core/worker`, `blitz-core/task/shield`; `blitz-core/door` only reads
//! counts.
//!
//! # State
//! | word | meaning | who raises it | who lowers it |
//! |---|---|---|---|
//! | `holds` | reasons to work: the handle, each spawned job, each closure that blocks, each call of another thread that waits for jobs, each section | [`Life::hold`], [`Life::hold_at_work`], [`Life::try_hold`], [`Life::try_hold_tasks`] | [`Life::release`], [`Life::release_with_tasks`] |
//! | `task_holds` | reasons to poll tasks: the handle, each section | [`Life::try_hold_tasks`] | [`Life::release_with_tasks`] |
//! | `closing` | the handle is gone | [`Life::close`], once | never |
//! | `holds`, highest bit | the count has reached zero: the workers have to stop | the release that first brings it to zero | never |
//! | `leaving` | workers that have not left, and the handle | [`Life::enlist`] | [`Life::leave`], [`Life::discharge`] |
//! | `late` | latecomers: threads that hand a task to the thread that drops the team, or that cancel tasks while blocked workers keep the team from ending | [`Life::come_late`] | the same |
//! | `started` | worker threads that have not begun, and the builder | – | [`Life::count_in`] |
//! | `ended` | workers, the handle and the last hold, as long as they have not counted themselves out | [`Life::enlist`] | [`Life::count_out`], [`Life::discharge`] |
//!
//! Tasks *have ended* once `task_holds` is zero: from then on they are cancelled instead of polled.
//! A single task is *complete* once it has returned or was cancelled.
//!
//! # Transitions
//! ```text
//!  holds:       1 ⇄ 2 ⇄ …          1 ──release──▶ 0: Last, the caller stops the workers
//!                                  0 ──hold, by a worker that leaves──▶ 1 ──release──▶ 0: NotLast
//!                                  0 ──hold_at_work, try_hold, try_hold_tasks──▶ refused
//!  a section:   holds +1 ─▶ task_holds +1 ─▶ …  ─▶ task_holds -1 ─▶ holds -1
//!  task_holds:  1 ──▶ 0, then holds -1:   nothing left ─▶ Stop      else ─▶ Cancel, with a hold
//!  leaving:     n ──leave──▶ … ──leave──▶ 0: Last, the caller cancels the tasks that are left
//!  closing:     handle: closing := true ─▶ fence ─▶ which tasks are complete?
//!               worker: a task is complete ─▶ fence ─▶ closing?
//!  late:        waker: late +1 ─▶ task into the queue ─▶ late -1
//!               end:   take and cancel tasks until none is left and late is 0
//! ```
//!
//! # Invariants
//! - **LIFE-1** A hold is granted only while there is another hold. After the last release only
//!   workers that leave take holds, for work that they run themselves.
//! - **LIFE-2** Exactly one release returns `Last`: the first that brings the count to zero. Its
//!   caller sees what all holders wrote before they released.
//! - **LIFE-3** The workers do not stop while a section has a hold of the tasks: when they are told
//!   to stop, tasks have ended.
//! - **LIFE-4** If there is a hold when tasks end, the thread that ended them gets the duty to
//!   cancel them, together with a hold. If [`Life::try_hold`] grants a hold after the end of tasks,
//!   it returns `AfterTasks`. A thread that finds that tasks have ended sees what their holders
//!   wrote before they released.
//! - **LIFE-5** Exactly one participant is the last to leave. It sees what the others wrote before
//!   they left.
//! - **LIFE-6** If the handle closes while a task completes, then the thread that closes sees that
//!   the task is complete, or the worker that polled the task sees that the handle is gone.
//! - **LIFE-7** If a thread takes a latecomer's task and then finds no latecomer, that thread is
//!   alone: the latecomer touches nothing of the team any more.
//! - **LIFE-8** The start is over when each worker thread and the builder have counted themselves
//!   in. The end is over when each worker, the handle and the last hold have counted themselves
//!   out.
//! - **LIFE-9** If a worker is enlisted before the workers are told to stop, it leaves and ends
//!   like the workers that the pool began with: no participant is the last to leave before the
//!   enlisted worker has left.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | exchanges that lower `holds`, `task_holds` | AcqRel | themselves | LIFE-2, LIFE-3: the last one has acquired all releases |
//! | O2 | exchanges that raise them unless they are zero | AcqRel | O1 | LIFE-4: a hold that comes after the end of tasks in the order of `holds` sees `task_holds` at zero |
//! | O3 | `hold` | Relaxed | – | the caller has a hold, or leaves; the count goes down by O1 |
//! | O4 | `task_holds` load | Acquire | O1 | LIFE-4: a task is cancelled after what the holders did |
//! | O5 | `leaving` exchange | AcqRel | itself | LIFE-5 |
//! | O6 | fence after `closing` was stored | SeqCst | O7 | LIFE-6: the thread that closes and the worker cannot both miss each other |
//! | O7 | fence before `closing` is loaded | SeqCst | O6 | the same |
//! | O8 | `closing` store, load | Relaxed | – | it carries no data; a load sees it eventually, even without the fences |
//! | O9 | `late` up, before the task is queued | Relaxed | the taker's synchronisation with the queue | LIFE-7: the taker of the task sees the count |
//! | O10 | `late` down, load | AcqRel, Acquire | each other | LIFE-7 |
//! | O11 | `holds`: the exchange that sets the highest bit | Relaxed | itself, O2 | exchanges of one word have one order. LIFE-2: one winner, which has acquired all releases by O1; LIFE-1: while a worker that leaves has a hold, no other hold is granted |
//! | O12 | `leaving` load | Relaxed | – | information, and a hint to the thread that supervises the end, which looks again |
//! | O13 | `leaving` up, and down for a worker that could not be started | Relaxed | – | LIFE-9: workers leave only after they are told to stop, and a worker is enlisted before that |
//!
//! O1 and O2 both exchange `holds`, so no fence is needed between a hold and the end of tasks. The
//! thread that ends tasks then releases its own hold. If this release does not see another thread's
//! hold in the count, that hold comes later in the order of `holds`, and acquires the release.
//!
//! # What this does not do
//! It stops no worker and cancels no task: each result names a duty of the caller. It wakes only
//! the threads that wait for the start or the end. It does not know what a hold is for.
//!
//! # Lineage
//! Reference counts with duties, as in `task/state`. Like `Weak::upgrade`, it raises a count unless
//! the count is zero.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::latch::{CountLatch, Latch, OnceLatch};
use crate::prim::{
    AcqRel, Acquire, AtomicBool, AtomicUsize, Relaxed, SeqCst, Step, Turns, broken, fence,
};
use crossbeam_utils::CachePadded;

/// The counts that keep one pool running.
#[derive(Debug)]
pub struct Life {
    holds: CachePadded<Holds>,
    task_holds: Holds,
    closing: AtomicBool,
    leaving: AtomicUsize,
    late: AtomicUsize,
    started: CountLatch<OnceLatch>,
    ended: CountLatch<OnceLatch>,
}

/// What the caller has to do after it released a hold.
#[must_use = "the last one stops the workers"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Nothing.
    NotLast,
    /// Stop the workers. No other caller gets this.
    Last,
}

/// What the caller has to do after it released a hold and a hold of the tasks.
#[must_use = "the last one stops the workers, or cancels the tasks"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TasksReleased {
    /// Nothing.
    NotLast,
    /// Tasks have ended, but the pool works on. Cancel the tasks, then [release](Life::release) the
    /// hold that comes with this result.
    Cancel,
    /// Stop the workers, which then cancel the tasks that are left.
    Stop,
}

/// Whether a thread that is not a worker got a hold.
#[must_use = "a hold has to be released"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It got none: the pool ends, or has ended.
    Refused,
    /// The caller has a hold.
    Granted,
    /// The caller has a hold, and tasks have ended. The caller has to cancel them, because its own
    /// work may wait for a task.
    AfterTasks,
}

/// Whether a section got its holds.
#[must_use = "a hold has to be released"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TasksHeld {
    /// The caller has a hold, and a hold of the tasks.
    Granted,
    /// The caller has neither. If the call has released the last hold, the duty is the caller's.
    Refused(Released),
}

/// What a participant that leaves has to do.
#[must_use = "the last one cancels the tasks that are left"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    NotLast,
    /// Cancel the tasks that are left: no other thread is a worker any more.
    Last,
}

impl Life {
    /// Creates the counts of a pool with `workers` workers.
    ///
    /// The pool starts `threads` threads for them. An adopted thread is a worker, but the pool does
    /// not start it. The handle has a hold, and a hold of the tasks.
    ///
    /// ```
    /// use blitz_parts::life::{Held, Life, Released, TasksReleased};
    /// let life = Life::new(2, 2);
    /// life.hold(); // A job.
    /// assert_eq!(life.release_with_tasks(), TasksReleased::Cancel); // The handle.
    /// assert_eq!(life.release(), Released::NotLast); // The hold of `Cancel`.
    /// assert_eq!(life.release(), Released::Last); // The job.
    /// assert_eq!(life.try_hold(|| false), Held::Refused);
    /// ```
    pub fn new(workers: usize, threads: usize) -> Life {
        Life {
            holds: CachePadded::new(Holds::new()),
            task_holds: Holds::new(),
            closing: AtomicBool::new(false),
            leaving: AtomicUsize::new(workers + 1),
            late: AtomicUsize::new(0),
            started: CountLatch::new(threads + 1, OnceLatch::new()),
            ended: CountLatch::new(workers + 2, OnceLatch::new()),
        }
    }

    /// Adds a hold. The caller has one already, or is a worker that runs the held work itself.
    #[inline]
    pub fn hold(&self) {
        self.holds.add();
    }

    /// Adds a hold unless the count has reached zero. Returns whether it added one.
    #[must_use = "a hold has to be released"]
    pub fn hold_at_work(&self) -> bool {
        if broken(Step::LifeHoldLooks) {
            self.hold();
            return true;
        }
        self.holds.add_unless_zero()
    }

    /// Adds a hold for a thread that is not a worker. Refuses it once the handle is gone, because
    /// such threads could keep the pool alive for ever. Even then it grants the hold if `inside`
    /// returns true: the caller is a blocking closure of the pool itself.
    pub fn try_hold(&self, inside: impl FnOnce() -> bool) -> Held {
        if self.is_closing() && !inside() || !self.hold_at_work() {
            Held::Refused
        } else if self.tasks_end() {
            Held::AfterTasks
        } else {
            Held::Granted
        }
    }

    /// Adds a hold and a hold of the tasks, for a section. Refuses both once tasks have ended. Once
    /// the handle is gone, grants them only if `inside` returns true: the caller is inside another
    /// section.
    pub fn try_hold_tasks(&self, inside: impl FnOnce() -> bool) -> TasksHeld {
        let refused = TasksHeld::Refused(Released::NotLast);
        if self.is_closing() && !inside() {
            return refused;
        }
        if broken(Step::LifeWorkFirst) {
            let held = self.task_holds.add_unless_zero();
            if held {
                self.hold();
            }
            return if held { TasksHeld::Granted } else { refused };
        }
        // Take the hold of the pool first, then that of its tasks: the handle may give up its own
        // two holds in between (LIFE-3).
        if !self.hold_at_work() {
            refused
        } else if self.task_holds.add_unless_zero() {
            TasksHeld::Granted
        } else {
            TasksHeld::Refused(self.release())
        }
    }

    /// Gives up a hold.
    pub fn release(&self) -> Released {
        let is_zero = self.holds.sub();
        // A worker that leaves may raise the count and lower it to zero again. Only the first zero
        // counts.
        let is_first = || broken(Step::LifeStopsOnce) || self.holds.stop();
        if is_zero && is_first() { Released::Last } else { Released::NotLast }
    }

    /// Gives up a hold and a hold of the tasks.
    pub fn release_with_tasks(&self) -> TasksReleased {
        let early = broken(Step::LifeTasksFirst).then(|| self.release());
        let tasks_end = self.task_holds.sub();
        match early.unwrap_or_else(|| self.release()) {
            // Workers that stop cancel tasks themselves.
            Released::Last => TasksReleased::Stop,
            // Tasks have ended, and another thread has a hold. Its work may wait for a task, so the
            // tasks have to be cancelled now.
            Released::NotLast if tasks_end && self.hold_at_work() => TasksReleased::Cancel,
            Released::NotLast => TasksReleased::NotLast,
        }
    }

    /// Whether tasks are cancelled instead of polled.
    #[inline]
    pub fn tasks_end(&self) -> bool {
        self.task_holds.get() == 0
    }

    /// How many holds there are, at some recent moment.
    pub fn holds(&self) -> usize {
        self.holds.get()
    }

    /// How many holds of the tasks there are, at some recent moment.
    pub fn task_holds(&self) -> usize {
        self.task_holds.get()
    }

    /// Notes that the handle is gone. After this the caller looks for tasks that are complete
    /// (LIFE-6).
    pub fn close(&self) {
        self.closing.store(true, Relaxed); // O8
        if !broken(Step::LifeCloseFence) {
            fence(SeqCst); // O6
        }
    }

    /// Whether the handle is gone.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing.load(Relaxed) // O8
    }

    /// Whether the handle is gone. A worker that may have finished a task asks this at its last
    /// look before it sleeps (LIFE-6).
    pub fn is_closing_at_last(&self) -> bool {
        if !broken(Step::LifeSeesFence) {
            fence(SeqCst); // O7
        }
        self.is_closing()
    }

    /// Notes that a worker, or the handle, leaves for good.
    pub fn leave(&self) -> Left {
        let order = if broken(Step::LifeLeaveRelease) { Relaxed } else { AcqRel };
        let before = self.leaving.fetch_sub(1, order); // O5
        debug_assert_ne!(before, 0, "more have left than there were");
        if before == 1 { Left::Last } else { Left::NotLast }
    }

    /// Adds a worker, which leaves and counts itself out like the others (LIFE-9). Call it only
    /// before the workers are told to stop.
    pub fn enlist(&self) {
        let before = self.leaving.fetch_add(1, Relaxed); // O13
        debug_assert_ne!(before, 0, "all have left");
        self.ended.increment();
    }

    /// Undoes [`enlist`](Self::enlist) for a worker that could not be started. Call it only before
    /// the workers are told to stop.
    pub fn discharge(&self) {
        let before = self.leaving.fetch_sub(1, Relaxed); // O13
        debug_assert!(before > 1, "it was the last one");
        // This is not the last count, because the handle or a worker has not ended.
        let _ = self.count_out();
    }

    /// How many workers have not left, plus one for the handle, at some recent moment.
    pub fn leaving(&self) -> usize {
        self.leaving.load(Relaxed) // O12
    }

    /// Calls `leave`, which hands a task of the team to the thread that drops the team, or cancels
    /// tasks. `late` counts the caller until `leave` is done, so the team stays alive until then. A
    /// task that was handed over keeps the team alive until that thread takes the task. The team
    /// may be gone when this function returns.
    pub fn come_late(&self, leave: impl FnOnce()) {
        if broken(Step::LifeLateFirst) {
            leave();
            self.late.fetch_add(1, Relaxed);
        } else {
            self.late.fetch_add(1, Relaxed); // O9
            leave();
        }
        let order = if broken(Step::LifeLateRelease) { Relaxed } else { AcqRel };
        self.late.fetch_sub(1, order); // O10
    }

    /// Returns whether a latecomer is inside the team. The last participant to leave and the thread
    /// that drops the team call this after they have taken the tasks of latecomers.
    pub fn anyone_late(&self) -> bool {
        self.late.load(Acquire) > 0 // O10
    }

    /// Notes that a worker thread, or the builder, has begun. For a worker thread that will never
    /// begin, another thread calls this.
    pub fn count_in(&self) {
        // SAFETY: the latch is a part of `self` and alive; each participant gives up its own count.
        unsafe { CountLatch::set(&raw const self.started) };
    }

    /// Returns when every worker thread and the builder have been counted in.
    pub fn wait_started(&self) {
        self.started.inner().wait();
    }

    /// Notes that a worker, the handle or the last hold is at its end. Returns whether all of them
    /// are: true for the last one, and also for an earlier one if the last one comes meanwhile.
    pub fn count_out(&self) -> bool {
        // SAFETY: as in `count_in`; the caller keeps the team beyond the call.
        unsafe { CountLatch::set(&raw const self.ended) };
        self.ended().probe()
    }

    /// Returns the latch that is set when each worker, the handle and the last hold are at their
    /// ends.
    pub fn ended(&self) -> &OnceLatch {
        self.ended.inner()
    }
}

/// The bit that is set in a count that grants no more holds.
const STOPPED: usize = 1 << (usize::BITS - 1);

/// A count of holds. Each access is a step of its own for the model checker.
#[derive(Debug)]
struct Holds {
    count: AtomicUsize,
    turns: Turns,
}

impl Holds {
    /// Creates a count of one, for the handle.
    fn new() -> Holds {
        Holds { count: AtomicUsize::new(1), turns: Turns::default() }
    }

    /// Adds one.
    #[inline]
    fn add(&self) {
        self.turns.take();
        self.count.fetch_add(1, Relaxed); // O3
    }

    /// Adds one unless the count is zero. Returns whether it added one.
    fn add_unless_zero(&self) -> bool {
        self.turns.take();
        let mut seen = self.count.load(Relaxed);
        // If the bit is set, only workers that leave have holds.
        while (1..STOPPED).contains(&seen) {
            self.turns.take();
            match self.count.compare_exchange(seen, seen + 1, AcqRel, Relaxed) {
                Ok(_) => return true, // O2
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Takes one away; returns whether it was the last.
    fn sub(&self) -> bool {
        let order = if broken(Step::LifeReleaseRelease) { Relaxed } else { AcqRel };
        self.turns.take();
        let before = self.count.fetch_sub(1, order); // O1
        debug_assert_ne!(before & !STOPPED, 0, "more is released than was held");
        before & !STOPPED == 1
    }

    /// Stops granting holds. Returns whether it granted them before.
    fn stop(&self) -> bool {
        self.turns.take();
        self.count.fetch_or(STOPPED, Relaxed) & STOPPED == 0 // O11
    }

    #[inline]
    fn get(&self) -> usize {
        self.turns.take();
        self.count.load(Acquire) & !STOPPED // O4
    }
}
