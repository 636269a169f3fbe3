//! What a worker does while it waits for a latch.

use super::{Aside, Found, Look, Wanted, Worker};
use crate::panic::AbortOnUnwind;
use blitz_parts::deque::Mark;
use blitz_parts::job::{Header, Work};
use blitz_parts::latch::{JobLatch, Runner};
use blitz_parts::prim::{Acquire, AtomicBool, Relaxed, Release, yield_now};
use blitz_parts::sleep::Idle;
use blitz_parts::tuning;

/// What a waiting worker may run.
#[derive(Clone, Copy)]
pub(crate) enum Help<'a> {
    /// Whatever there is, jobs and tasks. Who waits like this counts among those who look for work, and
    /// so may leave nothing aside.
    Anything,
    /// Only its own newer jobs and descendants of what it waits for; then it parks.
    Descendants {
        /// Once true, also jobs from outside, for a descendant may be among them. Set before such a
        /// job is injected.
        injected: Option<&'a AtomicBool>,
    },
}

impl Worker {
    /// Returns once `latch` is set. Jobs of the own deque above `mark` belong to what is
    /// waited for; those below belong to frames further out. Own thread only.
    #[cold]
    pub(crate) fn wait_until(&self, latch: &JobLatch, mark: Mark<Header>, help: Help<'_>) {
        // The latch lies in a frame that must not go before it is set.
        let guard = AbortOnUnwind("a wait");
        let _aside = Aside::begin();
        let outer = self.waits_for.load(Relaxed);
        match help {
            Help::Anything => self.wait_helping_all(latch, mark),
            Help::Descendants { injected: None } => {
                self.wait_helping_descendants(latch, mark, || false);
            }
            Help::Descendants { injected: Some(flag) } => {
                let _guest = self.team().add_guest(self);
                self.wait_helping_descendants(latch, mark, || {
                    flag.load(Acquire) && !self.team().injector().is_empty()
                });
            }
        }
        self.waits_for.store(outer, Relaxed);
        std::mem::forget(guard);
    }

    fn wait_helping_all(&self, latch: &JobLatch, mark: Mark<Header>) {
        let sleep = self.team().sleep();
        let stop_looking = |idle: &mut Option<Idle>| {
            if let Some(idle) = idle.take() {
                let woken = sleep.work_found(self.bed(), idle, || self.team().has_work());
                self.counters.wakes_sent.add(woken as u64);
            }
        };
        let mut idle: Option<Idle> = None;
        while !latch.probe() {
            if let Some(job) = self.next_of_many(mark) {
                stop_looking(&mut idle);
                self.execute(job);
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
                // What this waits for may itself wait for a task that nobody will poll any more.
                stop_looking(&mut idle);
                self.team().cancel_waiting_tasks();
                // Or for the outside world, and nobody sleeps in the driver any more.
                if !self.poll_driver() {
                    yield_now();
                }
                continue;
            }
            let idle = idle.get_or_insert_with(|| sleep.start_looking(self.bed()));
            if idle.is_driver_turn() && self.poll_driver() {
                continue;
            }
            self.no_work_found(idle, Some(latch));
        }
        stop_looking(&mut idle);
        // A task that yielded in here is alone in the ring, of which nobody was told, and what goes on now
        // may block.
        self.tell_of_ring();
    }

    /// Runs one thing, if there is any, on behalf of somebody who waits no longer but lets others go first.
    pub(crate) fn let_another_go_first(&self, latch: &JobLatch) {
        if !self.may_poll() {
            // What is woken others have to poll; but this worker may be the only one.
            self.while_parking(|| self.poll_driver());
            return;
        }
        let _aside = Aside::begin();
        let outer = self.waits_for.load(Relaxed);
        match self.find_while_waiting(latch, self.mark(), Look::Public) {
            Some(found) => self.run(found),
            None => drop(self.poll_driver()),
        }
        self.waits_for.store(outer, Relaxed);
        // As at the end of a wait.
        self.tell_of_ring();
    }

