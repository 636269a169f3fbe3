//! One worker: where it puts tasks and jobs, where it looks for them, and its loop.

use super::shared::{Shared, SignalPart};
use super::team::Team;
use crate::barrier;
use crate::bitmap::Bitmap;
use crate::deque::{Deque, Mark, Owner, Place, Steal, TakeBack};
use crate::inject::Injector;
use crate::job::{Armed, Header, StackJob, Work};
use crate::latch::JobLatch;
use crate::lifo::LifoSlot;
use crate::prim::{
    Acquire, AtomicBool, AtomicU64, Relaxed, Release, SeqCst, Step, any_below, broken, fence,
    thread_local, yield_now,
};
use crate::queue::{Chain, fair_batch};
use crate::ring::{Pushed, Ring, RingOwner};
use crate::rng::XorShift64Star;
use crate::sleep::{Bed, Idle};
use crate::task::{self, Owned, Ran, Runnable, TaskRef};
use crate::tuning::LIFO_POLLS_MAX;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use std::collections::VecDeque;

/// Small enough to overflow, large enough for a thief to take more than one.
const RING: usize = 4;
const BATCH: usize = 2;
/// Polls and own jobs between two looks at what comes from elsewhere.
const FAIR_EVERY: u32 = 4;

/// What one worker owns.
pub(super) struct Queues {
    lifo: LifoSlot,
    batch: Ring<BATCH>,
    ring: Ring<RING>,
    deque: Deque<Header>,
    /// Jobs for this worker alone.
    mail: Injector,
    /// How many jobs it had pushed when somebody last wanted to force one into the open.
    watched: AtomicU64,
    /// No thread is this worker any more.
    gone: AtomicBool,
    pub(super) owned: Owned,
    // Its own thread only.
    opened_mail: RefCell<VecDeque<Work>>,
    signal: SignalPart,
    rng: XorShift64Star,
    lifo_polls: Cell<u32>,
    has_batch: Cell<bool>,
    /// Polls and own jobs until what comes from elsewhere goes first.
    until_fair: Cell<u32>,
    /// Whether tasks go before own jobs next time.
    tasks_first: Cell<bool>,
    parking: Cell<bool>,
    /// The innermost task that it polls.
    polled: Cell<Option<NonNull<task::Header>>>,
}

// SAFETY: the cells and the owner's ends are used by the worker's own thread only, and all threads of a
// model are one thread in truth.
unsafe impl Sync for Queues {}
// SAFETY: as above.
unsafe impl Send for Queues {}

impl Queues {
    pub(super) fn new(index: usize) -> Queues {
        Queues {
            lifo: LifoSlot::new(),
            batch: Ring::new(),
            ring: Ring::new(),
            deque: Deque::new(),
            mail: Injector::new(),
            watched: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            owned: Owned::new(),
            opened_mail: RefCell::default(),
            signal: SignalPart::new(index),
            rng: XorShift64Star::new(index as u64 + 1),
            lifo_polls: Cell::new(0),
            has_batch: Cell::new(false),
            until_fair: Cell::new(FAIR_EVERY),
            tasks_first: Cell::new(false),
            parking: Cell::new(false),
            polled: Cell::new(None),
        }
    }

    pub(super) fn has_public_task(&self) -> bool {
        !self.ring.is_empty() || !self.batch.is_empty()
    }

    pub(super) fn has_job(&self) -> bool {
        !self.deque.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lifo.is_empty()
            && !self.has_public_task()
            && !self.has_job()
            && self.mail.is_empty()
            && self.owned.is_empty()
    }
}

/// How hard to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Public,
    Hard,
}

/// What a worker found.
pub(super) enum Found {
    Job(Work),
    Task(Runnable),
}

thread_local! {
    static SEAT: Cell<Option<(NonNull<Team>, usize)>> = const { Cell::new(None) };
}

