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
use super::{Found, Look};
use crate::base::context;
use crate::base::panic::AbortOnUnwind;
use crate::sched::end::end_orphaned_sections_when_idle;
use crate::sched::work::has_work;
use crate::team::{Owner, Slept};
use blitz_parts::job::Work;
use blitz_parts::latch::JobLatch;
use blitz_parts::prim::{SeqCst, Step, broken, fence};
use blitz_parts::sleep::Idle;

impl Owner<'_> {
    /// Works until the pool ends, or, as a spare, until it is no longer needed.
    pub(crate) fn run_until_stopped(self) {
        let sleep = self.team().sleep();
        loop {
            while let Some(found) = self.find(Look::Public, true) {
                match found {
                    // Tested first: a jump by table would slow each poll.
                    Found::Task(task) => self.tasks().poll(task),
                    Found::TooMany => return,
                    found => self.run(found),
                }
            }
            if self.is_too_many() {
                return;
            }
            let mut idle = sleep.start_looking_outside(self.own_bed());
            let mut dispatched = false;
            let mut parks = false;
            let found = loop {
                if idle.is_driver_turn() {
                    let visit = self.visit_driver();
                    if visit != Visit::Nothing {
                        self.own_bed().found_in_driver();
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
                    if !parks && self.has_park_handlers() {
                        // The handler is user code: a worker that counts as idle must not run it.
                        // The next search finds what the handler spawns.
                        parks = true;
                        self.stop_looking(idle, || has_work(self.team()));
                        self.call_park_handler();
                        idle = sleep.start_looking_outside(self.own_bed());
                        continue;
                    }
                }
                let visit = self.no_work_found(&mut idle, None);
                dispatched = visit != Visit::Nothing;
                if visit == Visit::Wakers {
                    break Some(Found::Wakers);
                }
            };
            // A waker or a handler that runs next may block: keep no tasks behind it.
            let runs_task = !parks && matches!(found, Some(Found::Task(_)));
            let few = dispatched && runs_task && self.tasks().has_few_tasks();
            let more = || if few { self.leaves_work() } else { has_work(self.team()) };
            self.stop_looking(idle, more);
            if parks {
                self.call_unpark_handler();
            }
            match found {
                Some(Found::TooMany) | None => return,
                Some(found) => self.run(found),
            }
        }
    }

    fn has_park_handlers(self) -> bool {
        let config = &self.team().config;
        config.park_handler.is_some() || config.unpark_handler.is_some()
    }

    #[cold]
    fn call_park_handler(self) {
        if let Some(handler) = &self.team().config.park_handler {
            self.in_run(|_| self.team().catch("a park handler", || handler(self.index())));
            self.attend_if_noted();
        }
    }

    #[cold]
    fn call_unpark_handler(self) {
        if let Some(handler) = &self.team().config.unpark_handler {
            self.in_run(|_| self.team().catch("an unpark handler", || handler(self.index())));
            self.attend_if_noted();
        }
    }

    /// Stops counting this worker as idle. Wakes another worker if there is `more` work.
    pub(super) fn stop_looking(self, idle: Idle, more: impl Fn() -> bool) {
        self.note_found();
        self.leave_the_rest(self.team().sleep().work_found(self.own_bed(), idle, more));
    }

    /// Notifies the watch of work in the team's queues, if this worker woke no other worker.
    /// `woken` is the number of workers that it woke when it stopped searching.
    ///
    /// A poster that has seen this worker search leaves its work to this worker. But the work that
    /// this worker found may block it. Work in the queues of a single worker does not matter here:
    /// the watch already knows of it.
    pub(super) fn leave_the_rest(self, woken: usize) {
        let team = self.team();
        self.counters.wakes_sent.add(woken as u64);
        fence(SeqCst);
        if woken == 0 && (team.tasks.may_have() || !team.injector().is_empty()) {
            team.watch_left_after_fence();
        }
        team.watch_stalls_after_fence();
    }

    /// Does one idle round, which may be a sleep. `latch` is the latch that this worker waits for,
    /// if any. If the worker slept in the driver, dispatches its events and returns the result.
    pub(super) fn no_work_found(self, idle: &mut Idle, latch: Option<&JobLatch>) -> Visit {
        if idle.is_sleepy() {
            end_orphaned_sections_when_idle(self.team());
        }
        self.note_search();
        let mut sleeper = None;
        let mut parks = false;
        let lease = self.tasks().while_parking(|| {
            let look = || {
                let too_early = broken(Step::RuntimeSleeperFirst).then(|| self.sees_work());
                sleeper = self.tasks().lie_down();
                let sees = too_early.unwrap_or_else(|| self.sees_work());
                if !sees {
                    parks = true;
                    self.note_park();
                }
                sees
            };
            self.team().sleep().no_work_found(self.own_bed(), idle, latch, look)
        });
        self.tasks().get_up(sleeper);
        if parks {
            self.note_unpark_to_search(if lease.is_some() { Slept::Driver } else { Slept::Word });
        }
        lease.map_or(Visit::Nothing, |lease| self.dispatch(lease))
    }

    /// Whether there is a reason for this worker not to sleep: its last look.
    fn sees_work(self) -> bool {
        let sees_mail = self.has_mail() && !broken(Step::WorkerSeesMail);
        let sees = sees_mail || has_work(self.team());
        if !sees {
            self.tell_idle_driver();
        }
        sees
    }

    /// Runs the work that this worker found.
    #[inline]
    pub(crate) fn run(self, found: Found) {
        match found {
            Found::Job(work) => self.execute(work),
            Found::Task(task) => self.tasks().poll(task),
            Found::Wakers => self.call_wakers(),
            Found::TooMany => {}
        }
    }

    /// Runs a job that this worker found. If the job runs on top of another frame, the caller must
    /// have begun an aside.
    pub(crate) fn execute(self, work: Work) {
        self.execute_here(work);
    }

    /// Works like [`execute`](Self::execute), but inlined, for a loop that runs many jobs.
    #[inline(always)]
    pub(super) fn execute_here(self, work: Work) {
        debug_assert!(context::is_outside_of_tasks(), "a job would see an unrelated task");
        let before = self.counters.executed.get();
        self.counters.executed.add(1);
        let timed = self.own().tasks.tick.times_job(before);
        let noted = if timed { Some(self.begin_noted_job()) } else { None };
        self.in_run(|runner| {
            // A job catches its panics. If it did not, its waiter would wait for ever.
            let guard = AbortOnUnwind("a job");
            work.run(runner);
            std::mem::forget(guard);
        });
        if let Some(noted) = noted {
            self.end_noted_job(noted);
        }
        self.attend_if_noted();
    }

    /// Acts on notes of the watch, if there are any.
    #[inline]
    pub(super) fn attend_if_noted(self) {
        if self.seat.is_noted() {
            self.tasks().attend(None);
        }
    }
}
