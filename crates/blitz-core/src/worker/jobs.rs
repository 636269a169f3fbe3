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
        // All workers may be busy, and each searching worker may take something else that blocks
        // it. Once the watch is on, it stays on as long as jobs are left.
        self.team().watch_left_after_fence();
    }

    /// Forks a job of the caller's frame. If it is then [wanted](Self::is_fork_wanted), the caller
    /// must [share](Self::share) it.
    ///
    /// # Safety
    /// 1. The caller takes it back with the returned place, before its frame ends and before any
    ///    older fork: by `take_back` and, if that fails, by `take_back_public`. If that fails, too,
    ///    it waits until the job has run.
    #[inline(always)]
    pub(crate) unsafe fn fork(self, work: Work) -> Place<Header> {
        // SAFETY: the job stays where it is meanwhile, and the order is the caller's obligation.
        let place = unsafe { self.own_deque().fork(work.into_raw()) };
        // Pairs with the heavy fence of a worker that goes to sleep (SLEEP-4).
        barrier::light();
        place
    }

    /// Whether some worker is idle and no job is public. Called after each fork.
    #[inline(always)]
    pub(crate) fn is_fork_wanted(self) -> bool {
        let demand = self.demand();
        demand.anyone_inactive() && (!self.own_deque().has_public() || demand.asks_every_fork())
    }

    /// As [`is_fork_wanted`](Self::is_fork_wanted), for a caller that forks only then.
    #[inline(always)]
    pub(crate) fn is_fork_wanted_here(self) -> bool {
        self.is_fork_wanted() && self.is_wanted_by_workers()
    }

    /// Whether a worker wants the fork, and not only the watch.
    #[inline(always)]
    fn is_wanted_by_workers(self) -> bool {
        !self.demand().is_attentive() || self.is_wanted_after_attention()
    }

    /// As `is_wanted_by_workers`, after the watch has asked for attention: first yields to the
    /// relief worker when that is due.
    #[cold]
    #[inline(never)]
    fn is_wanted_after_attention(self) -> bool {
        if self.own().attention.is_due(|| ticks::to_duration(ticks::now())) {
            self.attend_to_relief();
        }
        let demand = self.team().sleep().counters().peek();
        demand.anyone_inactive() && !self.own_deque().has_public()
    }

    /// Leaves this processor to the relief worker, if the relief worker has work and is not
    /// running.
    fn attend_to_relief(self) {
        let (team, sleep) = (self.team(), self.team().sleep());
        if sleep.on_relief().is_none() {
            team.end_call_at_forks(self.worker());
        } else if sleep.relief_waits() && team.driver().is_some_and(|driver| driver.has_news()) {
            thread::step_aside();
        }
    }

    /// Takes the newest fork back, if it is private.
    #[inline(always)]
    pub(crate) fn take_back(self, place: Place<Header>) -> bool {
        self.own_deque().take_back(place)
    }

    /// Takes the newest fork back after [`take_back`](Self::take_back) failed. Runs jobs that were
    /// pushed since, if there is room on the stack. Returns whether the fork is the caller's again.
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

    /// Takes the fork back when `newest` lay above it. The caller's other half has spawned such
    /// jobs, or has taken them from outside the pool: they do not belong to the caller's task.
    #[inline(never)]
    fn run_above(self, fork: NonNull<Header>, newest: NonNull<Header>) -> bool {
        let aside = Aside::begin();
        if room() < Room::Mail {
            // Each of these jobs might spawn the next and join in turn.
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

    /// Takes the fork back when there is no room to run the jobs above it: they are put back.
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
        // Without the asymmetric fence there are no private jobs, and no fence to force with.
        if victim.demand().all_wanted() || !victim.deque.has_private() {
            return false;
        }
        // An owner that has pushed since a thief last looked has seen that jobs are wanted.
        let pushes = victim.deque.pushes();
        let forced = victim.trail.is_stuck(pushes) && victim.deque.force(victim.arm());
        if forced {
            // The owner assumes that public jobs were announced; announce them here, since this
            // thread may wake no worker.
            self.notify(true);
        }
        forced
    }

    /// Makes forks public, since they are wanted, and announces them.
    #[cold]
    #[inline(never)]
    pub(crate) fn share(self) {
        if self.demand().asks_every_fork() {
            return self.share_unusually();
        }
        self.share_with_idle();
    }

    /// Publishes half of the forks, or keeps all. Most forks beside an idle worker stay private, so
    /// that is decided before everything that needs registers.
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

    /// Publishes half of the forks: the owner gets to the older half late, if ever, and the next
    /// thief finds a job at once. Publishes at least one for each of the `idle` workers.
    #[inline(never)]
    fn share_half(self, idle: usize) {
        self.announce(self.publish(|private| private.div_ceil(2).max(idle)));
    }

    /// As [`share`](Self::share), after the watch has asked for attention, or in a pool whose forks
    /// are all public.
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

    /// Wakes a worker if none is searching. `was_empty` says that no job was public before.
    fn notify(self, was_empty: bool) {
        // Notify one worker for any number of jobs: if it finds more than it takes, it wakes the
        // next (SLEEP-3). So a short burst does not wake every worker.
        let woken = self.team().sleep().new_jobs(1, was_empty);
        self.counters.wakes_sent.add(woken as u64);
    }

    /// The next own job: the oldest job that a task or another thread has spawned, otherwise the
    /// newest job. Call it only in the main loop: elsewhere the job may belong to a frame.
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

    /// As `pop`, for a turn of own jobs. It takes the oldest if older jobs may be unrelated to the
    /// newer ones, which might spawn others for ever.
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

    /// The newest own job, if it came after `mark`: jobs below belong to frames that will take them
    /// back.
    pub(super) fn pop_above(self, mark: Mark<Header>) -> Option<Work> {
        let job = self.own_deque().pop_above(mark)?;
        self.counters.popped.add(1);
        Some(taken(job))
    }

    /// The oldest own job, taken as a thief does, so that the frame it may belong to finds it
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

    /// The oldest job that only this worker may run.
    pub(crate) fn open_mail(self) -> Option<Work> {
        let mut opened = self.own().opened_mail.borrow_mut();
        if opened.is_empty() && self.has_mail() {
            opened.extend(self.mail.take_all());
        }
        let first = opened.pop_front()?;
        drop(outgrown(&mut opened));
        // A single task in the ring is unannounced. Announce it: otherwise it would wait behind the
        // mail although other workers sleep.
        if !broken(Step::RuntimeFairTells) {
            self.tasks().notify_of_ring();
        }
        Some(first)
    }

    /// Takes the oldest job from outside; the others of its batch go onto the own deque.
    pub(super) fn take_injected(self) -> Option<Work> {
        let team = self.team();
        if team.injector().is_empty() {
            return None;
        }
        let mut batch = team.injector().take_all();
        let first = batch.next()?;
        self.counters.injected.add(1);
        // The jobs are unrelated, so the next one must not wait for the first. This worker may
        // still count as searching, and is about to run the first.
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
