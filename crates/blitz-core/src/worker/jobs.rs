//! The jobs of the current thread's worker: its end of the deque.

use super::{Room, room};
use crate::base::context::{self, Aside};
use crate::team::{Order, Owner, Worker, taken};
use blitz_parts::barrier;
use blitz_parts::deque::{Mark, Place, Published, TakeBack};
use blitz_parts::job::{Header, Work};
use blitz_parts::prim::{SeqCst, Step, broken, fence};
use blitz_parts::thread;
use blitz_parts::ticks;
use blitz_parts::trim::outgrown;
use std::ops::Deref;
use std::ptr::NonNull;

/// The jobs of the current thread's worker.
#[derive(Clone, Copy)]
pub(crate) struct Jobs<'a>(Owner<'a>);

impl<'a> Deref for Jobs<'a> {
    type Target = Owner<'a>;

    #[inline(always)]
    fn deref(&self) -> &Owner<'a> {
        &self.0
    }
}

impl<'a> Owner<'a> {
    /// This worker's jobs.
    #[inline(always)]
    pub(crate) fn jobs(self) -> Jobs<'a> {
        Jobs(self)
    }
}

impl Jobs<'_> {
    /// Jobs that this worker pushes from now on lie above this mark.
    pub(crate) fn mark(self) -> Mark<Header> {
        self.own_deque().mark()
    }

    /// Pushes a job that this worker and others can take.
    pub(crate) fn push(self, work: Work) {
        let count = self.own_deque().push(work.into_raw(), self.worker().arm());
        // A plain fence, unlike in `fork`. If this worker then finds no worker idle, a worker that
        // starts to search later sees the job.
        fence(SeqCst);
        let demand = self.demand();
        if demand.anyone_inactive() {
            // If other jobs are public, a worker was notified of them, or sees them, and wakes the
            // next (SLEEP-3). Check only now, after the fence: a worker may have taken them and
            // gone to sleep since.
            let alone = self.worker().deque.public_len() <= count;
            if alone || demand.all_wanted() {
                self.notify(alone);
            }
        }
        // Turn the watch on: all workers may be busy, and a searching worker may take other work
        // that blocks it. The watch stays on as long as jobs are left.
        self.team().watch_left_after_fence();
    }

    /// Forks a job of the caller's frame. If the fork is then [wanted](Self::is_fork_wanted), the
    /// caller must call [`share`](Self::share).
    ///
    /// # Safety
    /// 1. The caller takes the fork back with the returned place, before the caller's frame ends
    ///    and before it takes back any older fork: by `take_back` and, if that fails, by
    ///    `take_back_public`. If that fails, too, the caller waits until the job has run.
    #[inline(always)]
    pub(crate) unsafe fn fork(self, work: Work) -> Place<Header> {
        // SAFETY: obligation 1: the job stays in place until it is taken back or has run, and the
        // caller takes forks back in order.
        let place = unsafe { self.own_deque().fork(work.into_raw()) };
        // Pairs with the heavy fence of a worker that goes to sleep (SLEEP-4).
        barrier::light();
        place
    }

    /// Whether some worker is idle and this worker has no public job for it, or every fork takes
    /// the cold path. Called after each fork.
    #[inline(always)]
    pub(crate) fn is_fork_wanted(self) -> bool {
        let demand = self.demand();
        demand.anyone_inactive() && (!self.own_deque().has_public() || demand.asks_every_fork())
    }

    /// Whether a fork is wanted, for a caller that forks only then. See
    /// [`is_fork_wanted`](Self::is_fork_wanted).
    #[inline(always)]
    pub(crate) fn is_fork_wanted_here(self) -> bool {
        self.is_fork_wanted() && self.is_wanted_by_workers()
    }

    /// Whether an idle worker wants the fork. The watch may also have made every fork look wanted.
    #[inline(always)]
    fn is_wanted_by_workers(self) -> bool {
        !self.demand().is_attentive() || self.is_wanted_after_attention()
    }

    /// Works like `is_wanted_by_workers`, after the watch has asked for attention: first yields to
    /// the relief worker when that is due. The relief worker is a spare that waits in the driver
    /// and polls tasks while the workers with seats compute.
    #[cold]
    #[inline(never)]
    fn is_wanted_after_attention(self) -> bool {
        let attention = &self.own().attention;
        let clock = || ticks::to_duration(ticks::now());
        if attention.is_due(clock) {
            self.attend_to_relief();
            attention.has_looked(clock());
        }
        let demand = self.team().sleep().counters().peek();
        demand.anyone_inactive() && !self.own_deque().has_public()
    }

    /// Leaves this processor to the relief worker, if the relief worker has work and waits for this
    /// processor. If no other worker is on relief, forks take their usual path again.
    fn attend_to_relief(self) {
        let (team, sleep) = (self.team(), self.team().sleep());
        // This worker may be on relief itself: a spare that was called at its forks, while another
        // spare was on relief, may be the next relief worker.
        if sleep.on_relief().is_none_or(|relief| relief == self.index()) {
            team.end_call_at_forks(self.worker());
        } else if let Some(processor) = thread::processor() {
            let news = || team.driver().is_some_and(|driver| driver.has_news());
            sleep.stand_aside(processor, news);
        }
    }

    /// Takes the newest fork back, if it is private.
    #[inline(always)]
    pub(crate) fn take_back(self, place: Place<Header>) -> bool {
        self.own_deque().take_back(place)
    }

    /// Takes the newest fork back after [`take_back`](Self::take_back) failed. Runs jobs that were
    /// pushed after the fork, if there is room on the stack. Returns whether the fork is the
    /// caller's again.
    pub(crate) fn take_back_public(self, fork: NonNull<Header>, place: Place<Header>) -> bool {
        if self.own_deque().take_back_public(fork, place) == TakeBack::Taken {
            return true;
        }
        match self.own_deque().pop() {
            Some(job) if job == fork => true,
            Some(newest) => self.run_above(fork, newest),
            None => false,
        }
    }

    /// Runs the jobs above `fork`, beginning with `newest`, and then takes the fork back. Returns
    /// whether the fork was still there.
    ///
    /// The other closure of the caller's `join` has spawned these jobs, or has taken them from
    /// outside the pool. They do not belong to the caller's task.
    #[inline(never)]
    fn run_above(self, fork: NonNull<Header>, newest: NonNull<Header>) -> bool {
        let aside = Aside::begin();
        if room() < Room::Mail {
            // Do not run them: each might spawn another job and join, deeper on the stack.
            drop(aside);
            return self.keep_above(fork, newest);
        }
        let mut next = Some(newest);
        while let Some(job) = next.filter(|&job| job != fork) {
            self.counters.popped.add(1);
            self.0.execute(taken(job));
            next = self.own_deque().pop();
        }
        next.is_some()
    }

    /// Takes `fork` back as `run_above` does, but runs no job, because the stack has no room. Puts
    /// the jobs above `fork` back.
    #[cold]
    fn keep_above(self, fork: NonNull<Header>, newest: NonNull<Header>) -> bool {
        let (mut kept, mut next) = (Vec::new(), Some(newest));
        while let Some(job) = next.filter(|&job| job != fork) {
            kept.push(taken(job));
            next = self.own_deque().pop();
        }
        // Push the oldest first, to restore their order.
        kept.into_iter().rev().for_each(|job| self.push(job));
        next.is_some()
    }

    /// Makes the oldest of this worker's private jobs public. `wanted` gets the number of private
    /// jobs and returns how many to publish.
    fn publish(self, wanted: impl FnOnce(usize) -> usize) -> Published {
        self.own_deque().publish(wanted, self.worker().arm())
    }

    /// Makes private jobs of another worker public.
    pub(super) fn force(self, victim: &Worker) -> bool {
        // Without private forks there is nothing to force. If all forks are wanted, their owner
        // publishes each, and the system may lack the asymmetric fence that forcing needs.
        if victim.demand().all_wanted() || !victim.deque.has_private() {
            return false;
        }
        // Do not force an owner that has pushed since a thief last looked: it has seen the demand.
        let pushes = victim.deque.pushes();
        let forced = victim.trail.is_stuck(pushes) && victim.deque.force(victim.arm());
        if forced {
            // The owner assumes that public jobs were announced. Announce them here, since this
            // thread may not take them.
            self.notify(true);
        }
        forced
    }

    /// Makes forks public and announces them, because a fork was found wanted. May keep all of them
    /// private: if only the watch made the fork look wanted, or if an idle worker is awake and
    /// thieves took none of the forks that were public before.
    #[cold]
    #[inline(never)]
    pub(crate) fn share(self) {
        if self.demand().asks_every_fork() {
            return self.share_unusually();
        }
        self.share_with_idle();
    }

    /// Publishes half of the forks, or keeps all of them private. Most forks beside an idle worker
    /// stay private, so this function decides that first, before any code that needs registers.
    #[inline(always)]
    fn share_with_idle(self) {
        let idle = self.team().sleep().counters().load().awake_but_idle();
        // An awake worker makes our jobs public itself before it sleeps; a sleeping worker must be
        // notified.
        let may_keep = idle > 0 || broken(Step::RuntimeKeepsFromAwake);
        if !may_keep || !self.own().backoff.keeps(self.worker().deque.stolen()) {
            self.share_half(idle);
        }
    }

    /// Publishes the older half of the forks. The owner reaches that half late, if ever, and the
    /// next thief finds a job at once. Publishes at least one fork for each of the `idle` workers.
    #[inline(never)]
    fn share_half(self, idle: usize) {
        self.announce(self.publish(|private| private.div_ceil(2).max(idle)));
    }

    /// Works like [`share`](Self::share), after the watch has asked for attention, or in a pool
    /// whose forks are all public.
    #[cold]
    #[inline(never)]
    fn share_unusually(self) {
        if self.demand().all_wanted() {
            return self.announce(self.publish(|private| private));
        }
        if self.is_wanted_by_workers() {
            self.share_with_idle();
        }
    }

    fn announce(self, published: Published) {
        if published.count > 0 {
            self.notify(published.was_empty);
        }
    }

    /// Announces public jobs, and wakes a worker if any sleeps. If `was_empty`, no job was public
    /// before: then a searching worker takes the job, and no worker is woken beside it.
    fn notify(self, was_empty: bool) {
        // Notify one worker for any number of jobs: if it finds more than it takes, it wakes the
        // next (SLEEP-3). So a short burst does not wake every worker.
        let woken = self.team().sleep().new_jobs(1, was_empty);
        self.counters.wakes_sent.add(woken as u64);
    }

    /// Takes the next own job: the oldest if tasks or other threads have spawned the latest jobs,
    /// otherwise the newest. Only the main loop calls this: elsewhere the job may belong to a
    /// frame.
    pub(super) fn pop(self) -> Option<Work> {
        let order = &self.own().order;
        let next = if order.get() == Order::Oldest {
            self.take_oldest()
        } else {
            self.pop_above(Mark::START)
        };
        if next.is_none() {
            order.set(Order::Newest);
        }
        next
    }

    /// Takes the next own job in a fair turn. If older jobs may be unrelated to newer jobs, takes
    /// the oldest, because newer jobs might spawn others for ever.
    pub(super) fn pop_in_turn(self) -> Option<Work> {
        if self.own().order.get() == Order::Newest { self.pop() } else { self.take_oldest() }
    }

    /// Pushes a job that no frame waits for. Jobs that tasks spawn are unrelated to each other, so
    /// the worker takes the oldest first. Jobs that a job spawns are parts of one computation:
    /// taking the newest first keeps them few.
    pub(super) fn push_detached(self, work: Work) {
        let order = &self.own().order;
        order.set(match order.get() {
            _ if !context::is_outside_of_tasks() => Order::Oldest,
            Order::Newest => Order::Newest,
            Order::Oldest | Order::Mixed => Order::Mixed,
        });
        self.push(work);
    }

    /// Takes the newest own job, if it lies above `mark`. Jobs below belong to frames that will
    /// take them back.
    pub(super) fn pop_above(self, mark: Mark<Header>) -> Option<Work> {
        let job = self.own_deque().pop_above(mark)?;
        self.counters.popped.add(1);
        Some(taken(job))
    }

    /// Takes the oldest own job as a thief would. If it belongs to a frame, that frame finds it
    /// stolen.
    pub(crate) fn take_oldest(self) -> Option<Work> {
        if self.worker().deque.is_empty() {
            return None;
        }
        if self.worker().deque.public_len() == 0 {
            let _ = self.publish(|_| 1);
        }
        self.give()
    }

    /// Takes the oldest job from the mail. Only this worker may run such jobs.
    pub(crate) fn open_mail(self) -> Option<Work> {
        let mut opened = self.own().opened_mail.borrow_mut();
        if opened.is_empty() && self.has_mail() {
            opened.extend(self.mail.take_all());
        }
        let first = opened.pop_front()?;
        drop(outgrown(&mut opened));
        // A single task in the ring may be unannounced. Announce it: otherwise it would wait behind
        // the mail although other workers sleep.
        if !broken(Step::RuntimeFairTells) {
            self.tasks().notify_of_ring();
        }
        Some(first)
    }

    /// Takes all jobs from outside. Returns the oldest, and pushes the others onto the own deque.
    pub(super) fn take_injected(self) -> Option<Work> {
        let team = self.team();
        if team.injector().is_empty() {
            return None;
        }
        let mut batch = team.injector().take_all();
        let first = batch.next()?;
        self.counters.injected.add(1);
        // The jobs are unrelated, so the other jobs must not wait for the first job, which this
        // worker is about to run. If this worker still counts as searching, a push may wake no
        // other worker. Then this worker wakes one when it stops searching.
        for work in batch {
            self.own().order.set(Order::Oldest);
            self.push(work);
        }
        Some(first)
    }

    /// Frees the memory that a burst of jobs needed, because this worker has found none for a
    /// while.
    pub(super) fn give_memory_back(self) {
        let own = self.own_deque();
        if own.is_oversized() {
            // If a thief is in the way, try again next time.
            own.shrink();
        }
    }
}
