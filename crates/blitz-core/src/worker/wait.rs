//! Waits for a latch on a worker, and runs other work meanwhile.

#![forbid(unsafe_code)]

use super::driver::Visit;
use super::{Found, Look, Room, Wanted, room};
use crate::base::context::{self, Aside, Frame};
use crate::base::panic::AbortOnUnwind;
use crate::sched::cancel::cancel_waiting_tasks;
use crate::sched::end::{end_orphaned_sections_if_closing, end_orphaned_sections_when_idle};
use crate::sched::work::{has_tasks, has_work};
use crate::state::{Listing, Turn, WaitPolicy, WaitsFor};
use crate::team::{Owner, Slept, Team};
use blitz_parts::deque::Mark;
use blitz_parts::guests::{self, Injected};
use blitz_parts::job::{Header, Work};
use blitz_parts::latch::{JobLatch, Runner};
use blitz_parts::prim::{Step, broken, yield_now};
use blitz_parts::sleep::{Idle, loses_core};
use blitz_parts::tuning;

/// The work that a waiting worker may run, if there is room on its stack.
#[derive(Clone, Copy)]
pub(crate) enum Help<'a> {
    /// Any work, jobs and tasks. A worker that waits like this counts as searching, so it must take
    /// any work. If the stack has no room for that, it waits as with [`Help::Tasks`], but may also
    /// run its own older jobs.
    Anything,
    /// The worker's own newer jobs, its mail, descendants of the awaited job, jobs from outside and
    /// tasks. If there are none, the worker parks.
    Tasks,
    /// Only the worker's own newer jobs, its mail and descendants of the awaited job. If there are
    /// none, the worker parks.
    Descendants {
        /// Once this is set, the worker also runs jobs from outside, because a descendant may be
        /// among them. This is set before such a descendant is injected.
        injected: Option<&'a Injected>,
    },
}

/// Whether a wait takes jobs from outside.
#[derive(Clone, Copy)]
enum Outside<'a> {
    Never,
    Always,
    /// Only once this is set: see [`Help::Descendants`].
    Since(&'a Injected),
}

impl Outside<'_> {
    fn is_wanted(self) -> bool {
        match self {
            Outside::Never => false,
            Outside::Always => true,
            Outside::Since(injected) => injected.get(),
        }
    }
}

/// Limits for a worker that does not count as searching. If there is room, it may run its own newer
/// jobs, descendants of the awaited job, mail, and the work that these fields allow.
#[derive(Clone, Copy)]
struct Limits<'a> {
    room: Room,
    tasks: bool,
    /// Whether it may also run its own older jobs, if there is nothing else: the wait may be for
    /// one of them.
    own_oldest: bool,
    injected: Outside<'a>,
}

impl Limits<'_> {
    /// The limits of [`Help::Tasks`], and of [`Help::Anything`] if the stack has no room for it.
    fn with_tasks(room: Room, own_oldest: bool) -> Limits<'static> {
        Limits { room, tasks: true, own_oldest, injected: Outside::Always }
    }
}

impl<'a> Owner<'a> {
    /// Returns once `latch` is set. Jobs of the own deque above `mark` belong to this wait; jobs
    /// below it belong to frames further out.
    #[cold]
    pub(crate) fn wait_until(self, latch: &JobLatch, mark: Mark<Header>, help: Help<'_>) {
        // The latch lies in a frame that must live until the latch is set.
        let guard = AbortOnUnwind("a wait");
        let aside = Aside::begin();
        self.forget_poll_end();
        let (outer, shown) = (self.own_trail().wait(), self.queues.shown.get());
        // Check once: the wait runs all work on top of this same frame.
        let room = room();
        match help {
            Help::Anything if room == Room::Strangers => self.wait_helping_all(latch, mark, &aside),
            Help::Anything => {
                self.wait_within(latch, mark, Limits::with_tasks(room, true), &aside);
            }
            Help::Tasks => self.wait_within(latch, mark, Limits::with_tasks(room, false), &aside),
            Help::Descendants { injected } => {
                let injected = injected.map_or(Outside::Never, Outside::Since);
                let limits = Limits { room, tasks: false, own_oldest: false, injected };
                self.wait_within(latch, mark, limits, &aside);
            }
        }
        self.forget_poll_end();
        self.own_trail().end_wait(outer);
        self.own_shown().restore(shown);
        std::mem::forget(guard);
    }

