//! What all workers of a pool share.

use crate::blocking::Blocking;
use crate::config::{Config, WaitPolicy, default_workers};
use crate::driver_slot::Plugging;
use crate::ops::fifo::Fifo;
use crate::ops::latch::AnyLatch;
use crate::sched::watch::Watch;
use crate::sched::{BitmapPart, BitmapTotals, Scheduler, TaskCounters, TaskQueue, WorkerTasks};
use crate::task::{Sections, context};
use crate::worker::{Adoption, Help, Worker, current};
use blitz_parts::barrier;
use blitz_parts::counter::Counter;
use blitz_parts::inject::Injector;
use blitz_parts::job::Work;
use blitz_parts::latch::{CountLatch, Latch, OnceLatch};
use blitz_parts::prim::{
    AcqRel, Acquire, AtomicBool, AtomicUsize, Mutex, Relaxed, Release, SeqCst, fence, thread,
};
use blitz_parts::sleep::{Counters, Sleep};
use blitz_parts::slots::Slots;
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError, Weak};

/// The workers of a pool and all they share. Kept alive by the pool's handle, by every worker thread
/// and by every job that outlives the call which made it.
pub(crate) struct Team {
    sleep: Sleep,
    injector: CachePadded<Injector>,
    workers: Slots<CachePadded<Worker>>,
    pub(crate) config: Config,
    /// The handle counts one, every detached job one; at zero the workers stop (see `shutdown`).
    pub(crate) alive: CachePadded<AtomicUsize>,
    /// The handle is gone.
    pub(crate) closing: AtomicBool,
    /// The workers were told to stop: `alive` was zero once.
    pub(crate) stopped: AtomicBool,
    /// The handle counts one, every shielded section of a task one; at zero tasks are cancelled.
    pub(crate) task_holds: AtomicUsize,
    pub(crate) sections: Sections,
    /// Set when every worker thread has started and the builder is done.
    started: CountLatch<OnceLatch>,
    /// Set when every worker thread has left its loop, the handle is dropped and there is no reason to go on.
    ended: CountLatch<OnceLatch>,
    /// What a worker of another team waits for that has dropped the handle.
    pub(crate) end_awaited: Mutex<Option<Arc<AnyLatch>>>,
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    pub(crate) panics: Counter,
    /// First-in-first-out order for detached jobs, one queue per worker.
    pub(crate) fifos: Slots<Fifo>,
    /// Workers that park without looking for work and still need to hear of injected jobs, and perhaps of
    /// tasks: they are not among those that the sleep protocol chooses from.
    guests: Mutex<Vec<Place>>,
    guest_count: AtomicUsize,
    /// How many of them need to hear of tasks.
    task_guests: AtomicUsize,
    /// Workers keep forks private and rely on the asymmetric fence.
    asymmetric: AtomicBool,
    /// What workers look at that publish every fork.
    always_demanding: CachePadded<Counters>,
    /// Tasks that no worker has yet.
    pub(crate) tasks: CachePadded<TaskQueue>,
    pub(crate) signal_totals: BitmapTotals,
    /// How many lists of waiting tasks there are: one per worker that there was at first.
    pub(crate) lists: usize,
    /// What was counted outside of the workers.
    pub(crate) outside: CachePadded<TaskCounters>,
    pub(crate) watch: Watch,
    pub(crate) blocking: Blocking,
    pub(crate) adoption: Adoption,
    pub(crate) plugging: Plugging,
    /// Workers that may still work, and the handle: the last one to leave cancels the tasks that are left.
    pub(crate) leaving: AtomicUsize,
    /// Threads that cancel a task of this team while the team is being dropped.
    pub(crate) late: AtomicUsize,
    me: Weak<Team>,
}

/// A place in the list of those who hear of injected jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    worker: usize,
    /// It hears of tasks, too.
    tasks: bool,
}

