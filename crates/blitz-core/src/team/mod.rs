//! A team: the workers of a pool and their shared state.

mod ambient;
mod analysis;
mod driver;
mod entered;
mod latch;
mod life;
mod note;
mod origin;
mod owner;
mod panics;
mod spares;
mod watch;
mod worker;

pub(crate) use ambient::Inside;
pub use driver::{PoolView, TimerLateness};
pub(crate) use entered::{Entered, entered, is_entering_over};
pub(crate) use latch::AnyLatch;
pub(crate) use note::{Loot, NotedRegion, Slept};
pub(crate) use owner::{OwnMarks, Owner, WorkerScope, current};
pub(crate) use worker::{Order, Worker, taken};

use crate::base::ambient::Ambient;
use crate::state::{
    Adoption, AwaitedJobs, BitmapTotals, Blocking, Config, Crowd, Fifo, Insight, Labels, Names,
    OwnBitmap, OwnTasks, Plugging, Rest, Scheduler, Sections, Spares, Stalls, TaskCounters,
    TaskQueue, TaskQueues, Tick, Times, Waits, WatchThread, default_workers,
};
use blitz_parts::barrier::{self, Reliance};
use blitz_parts::bitmap::Bitmap;
use blitz_parts::counter::Counter;
use blitz_parts::guests::Guests;
use blitz_parts::inject::Injector;
use blitz_parts::job::Work;
use blitz_parts::life::Life;
use blitz_parts::prim::{Mutex, OnceLock, SeqCst, Step, broken, fence, thread};
use blitz_parts::recorder::SharedLane;
use blitz_parts::seats::{LongTasks, Seats};
use blitz_parts::sleep::{Bed, Counters, Sleep, WORKERS_MAX};
use blitz_parts::slots::Slots;
use blitz_parts::ticks;
use blitz_parts::tuning::SPARES_MIN;
use crossbeam_utils::CachePadded;
use std::io;
use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// Functions of higher layers that a team calls.
#[derive(Clone, Copy)]
pub(crate) struct Upward {
    /// Starts the thread of a worker that was just added.
    pub(crate) start_spare: fn(&Team, usize, Arc<Rest>) -> io::Result<()>,
    /// Starts the watch.
    pub(crate) start_watch: fn(&Team) -> io::Result<thread::Thread>,
    /// Starts the thread that supervises the end of tasks.
    pub(crate) start_ending: fn(&Team) -> io::Result<thread::Thread>,
}

/// The workers of a pool and their shared state. The pool's handle, every worker thread and every
/// job that outlives the call that made it keep the team alive.
pub(crate) struct Team {
    sleep: Sleep,
    injector: CachePadded<Injector>,
    /// The workers that the pool was built with, then spares.
    workers: Slots<CachePadded<Worker>>,
    /// How many workers the pool was built with: this many threads compute at once.
    seat_count: usize,
    /// See [`width`](Self::width).
    width: usize,
    pub(crate) seats: Seats,
    pub(crate) spares: Spares,
    /// Functions of higher layers. A team without them has no spares and no watch.
    upward: OnceLock<Upward>,
    /// Tasks that the relief worker leaves to workers that have seats.
    pub(crate) long_tasks: LongTasks,
    pub(crate) config: Config,
    /// Counts what keeps the team at work (see `worker/shutdown`).
    pub(crate) life: Life,
    pub(crate) sections: Sections,
    pub(crate) names: Arc<Names>,
    /// The latch of another team's worker that dropped the handle and waits for the end.
    pub(crate) end_awaited: Mutex<Option<Arc<AnyLatch>>>,
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// The thread that supervises the end of tasks (see `worker/ending`).
    ending: OnceLock<thread::Thread>,
    pub(crate) panics: Counter,
    /// First-in-first-out order for detached jobs, one queue per worker.
    pub(crate) fifos: Slots<Fifo>,
    pub(crate) guests: Guests,
    /// Whether workers keep forks private and rely on the asymmetric fence.
    asymmetric: Reliance,
    /// Counters for workers that publish every fork.
    always_demanding: CachePadded<Counters>,
    /// Counters that a worker reads instead of the pool's, between
    /// [`call_at_forks`](Self::call_at_forks) and [`end_call_at_forks`](Self::end_call_at_forks).
    attentive: CachePadded<Counters>,
    /// Tasks that no worker has yet.
    pub(crate) tasks: CachePadded<TaskQueue>,
    /// Whether it helps to wake a second worker for tasks from the driver.
    pub(crate) crowd: Mutex<Crowd>,
    pub(crate) bitmap_totals: BitmapTotals,
    /// How many lists of waiting tasks the bitmap scheduler uses: one per initial worker.
    pub(crate) lists: usize,
    /// Counters of threads that are not workers.
    pub(crate) outside: CachePadded<TaskCounters>,
    /// Events of threads that are not workers.
    pub(crate) lane: SharedLane,
    pub(crate) labels: Labels,
    /// Workers that are stuck in a poll or job.
    pub(crate) stalls: Stalls,
    /// How late timers fired; the holder of the driver's lease writes.
    pub(crate) timer_lateness: Arc<Times>,
    /// How long blocking closures waited for a thread.
    pub(crate) blocking_delays: Box<Times>,
    pub(crate) watch: WatchThread,
    /// Whether stalls are reported to the user: to the handler, in a line or in a file.
    pub(crate) reports_stalls: bool,
    pub(crate) blocking: Blocking,
    /// Jobs of `spawn_cpu` that tasks await.
    pub(crate) awaited_jobs: AwaitedJobs,
    /// What blocks workers and blocking threads.
    pub(crate) waits: Waits,
    pub(crate) adoption: Adoption,
    pub(crate) plugging: Plugging,
    /// The context of another runtime, which every thread of the team enters.
    ambient: OnceLock<Arc<dyn Ambient>>,
    me: Weak<Team>,
    /// Wakers may use the team while it is dropped. So the compiler must not assume that the
    /// reference which `drop` gets is the only reference.
    _shared_in_drop: PhantomPinned,
}

