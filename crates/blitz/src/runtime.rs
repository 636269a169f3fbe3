//! A pool as the runtime of an async program.

use crate::{Builder, EnterGuard, Handle, JoinHandle, Pool, PoolMetrics, Unfinished};
use blitz_core::BuildError;
use blitz_io::{BackendChoice, IoDriver};
use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::time::Duration;

/// What an async program runs on: a [`Pool`], whose workers poll tasks and run jobs.
///
/// Dropping it cancels the tasks that are left and waits for the threads, for jobs that were spawned and
/// for [shielded](crate::task::shield) sections. Dropped inside of one of its own tasks it does not wait.
/// The drop has no limit: if something of that may never end, as a read of a pipe that has no writer, end the runtime with
/// [`shutdown_within`](Runtime::shutdown_within).
///
/// Writes of [files](crate::fs::File) that are in flight are waited for. Reads are cancelled with io_uring; where threads
/// read they are waited for, and one that never comes keeps the runtime for ever:
/// [`shutdown_timeout`](Runtime::shutdown_timeout) says so.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = blitz::Runtime::builder().workers(2).build()?;
/// let answer = runtime.block_on(async {
///     let handle = blitz::spawn(async { 6 * 7 });
///     handle.await
/// })?;
/// assert_eq!(answer, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Runtime {
    pool: Pool,
}

impl From<&Runtime> for Handle {
    fn from(runtime: &Runtime) -> Handle {
        runtime.handle()
    }
}

impl Runtime {
    /// A runtime with all defaults: one worker per core.
    ///
    /// ```
    /// assert_eq!(blitz::Runtime::new()?.block_on(async { 7 }), 7);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn new() -> Result<Runtime, BuildError> {
        Runtime::builder().build()
    }

    /// Settings for a new runtime.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn of(pool: Pool) -> Runtime {
        Runtime { pool }
    }

    /// Runs `future` to its end on the current thread; what it spawns goes to this runtime. It may be called
    /// anywhere, inside of a task too: see [`block_on`](crate::block_on).
    ///
    /// # Blocking
    /// A thread outside of every pool blocks.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.pool.block_on(future)
    }

    /// Starts a task: see [`spawn`](crate::spawn).
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// assert_eq!(runtime.spawn(async { 7 }).join().unwrap(), 7);
    /// ```
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.pool.spawn(future)
    }

    /// Starts a job that computes: see [`spawn_cpu`](crate::spawn_cpu).
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// let sum = runtime.spawn_cpu(|| (1..=10).sum::<i32>());
    /// assert_eq!(runtime.block_on(sum).unwrap(), 55);
    /// ```
    pub fn spawn_cpu<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.pool.spawn_cpu(f)
    }

    /// Starts something that blocks: see [`spawn_blocking`](crate::spawn_blocking).
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.pool.spawn_blocking(f)
    }

    /// A way into the runtime that can be cloned and sent anywhere.
    pub fn handle(&self) -> Handle {
        self.pool.handle()
    }

    /// The pool that this is: for [`Pool::join`], [`Pool::scope`] and all other operations on jobs.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// assert_eq!(runtime.pool().join(|| 1, || 2), (1, 2));
    /// ```
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Makes this the current runtime of this thread until the guard is dropped.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// let _guard = runtime.enter();
    /// assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.pool.enter()
    }

    /// What files and sockets are used with, and why it is not io_uring if it is not. If that is not settled yet it
    /// is from now on.
    ///
    /// ```
    /// println!("{}", blitz::Runtime::new().unwrap().backend()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system does not give the runtime what it needs to wait for files and sockets.
    pub fn backend(&self) -> io::Result<BackendChoice> {
        Ok(IoDriver::of(&self.handle())?.backend())
    }

    /// What the workers have done so far.
    pub fn metrics(&self) -> PoolMetrics {
        self.pool.metrics()
    }

    /// Ends the runtime as its drop does, but waits for `patience` at most; says whether everything has
    /// ended. If not, what is left goes on in the background; [`shutdown_within`](Runtime::shutdown_within) says what
    /// that is.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// drop(runtime.spawn(std::future::pending::<()>()));
    /// assert!(runtime.shutdown_timeout(std::time::Duration::from_secs(60)));
    /// ```
    pub fn shutdown_timeout(self, patience: Duration) -> bool {
        self.shutdown_within(patience).is_ok()
    }

    /// Ends the runtime as its drop does, but waits for `patience` at most.
    ///
    /// ```
    /// let runtime = blitz::Runtime::new().unwrap();
    /// let (go, wait) = std::sync::mpsc::channel::<()>();
    /// drop(runtime.spawn_blocking(move || wait.recv()));
    /// let left = runtime.shutdown_within(std::time::Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(left.blocking, 1);
    /// drop(go);
    /// ```
    ///
    /// # Errors
    /// If something is left then: the error says what. It goes on in the background. If it says nothing, the
    /// runtime has ended meanwhile.
    pub fn shutdown_within(self, patience: Duration) -> Result<(), Unfinished> {
        let handle = self.handle();
        let (done, wait) = mpsc::channel();
        let name = "blitz-shutdown".to_owned();
        let ending = std::thread::Builder::new().name(name).spawn(move || {
            drop(self);
            // Nobody may be waiting any more.
            let _ = done.send(());
        });
        // A thread that cannot be started has dropped the runtime already.
        if ending.is_err() || wait.recv_timeout(patience).is_ok() {
            return Ok(());
        }
        Err(handle.unfinished())
    }

    /// Ends the runtime as its drop does, without waiting.
    ///
    /// ```
    /// blitz::Runtime::new().unwrap().shutdown_background();
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}
