//! Settings under Tokio's names. Each maps to the closest setting of Blitz.

#![forbid(unsafe_code)]

use super::builder::PoolBuilder;

/// Methods with Tokio's names, so that a port is mostly search and replace.
impl PoolBuilder {
    /// Same as [`new`](PoolBuilder::new): Tokio's name.
    ///
    /// ```
    /// use blitz::runtime::Builder;
    ///
    /// let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    /// assert_eq!(runtime.block_on(async { 7 }), 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_multi_thread() -> PoolBuilder {
        PoolBuilder::new()
    }

    /// Settings of a pool whose only worker is the thread that builds it. The thread works only
    /// while it is inside the pool's operations. If it blocks there, or computes for long, a
    /// [spare](PoolBuilder::spares) may work, too.
    ///
    /// Same as `workers(1)` and [`use_current_thread`](PoolBuilder::use_current_thread). As in
    /// Tokio, spawned tasks must be `Send`; use a [`LocalSet`](crate::LocalSet) for others. A
    /// thread that is a worker of another pool cannot build such a pool.
    ///
    /// ```
    /// let runtime = blitz::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let here = std::thread::current().id();
    /// let task = runtime.spawn(async { std::thread::current().id() });
    /// assert_eq!(runtime.block_on(task).unwrap(), here);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_current_thread() -> PoolBuilder {
        PoolBuilder::new().workers(1).use_current_thread()
    }

    /// Same as [`workers`](PoolBuilder::workers): Tokio's name. Zero means one per core here.
    pub fn worker_threads(self, workers: usize) -> PoolBuilder {
        self.workers(workers)
    }

    /// Same as [`stack_size`](PoolBuilder::stack_size): Tokio's name.
    pub fn thread_stack_size(self, bytes: usize) -> PoolBuilder {
        self.stack_size(bytes)
    }

    /// Works like [`thread_name`](PoolBuilder::thread_name), without the worker's index: Tokio's
    /// name.
    ///
    /// ```
    /// let runtime = blitz::runtime::Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .thread_name_fn(|| "visits".to_owned())
    ///     .build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some("visits"));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn thread_name_fn(self, name: impl Fn() -> String + Send + Sync + 'static) -> PoolBuilder {
        self.thread_name(move |_| name())
    }

    /// Changes nothing: how often a worker looks at the queue of the pool depends on how long its
    /// tasks take.
    pub fn global_queue_interval(self, _polls: u32) -> PoolBuilder {
        self
    }

    /// Changes nothing: how often a worker looks for events depends on how long its tasks take.
    pub fn event_interval(self, _polls: u32) -> PoolBuilder {
        self
    }

    /// Changes nothing: sockets and timers start when a task first uses them.
    pub fn enable_all(self) -> PoolBuilder {
        self
    }

    /// Changes nothing, as [`enable_all`](PoolBuilder::enable_all).
    pub fn enable_io(self) -> PoolBuilder {
        self
    }

    /// Changes nothing, as [`enable_all`](PoolBuilder::enable_all).
    pub fn enable_time(self) -> PoolBuilder {
        self
    }

    /// Same as [`start_handler`](PoolBuilder::start_handler), without the worker's index.
    ///
    /// Unlike in Tokio, threads for blocking closures do not call the handler.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    /// static STARTED: AtomicUsize = AtomicUsize::new(0);
    /// static STOPPED: AtomicUsize = AtomicUsize::new(0);
    /// let runtime = blitz::runtime::Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .on_thread_start(|| drop(STARTED.fetch_add(1, SeqCst)))
    ///     .on_thread_stop(|| drop(STOPPED.fetch_add(1, SeqCst)))
    ///     .build()?;
    /// drop(runtime);
    /// assert_eq!((STARTED.load(SeqCst), STOPPED.load(SeqCst)), (2, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn on_thread_start(self, handler: impl Fn() + Send + Sync + 'static) -> PoolBuilder {
        self.start_handler(move |_| handler())
    }

    /// Same as [`exit_handler`](PoolBuilder::exit_handler), without the worker's index.
    pub fn on_thread_stop(self, handler: impl Fn() + Send + Sync + 'static) -> PoolBuilder {
        self.exit_handler(move |_| handler())
    }

    /// Same as [`park_handler`](PoolBuilder::park_handler), without the worker's index.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let (parked, is_parked) = mpsc::channel();
    /// let runtime = blitz::runtime::Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_thread_park(move || drop(parked.send(())))
    ///     .build()?;
    /// is_parked.recv().unwrap();
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn on_thread_park(self, handler: impl Fn() + Send + Sync + 'static) -> PoolBuilder {
        self.park_handler(move |_| handler())
    }

    /// Same as [`unpark_handler`](PoolBuilder::unpark_handler), without the worker's index.
    pub fn on_thread_unpark(self, handler: impl Fn() + Send + Sync + 'static) -> PoolBuilder {
        self.unpark_handler(move |_| handler())
    }
}