    fn wait_helping_all(self, latch: &JobLatch, mark: Mark<Header>, aside: &Aside) {
        let sleep = self.team().sleep();
        let stop_looking = |idle: &mut Option<Idle>| {
            if let Some(idle) = idle.take() {
                self.stop_looking(idle, || has_work(self.team()));
            }
        };
        let mut idle: Option<Idle> = None;
        while !latch.probe() {
            if let Some(job) = self.next_of_many(mark) {
                if idle.is_some() {
                    stop_looking(&mut idle);
                }
                self.execute_here(job);
                continue;
            }
            let look = match &idle {
                Some(idle) if idle.is_sleepy() => Look::Hard,
                _ => Look::Public,
            };
            if let Some(found) = self.find_while_waiting(latch, mark, look) {
                stop_looking(&mut idle);
                self.run(found);
                continue;
            }
            if sleep.is_stopping() {
                // The awaited job may itself wait for a task that no worker will poll any more.
                stop_looking(&mut idle);
                cancel_waiting_tasks(self.team());
                // Or it waits for an event, and no worker sleeps in the driver any more.
                if broken(Step::DriverPolledAtEnd) || !self.poll_driver() {
                    yield_now();
                }
                continue;
            }
            let looking = idle.get_or_insert_with(|| sleep.start_looking(self.own_bed()));
            let mut visit = Visit::Nothing;
            if looking.is_driver_turn() {
                visit = self.visit_driver();
            }
            if visit == Visit::Nothing {
                let _listing = looking.is_sleepy().then(|| self.list_wait(latch, aside));
                visit = self.no_work_found(looking, Some(latch));
            }
            if visit == Visit::Wakers {
                stop_looking(&mut idle);
                self.call_wakers();
            }
        }
        stop_looking(&mut idle);
        // A task that yielded in here may sit unannounced in our ring, and our caller may block:
        // announce it.
        if !broken(Step::RuntimeWaitTells) {
            self.tasks().notify_of_ring();
        }
    }

    /// Runs one job or task, if there is any, for a caller that yields.
    pub(crate) fn let_another_go_first(self, latch: &JobLatch) {
        let _aside = Aside::begin();
        let room = room();
        if room < Room::Needed {
            // There is no room to poll a task here. Other workers must poll this worker's tasks,
            // and those that its visit to the driver wakes. It visits the driver itself, since it
            // may be the only worker.
            self.tasks().give_away();
            let visit = self.tasks().while_parking(|| self.visit_driver());
            self.call_wakers_for_others(visit, room);
            return yield_now();
        }
        let (outer, mark) = (self.own_trail().wait(), self.jobs().mark());
        let shown = self.queues.shown.get();
        let found = if room == Room::Strangers {
            self.find_while_waiting(latch, mark, Look::Public)
        } else {
            self.find_within(latch, mark, Look::Public, Limits::with_tasks(room, true))
        };
        match found {
            Some(found) => self.run(found),
            None => drop(self.poll_driver()),
        }
        self.own_trail().end_wait(outer);
        self.own_shown().restore(shown);
        // Announce tasks that yielded in here, as at the end of a wait.
        self.tasks().notify_of_ring();
    }

    /// Takes the newest own job above `mark` if nothing else has to go first: a fast path of
    /// `find_while_waiting`.
    #[inline]
    fn next_of_many(self, mark: Mark<Header>) -> Option<Work> {
        let has_tasks = self.queues.has_any() || self.team().tasks.may_have();
        if has_tasks || !self.own().tasks.tick.is_own_turn() {
            return None;
        }
        let job = self.jobs().pop_above(mark)?;
        self.tasks().count_job();
        Some(job)
    }

    /// Finds any work: first the work whose turn it is, then tasks and jobs. Every second time
    /// tasks go before jobs. The jobs of this wait go before other jobs.
    fn find_while_waiting(self, latch: &JobLatch, mark: Mark<Header>, look: Look) -> Option<Found> {
        self.forget_poll_end();
        let turn = self.tasks().take_turn();
        let found = self.find_in_turn(turn, || self.jobs().pop_above(mark));
        if found.is_some() {
            return found;
        }
        let job = || {
            let job = (self.jobs().pop_above(mark))
                .or_else(|| self.jobs().open_mail())
                .or_else(|| self.leapfrog(latch.runner(), look))
                .or_else(|| self.jobs().take_oldest())?;
            self.tasks().count_job();
            self.tasks().notify_of_ring();
            Some(Found::Job(job))
        };
        let task = || self.tasks().next_of_wait().map(Found::Task);
        let found = if self.tasks_go_first() {
            let queued = || self.tasks().take_queued(usize::MAX).map(Found::Task);
            task().or_else(queued).or_else(job)
        } else {
            job().or_else(task)
        };
        found.or_else(|| self.find_elsewhere(look, Wanted::ALL))
    }