/// The worker that this thread is.
pub(super) fn current() -> Option<Worker<'static>> {
    let (team, index) = SEAT.with(Cell::get)?;
    // SAFETY: whoever runs a worker keeps its team until it has left the lease.
    Some(Worker { team: unsafe { team.as_ref() }, index })
}

/// The thread is no worker any more.
pub(super) fn stand_up() {
    SEAT.with(|lease| lease.set(None));
}

/// A worker, seen from its own thread unless a method says otherwise.
#[derive(Clone, Copy)]
pub(super) struct Worker<'t> {
    team: &'t Team,
    index: usize,
}

impl<'t> Worker<'t> {
    pub(super) fn new(team: &'t Team, index: usize) -> Worker<'t> {
        Worker { team, index }
    }

    /// Makes this thread a worker.
    pub(super) fn sit_down(team: &'t Team, index: usize) -> Worker<'t> {
        SEAT.with(|lease| lease.set(Some((NonNull::from(team), index))));
        Worker { team, index }
    }

    pub(super) fn team(self) -> &'t Team {
        self.team
    }

    pub(super) fn index(self) -> usize {
        self.index
    }

    pub(super) fn bed(self) -> &'t Bed {
        self.team.sleep.bed(self.index).expect("a worker has a bed")
    }

    fn queues(self) -> &'t Queues {
        &self.team.workers[self.index]
    }

    pub(super) fn ring(self) -> RingOwner<'t, RING> {
        // SAFETY: own thread.
        unsafe { self.queues().ring.owner() }
    }

    fn batch(self) -> RingOwner<'t, BATCH> {
        // SAFETY: own thread.
        unsafe { self.queues().batch.owner() }
    }

    pub(super) fn own(self) -> Owner<'t, Header> {
        // SAFETY: own thread.
        unsafe { self.queues().deque.owner() }
    }

    // Tasks, as in `sched/steal`.

    /// `Worker::schedule`.
    pub(super) fn schedule(self, task: Runnable) {
        if self.queues().parking.get() {
            return self.team.share(task);
        }
        // SAFETY: own thread.
        if let Some(evicted) = unsafe { self.queues().lifo.put(task) } {
            match self.team.signals() {
                None => self.put_back(evicted, true),
                Some(signals) => self.signal_task(signals, evicted),
            }
        }
    }

    pub(super) fn put_back(self, task: Runnable, tell: bool) {
        if let Some(signals) = self.team.signals().filter(|_| self.ring().room() == 0) {
            return self.overflow_into_tree(signals, task);
        }
        match self.ring().push(task) {
            Pushed::Ok => {
                if tell {
                    self.team.sleep.new_task();
                }
            }
            Pushed::Overflow(tasks) => self.team.queue_all(tasks),
            Pushed::Busy(task) => self.team.share(task),
        }
    }

    /// `Worker::overflow_into_tree`.
    fn overflow_into_tree(self, signals: &Bitmap, task: Runnable) {
        let older = core::iter::from_fn(|| self.pop_ring()).take(RING / 2);
        older.chain([task]).for_each(|task| self.signal_task(signals, task));
    }

    /// A task is about to be polled, or an own job to be run.
    pub(super) fn count(self) {
        let until_fair = &self.queues().until_fair;
        until_fair.set(until_fair.get().saturating_sub(1));
    }

    /// Whether it is time to let the work of others go first.
    pub(super) fn is_fair_turn(self) -> bool {
        let due = self.queues().until_fair.get() == 0;
        if due {
            self.queues().until_fair.set(FAIR_EVERY);
        }
        due
    }

    /// `Worker::tell_of_ring`: this worker is about to do something else.
    pub(super) fn tell_of_ring(self) {
        if !self.queues().ring.is_empty() {
            self.team.sleep.new_task();
        }
    }

    /// `Worker::next_task`.
    pub(super) fn next_task(self) -> Option<Runnable> {
        let own = self.queues();
        if own.has_batch.get() {
            let batched = self.batch().pop();
            if batched.is_some() {
                return batched;
            }
            own.has_batch.set(false);
        }
        let polls = own.lifo_polls.get();
        if polls < LIFO_POLLS_MAX {
            if let Some(newest) = own.lifo.take() {
                own.lifo_polls.set(polls + 1);
                return Some(newest);
            }
        }
        own.lifo_polls.set(0);
        let next = match self.team.signals() {
            None => self.pop_ring(),
            Some(signals) => self.next_signalled(signals),
        };
        next.or_else(|| own.lifo.take())
    }

    pub(super) fn pop_ring(self) -> Option<Runnable> {
        self.ring().pop()
    }

    /// `Worker::next_private`: a task that only this worker is sure to come to.
    fn next_private(self) -> Option<Runnable> {
        let batched = || self.batch().pop();
        self.queues().lifo.take().or_else(batched).or_else(|| self.pop_ring())
    }

    pub(super) fn signal_part(self) -> &'t SignalPart {
        &self.queues().signal
    }

    /// A number below `n`.
    pub(super) fn any_of(self, n: usize) -> usize {
        self.queues().rng.below(n)
    }

    /// `Worker::take_queued`.
    pub(super) fn take_queued(self, most: usize) -> Option<Runnable> {
        let queue = match &self.team.tasks {
            Shared::Queue(queue) => queue,
            Shared::Bitmap(signals) => return self.take_signalled(signals),
        };
        let len = queue.len();
        if len == 0 {
            return None;
        }
        let room = self.batch().room() + self.ring().room();
        let fair = fair_batch(len, self.team.workers.len());
        let mut taken = queue.pop_batch(fair.min(most).min(room + 1));
        let first = taken.next()?;
        let more = !taken.is_empty();
        self.queues().has_batch.set(true);
        self.batch().push_from(&mut taken);
        self.ring().push_from(&mut taken);
        debug_assert!(taken.is_empty(), "others only make room");
        if more {
            self.team.sleep.new_task();
        }
        Some(first)
    }

    /// `Worker::steal_tasks`.
    fn steal_tasks(self, victim: Worker<'t>) -> Option<Runnable> {
        let theirs = victim.queues();
        if !theirs.has_public_task() {
            return None;
        }
        let stolen =
            theirs.ring.steal_into(self.ring()).or_else(|| theirs.batch.steal_into(self.ring()))?;
        if stolen.count > 1 {
            self.team.sleep.new_task();
        }
        Some(stolen.first)
    }

    /// Any task that this worker can take.
    pub(super) fn any_task(self) -> Option<Runnable> {
        let team = self.team;
        let others = || (0..team.workers.len()).filter(|&index| index != self.index());
        let steal = || others().find_map(|index| self.steal_tasks(Worker::new(team, index)));
        self.next_task().or_else(|| self.take_queued(1)).or_else(steal)
    }

    /// `Worker::poll`.
    fn poll(self, task: Runnable) {
        if self.team.tasks_end() {
            return self.team.cancel(task);
        }
        self.count();
        self.team.ledger.leave(&task);
        let slot = self.slot_of(&task);
        let outer = self.queues().polled.replace(Some(task.header()));
        let ran = task.run();
        self.queues().polled.set(outer);
        match ran {
            Ran::Idle => {}
            Ran::Complete | Ran::Cancelled => {
                if let Some(slot) = slot {
                    self.free_slot(slot);
                }
            }
            Ran::Again(task) => {
                self.team.ledger.enter(&task);
                let behind = !self.queues().ring.is_empty() || !self.queues().lifo.is_empty();
                self.put_back(task, behind && !broken(Step::RuntimeYieldTells));
            }
        }
    }

    /// `context::task`.
    pub(super) fn polled(self) -> Option<TaskRef> {
        let task = self.queues().polled.get()?;
        // SAFETY: the task is being polled.
        Some(unsafe { TaskRef::from_header(task) })
    }

    /// `WorkerTasks::rescue`, by a thread that found this worker stuck in a poll.
    pub(super) fn rescue(self) {
        if let Some(task) = self.queues().lifo.take() {
            self.team.share(task);
        }
    }

    pub(super) fn cancel_queued(self) -> usize {
        let mut cancelled = 0;
        while let Some(task) = self.next_private() {
            self.team.cancel(task);
            cancelled += 1;
        }
        cancelled
    }

    pub(super) fn give_tasks_away(self) {
        let all = || core::iter::from_fn(|| self.next_private());
        if let Some(signals) = self.team.signals() {
            return all().for_each(|task| self.signal_task(signals, task));
        }
        let mut chain = Chain::new();
        all().for_each(|task| chain.push(task));
        if !chain.is_empty() {
            self.team.queue_all(chain);
        }
    }

    // Jobs, as in `worker`.

    pub(super) fn push(self, work: Work) {
        let count = self.own().push(work.into_raw(), self.arm());
        fence(SeqCst);
        let alone = || self.queues().deque.public_len() <= count;
        if self.team.sleep.counters().peek().anyone_inactive() && alone() {
            self.team.sleep.new_jobs(1, true);
        }
    }

    /// `join`: `b` lies in this frame meanwhile.
    pub(super) fn join(self, a: impl FnOnce(), b: impl FnOnce() + Send) {
        let job = StackJob::new(Armed, |_migrated: bool| b());
        // SAFETY: it is taken back, or waited for, below.
        let place = unsafe { self.own().fork(job.header()) };
        barrier::light();
        self.share_if_wanted();
        a();
        if self.own().take_back(place) || self.take_back_public(job.header(), place) {
            // SAFETY: taken back.
            unsafe { job.run_inline() };
            return;
        }
        // SAFETY: it was found taken, so it was armed (JOB-5).
        self.wait_helping_all(unsafe { Header::latch(job.header()) });
        // SAFETY: the latch is set, and the result is taken once.
        unsafe { job.take_result() }.expect("it does not panic");
    }

    fn take_back_public(self, fork: NonNull<Header>, place: Place<Header>) -> bool {
        if self.own().take_back_public(fork, place) == TakeBack::Taken {
            return true;
        }
        while let Some(job) = self.own().pop() {
            if job == fork {
                return true;
            }
            self.run(Found::Job(taken(job)));
        }
        false
    }

    fn share_if_wanted(self) {
        let sleep = &self.team.sleep;
        if sleep.counters().peek().anyone_inactive() && !self.own().has_public() {
            let idle = sleep.counters().load().awake_but_idle();
            // For how long jobs are kept is a matter of speed; here the schedule decides.
            let may_keep = idle > 0 || broken(Step::RuntimeKeepsFromAwake);
            if may_keep && any_below(2) == 0 {
                return;
            }
            let wanted = |private: usize| private.div_ceil(2).max(idle);
            let published = self.own().publish(wanted, self.arm());
            if published.count > 0 {
                sleep.new_jobs(1, published.was_empty);
            }
        }
    }

    fn arm(self) -> impl Fn(NonNull<Header>) + 't {
        let bed = NonNull::from(self.bed());
        // SAFETY: the deque calls it for a job that nobody else can see yet (JOB-5).
        move |job| unsafe { Header::arm(job, bed) }
    }

    fn pop(self) -> Option<Work> {
        self.pop_above(Mark::START)
    }

    pub(super) fn pop_above(self, mark: Mark<Header>) -> Option<Work> {
        self.own().pop_above(mark).map(taken)
    }

    pub(super) fn take_oldest(self) -> Option<Work> {
        let deque = &self.queues().deque;
        if deque.is_empty() {
            return None;
        }
        if deque.public_len() == 0 {
            let _ = self.own().publish(|_| 1, self.arm());
        }
        self.give()
    }

    /// Posts a job to this worker alone, from any thread.
    pub(super) fn post(self, work: Work) {
        self.queues().mail.push(work);
        self.team.sleep.new_mail(self.bed());
        if self.queues().gone.load(Acquire) {
            self.run_undeliverable();
        }
    }

    /// `Worker::disown`: what comes from now on, its sender runs.
    fn disown(self) {
        self.queues().gone.store(true, Release);
        fence(SeqCst);
        self.run_undeliverable();
    }

    fn run_undeliverable(self) {
        self.queues().mail.take_all().for_each(|work| work.run(None));
    }

    /// `Worker::open_mail`.
    pub(super) fn open_mail(self) -> Option<Work> {
        let mut opened = self.queues().opened_mail.borrow_mut();
        if opened.is_empty() && self.has_mail() {
            opened.extend(self.queues().mail.take_all());
        }
        let first = opened.pop_front()?;
        if !broken(Step::RuntimeFairTells) {
            self.tell_of_ring();
        }
        Some(first)
    }

    /// `Worker::sees_work`: whether there is a reason not to sleep.
    pub(super) fn sees_work(self) -> bool {
        self.has_mail() || self.team.has_work()
    }

    pub(super) fn has_mail(self) -> bool {
        !self.queues().mail.is_empty()
    }

    pub(super) fn take_injected(self) -> Option<Work> {
        if self.team.injector.is_empty() {
            return None;
        }
        let mut batch = self.team.injector.take_all();
        let first = batch.next()?;
        for work in batch {
            self.push(work);
        }
        Some(first)
    }

    /// The oldest public job of this worker, for any thread.
    fn give(self) -> Option<Work> {
        loop {
            match self.queues().deque.steal() {
                Steal::Success(job) => return Some(taken(job)),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// Brings a private job of this worker into the open, from any thread.
    fn force(self) -> bool {
        let deque = &self.queues().deque;
        if !deque.has_private() {
            return false;
        }
        let pushes = deque.pushes();
        let forced =
            self.queues().watched.swap(pushes, Relaxed) == pushes && deque.force(self.arm());
        if forced {
            self.team.sleep.new_jobs(1, true);
        }
        forced
    }

    // Where to look, as in `worker/find`.

    /// `Worker::find`.
    fn find(self, look: Look, search: bool) -> Option<Found> {
        if self.is_fair_turn() {
            if let Some(found) = self.find_fairly(|| self.pop()) {
                return Some(found);
            }
        }
        self.next_task()
            .or_else(|| if self.tasks_go_first() { self.take_queued(usize::MAX) } else { None })
            .map(Found::Task)
            .or_else(|| self.find_job().map(Found::Job))
            .or_else(|| self.find_elsewhere(look, search))
    }

    fn find_job(self) -> Option<Work> {
        let job = self.pop().or_else(|| self.open_mail())?;
        self.count();
        Some(job)
    }

    /// `Worker::tasks_go_first`.
    pub(super) fn tasks_go_first(self) -> bool {
        let first = self.queues().tasks_first.get();
        self.queues().tasks_first.set(!first);
        first
    }

    /// `Worker::find_fairly`.
    pub(super) fn find_fairly(self, own_job: impl Fn() -> Option<Work>) -> Option<Found> {
        let own = || self.open_mail().or_else(&own_job).map(Found::Job);
        let injected = || self.take_injected().map(Found::Job);
        let queued = || self.take_fair_share().map(Found::Task);
        let found = match self.queues().rng.below(3) {
            0 => own().or_else(injected).or_else(queued),
            1 => injected().or_else(queued).or_else(own),
            _ => queued().or_else(own).or_else(injected),
        }?;
        if !broken(Step::RuntimeFairTells) {
            self.tell_of_ring();
        }
        Some(found)
    }

    /// `Worker::take_fair_share`. Who is stuck, the schedule decides.
    fn take_fair_share(self) -> Option<Runnable> {
        let suspect = any_below(2 * self.team.workers.len());
        let is_stuck = suspect < self.team.workers.len() && suspect != self.index;
        let stuck = is_stuck.then_some(Worker { team: self.team, index: suspect });
        stuck.and_then(|stuck| self.steal_tasks(stuck)).or_else(|| match self.team.signals() {
            None => self.take_queued(FAIR_EVERY as usize / 2),
            Some(signals) => self.take_in_turn(signals),
        })
    }

    /// `Worker::find_elsewhere`; `search`: also in the rings of others.
    pub(super) fn find_elsewhere(self, look: Look, search: bool) -> Option<Found> {
        self.take_injected()
            .map(Found::Job)
            .or_else(|| self.take_queued(usize::MAX).map(Found::Task))
            .or_else(|| self.steal(look, search))
    }

    fn steal(self, look: Look, tasks: bool) -> Option<Found> {
        let workers = self.team.workers.len();
        let start = self.queues().rng.below(workers);
        let victims = || {
            let others = (start..workers).chain(0..start).filter(|&index| index != self.index);
            others.map(|index| Worker { team: self.team, index })
        };
        let public = victims().find_map(|victim| {
            let job = victim.give().map(Found::Job);
            if job.is_some() || !tasks {
                return job;
            }
            self.steal_tasks(victim).map(Found::Task)
        });
        match look {
            Look::Public => public,
            Look::Hard => public.or_else(|| {
                let force = |victim: Worker<'t>| if victim.force() { victim.give() } else { None };
                victims().find_map(force).map(Found::Job)
            }),
        }
    }

    // The loop, as in `worker/run`.

    pub(super) fn run(self, found: Found) {
        match found {
            Found::Job(work) => work.run(None),
            Found::Task(task) => self.poll(task),
        }
    }

    /// `Worker::run_until_stopped`.
    pub(super) fn run_until_stopped(self) {
        let sleep = &self.team.sleep;
        loop {
            while let Some(found) = self.find(Look::Public, true) {
                self.run(found);
            }
            let mut idle = sleep.start_looking(self.bed());
            let mut turns = 0;
            let found = loop {
                give_way(&mut turns);
                let look = if idle.is_sleepy() { Look::Hard } else { Look::Public };
                if let Some(found) = self.find(look, idle.may_search()) {
                    break Some(found);
                }
                if sleep.is_stopping() {
                    break None;
                }
                self.no_work_found(&mut idle, None);
            };
            sleep.work_found(self.bed(), idle, || self.team.has_work());
            match found {
                Some(found) => self.run(found),
                None => return,
            }
        }
    }

    /// `Worker::no_work_found`: one idle round, which may be a sleep.
    pub(super) fn no_work_found(self, idle: &mut Idle, latch: Option<&JobLatch>) {
        let mut sleeper = None;
        self.while_parking(|| {
            let look = || {
                if broken(Step::RuntimeSleeperFirst) {
                    let sees_work = self.sees_work();
                    sleeper = self.lie_down();
                    return sees_work;
                }
                sleeper = self.lie_down();
                self.sees_work()
            };
            self.team.sleep.no_work_found(self.bed(), idle, latch, look);
        });
        self.get_up(sleeper);
    }

    /// `Worker::while_parking`.
    pub(super) fn while_parking<R>(self, f: impl FnOnce() -> R) -> R {
        let before = self.queues().parking.replace(true);
        let result = f();
        self.queues().parking.set(before);
        result
    }

    /// `Worker::retire`.
    pub(super) fn retire(self) {
        let next =
            || self.open_mail().or_else(|| self.take_oldest()).or_else(|| self.take_injected());
        while let Some(work) = next() {
            work.run(None);
        }
        self.give_tasks_away();
        self.disown();
        self.team.cancel_if_last();
    }
}

fn taken(job: NonNull<Header>) -> Work {
    // SAFETY: what is in a deque came from `Work::into_raw`, and by DEQUE-1 it leaves it once.
    unsafe { Work::new(job) }
}

/// Called in every turn of an idle loop: a thread of high priority that waits for another to go on would
/// otherwise keep it from doing so.
pub(super) fn give_way(turns: &mut u32) {
    *turns += 1;
    if *turns > 3 {
        yield_now();
    }
}
