//! Every setting of a pool, its default and its reason.

#![forbid(unsafe_code)]

use super::backend::{IoBackend, note_stopped_clock};
use super::env::{logs_stalls, spares_from_env, workers_from_env};
use super::handle::Handle;
use super::pool::Pool;
use super::threads::{Spawn, Starting, ThreadBuilder, spawn_default};
use super::trace;
use crate::base::BuildError;
use crate::base::ambient::Ambient;
use crate::state::{Config, Scheduler, SlowPoll, StallReport, TraceOn, TraceTrigger};
use crate::state::{WaitPolicy, default_workers};
use crate::task;
use crate::team::Team;
use crate::worker::{adopt, connect, is_worker, run_start_handler};
use blitz_parts::prim::Instant;
use blitz_parts::sleep::{SleepPolicy, WORKERS_MAX};
use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

type NameFn = Box<dyn FnMut(usize) -> String>;
/// Makes the other runtime whose context the threads of a new pool enter.
type MakeAmbient = Box<dyn FnOnce(&Handle) -> Result<Arc<dyn Ambient>, BuildError>>;
/// Prepares a new pool for its backend.
type Prepare = Box<dyn FnOnce(&Handle) -> io::Result<()>>;

/// Every setting of a [`Pool`]; a [`Runtime`](crate::Runtime) is the same type.
///
/// [`Builder`](crate::Builder) is another name of this type.
///
/// ```
/// # fn main() -> Result<(), blitz::BuildError> {
/// let pool = blitz::Pool::builder()
///     .workers(3)
///     .thread_name(|index| format!("number-{index}"))
///     .build()?;
/// let name = pool.install(|| std::thread::current().name().map(str::to_owned));
/// assert!(name.unwrap().starts_with("number-"));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "a builder does nothing until `build` or `build_global`"]
pub struct PoolBuilder {
    workers: usize,
    /// Whether `BLITZ_WORKERS` overrides `workers`.
    asks_env: bool,
    start_paused: bool,
    prepare: Option<Prepare>,
    pub(super) ambient: Option<MakeAmbient>,
    name: Option<NameFn>,
    spawn: Option<Box<Spawn<'static>>>,
    #[cfg(feature = "inspect")]
    inspect: super::inspect::Wish,
    config: Config,
}

/// The name of [`PoolBuilder`] in async programs: the same type.
///
/// ```
/// let builder: blitz::Builder = blitz::Runtime::builder().workers(2).start_paused(true);
/// let pool: blitz::Pool = builder.build()?;
/// assert_eq!(pool.num_workers(), 2);
/// # Ok::<(), blitz::BuildError>(())
/// ```
pub type Builder = PoolBuilder;