/// A worker that hears of injected jobs until this is dropped.
pub(crate) struct Guest<'a> {
    team: &'a Team,
    place: Place,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut guests = self.team.guests.lock().unwrap_or_else(PoisonError::into_inner);
        // A worker may be there twice, once per nested wait; one place less is right.
        if let Some(at) = guests.iter().position(|&place| place == self.place) {
            guests.swap_remove(at);
        }
        drop(guests);
        self.team.guest_count.fetch_sub(1, AcqRel);
        self.team.task_guests.fetch_sub(usize::from(self.place.tasks), AcqRel);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // A thread that a pool had adopted may have ended without leaving.
        self.cancel_all();
        self.shut_driver_down();
    }
}

impl Team {
    /// A team of `workers` workers, none of which has a thread yet.
    pub(crate) fn new(config: Config, workers: usize, scheduler: Scheduler) -> Arc<Team> {
        let threads = workers - usize::from(config.use_current_thread);
        let asymmetric = barrier::available() && !config.publish_all;
        let blocking = Blocking::new(config.blocking_threads, config.blocking_keep_alive);
        let tasks = TaskQueue::new(scheduler, workers);
        let adoption = Adoption::new(config.use_current_thread);
        let team = Arc::new_cyclic(|me| Team {
            sleep: Sleep::new(config.sleep, asymmetric, default_workers()),
            injector: CachePadded::new(Injector::new()),
            workers: Slots::new(),
            config,
            alive: CachePadded::new(AtomicUsize::new(1)),
            closing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            task_holds: AtomicUsize::new(1),
            sections: Sections::default(),
            started: CountLatch::new(threads + 1, OnceLatch::new()),
            ended: CountLatch::new(workers + 2, OnceLatch::new()),
            end_awaited: Mutex::new(None),
            threads: Mutex::new(Vec::new()),
            panics: Counter::new(),
            fifos: Slots::new(),
            guests: Mutex::new(Vec::new()),
            guest_count: AtomicUsize::new(0),
            task_guests: AtomicUsize::new(0),
            asymmetric: AtomicBool::new(asymmetric),
            always_demanding: CachePadded::new(Counters::always_demanding()),
            tasks: CachePadded::new(tasks),
            signal_totals: BitmapTotals::default(),
            lists: workers,
            outside: CachePadded::default(),
            watch: Watch::new(workers, asymmetric),
            blocking,
            adoption,
            plugging: Plugging::default(),
            leaving: AtomicUsize::new(workers + 1),
            late: AtomicUsize::new(0),
            me: me.clone(),
        });
        for _ in 0..workers {
            team.add_worker();
        }
        team
    }

    fn add_worker(&self) {
        let asymmetric = self.asymmetric.load(Relaxed);
        let demand = if asymmetric { self.sleep.counters() } else { &self.always_demanding };
        let bed = self.sleep.add_bed();
        let all_timed = self.config.slow_poll.is_some();
        let part = self.signals().map(|_| BitmapPart::new(bed.index()));
        let tasks = WorkerTasks::new(all_timed, part);
        let worker = Worker::new(NonNull::from(self), bed, demand, tasks);
        self.fifos.add(Fifo::default());
        self.workers.add(CachePadded::new(worker));
    }

    #[inline]
    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    /// Has every worker publish each fork and use ordinary fences, if the system has refused the heavy fence
    /// since the last time (see `blitz_parts::barrier`). Called by sleepers between that fence and their last look.
    pub(crate) fn notice_refused_fence(&self) {
        if self.asymmetric.load(Acquire) && !barrier::available() {
            self.become_symmetric();
        }
    }

    /// Several threads may do this at once; each has done all of it before it looks.
    #[cold]
    fn become_symmetric(&self) {
        self.sleep.become_symmetric();
        self.workers().for_each(|worker| worker.publish_all(&self.always_demanding));
        self.watch.become_symmetric(self);
        self.asymmetric.store(false, Release);
        fence(SeqCst);
    }

    #[inline]
    pub(crate) fn injector(&self) -> &Injector {
        &self.injector
    }

    #[inline]
    pub(crate) fn num_workers(&self) -> usize {
        self.workers.len()
    }

    #[inline]
    pub(crate) fn worker(&self, index: usize) -> Option<&Worker> {
        self.workers.get(index).map(|worker| &**worker)
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers.iter().map(|worker| &**worker)
    }

