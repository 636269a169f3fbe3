//! A worker: one thread of the pool and what it owns.

mod adoption;
mod aside;
mod backoff;
mod counters;
pub(crate) mod current;
mod find;
mod run;
pub(crate) mod stack;
mod wait;

pub(crate) use adoption::Adoption;
pub(crate) use aside::Aside;
pub(crate) use find::{Found, Look, Wanted};
pub(crate) use stack::Room;
pub(crate) use wait::Help;

use crate::sched::WorkerTasks;
use crate::team::Team;
use backoff::Backoff;
use blitz_parts::barrier;
use blitz_parts::deque::{Deque, Mark, Owner, Place, Published, TakeBack};
use blitz_parts::inject::Injector;
use blitz_parts::job::{Header, Work};
use blitz_parts::prim::{
    Acquire, AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Relaxed, Release, SeqCst, fence,
};
use blitz_parts::rng::XorShift64Star;
use blitz_parts::sleep::{Bed, Counters, Counts};
use counters::WorkerCounters;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::NonNull;

/// One worker. Lives in its [`Team`] at a stable address; the fields below the line are touched by
/// its own thread only.
#[repr(C)]
pub(crate) struct Worker {
    deque: Deque<Header>,
    /// Looked at after every fork and push: says whether another worker could use the job. Points to counters of
    /// the team, which keeps them.
    demand: AtomicPtr<CachePadded<Counters>>,
    bed: NonNull<Bed>,
    team: NonNull<Team>,
    index: usize,
    /// Jobs for this worker alone.
    mail: Injector,
    /// Which run of a foreign job this worker is in; waiters that follow it check.
    run: AtomicU32,
    /// Bits of the `Runner` that this worker waits for, or zero.
    waits_for: AtomicU64,
    /// No thread is this worker any more, or ever will be.
    gone: AtomicBool,
    /// How many jobs this worker had pushed when somebody last wanted to force one into the open.
    watched: AtomicU64,
    pub(crate) counters: WorkerCounters,
    tasks: WorkerTasks,
    // ------
    pub(crate) rng: XorShift64Star,
    runs: Cell<u32>,
    /// Whether tasks go before own jobs next time.
    tasks_first: Cell<bool>,
    opened_mail: RefCell<VecDeque<Work>>,
    backoff: Backoff,
    /// Tasks are being woken for what happened in the driver.
    dispatching: Cell<bool>,
    /// The last fair turn was for wakers that the driver had kept.
    called_wakers: Cell<bool>,
    /// How many calls of such wakers are on the stack.
    pub(crate) in_wakers: Cell<u32>,
}

// SAFETY: the shared fields are atomics or built of them; `rng`, `runs`, `tasks_first`, `opened_mail`,
// `backoff`, `dispatching`, `called_wakers`, `in_wakers`, the cells of `tasks` and the owner's ends of deque, rings and LIFO slot are used only through
// methods that the worker's own thread calls, which it reaches through `current` alone. The pointers point
// into the team that holds the worker.
unsafe impl Sync for Worker {}
// SAFETY: as above; a worker is made on one thread and then belongs to another.
unsafe impl Send for Worker {}

impl Worker {
    /// A worker of `team`, which must hold it, the bed and `demand`. `tasks`: its queues, empty.
    pub(crate) fn new(
        team: NonNull<Team>,
        bed: &Bed,
        demand: &CachePadded<Counters>,
        tasks: WorkerTasks,
    ) -> Worker {
        Worker {
            deque: Deque::new(),
            demand: AtomicPtr::new(std::ptr::from_ref(demand).cast_mut()),
            bed: NonNull::from(bed),
            team,
            index: bed.index(),
            mail: Injector::new(),
            run: AtomicU32::new(0),
            waits_for: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            watched: AtomicU64::new(0),
            counters: WorkerCounters::default(),
            tasks,
            rng: XorShift64Star::new(bed.index() as u64 + 1),
            runs: Cell::new(0),
            tasks_first: Cell::new(false),
            opened_mail: RefCell::new(VecDeque::new()),
            backoff: Backoff::default(),
            dispatching: Cell::new(false),
            called_wakers: Cell::new(false),
            in_wakers: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: the team holds the worker, so it is alive while `self` is.
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
        // SAFETY: the team holds the beds, so it is alive while `self` is.
        unsafe { self.bed.as_ref() }
    }

    /// Whether other workers could use a job. Forks stay private until one can; if all are wanted, each is
    /// published at once.
    #[inline(always)]
    fn demand(&self) -> Counts {
        // SAFETY: the team holds the counters, so they are alive while `self` is.
        unsafe { &*self.demand.load(Relaxed) }.peek()
    }

    /// Has the worker publish each fork at once, some time from now on. `always`: counters of the team that always
    /// say that all are wanted.
    pub(crate) fn publish_all(&self, always: &CachePadded<Counters>) {
        self.demand.store(std::ptr::from_ref(always).cast_mut(), Relaxed);
    }

    /// What others may see and take.
    #[inline]
    pub(crate) fn deque(&self) -> &Deque<Header> {
        &self.deque
    }

    /// This worker's tasks.
    #[inline]
    pub(crate) fn tasks(&self) -> &WorkerTasks {
        &self.tasks
    }

    /// The end of the deque that belongs to this worker's thread, which must be the caller.
    #[inline(always)]
    fn own(&self) -> Owner<'_, Header> {
        // SAFETY: private methods of `Worker` run on its own thread (see `unsafe impl Sync`).
        unsafe { self.deque.owner() }
    }

