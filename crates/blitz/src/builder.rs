//! The settings of a runtime.

use crate::{Runtime, Scheduler, SleepPolicy, WaitPolicy};
use blitz_core::{BuildError, PoolBuilder};
use blitz_io::{Backend, IoDriver, IoOptions};
use std::any::Any;
use std::time::Duration;

/// Settings for a [`Runtime`]; [`PoolBuilder`] has those that concern threads and handlers, and
/// [`Builder::from_pool`] takes them over.
///
/// ```
/// # fn main() -> Result<(), blitz::BuildError> {
/// let runtime = blitz::Runtime::builder()
///     .workers(2)
///     .scheduler(blitz::Scheduler::Stealing)
///     .global_queue_capacity(1_000)
///     .build()?;
/// assert_eq!(runtime.pool().num_workers(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    pool: PoolBuilder,
    io: IoOptions,
}

impl Builder {
    /// All defaults.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// All defaults, but for what `pool` says.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).thread_name(|index| format!("async-{index}"));
    /// let runtime = blitz::Builder::from_pool(pool).build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert_eq!(name.join().unwrap().as_deref(), Some("async-0"));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn from_pool(pool: PoolBuilder) -> Builder {
        Builder { pool, ..Builder::default() }
    }

    /// How many workers; 0, the default, means one per core.
    #[doc(alias = "worker_threads")]
    #[doc(alias = "num_workers")]
    pub fn workers(mut self, workers: usize) -> Self {
        self.pool = self.pool.workers(workers);
        self
    }

    /// How tasks find a worker. Default: [`Scheduler::Stealing`], unless `BLITZ_SCHEDULER` says otherwise.
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.pool = self.pool.scheduler(scheduler);
        self
    }

    /// What the workers' threads are called.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).thread_name(|index| format!("web-{index}")).build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert_eq!(name.join().unwrap().as_deref(), Some("web-0"));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn thread_name(mut self, name: impl FnMut(usize) -> String + 'static) -> Self {
        self.pool = self.pool.thread_name(name);
        self
    }

    /// See [`PoolBuilder::stack_size`].
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.pool = self.pool.stack_size(bytes);
        self
    }

    /// Who is told of panics that nobody waits for: see [`PoolBuilder::panic_handler`].
    pub fn panic_handler(
        mut self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        self.pool = self.pool.panic_handler(handler);
        self
    }

    /// See [`PoolBuilder::sleep_policy`].
    pub fn sleep_policy(mut self, policy: SleepPolicy) -> Self {
        self.pool = self.pool.sleep_policy(policy);
        self
    }

    /// See [`PoolBuilder::wait_policy`].
    pub fn wait_policy(mut self, policy: WaitPolicy) -> Self {
        self.pool = self.pool.wait_policy(policy);
        self
    }

    /// See [`PoolBuilder::global_queue_capacity`].
    pub fn global_queue_capacity(mut self, tasks: usize) -> Self {
        self.pool = self.pool.global_queue_capacity(tasks);
        self
    }

    /// See [`PoolBuilder::enable_stealing`].
    pub fn enable_stealing(mut self, stealing: bool) -> Self {
        self.pool = self.pool.enable_stealing(stealing);
        self
    }

    /// See [`PoolBuilder::max_blocking_threads`].
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.pool = self.pool.max_blocking_threads(threads);
        self
    }

    /// See [`PoolBuilder::thread_keep_alive`].
    pub fn thread_keep_alive(mut self, time: Duration) -> Self {
        self.pool = self.pool.thread_keep_alive(time);
        self
    }

    /// Whether the runtime's clock stands from the beginning, for tests: see [`time::pause`](crate::time::pause).
    /// Default: no.
    ///
    /// The thread that builds the runtime is one of its workers then, while it is in
    /// [`Runtime::block_on`], so that time does not pass while the future runs there. If it is a worker of another pool
    /// already, it stays that.
    ///
    /// Other threads may use the runtime, too. If one of them waits for it, or spawns a task, while the
    /// thread that built it is in none of its operations, the runtime starts a thread that takes that one's place for
    /// good. Then time may pass while a future runs in `block_on`, as [`time::pause`](crate::time::pause) says of threads
    /// that are no workers; tasks hold the clock in any case.
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
        self.io.start_paused = paused;
        self
    }

    /// What files and sockets are used with. Default: [`Backend::Auto`]; [`Runtime::backend`] says what that came
    /// to.
    ///
    /// ```
    /// use blitz::Backend;
    ///
    /// let runtime = blitz::Runtime::builder().workers(1).backend(Backend::Readiness).build()?;
    /// assert_eq!(runtime.backend().unwrap().backend, Backend::Readiness);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn backend(mut self, backend: Backend) -> Self {
        self.io.backend = backend;
        self
    }

    /// How many events of files and sockets one look can bring; more come with the next one. Default: 256. With fewer,
    /// other work goes in between sooner; zero counts as one.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).max_io_completions(16).build()?;
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn max_io_completions(mut self, events: usize) -> Self {
        self.io.max_io_completions = events;
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// If a setting cannot be used, if the system would not start a thread, or if it has not the backend that was
    /// asked for.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let mut pool = self.pool;
        if self.io != IoOptions::default() {
            pool = pool.driver_options(self.io);
        }
        if self.io.start_paused && blitz_core::current_worker_index().is_none() {
            pool = pool.lend_current_thread();
        }
        let runtime = Runtime::of(pool.build()?);
        if self.io.start_paused || self.io.backend == Backend::IoUring {
            // So that the clock stands from now on, and not from the first sleep; and what cannot be had is said
            // at once.
            IoDriver::of(&runtime.handle()).map_err(BuildError::driver)?;
        }
        Ok(runtime)
    }
}