    /// A handle that keeps nothing alive.
    pub(crate) fn weak(&self) -> Weak<Team> {
        self.me.clone()
    }

    /// A counted handle, unless the team is being dropped.
    pub(crate) fn try_arc(&self) -> Option<Arc<Team>> {
        self.me.upgrade()
    }

    /// A counted handle, for whoever has to keep the team alive.
    pub(crate) fn arc(&self) -> Arc<Team> {
        match self.try_arc() {
            Some(team) => team,
            None => unreachable!("a reference to a team comes from a counted one"),
        }
    }

    /// A worker thread, or the builder, has begun.
    pub(crate) fn count_in(&self) {
        // SAFETY: the latch is the team's and so alive; each participant gives up its own count.
        unsafe { CountLatch::set(&raw const self.started) };
    }

    /// A worker thread, the handle or the last reason to go on is at its end.
    pub(crate) fn count_out(&self) {
        // SAFETY: as above.
        unsafe { CountLatch::set(&raw const self.ended) };
        if self.ended().probe() {
            // The waiter puts its latch there before it probes.
            let latch = self.end_awaited.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(latch) = latch {
                AnyLatch::set_shared(&latch);
            }
        }
    }

    /// Returns when every worker thread has begun.
    pub(crate) fn wait_started(&self) {
        self.started.inner().wait();
    }

    /// What says that every worker thread is at its end, and the handle gone.
    pub(crate) fn ended(&self) -> &OnceLatch {
        self.ended.inner()
    }

    /// Posts a job from anywhere.
    pub(crate) fn inject(&self, work: Work) {
        let was_empty = self.injector.push(work);
        self.sleep.new_jobs(1, was_empty);
        // The fence in `new_jobs` orders this load after the push; a guest counts itself in before it
        // looks at the injector for the last time.
        if self.guest_count.load(Relaxed) > 0 {
            self.notify_guests(|_| true);
        }
    }

    /// Tells the guests that hear of tasks of one that was just put where all workers look. The caller has
    /// fenced since; a guest counts itself in before it looks there for the last time.
    #[inline]
    pub(crate) fn tell_guests_of_task(&self) {
        if self.task_guests.load(Relaxed) > 0 {
            self.notify_guests(|place| place.tasks);
        }
    }

    #[cold]
    fn notify_guests(&self, chosen: impl Fn(&Place) -> bool) {
        let guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = guests.iter().filter(|place| chosen(place));
        for bed in chosen.filter_map(|place| self.sleep.bed(place.worker)) {
            bed.notify();
        }
    }

    /// Has `worker` told of every injected job until the guest is dropped; `tasks`: of tasks that are put
    /// where all workers look, too.
    pub(crate) fn add_guest<'a>(&'a self, worker: &Worker, tasks: bool) -> Guest<'a> {
        let place = Place { worker: worker.index(), tasks };
        self.guests.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        self.guest_count.fetch_add(1, AcqRel);
        self.task_guests.fetch_add(usize::from(tasks), AcqRel);
        Guest { team: self, place }
    }

    /// Posts a job from a thread that may be a worker of this team: then it stays close.
    pub(crate) fn push_or_inject(&self, work: Work) {
        match current::current() {
            Some(worker) if worker.is_in(self) => worker.push(work),
            _ => self.inject(work),
        }
    }

    /// What a worker of this team may do while it waits for jobs of this team. A task that waits does
    /// not have others polled on top of it: each might wait in its turn, and the stack would grow with
    /// every task there is.
    pub(crate) fn help<'a>(&self, injected: Option<&'a AtomicBool>) -> Help<'a> {
        match self.config.wait {
            WaitPolicy::StealAnything if context::depth() == 0 => Help::Anything,
            _ => Help::Descendants { injected },
        }
    }

    /// What a worker of this team may do while it waits for something outside of the team. That may need any
    /// task of this team, so tasks are polled whatever the policy says.
    pub(crate) fn help_outside(&self) -> Help<'static> {
        match self.config.wait {
            WaitPolicy::StealAnything => Help::Anything,
            WaitPolicy::DescendantsOnly => Help::Tasks,
        }
    }
}