    /// The newest own job above `mark` while nothing else has to go first: what `find_while_waiting` would find, sooner.
    #[inline]
    fn next_of_many(&self, mark: Mark<Header>) -> Option<Work> {
        let has_tasks = self.tasks().has_any() || self.team().tasks.may_have();
        if has_tasks || self.tasks().is_fair_turn_due() {
            return None;
        }
        let job = self.pop_above(mark)?;
        self.count_job();
        Some(job)
    }

    /// Any work at all: what is waited for first, and neither kind of work always before the other.
    fn find_while_waiting(
        &self,
        latch: &JobLatch,
        mark: Mark<Header>,
        look: Look,
    ) -> Option<Found> {
        if self.is_fair_turn() {
            let found = self.find_fairly(|| self.pop_above(mark));
            if found.is_some() {
                return found;
            }
        }
        let job = || {
            let job = self
                .pop_above(mark)
                .or_else(|| self.open_mail())
                .or_else(|| self.leapfrog(latch.runner(), look))
                .or_else(|| self.take_oldest())?;
            self.count_job();
            self.tell_of_ring();
            Some(Found::Job(job))
        };
        let task = || self.next_task().map(Found::Task);
        let found = if self.tasks_go_first() {
            let queued = || self.take_queued(usize::MAX).map(Found::Task);
            task().or_else(queued).or_else(job)
        } else {
            job().or_else(task)
        };
        found.or_else(|| self.find_elsewhere(look, Wanted::ALL))
    }

    /// `from_outside`: whether there are jobs from outside that this wait may need.
    fn wait_helping_descendants(
        &self,
        latch: &JobLatch,
        mark: Mark<Header>,
        from_outside: impl Fn() -> bool,
    ) {
        let team = self.team();
        let mut rounds = 0;
        while !latch.probe() {
            let look = if rounds < tuning::DESCENDANT_YIELDS { Look::Public } else { Look::Hard };
            let found = self
                .pop_above(mark)
                .or_else(|| self.open_mail())
                .or_else(|| self.leapfrog(latch.runner(), look))
                .or_else(|| if from_outside() { self.take_injected() } else { None });
            if let Some(work) = found {
                self.execute(work);
                rounds = 0;
            } else if rounds <= tuning::DESCENDANT_YIELDS {
                rounds += 1;
                yield_now();
            } else {
                // Others poll them; this worker might come back to them late.
                self.give_tasks_away();
                let look = || self.has_mail() || from_outside();
                let (woken, seat) =
                    team.sleep().wait_parked(self.bed(), latch, look, || team.has_work());
                self.counters.wakes_sent.add(woken as u64);
                // What is woken others have to poll.
                self.while_parking(|| match seat {
                    Some(seat) => self.dispatch(seat),
                    // Nobody sleeps in the driver while the pool ends.
                    None if team.sleep().is_stopping() => drop(self.poll_driver()),
                    None => {}
                });
                rounds = 0;
            }
        }
    }

    /// A descendant of the job that `runner` runs: from the runner's deque or, if the runner waits
    /// itself, from the deque of the one it waits for, and so on.
    fn leapfrog(&self, runner: Option<Runner>, look: Look) -> Option<Work> {
        let team = self.team();
        let mut at = runner?;
        self.waits_for.store(at.to_bits(), Release);
        for _ in 0..tuning::LEAPFROG_HOPS {
            let victim = team.worker(usize::from(at.index))?;
            if std::ptr::eq(victim, self) || !victim.is_still(at) {
                return None;
            }
            self.counters.steals_tried.add(1);
            // What lies in the deque while the run lasts was pushed by the run; once it has ended,
            // something unrelated fills the deque, and that is not ours to take.
            let give = || victim.give_if(|| victim.is_still(at));
            let found = give()
                .or_else(|| if look == Look::Hard && self.force(victim) { give() } else { None });
            if found.is_some() {
                self.counters.steals_won.add(1);
                self.counters.leapfrogs.add(1);
                return found;
            }
            let next = Runner::from_bits(victim.waits_for.load(Acquire))?;
            if !victim.is_still(at) {
                return None;
            }
            at = next;
        }
        None
    }
}
