//! The main loop of a worker: find, run, sleep.
//!
//! ```text
//!   find ──yes──▶ run ──▶ find …          a job is run to its end, a task polled once
//!    │ no
//!   start_looking ─▶ find ──yes──▶ work_found (wakes another if more is left) ─▶ run ─▶ find …
//!                     │ no   ▲
//!                  no_work_found: yield … announce … sleep
//!                     │ stopping
//!                    end
//! ```

use super::{Aside, Found, Look, Worker};
use crate::driver_slot::Visit;
use crate::panic::AbortOnUnwind;
use blitz_parts::job::Work;
use blitz_parts::latch::{JobLatch, Runner};
use blitz_parts::prim::{Acquire, Relaxed, Release};
use blitz_parts::sleep::Idle;

impl Worker {
    /// Works until the pool ends. Own thread only.
    pub(crate) fn run_until_stopped(&self) {
        let sleep = self.team().sleep();
        loop {
            while let Some(found) = self.find(Look::Public, true) {
                self.run(found);
            }
            let mut idle = sleep.start_looking_outside(self.bed());
            let mut dispatched = false;
            let found = loop {
                if idle.is_driver_turn() {
                    let visit = self.visit_driver();
                    if visit != Visit::Nothing {
                        self.bed().found_in_driver();
                        dispatched = true;
                    }
                    if visit == Visit::Wakers {
                        break Some(Found::Wakers);
                    }
                }
                let look = if idle.is_sleepy() { Look::Hard } else { Look::Public };
                if let Some(found) = self.find_when_idle(look, idle.may_search()) {
                    break Some(found);
                }
                if sleep.is_stopping() {
                    break None;
                }
                if idle.is_sleepy() {
                    self.give_memory_back();
                }
                let visit = self.no_work_found(&mut idle, None);
                dispatched |= visit != Visit::Nothing;
                if visit == Visit::Wakers {
                    break Some(Found::Wakers);
                }
            };
            let few = dispatched && self.has_few_tasks();
            let more = || if few { self.leaves_work() } else { self.team().has_work() };
            let woken = sleep.work_found(self.bed(), idle, more);
            self.counters.wakes_sent.add(woken as u64);
            match found {
                Some(found) => self.run(found),
                None => return,
            }
        }
    }

    /// One idle round, which may be a sleep; `latch`: what this worker waits for, if anything. Says what the driver
    /// brought, if this worker was in there. Own thread only.
    pub(super) fn no_work_found(&self, idle: &mut Idle, latch: Option<&JobLatch>) -> Visit {
        if self.team().is_closing() {
            // This worker may have polled the task of a forgotten shield to its end: the exchange by which it began to
            // look comes between that and the flag.
            self.team().end_orphaned_sections();
        }
        let mut sleeper = None;
        let lease = self.while_parking(|| {
            let look = || {
                sleeper = self.lie_down();
                self.sees_work()
            };
            self.team().sleep().no_work_found(self.bed(), idle, latch, look)
        });
        self.get_up(sleeper);
        lease.map_or(Visit::Nothing, |lease| self.dispatch(lease))
    }

    /// Frees what this worker needed for a burst of jobs: it has found none for a while. Own thread only.
    fn give_memory_back(&self) {
        let own = self.own();
        if own.is_oversized() {
            // If a thief is in the way, the next time will do.
            own.shrink();
        }
    }

    /// Whether there is a reason for this worker not to sleep: what it looks at last.
    fn sees_work(&self) -> bool {
        let sees = self.has_mail() || self.team().has_work();
        if !sees {
            self.tell_idle_driver();
        }
        sees
    }

    /// Runs what this worker found. Own thread only.
    #[inline]
    pub(crate) fn run(&self, found: Found) {
        match found {
            Found::Job(work) => self.execute(work),
            Found::Task(task) => self.poll(task),
            Found::Wakers => self.call_wakers(),
        }
    }

    /// Runs a job that this worker found somewhere, under an [`Aside`] if it runs on top of anything. Own
    /// thread only.
    pub(crate) fn execute(&self, work: Work) {
        debug_assert!(Aside::is_begun(), "a job would see a stranger's task");
        self.counters.executed.add(1);
        self.in_run(|runner| {
            // A job keeps its panics to itself; one that does not would leave its waiter waiting.
            let guard = AbortOnUnwind("a job");
            work.run(runner);
            std::mem::forget(guard);
        });
    }

    /// Calls `f`, which must not unwind, as a run of its own: jobs that it pushes are nobody else's
    /// descendants.
    #[inline]
    pub(crate) fn in_run<R>(&self, f: impl FnOnce(Option<Runner>) -> R) -> R {
        let outer = (self.run.load(Relaxed), self.waits_for.load(Relaxed));
        // Zero means none.
        let run = self.runs.get().wrapping_add(1).max(1);
        self.runs.set(run);
        // The order of these stores and of those below lets `leapfrog` tell what this worker waited
        // for inside the run from what it waits for outside of it: whoever sees the run's number sees
        // the zero, and whoever sees the outer wait again sees the run's end.
        self.waits_for.store(0, Relaxed);
        self.run.store(run, Release);
        // Waiters follow the runner of a job to find its descendants; they may do so only if
        // nothing else lies in the deque below what the job will push.
        let runner = match u16::try_from(self.index) {
            Ok(index) if self.deque().is_empty() => Some(Runner { index, run }),
            _ => None,
        };
        let result = f(runner);
        self.run.store(outer.0, Release);
        self.waits_for.store(outer.1, Release);
        result
    }

    /// Whether a job is on this worker's stack. Own thread only.
    #[inline]
    pub(crate) fn is_in_run(&self) -> bool {
        self.run.load(Relaxed) != 0
    }

    /// Whether this worker is still in the run that `runner` names.
    pub(super) fn is_still(&self, runner: Runner) -> bool {
        self.run.load(Acquire) == runner.run
    }
}
