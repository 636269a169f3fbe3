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

#![forbid(unsafe_code)]

use super::driver::Visit;
use super::work::has_work;
use super::{Found, Look};
use crate::base::context;
use crate::base::panic::AbortOnUnwind;
use crate::sched::end::end_orphaned_sections_when_idle;
use crate::team::Owner;
use blitz_parts::job::Work;
use blitz_parts::latch::JobLatch;
use blitz_parts::prim::{Step, broken};
use blitz_parts::sleep::Idle;

impl Owner<'_> {
    /// Works until the pool ends.
    pub(crate) fn run_until_stopped(self) {
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
                    self.jobs().give_memory_back();
                }
                let visit = self.no_work_found(&mut idle, None);
                dispatched |= visit != Visit::Nothing;
                if visit == Visit::Wakers {
                    break Some(Found::Wakers);
                }
            };
            let few = dispatched && self.tasks().has_few_tasks();
            let more = || if few { self.leaves_work() } else { has_work(self.team()) };
            let woken = sleep.work_found(self.bed(), idle, more);
            self.counters.wakes_sent.add(woken as u64);
            match found {
                Some(found) => self.run(found),
                None => return,
            }
        }
    }

    /// One idle round, which may be a sleep; `latch`: what this worker waits for, if anything. Says
    /// what the driver brought, if this worker was in there.
    pub(super) fn no_work_found(self, idle: &mut Idle, latch: Option<&JobLatch>) -> Visit {
        if idle.is_sleepy() {
            end_orphaned_sections_when_idle(self.team());
        }
        let mut sleeper = None;
        let lease = self.tasks().while_parking(|| {
            let look = || {
                let too_early = broken(Step::RuntimeSleeperFirst).then(|| self.sees_work());
                sleeper = self.tasks().lie_down();
                too_early.unwrap_or_else(|| self.sees_work())
            };
            self.team().sleep().no_work_found(self.bed(), idle, latch, look)
        });
        self.tasks().get_up(sleeper);
        lease.map_or(Visit::Nothing, |lease| self.dispatch(lease))
    }

    /// Whether there is a reason for this worker not to sleep: what it looks at last.
    fn sees_work(self) -> bool {
        let sees_mail = self.has_mail() && !broken(Step::WorkerSeesMail);
        let sees = sees_mail || has_work(self.team());
        if !sees {
            self.tell_idle_driver();
        }
        sees
    }

    /// Runs what this worker found.
    #[inline]
    pub(crate) fn run(self, found: Found) {
        match found {
            Found::Job(work) => self.execute(work),
            Found::Task(task) => self.tasks().poll(task),
            Found::Wakers => self.call_wakers(),
        }
    }

    /// Runs a job that this worker found somewhere, under an [`Aside`] if it runs on top of
    /// anything.
    pub(crate) fn execute(self, work: Work) {
        debug_assert!(context::is_outside_of_tasks(), "a job would see a stranger's task");
        self.counters.executed.add(1);
        self.in_run(|runner| {
            // A job keeps its panics to itself; one that does not would leave its waiter waiting.
            let guard = AbortOnUnwind("a job");
            work.run(runner);
            std::mem::forget(guard);
        });
    }
}
