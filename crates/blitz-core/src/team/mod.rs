//! What all workers of a pool share.

mod driver;
mod entered;
mod latch;
mod life;
mod owner;
mod panics;
mod worker;

pub use driver::PoolView;
pub(crate) use entered::{Entered, entered, is_entering_over};
pub(crate) use latch::AnyLatch;
pub(crate) use owner::{Owner, WorkerScope, current};
pub(crate) use worker::{Worker, taken};

use crate::state::{
    Adoption, BitmapTotals, Blocking, Config, Fifo, OwnBitmap, OwnTasks, Plugging, Scheduler,
    Sections, TaskCounters, TaskQueue, TaskQueues, WatchThread, default_workers,
};
use blitz_parts::barrier::{self, Reliance};
use blitz_parts::bitmap::Bitmap;
use blitz_parts::counter::Counter;
use blitz_parts::guests::Guests;
use blitz_parts::inject::Injector;
use blitz_parts::job::Work;
use blitz_parts::life::Life;
use blitz_parts::prim::{Mutex, Step, broken, thread};
use blitz_parts::sleep::{Counters, Sleep};
use blitz_parts::slots::Slots;
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// The workers of a pool and all they share. Kept alive by the pool's handle, by every worker
/// thread and by every job that outlives the call which made it.
pub(crate) struct Team {
    sleep: Sleep,
    injector: CachePadded<Injector>,
    workers: Slots<CachePadded<Worker>>,
    pub(crate) config: Config,
    /// What keeps the team at work (see `worker/shutdown`).
    pub(crate) life: Life,
    pub(crate) sections: Sections,
    /// What a worker of another team waits for that has dropped the handle.
    pub(crate) end_awaited: Mutex<Option<Arc<AnyLatch>>>,
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    pub(crate) panics: Counter,
    /// First-in-first-out order for detached jobs, one queue per worker.
    pub(crate) fifos: Slots<Fifo>,
    pub(crate) guests: Guests,
    /// Workers keep forks private and rely on the asymmetric fence.
    asymmetric: Reliance,
    /// What workers look at that publish every fork.
    always_demanding: CachePadded<Counters>,
    /// Tasks that no worker has yet.
    pub(crate) tasks: CachePadded<TaskQueue>,
    pub(crate) bitmap_totals: BitmapTotals,
    /// How many lists of waiting tasks there are: one per worker that there was at first.
    pub(crate) lists: usize,
    /// What was counted outside of the workers.
    pub(crate) outside: CachePadded<TaskCounters>,
    pub(crate) watch: WatchThread,
    pub(crate) blocking: Blocking,
    pub(crate) adoption: Adoption,
    pub(crate) plugging: Plugging,
    me: Weak<Team>,
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
            life: Life::new(workers, threads),
            sections: Sections::default(),
            end_awaited: Mutex::new(None),
            threads: Mutex::new(Vec::new()),
            panics: Counter::new(),
            fifos: Slots::new(),
            guests: Guests::new(),
            asymmetric: Reliance::new(asymmetric),
            always_demanding: CachePadded::new(Counters::always_demanding()),
            tasks: CachePadded::new(tasks),
            bitmap_totals: BitmapTotals::default(),
            lists: workers,
            outside: CachePadded::default(),
            watch: WatchThread::new(workers, asymmetric),
            blocking,
            adoption,
            plugging: Plugging::default(),
            me: me.clone(),
        });
        for _ in 0..workers {
            team.add_worker();
        }
        team
    }

    fn add_worker(&self) {
        let demand =
            if self.asymmetric.is_on() { self.sleep.counters() } else { &self.always_demanding };
        let bed = self.sleep.add_bed();
        let all_timed = self.config.slow_poll.is_some();
        let bitmap = self.bitmap().map(|_| OwnBitmap::new(bed.index()));
        let queues = TaskQueues::new(bitmap.is_some());
        let tasks = OwnTasks::new(all_timed, bitmap);
        let worker = Worker::new(NonNull::from(self), bed, demand, queues, tasks);
        self.fifos.add(Fifo::default());
        self.workers.add(CachePadded::new(worker));
    }

    #[inline]
    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    /// Calls `change` if the system has refused the heavy fence since the last call: every thread
    /// is to do without it from now on (see `blitz_parts::barrier`).
    pub(crate) fn notice_refused_fence(&self, change: impl FnOnce()) {
        self.asymmetric.notice_refusal(change);
    }

    /// Makes every worker publish each fork and use ordinary fences, from some time on.
    pub(crate) fn publish_all(&self) {
        self.sleep.become_symmetric();
        self.workers().for_each(|worker| worker.publish_all(&self.always_demanding));
    }

    /// The bitmap, if this team has the bitmap scheduler.
    #[inline]
    pub(crate) fn bitmap(&self) -> Option<&Bitmap> {
        self.tasks.bitmap()
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

    /// Posts a job from anywhere.
    pub(crate) fn inject(&self, work: Work) {
        let was_empty = self.injector.push(work);
        self.sleep.new_jobs(1, was_empty);
        // After the fence in `new_jobs` (GUESTS-1).
        if !broken(Step::RuntimeGuestTold) {
            self.guests.tell_of_job(|worker| self.notify_guest(worker));
        }
    }

    /// Notifies the guests that hear of tasks of one that was just put where all workers look. The
    /// caller has fenced since.
    #[inline]
    pub(crate) fn notify_guests_of_task(&self) {
        if !broken(Step::RuntimeTaskGuestTold) {
            self.guests.tell_of_task(|worker| self.notify_guest(worker));
        }
    }

    fn notify_guest(&self, worker: usize) {
        if let Some(bed) = self.sleep.bed(worker) {
            bed.notify();
        }
    }
}