    /// Jobs that this worker pushes from now on lie above this mark. Own thread only.
    pub(crate) fn mark(&self) -> Mark<Header> {
        self.own().mark()
    }

    /// Puts a job where this worker and others find it. Own thread only.
    pub(crate) fn push(&self, work: Work) {
        let count = self.own().push(work.into_raw(), self.arm());
        // A plain one, unlike in `fork`: who looks for work after this worker has found nobody idle sees the job.
        fence(SeqCst);
        let demand = self.demand();
        if demand.anyone_inactive() {
            // If others are public then somebody was told of them, or sees them, and wakes the next (SLEEP-3). Only now,
            // after the fence, is it known whether a worker that has gone to sleep since has taken them.
            let alone = self.deque.public_len() <= count;
            if alone || demand.all_wanted() {
                self.tell(alone);
            }
        }
    }

    /// Puts a job of the caller's frame where this worker finds it. If it is then [wanted](Self::is_fork_wanted), it has to
    /// be [shared](Self::share). Own thread only.
    ///
    /// # Safety
    /// 1. The caller takes it back with the place that this returns, before its frame goes and before any older fork: by
    ///    `take_back` and, if that fails, by `take_back_public`. If that fails, too, it waits until the job has run.
    #[inline(always)]
    pub(crate) unsafe fn fork(&self, work: Work) -> Place<Header> {
        // SAFETY: the job stays where it is meanwhile, and the order is the caller's obligation.
        let place = unsafe { self.own().fork(work.into_raw()) };
        // Pairs with the heavy fence of a worker that goes to sleep (SLEEP-4).
        barrier::light();
        place
    }

    /// Whether somebody is idle and nothing is public: asked after each fork. Own thread only.
    #[inline(always)]
    pub(crate) fn is_fork_wanted(&self) -> bool {
        let demand = self.demand();
        demand.anyone_inactive() && (!self.own().has_public() || demand.all_wanted())
    }

    /// Takes the newest fork back, if it is private. Own thread only.
    #[inline(always)]
    pub(crate) fn take_back(&self, place: Place<Header>) -> bool {
        self.own().take_back(place)
    }

    /// Takes the newest fork back if that did not: runs what was pushed since, if there is room on the stack, and says
    /// whether the fork was still there, so that it is the caller's again. Own thread only.
    pub(crate) fn take_back_public(&self, fork: NonNull<Header>, place: Place<Header>) -> bool {
        if self.own().take_back_public(fork, place) == TakeBack::Taken {
            return true;
        }
        match self.own().pop() {
            Some(job) if job == fork => true,
            Some(newest) => self.run_above(fork, newest),
            None => false,
        }
    }

    /// The same when `newest` lay above the fork. The caller's other half has spawned such jobs, or has taken
    /// them from outside of the pool: they are no part of the caller's task.
    #[inline(never)]
    fn run_above(&self, fork: NonNull<Header>, newest: NonNull<Header>) -> bool {
        let aside = Aside::begin();
        if stack::room() < Room::Mail {
            // Each of them might spawn the next and join in its turn.
            drop(aside);
            return self.keep_above(fork, newest);
        }
        let mut next = Some(newest);
        while let Some(job) = next.filter(|&job| job != fork) {
            self.counters.popped.add(1);
            self.execute(find::taken(job));
            next = self.own().pop();
        }
        next.is_some()
    }

    /// The same where there is no room to run them: they are put back.
    #[cold]
    fn keep_above(&self, fork: NonNull<Header>, newest: NonNull<Header>) -> bool {
        let (mut kept, mut next) = (Vec::new(), Some(newest));
        while let Some(job) = next.filter(|&job| job != fork) {
            kept.push(find::taken(job));
            next = self.own().pop();
        }
        // The oldest first, so that they lie as they did.
        kept.into_iter().rev().for_each(|job| self.push(job));
        next.is_some()
    }