impl Team {
    /// A team of `workers` workers, none of which has a thread yet.
    pub(crate) fn new(config: Config, workers: usize, scheduler: Scheduler) -> Arc<Team> {
        // For the first team this takes the first reading of the clocks. The length of a tick is
        // computed from that reading and a later one, so take it before the first event.
        ticks::refine();
        let threads = workers - usize::from(config.use_current_thread);
        let asymmetric = barrier::available() && !config.publish_all;
        let blocking = Blocking::new(config.blocking_threads, config.blocking_keep_alive);
        let tasks = TaskQueue::new(scheduler, workers);
        let spares = Spares::new(
            config.spares.unwrap_or(workers.max(SPARES_MIN)).min(WORKERS_MAX - workers),
        );
        let reports_stalls = config.reports_stalls();
        let watched = workers + spares.max() > 1 || reports_stalls;
        let lane = SharedLane::new(config.trace_memory);
        let adoption = Adoption::new(config.use_current_thread);
        let team = Arc::new_cyclic(|me| Team {
            sleep: Sleep::new(config.sleep, asymmetric, default_workers()),
            injector: CachePadded::new(Injector::new()),
            workers: Slots::new(),
            seat_count: workers,
            width: config.width.unwrap_or(workers),
            seats: Seats::new(),
            spares,
            upward: OnceLock::new(),
            long_tasks: LongTasks::new(),
            config,
            life: Life::new(workers, threads),
            sections: Sections::default(),
            names: Arc::default(),
            end_awaited: Mutex::new(None),
            threads: Mutex::new(Vec::new()),
            ending: OnceLock::new(),
            panics: Counter::new(),
            fifos: Slots::new(),
            guests: Guests::new(),
            asymmetric: Reliance::new(asymmetric),
            always_demanding: CachePadded::new(Counters::always_demanding()),
            attentive: CachePadded::new(Counters::attentive()),
            tasks: CachePadded::new(tasks),
            crowd: Mutex::new(Crowd::new()),
            bitmap_totals: BitmapTotals::default(),
            lists: workers,
            outside: CachePadded::default(),
            lane,
            labels: Labels::default(),
            stalls: Stalls::default(),
            timer_lateness: Arc::default(),
            blocking_delays: Box::default(),
            watch: WatchThread::new(watched, asymmetric),
            reports_stalls,
            blocking,
            awaited_jobs: AwaitedJobs::default(),
            waits: Waits::default(),
            adoption,
            plugging: Plugging::default(),
            ambient: OnceLock::new(),
            me: me.clone(),
            _shared_in_drop: PhantomPinned,
        });
        for _ in 0..workers {
            team.add_worker(team.sleep.add_bed());
        }
        team
    }