    fn wait_within(self, latch: &JobLatch, mark: Mark<Header>, limits: Limits<'_>, aside: &Aside) {
        let hears = limits.tasks || !matches!(limits.injected, Outside::Never);
        let place = guests::Guest { worker: self.index(), tasks: limits.tasks };
        let _guest = hears.then(|| Guest::new(self.team(), place));
        let mut rounds = 0;
        while !latch.probe() {
            if let Some(job) = self.next_of_many_within(mark, limits) {
                self.execute_here(job);
                rounds = 0;
                continue;
            }
            let look = if rounds < tuning::DESCENDANT_YIELDS { Look::Public } else { Look::Hard };
            if let Some(found) = self.find_within(latch, mark, look, limits) {
                self.run(found);
                rounds = 0;
            } else if rounds <= tuning::DESCENDANT_YIELDS {
                rounds += 1;
                if loses_core(yield_now) {
                    // Each further yield may take as long, and this worker would notice the latch
                    // late.
                    rounds = tuning::DESCENDANT_YIELDS + 1;
                }
            } else {
                let _listing = self.list_wait(latch, aside);
                self.park_within(latch, limits);
                rounds = 0;
            }
        }
        if limits.tasks && !broken(Step::RuntimeHelpTells) {
            // Announce tasks that yielded in here, as at the end of every wait that polls.
            self.tasks().notify_of_ring();
        }
    }

    /// Takes the newest own job above `mark` if nothing else has to go first: a fast path of
    /// `find_within`.
    #[inline]
    fn next_of_many_within(self, mark: Mark<Header>, limits: Limits<'_>) -> Option<Work> {
        if limits.tasks {
            return self.next_of_many(mark);
        }
        // A wait that polls no tasks takes no turns.
        let job = self.jobs().pop_above(mark)?;
        self.tasks().count_job();
        Some(job)
    }

    /// Whether a wait within `limits` polls or cancels tasks.
    fn polls_within(self, limits: Limits<'_>) -> bool {
        // Cancelling a task needs only the stack of its drop, unless the drop waits.
        let cancels = || limits.room >= Room::Mail && self.team().tasks_end();
        limits.tasks && (limits.room >= Room::Needed || cancels())
    }

    fn wants_injected(self, limits: Limits<'_>) -> bool {
        limits.room >= Room::Needed
            && limits.injected.is_wanted()
            && !self.team().injector().is_empty()
    }

    fn find_within(
        self,
        latch: &JobLatch,
        mark: Mark<Header>,
        look: Look,
        limits: Limits<'_>,
    ) -> Option<Found> {
        self.forget_poll_end();
        let (team, polls, room) = (self.team(), self.polls_within(limits), limits.room);
        let turn = if polls { self.tasks().take_turn() } else { Turn::Own };
        if turn == Turn::Queue {
            if let Some(task) = self.tasks().take_foreign() {
                return Some(Found::Task(task));
            }
        }
        if turn == Turn::Others {
            // Visit the driver here, because there may be no other worker.
            let visit = self.visit_driver();
            if visit == Visit::Wakers && self.may_call_wakers(room) {
                return Some(Found::Wakers);
            }
            end_orphaned_sections_if_closing(team);
            // Own tasks that yield must not starve tasks in the queue.
            if let Some(task) = self.tasks().take_fair_share() {
                self.tasks().notify_of_ring();
                return Some(Found::Task(task));
            }
        }
        let job = || {
            let mail = || if room >= Room::Mail { self.jobs().open_mail() } else { None };
            let injected =
                || if self.wants_injected(limits) { self.jobs().take_injected() } else { None };
            let job = (self.jobs().pop_above(mark).or_else(mail))
                .or_else(|| self.leapfrog(latch.runner(), look))
                .or_else(injected)?;
            self.tasks().count_job();
            if polls {
                self.tasks().notify_of_ring();
            }
            Some(Found::Job(job))
        };
        let task = || {
            let others = || team.workers().filter(|worker| worker.index() != self.index());
            let steal = || others().find_map(|victim| self.tasks().steal_from(victim));
            let task = if polls {
                self.tasks().next_of_wait().or_else(|| self.tasks().take_queued(1)).or_else(steal)
            } else {
                None
            };
            task.map(Found::Task)
        };
        let found =
            if polls && self.tasks_go_first() { task().or_else(job) } else { job().or_else(task) };
        let takes_oldest = limits.own_oldest && room >= Room::Older;
        found
            .or_else(|| if takes_oldest { self.jobs().take_oldest().map(Found::Job) } else { None })
    }