    /// Gives a job of this worker's deque what others need of it, just before they can see it.
    fn arm(&self) -> impl Fn(NonNull<Header>) + '_ {
        // SAFETY: the deque calls it for a job that nobody else can see yet (JOB-5).
        |job| unsafe { Header::arm(job, self.bed) }
    }

    /// Makes the oldest of this worker's private jobs public, as many as `wanted` says. Own thread only.
    fn publish(&self, wanted: impl FnOnce(usize) -> usize) -> Published {
        self.own().publish(wanted, self.arm())
    }

    /// Brings private jobs of another worker into the open. Own thread only.
    fn force(&self, victim: &Worker) -> bool {
        // Without the asymmetric fence there is nothing private, and no fence to force with.
        if victim.demand().all_wanted() || !victim.deque.has_private() {
            return false;
        }
        // An owner that has pushed since somebody last looked knows that jobs are wanted.
        let pushes = victim.deque.pushes();
        let stuck = victim.watched.swap(pushes, Relaxed) == pushes;
        let forced = stuck && victim.deque.force(victim.arm());
        if forced {
            // The owner takes what is public as told; and whoever forces may be busy and wake nobody.
            self.tell(true);
        }
        forced
    }

    /// Makes forks public, since they are wanted, and tells of them. Own thread only.
    #[cold]
    #[inline(never)]
    pub(crate) fn share(&self) {
        let published = if !self.demand().all_wanted() {
            let idle = self.team().sleep().counters().load().awake_but_idle();
            // Whoever is awake forces our jobs into the open before it sleeps; one that sleeps has to be
            // told.
            if idle > 0 && self.backoff.keeps(self.deque.stolen()) {
                return;
            }
            // Half of the jobs: the owner gets to the older half late, if ever, and whoever comes next
            // finds something without asking again. At least one for everybody who looks right now.
            self.publish(|private| private.div_ceil(2).max(idle))
        } else {
            self.publish(|private| private)
        };
        if published.count > 0 {
            self.tell(published.was_empty);
        }
    }

    /// Wakes a worker if nobody is looking; `was_empty`: nothing was public before. Own thread only.
    fn tell(&self, was_empty: bool) {
        // One worker is told of however many: if it finds more than it takes, it wakes the next
        // (SLEEP-3), and a burst that is over soon has not woken everybody.
        let woken = self.team().sleep().new_jobs(1, was_empty);
        self.counters.wakes_sent.add(woken as u64);
    }

    /// Jobs for this worker alone, from any thread. If the worker has left, the caller runs them.
    pub(crate) fn post(&self, work: Work) {
        self.mail.push(work);
        self.team().sleep().new_mail(self.bed());
        // The fence in `new_mail` pairs with the one in `disown`: one of the two sees the other.
        if self.gone.load(Acquire) {
            self.run_undeliverable();
        }
    }

    /// No thread will be this worker any more: what is in its mail, whoever calls this runs.
    pub(crate) fn disown(&self) {
        self.gone.store(true, Release);
        fence(SeqCst);
        self.run_undeliverable();
    }

    fn run_undeliverable(&self) {
        // The caller may be in a task, which is none of the mail's.
        let _aside = Aside::begin();
        for work in self.mail.take_all() {
            work.run(None);
        }
    }

    /// Runs what only this worker may be able to run, and leaves. Own thread only.
    pub(crate) fn retire(&self) {
        // An adopted thread leaves where its pool is dropped: that may be inside of a task of a local set.
        let _aside = Aside::begin();
        self.cancel_beside_others();
        self.run_jobs_left();
        self.give_tasks_away();
        self.disown();
        self.team().cancel_if_last();
    }

    /// Runs the jobs that are there and that only this worker may be able to run. Own thread only, outside of
    /// every frame that has forked.
    pub(crate) fn run_jobs_left(&self) {
        let next =
            || self.open_mail().or_else(|| self.take_oldest()).or_else(|| self.take_injected());
        while let Some(work) = next() {
            self.execute(work);
        }
    }

    /// Whether this worker wakes tasks for what happened in the driver. Own thread only.
    pub(crate) fn is_dispatching(&self) -> bool {
        self.dispatching.get()
    }

    /// Sets whether it does; what it was before. Own thread only.
    pub(crate) fn set_dispatching(&self, dispatching: bool) -> bool {
        self.dispatching.replace(dispatching)
    }

    /// Whether jobs for this worker alone wait.
    pub(crate) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }
}