impl PoolBuilder {
    /// Creates a builder with default settings.
    pub fn new() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// Sets the number of workers.
    ///
    /// 0, the default, means one per core that this process may use, by affinity and CPU quota.
    /// There may be more workers than cores, up to [`Pool::MAX_WORKERS`].
    ///
    /// The variable `BLITZ_WORKERS` applies to [`workers_from_env`](PoolBuilder::workers_from_env),
    /// to the attribute macros, and to the global pool if `workers` is 0. Other pools ignore it.
    #[doc(alias = "num_threads")]
    #[doc(alias = "num_workers")]
    #[doc(alias = "worker_threads")]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self.asks_env = false;
        self
    }

    /// Sets the number of workers from the variable `BLITZ_WORKERS`, else to `otherwise`.
    ///
    /// `otherwise` works as in [`workers`](PoolBuilder::workers). If the variable has an invalid
    /// value, building the pool fails.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers_from_env(2).build()?;
    /// if std::env::var_os("BLITZ_WORKERS").is_none() {
    ///     assert_eq!(pool.num_workers(), 2);
    /// }
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn workers_from_env(mut self, otherwise: usize) -> Self {
        self.workers = otherwise;
        self.asks_env = true;
        self
    }

    /// Sets the backend of files and sockets: a `blitz::Backend`.
    ///
    /// Default: `Backend::Auto`; `BackendChoice::of` returns its choice.
    ///
    /// ```
    /// use blitz::{Backend, BackendChoice};
    ///
    /// let runtime = blitz::Runtime::builder().workers(1).backend(Backend::Readiness).build()?;
    /// assert_eq!(BackendChoice::of(&runtime).unwrap().backend, Backend::Readiness);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn backend(mut self, backend: impl IoBackend) -> Self {
        let backend = Arc::new(backend);
        self.config.backend = Some(backend.clone());
        self.prepare = Some(Box::new(move |pool| backend.prepare(pool)));
        self
    }

    /// Limits the events of sockets and other descriptors per visit to the driver. Default: 256.
    ///
    /// The next visit delivers the rest. With a lower limit other work runs in between sooner; zero
    /// counts as one. Operations of io_uring are not limited: a visit takes all that are complete.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).max_io_completions(16).build()?;
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn max_io_completions(mut self, events: usize) -> Self {
        self.config.io_completions = Some(events);
        self
    }

    /// Sets how late a timer may fire in order to fire together with others. Default: 40 us.
    ///
    /// After timers have fired, a waiting worker lets at least this much time pass before it wakes
    /// for the next ones. So it wakes at most once per `slack`, however many timers there are, and
    /// a lone timer is not delayed. With zero it wakes for each timer. More than a second counts as
    /// a second. No timer is ever early. See `blitz::time` for what else makes a timer late.
    ///
    /// With a paused clock timers are exact, whatever the slack.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// // A worker wakes for timers at most once per millisecond, as Tokio's workers do.
    /// let slack = Duration::from_millis(1);
    /// let runtime = blitz::Runtime::builder().workers(1).timer_slack(slack).build()?;
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn timer_slack(mut self, slack: Duration) -> Self {
        self.config.timer_slack = slack;
        self
    }

    /// Sets whether the pool's clock is paused from the beginning, for tests. Default: no.
    ///
    /// See `blitz::time::pause` for what moves such a clock.
    ///
    /// The thread that builds the pool is then one of its workers while it is in
    /// [`Pool::block_on`], so that time does not pass while the future runs there. A thread that is
    /// already a worker of another pool stays there, and does not become a worker of this one.
    ///
    /// Other threads may use the pool, too. If one of them waits for the pool, or spawns a task or
    /// job, while the thread that built the pool is in none of the pool's operations, a new thread
    /// becomes that worker for good. Then time may pass while a future runs in `block_on`, as
    /// `blitz::time::pause` describes for threads that are not workers. While a task runs, the
    /// clock never jumps.
    ///
    /// ```
    /// use blitz::time::{Duration, Instant, sleep};
    ///
    /// let runtime = blitz::Runtime::builder().workers(1).start_paused(true).build()?;
    /// runtime.block_on(async {
    ///     let start = Instant::now();
    ///     sleep(Duration::from_secs(3_600)).await;
    ///     assert_eq!(start.elapsed(), Duration::from_secs(3_600));
    /// });
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn start_paused(mut self, paused: bool) -> Self {
        self.start_paused = paused;
        self
    }

    /// Sets how an idle worker waits. Default: [`SleepPolicy::adaptive`].
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// assert_eq!(blitz::SleepPolicy::default(), blitz::SleepPolicy::adaptive());
    /// let policy = blitz::SleepPolicy::low_latency();
    /// let pool = blitz::Pool::builder().workers(2).sleep_policy(policy).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn sleep_policy(mut self, policy: SleepPolicy) -> Self {
        self.config.sleep = policy;
        self
    }

    /// Sets what a waiting worker may run. Default: [`WaitPolicy::StealAnything`].
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let policy = blitz::WaitPolicy::DescendantsOnly;
    /// let pool = blitz::Pool::builder().workers(2).wait_policy(policy).build()?;
    /// let total = std::sync::Mutex::new(0);
    /// let add = |n: i32| {
    ///     let mut total = total.lock().unwrap(); // held across a join
    ///     let (a, b) = blitz::join(|| n, || n);
    ///     *total += a + b;
    /// };
    /// pool.join(|| add(1), || add(2));
    /// assert_eq!(total.into_inner().unwrap(), 6);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.config.wait = policy;
        self
    }

    /// Names the workers' threads. Default: `blitz-0`, `blitz-1` …
    pub fn thread_name(mut self, name: impl FnMut(usize) -> String + 'static) -> Self {
        self.name = Some(Box::new(name));
        self
    }

    /// Sets the stack size of the workers' threads in bytes. Default: that of [`std::thread`].
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = Some(bytes);
        self
    }

    /// Sets the closure that starts the workers' threads.
    ///
    /// The closure must make some thread call [`ThreadBuilder::run`]. Spares start without it.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder()
    ///     .workers(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run()).map(drop)
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn_handler(
        mut self,
        spawn: impl FnMut(ThreadBuilder) -> io::Result<()> + 'static,
    ) -> Self {
        self.spawn = Some(Box::new(spawn));
        self
    }

    /// Makes the thread that calls `build` worker 0. This thread takes part in work only while it
    /// is inside one of the pool's operations.
    ///
    /// When the pool is dropped the thread is free again. If it drops the pool itself, it runs the
    /// jobs that are left. If it is inside an operation during the drop, it runs the jobs that are
    /// there when that operation ends. A new thread runs all other jobs.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder().workers(1).use_current_thread().build()?;
    /// let job = pool.spawn_cpu(|| 6 * 7);
    /// std::thread::spawn(move || drop(pool)).join().unwrap();
    /// assert_eq!(job.join().unwrap(), 42);
    /// assert_eq!(blitz::current_worker_index(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn use_current_thread(mut self) -> Self {
        self.config.use_current_thread = true;
        self
    }

    /// Works as [`use_current_thread`](PoolBuilder::use_current_thread) until another thread needs
    /// the pool. [`start_paused`](PoolBuilder::start_paused) lends the thread in the same way.
    #[cfg(all(test, blitz_shuttle))]
    pub(crate) fn lend_current_thread(mut self) -> Self {
        self.config.lends_thread = true;
        self.use_current_thread()
    }

    /// Lets the drop of the pool return at once. The threads end by themselves once every job that
    /// was spawned into the pool is done. Default: the drop waits for the jobs and the threads.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let (go, wait) = std::sync::mpsc::channel();
    /// let (send, receive) = std::sync::mpsc::channel();
    /// let pool = blitz::Pool::builder().workers(1).detach_on_drop().build()?;
    /// drop(pool.spawn_cpu(move || send.send(wait.recv().unwrap())));
    /// drop(pool);
    /// go.send(7).unwrap();
    /// assert_eq!(receive.recv(), Ok(7));
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach_on_drop(mut self) -> Self {
        self.config.detach_on_drop = true;
        self
    }

    /// Publishes every job at once instead of on demand, for tests and comparisons.
    ///
    /// On systems without an asymmetric fence every pool publishes every job at once.
    #[doc(hidden)]
    pub fn publish_all(mut self) -> Self {
        self.config.publish_all = true;
        self
    }

    /// Limits the tasks in the shared queue for `try_spawn`. Default: 65,536.
    ///
    /// [`Handle::try_spawn`](crate::Handle::try_spawn) refuses a task while this many wait in the
    /// queue that all workers share. Other ways to spawn ignore the limit.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).global_queue_capacity(0).build().unwrap();
    /// assert!(pool.handle().try_spawn(async {}).is_err());
    /// ```
    pub fn global_queue_capacity(mut self, tasks: usize) -> Self {
        self.config.queue_capacity = tasks;
        self
    }

    /// Sets how tasks find a worker. Default: `BLITZ_SCHEDULER`, else [`Scheduler::Stealing`].
    ///
    /// ```
    /// use blitz::{Pool, Scheduler};
    /// let pool = Pool::builder().workers(2).scheduler(Scheduler::Signal).build()?;
    /// assert_eq!(pool.scheduler(), Scheduler::Signal);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.config.scheduler = Some(scheduler);
        self
    }

    /// Sets whether workers take tasks from each other. Default: yes. If not, a task that was woken
    /// on a worker is usually polled there. Tasks from elsewhere still go to any free worker, and
    /// jobs are stolen in any case. In the signal scheduler this only affects tasks that yield.
    pub fn enable_stealing(mut self, stealing: bool) -> Self {
        self.config.stealing = stealing;
        self
    }

    /// Limits the threads of [`spawn_blocking`](crate::spawn_blocking), besides the workers. The
    /// default is 512. Zero is an error: closures would wait for ever.
    ///
    /// ```
    /// let error = blitz::Pool::builder().max_blocking_threads(0).build().unwrap_err();
    /// assert!(error.is_invalid_config());
    /// ```
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.config.blocking_threads = threads;
        self
    }

    /// Sets how long an idle thread of `spawn_blocking` stays. Default: 10 s.
    pub fn thread_keep_alive(mut self, time: Duration) -> Self {
        self.config.blocking_keep_alive = time;
        self
    }

    /// Sets a handler that is called after each poll that took `limit` or longer. It gets the id of
    /// the task and the time. With a handler the pool times every poll. Without one it times only a
    /// sample while polls are short. The handler must not block.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// use std::time::Duration;
    /// static SLOW: AtomicBool = AtomicBool::new(false);
    /// let pool = blitz::Pool::builder()
    ///     .workers(1)
    ///     .slow_poll_handler(Duration::ZERO, |task, time| {
    ///         println!("task {task} took {time:?}");
    ///         SLOW.store(true, Relaxed);
    ///     })
    ///     .build()
    ///     .unwrap();
    /// pool.spawn(async {}).join().unwrap();
    /// drop(pool);
    /// assert!(SLOW.load(Relaxed));
    /// ```
    pub fn slow_poll_handler(
        mut self,
        limit: Duration,
        handler: impl Fn(task::Id, Duration) + Send + Sync + 'static,
    ) -> Self {
        self.config.slow_poll = Some(SlowPoll { limit, handler: Box::new(handler) });
        self
    }

    /// Sets a handler that is called on each worker's thread before it works. It gets the worker's
    /// index. A panic in it goes to the panic handler; the worker goes on.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.start_handler = Some(Box::new(handler));
        self
    }

    /// Sets a handler that each worker's thread calls with the worker's index when the pool ends.
    /// With `use_current_thread` worker 0 makes no such call. A panic goes to the panic handler.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.exit_handler = Some(Box::new(handler));
        self
    }

    /// Sets a handler that is called on a worker's thread when it is about to sleep.
    ///
    /// It gets the worker's index. A panic in it goes to the panic handler.
    ///
    /// After the call the worker searches for work once more. So jobs that the handler has spawned
    /// run before the worker sleeps. The handler is not called for a worker that waits inside an
    /// operation, such as `join` or `block_on`, nor for threads that are not workers.
    pub fn park_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.park_handler = Some(Box::new(handler));
        self
    }

    /// Sets a handler that is called on a worker's thread when it goes on after a sleep.
    ///
    /// It gets the worker's index. It is called when the worker has found work after
    /// [`park_handler`](PoolBuilder::park_handler) would have been called, or when the pool ends. A
    /// panic in it goes to the panic handler.
    pub fn unpark_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.config.unpark_handler = Some(Box::new(handler));
        self
    }

    /// Sets the handler of panics that no caller waits for. It gets the payload. Default: one line
    /// on standard error.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder()
    ///     .workers(1)
    ///     .panic_handler(|payload| match payload.downcast_ref::<&str>() {
    ///         Some(text) => eprintln!("a job panicked: {text}"),
    ///         None => eprintln!("a job panicked"),
    ///     })
    ///     .build()?;
    /// pool.spawn_detached(|| panic!("oh"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.config.panic_handler = Some(Box::new(handler));
        self
    }

    /// Sets how many threads the pool may start beyond its workers.
    ///
    /// The default is 32, or the number of workers if that is more; the variable `BLITZ_SPARES`
    /// overrides it. With `start_paused` the default is always 0. 0 turns spares off.
    ///
    /// A spare thread replaces a worker that is blocked, or serves tasks, timers and sockets while
    /// all workers compute. The pool starts a spare when it first needs one. A spare rests while it
    /// is not needed, and ends with the pool. While it works, [`current_worker_index`] is a number
    /// from [`num_workers`](Pool::num_workers) on; the start and exit handlers are called with it.
    ///
    /// [`current_worker_index`]: crate::current_worker_index
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = blitz::Pool::builder().workers(1).spares(1).build()?;
    /// let (send, receive) = mpsc::channel();
    /// let waits = pool.spawn_cpu(move || receive.recv());
    /// // The only worker is blocked, and yet this runs.
    /// pool.spawn_detached(move || send.send(42).unwrap());
    /// assert_eq!(pool.block_on(waits).unwrap(), Ok(42));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn spares(mut self, threads: usize) -> Self {
        self.config.spares = Some(threads);
        self
    }

    /// Sets the handler that is called once when work waits and there is no spare thread.
    ///
    /// Either all spares are in use, or the system starts no thread. The text says which. If all
    /// spares are in use, it also names the blocked workers. By default it is printed to standard
    /// error. The handler runs on a thread of its own, if the system starts one: it may block.
    ///
    /// ```
    /// # fn main() -> Result<(), blitz::BuildError> {
    /// let pool = blitz::Pool::builder().spares_handler(|why| eprintln!("stalled: {why}")).build()?;
    /// # drop(pool);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spares_handler(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.config.spares_handler = Some(Box::new(handler));
        self
    }

    /// Sets the handler that is called when a worker is stuck in a poll or job.
    ///
    /// It is called once per stall, when the watch has seen the worker in the same poll or job for
    /// about a tenth of a second. With a handler the watch looks about once per millisecond while
    /// any worker is awake. A job that forks is not stuck. A worker that waits in a `join`, a
    /// `block_on` or `block_in_place` is not, either. No thread of `spawn_blocking` is reported.
    ///
    /// The handler runs on a thread of its own. It may block or panic, and the pool goes on; later
    /// reports wait for it.
    ///
    /// Without a handler nothing is written, because many pools are meant for jobs of a second or
    /// more. With the variable `BLITZ_STALLS=1` a line goes to standard error, at most once per
    /// second.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().stall_handler(|report| eprintln!("{report}")).build()?;
    /// # drop(pool);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn stall_handler(mut self, handler: impl Fn(&StallReport) + Send + Sync + 'static) -> Self {
        self.config.stall_handler = Some(Box::new(handler));
        self
    }

    /// Sets how many bytes each worker has for its [timeline](Pool::trace); 0 turns it off.
    ///
    /// The default is 320 KiB, which a worker allocates with its first event. Threads that are not
    /// workers share the same amount.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).trace_memory(0).build()?;
    /// pool.install(|| ());
    /// assert!(pool.trace(std::time::Duration::MAX).tracks[0].slices.is_empty());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn trace_memory(mut self, bytes: usize) -> Self {
        self.config.trace_memory = bytes;
        self
    }

    /// Writes the [timeline](Pool::trace) to a file in the folder `dir` when `trigger` happens.
    ///
    /// A thread other than the workers writes it, in Perfetto's format. It writes at most once per
    /// ten seconds for each trigger; the trigger is ignored in between. The newest `keep` files in
    /// the folder stay, including those of earlier processes; older ones are removed. Only the
    /// first error is printed to standard error. Call this once for each trigger.
    ///
    /// ```
    /// use blitz::{Pool, TraceTrigger};
    /// let dir = std::env::temp_dir().join(format!("blitz-trace-on-{}", std::process::id()));
    /// let pool = Pool::builder().workers(2).trace_on(TraceTrigger::Stall, &dir, 3).build()?;
    /// assert_eq!(pool.install(|| 1 + 1), 2);
    /// assert!(!dir.exists(), "nothing has stalled");
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn trace_on(mut self, trigger: TraceTrigger, dir: impl Into<PathBuf>, keep: usize) -> Self {
        self.config.triggers.add(TraceOn { trigger, dir: dir.into(), keep });
        self
    }

    /// Shows the pool on a page for browsers, and to tools such as `blitz top`.
    ///
    /// It takes an address, or an `Inspect` with more settings. Pools that ask for the same address
    /// share one page, which stays until the process ends. A pool is shown until it ends. The
    /// server has its own threads, so it also works when the pool hangs.
    ///
    /// The variable `BLITZ_INSPECT` does the same for each pool without this setting, and prints
    /// the address of the page. Building the pool fails if the address cannot be used, or if other
    /// machines can reach it without a token. If the page that the variable asks for cannot be
    /// opened, for example because its port is taken, the pool reports that and goes on. Without
    /// the setting and the variable, nothing listens.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).inspect("127.0.0.1:0").build()?;
    /// assert!(blitz::inspect::pages()[0].url().starts_with("http://127.0.0.1:"));
    /// # drop(pool);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[cfg(feature = "inspect")]
    pub fn inspect(mut self, settings: impl Into<super::inspect::Inspect>) -> Self {
        self.inspect.ask(settings.into());
        self
    }

    /// Builds the pool and starts its threads.
    ///
    /// # Errors
    /// If a setting cannot be used, if a thread cannot be started, or if the system lacks the
    /// chosen [backend](PoolBuilder::backend). Threads that were started are stopped again.
    pub fn build(mut self) -> Result<Pool, BuildError> {
        let mut spawn = self.spawn.take();
        self.build_by(spawn.as_mut().map(|spawn| &mut **spawn as &mut Spawn<'_>))
    }

    /// Builds the pool as [`build`](PoolBuilder::build) does, with threads that `spawn` starts.
    ///
    /// `spawn` has the duties of a [`spawn_handler`](PoolBuilder::spawn_handler). It is only used
    /// during this call, so it may borrow.
    ///
    /// ```
    /// let sum = std::thread::scope(|threads| {
    ///     let pool = blitz::Pool::builder().workers(2).build_with(|worker| {
    ///         threads.spawn(|| worker.run());
    ///         Ok(())
    ///     })?;
    ///     Ok::<i32, blitz::BuildError>(pool.install(|| 1 + 2))
    /// });
    /// assert_eq!(sum.unwrap(), 3);
    /// ```
    ///
    /// # Errors
    /// Fails as [`build`](PoolBuilder::build) does.
    pub fn build_with(
        self,
        mut spawn: impl FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        self.build_by(Some(&mut spawn))
    }

    fn build_by(mut self, spawn: Option<&mut Spawn<'_>>) -> Result<Pool, BuildError> {
        let asked = match self.asks_env {
            true => workers_from_env()?.unwrap_or(self.workers),
            false => self.workers,
        };
        let workers = if asked == 0 { default_workers() } else { asked };
        if workers > WORKERS_MAX {
            return Err(BuildError::config(format!(
                "{workers} workers are too many; a pool can have up to {WORKERS_MAX}, \
                 and 0 means one per core"
            )));
        }
        if self.config.blocking_threads == 0 {
            return Err(BuildError::config(
                "max_blocking_threads is 0; closures of spawn_blocking would wait for ever: allow at \
                 least one thread"
                    .to_owned(),
            ));
        }
        if self.config.triggers.list().iter().any(|on| on.keep == 0) {
            return Err(BuildError::config(
                "trace_on would keep 0 files: keep at least one".to_owned(),
            ));
        }
        if self.start_paused {
            // A paused clock advances when all workers sleep: spares would only disturb.
            self.config.spares.get_or_insert(0);
            self.config.paused_since = Some(Instant::now());
            note_stopped_clock();
            if !is_worker() {
                // The thread is lent until another thread waits for the pool, or posts work to it.
                self.config.lends_thread = true;
                self.config.use_current_thread = true;
            }
        }
        #[cfg(feature = "inspect")]
        let wish = std::mem::take(&mut self.inspect).checked()?;
        self.config.logs_stalls = logs_stalls()?;
        let pool = self.start(workers, spawn)?;
        #[cfg(feature = "inspect")]
        wish.fulfil(&pool.handle())?;
        Ok(pool)
    }

    /// Settings for the global pool: `BLITZ_WORKERS` sets the number of workers, unless the caller
    /// has set one.
    pub(super) fn for_global(self) -> PoolBuilder {
        #[cfg_attr(not(feature = "inspect"), allow(unused_mut))]
        let mut builder = if self.workers == 0 { self.workers_from_env(0) } else { self };
        #[cfg(feature = "inspect")]
        builder.inspect.is_for_global();
        builder
    }

    /// Builds a pool that analyses work of `origin`: one worker that publishes each fork, and no
    /// other threads.
    pub(super) fn build_for_analysis(origin: &Team) -> Result<Pool, BuildError> {
        let config = Config {
            stack_size: origin.config.stack_size,
            wait: origin.config.wait,
            publish_all: true,
            scheduler: Some(Scheduler::default()),
            spares: Some(0),
            trace_memory: 0,
            width: Some(origin.num_workers()),
            ..Config::default()
        };
        let builder = PoolBuilder { config, ..PoolBuilder::new() };
        builder.thread_name(|_| "blitz-analysis".to_owned()).start(1, None)
    }

    fn start(
        mut self,
        workers: usize,
        mut spawn: Option<&mut Spawn<'_>>,
    ) -> Result<Pool, BuildError> {
        let first = usize::from(self.config.use_current_thread);
        if first == 1 && is_worker() {
            return Err(BuildError::already_worker());
        }
        let stack_size = self.config.stack_size;
        let scheduler = match self.config.scheduler {
            Some(scheduler) => scheduler,
            None => Scheduler::from_env()?,
        };
        if self.config.spares.is_none() {
            self.config.spares = spares_from_env()?;
        }
        let most = WORKERS_MAX - workers;
        if let Some(spares) = self.config.spares.filter(|&spares| spares > most) {
            return Err(BuildError::config(format!(
                "{spares} spare threads are too many beside {workers} workers; a pool can have up to \
                 {WORKERS_MAX} of both"
            )));
        }
        let team = Team::new(self.config, workers, scheduler);
        connect(&team);
        trace::on::start(&team);
        let mut starting = Starting::new(team, workers - first);
        if let Some(make) = self.ambient.take() {
            let ambient = make(&Handle::of(starting.team().clone()))?;
            starting.team().set_ambient(ambient);
        }
        for index in first..workers {
            let name = match &mut self.name {
                Some(name) => name(index),
                None => format!("blitz-{index}"),
            };
            if name.contains('\0') {
                return Err(BuildError::config(format!(
                    "the name of worker {index}, {name:?}, contains a zero byte, which the system does not accept"
                )));
            }
            let thread = ThreadBuilder::new(name, stack_size, starting.next(index));
            let started = match &mut spawn {
                Some(spawn) => spawn(thread),
                None => spawn_default(starting.team(), thread),
            };
            started.map_err(|source| BuildError::spawn(index, source))?;
        }
        if let Some(prepare) = self.prepare.take() {
            let pool = Handle::of(starting.team().arc());
            prepare(&pool).map_err(BuildError::driver)?;
        }
        let team = starting.done();
        team.count_in();
        if spawn.is_none() {
            team.wait_started();
        }
        if first == 1 {
            adopt(&team);
            run_start_handler(&team, 0);
        }
        Ok(Pool::of(team))
    }
}

impl Pool {
    /// Returns the settings of a new pool.
    ///
    /// ```
    /// assert_eq!(blitz::Pool::builder().workers(2).build()?.num_workers(), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("stack_size", &self.config.stack_size)
            .field("sleep_policy", &self.config.sleep)
            .field("wait_policy", &self.config.wait)
            .field("scheduler", &self.config.scheduler)
            .field("use_current_thread", &self.config.use_current_thread)
            .field("timer_slack", &self.config.timer_slack)
            .field("start_paused", &self.start_paused)
            .finish_non_exhaustive()
    }
}