    /// Lists this wait, for `explain`, if another worker runs the awaited job. `aside` is that of
    /// the wait. Called before a sleep, so a wait that ends soon costs nothing.
    fn list_wait(self, latch: &JobLatch, aside: &Aside) -> Option<Listing<'a>> {
        let waits_for = WaitsFor::Run(latch.runner()?);
        let (frame, task) = (Frame::here().outside(), aside.task());
        Some(self.worker().team().waits.list(self.wait_at(frame, task, waits_for)))
    }

    /// Blocks until `latch` is set or there is work within `limits`.
    fn park_within(self, latch: &JobLatch, limits: Limits<'_>) {
        let (team, polls) = (self.team(), self.polls_within(limits));
        end_orphaned_sections_when_idle(team);
        if !polls && !broken(Step::RuntimeGivesAway) {
            // Hand the tasks to other workers: this worker might return late.
            self.tasks().give_away();
        }
        let mut parks = false;
        let look = || {
            let sees = limits.room >= Room::Mail && self.has_mail()
                || self.wants_injected(limits)
                || polls && (self.queues.has_lifo() || has_tasks(team));
            if !sees {
                // Notify the driver, as before every sleep: a paused clock advances when all
                // workers sleep.
                self.tell_idle_driver();
                parks = true;
                self.note_park();
            }
            sees
        };
        if !polls && has_work(team) {
            // If the wait is long, the watch gives the seat of this worker away.
            team.watch_left();
        }
        let (woken, lease) =
            team.sleep().wait_parked(self.own_bed(), latch, look, || has_work(team));
        if self.seat.is_lost() {
            // Take the seat back now: this worker may go on for long, beside the spare that has its
            // seat.
            self.tasks().attend(None);
        }
        if parks {
            self.note_unpark(if lease.is_some() { Slept::Driver } else { Slept::Latch });
        }
        self.leave_the_rest(woken);
        let see_to_driver = || match lease {
            Some(lease) => self.dispatch(lease),
            // No worker sleeps in the driver while the pool ends.
            None if team.sleep().is_stopping() && !broken(Step::DriverPolledAtEnd) => {
                self.visit_driver()
            }
            None => Visit::Nothing,
        };
        if !polls {
            // Other workers must poll the tasks that are woken.
            let visit = self.tasks().while_parking(see_to_driver);
            self.call_wakers_for_others(visit, limits.room);
        } else if see_to_driver() == Visit::Wakers && self.may_call_wakers(limits.room) {
            self.call_wakers();
        }
        if limits.tasks && team.sleep().is_stopping() {
            // The awaited job may itself wait for a task that no worker will poll any more.
            cancel_waiting_tasks(team);
        }
    }

    /// Calls the wakers that a visit has left to this worker. The tasks that these wakers wake go
    /// to other workers.
    fn call_wakers_for_others(self, visit: Visit, room: Room) {
        if visit == Visit::Wakers && self.may_call_wakers(room) {
            self.call_wakers();
            self.tasks().give_away();
        }
    }

    /// Takes a descendant of the job that `runner` runs.
    ///
    /// Looks into the runner's deque. If the runner itself waits, looks into the deque of the
    /// worker that the runner waits for, and so on.
    fn leapfrog(self, runner: Option<Runner>, look: Look) -> Option<Work> {
        let team = self.team();
        let mut at = runner?;
        self.own_trail().wait_for(at);
        for _ in 0..tuning::LEAPFROG_HOPS {
            let victim = team.worker(usize::from(at.index))?;
            if std::ptr::eq(victim, self.worker()) || !victim.trail.is_still(at.run) {
                return None;
            }
            self.counters.leapfrogs_tried.add(1);
            // While the run lasts, its jobs lie in the deque. Once it has ended, the deque holds
            // unrelated jobs, which this worker must not take.
            let give = || victim.give_if(|| victim.trail.is_still(at.run));
            let found = give().or_else(|| {
                if look == Look::Hard && self.jobs().force(victim) { give() } else { None }
            });
            if found.is_some() {
                self.counters.leapfrogs.add(1);
                return found;
            }
            at = victim.trail.next(at.run)?;
        }
        None
    }
}

/// Registers a worker for notifications of injected jobs, and perhaps of tasks, until dropped.
struct Guest<'a> {
    team: &'a Team,
    place: guests::Guest,
}

impl<'a> Guest<'a> {
    fn new(team: &'a Team, place: guests::Guest) -> Guest<'a> {
        team.guests.add(place);
        Guest { team, place }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.team.guests.remove(self.place);
    }
}

/// The help that a worker of `team` gives while it waits for jobs of this team. Inside a waiting
/// task it polls no other tasks: each might wait in turn, and the stack would grow with every task.
pub(crate) fn help<'a>(team: &Team, injected: Option<&'a Injected>) -> Help<'a> {
    match team.config.wait {
        WaitPolicy::StealAnything if context::depth() == 0 => Help::Anything,
        _ => Help::Descendants { injected },
    }
}

/// The help that a worker of `team` gives while it waits for something outside the team. What it
/// waits for may depend on any task of this team, so tasks are polled under every policy.
pub(crate) fn help_outside(team: &Team) -> Help<'static> {
    match team.config.wait {
        WaitPolicy::StealAnything => Help::Anything,
        WaitPolicy::DescendantsOnly => Help::Tasks,
    }
}