    /// Adds a worker. Callers take turns.
    fn add_worker(&self, bed: &Bed) {
        let demand =
            if self.asymmetric.is_on() { self.sleep.counters() } else { &self.always_demanding };
        let tick = Tick::new(self.config.times_polls(), self.config.trace_memory > 0);
        let bitmap = self.bitmap().map(|_| OwnBitmap::new(self.part_of(bed.index())));
        let queues = TaskQueues::new(bitmap.is_some());
        let tasks = OwnTasks::new(tick, bitmap);
        let insight = Insight::new(self.config.trace_memory);
        let worker = Worker::new(NonNull::from(self), bed, demand, queues, tasks, insight);
        self.fifos.add(Fifo::default());
        let (_, worker) = self.workers.add(CachePadded::new(worker));
        fence(SeqCst);
        if !self.asymmetric.is_on() || !barrier::available() {
            // A thread that was refused the heavy fence meanwhile may not have seen this worker.
            worker.publish_all(&self.always_demanding);
        }
    }

    #[inline]
    pub(crate) fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    /// Makes every worker publish each fork and use ordinary fences, from some later moment on.
    fn publish_all(&self) {
        self.sleep.become_symmetric();
        self.workers().for_each(|worker| worker.publish_all(&self.always_demanding));
    }

    /// Makes a worker take the cold path of each fork, where it stands aside for the relief worker.
    pub(crate) fn call_at_forks(&self, worker: &Worker) {
        worker.change_demand(self.sleep.counters(), &self.attentive);
    }

    /// Ends what [`call_at_forks`](Self::call_at_forks) began.
    pub(crate) fn end_call_at_forks(&self, worker: &Worker) {
        if !broken(Step::AttentionEnds) {
            worker.change_demand(&self.attentive, self.sleep.counters());
        }
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
        self.seat_count
    }

    /// The number of workers for which parallel loops are cut. If this team measures for another
    /// team, this is the number of workers of that team.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the part of the bitmap of worker `index`, which may be a spare.
    pub(crate) fn part_of(&self, index: usize) -> usize {
        index % self.seat_count
    }

    /// How many workers there are, including spares.
    #[inline]
    pub(crate) fn num_with_spares(&self) -> usize {
        self.workers.len()
    }

    #[inline]
    pub(crate) fn worker(&self, index: usize) -> Option<&Worker> {
        self.workers.get(index).map(|worker| &**worker)
    }

    /// All workers, including spares.
    pub(crate) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers.iter().map(|worker| &**worker)
    }

    /// Calls `find` for all workers, including spares, from the one with index `start` on, until it
    /// returns a value.
    #[inline]
    pub(crate) fn find_worker_from<R>(
        &self,
        start: usize,
        mut find: impl FnMut(&Worker) -> Option<R>,
    ) -> Option<R> {
        self.workers.find_from(start, |worker| find(worker))
    }

    /// The workers that the pool was built with.
    pub(crate) fn first_workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers().take(self.seat_count)
    }

    /// A weak reference to the team.
    pub(crate) fn weak(&self) -> Weak<Team> {
        self.me.clone()
    }

    /// A counted reference, unless the team is being dropped.
    pub(crate) fn try_arc(&self) -> Option<Arc<Team>> {
        self.me.upgrade()
    }

    /// A counted reference, for a caller that must keep the team alive.
    pub(crate) fn arc(&self) -> Arc<Team> {
        match self.try_arc() {
            Some(team) => team,
            None => unreachable!("a reference to a team comes from a counted one"),
        }
    }

    /// Posts a job from any thread. Returns how many workers were woken.
    pub(crate) fn inject(&self, work: Work) -> usize {
        let was_empty = self.injector.push(work);
        let woken = self.sleep.new_jobs(1, was_empty);
        // This comes after the fence in `new_jobs` (GUESTS-1).
        if !broken(Step::RuntimeGuestTold) {
            self.guests.notify_of_job(|worker| self.notify_guest(worker));
        }
        woken
    }

    /// Notifies the relief worker, and the guests that take tasks, of a task that was just put
    /// where all workers look. The caller must have passed a fence since.
    #[inline]
    pub(crate) fn notify_guests_of_task(&self) {
        if !broken(Step::RuntimeTaskGuestTold) {
            self.guests.notify_of_task(|worker| self.notify_guest(worker));
        }
        self.sleep.tell_relief();
    }

    fn notify_guest(&self, worker: usize) {
        if let Some(bed) = self.sleep.bed(worker) {
            bed.notify();
        }
    }
}
