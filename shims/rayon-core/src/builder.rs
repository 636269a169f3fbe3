//! The settings of a pool, under Rayon's names.

#![forbid(unsafe_code)]

use crate::error::ThreadPoolBuildError;
use crate::pool::ThreadPool;
use crate::proof;
use crate::registry::{CustomSpawn, DefaultSpawn, Sealed, ThreadBuilder, ThreadSpawn};
use blitz_core::{BuildError, Pool, PoolBuilder, WaitPolicy};
use std::any::Any;
use std::env;
use std::error::Error;
use std::fmt;
use std::io;

type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// Settings for a [`ThreadPool`].
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    panic_handler: Option<PanicHandler>,
    start_handler: Option<IndexHandler>,
    exit_handler: Option<IndexHandler>,
    breadth_first: bool,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            panic_handler: None,
            start_handler: None,
            exit_handler: None,
            breadth_first: false,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool for the duration of a call. Its threads may borrow: each of them calls
    /// `wrapper`, which must call [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// Returns the same errors as [`ThreadPoolBuilder::build`].
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        std::thread::scope(|threads| {
            let wrapper = &wrapper;
            let pool = self.spawn_handler(|thread| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                builder.spawn_scoped(threads, move || wrapper(thread)).map(drop)
            });
            Ok(with_pool(&pool.build()?))
        })
    }

    /// Builds the global pool if there is none.
    pub(crate) fn ensure_global(self) -> Result<(), ThreadPoolBuildError> {
        let pool = blitz_core::global_or_build(|| {
            proof::global_started();
            Ok(self.into_parts()?.0)
        });
        pool.map(drop).map_err(ThreadPoolBuildError::new)
    }
}

impl<S> ThreadPoolBuilder<S>
where
    S: ThreadSpawn,
{
    /// Builds the pool.
    ///
    /// # Errors
    /// If a thread cannot be started, if the current thread was to be used and is in a pool
    /// already, or if a name of a thread contains a zero byte. Also if a variable has a value that
    /// cannot be used: `BLITZ_WAIT`, `BLITZ_SCHEDULER` or `BLITZ_STALLS`.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (builder, named, spawn) = self.into_parts().map_err(ThreadPoolBuildError::new)?;
        let pool = spawn.build(Sealed(()), builder, named).map_err(ThreadPoolBuildError::new)?;
        Ok(ThreadPool::of(pool))
    }

    /// Builds the global pool. Without this call, the first use of the pool builds it with
    /// defaults.
    ///
    /// # Errors
    /// Returns the errors of [`ThreadPoolBuilder::build`], and an error if the global pool exists
    /// already or if `BLITZ_WORKERS` would count and cannot be used.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let (builder, named, spawn) = self.into_parts().map_err(ThreadPoolBuildError::new)?;
        spawn.build_global(Sealed(()), builder, named).map_err(ThreadPoolBuildError::new)?;
        proof::global_started();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts the threads in another way: the closure must make some thread call
    /// [`ThreadBuilder::run`].
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            panic_handler: self.panic_handler,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names the threads.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of threads. 0, the default, means the value of `RAYON_NUM_THREADS` or of
    /// `RAYON_RS_NUM_CPUS`, else one per core. For
    /// [`build_global`](ThreadPoolBuilder::build_global), `BLITZ_WORKERS` comes before the number
    /// of cores.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the thread that builds the pool its thread 0. It takes part in work only while it
    /// waits inside one of the pool's operations.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets the handler for panics of detached jobs. By default the process aborts, as it does if
    /// the handler itself panics.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler));
        self
    }

    /// Sets the stack size of the threads in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Has no effect: the setting is accepted and ignored.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets the function that each of the pool's own threads calls with its index before it works.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Sets the function that each of the pool's own threads calls with its index before it ends.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }

    /// Converts the settings to a Blitz builder. Also returns whether the user has named the
    /// threads, and what starts them.
    fn into_parts(self) -> Result<(PoolBuilder, bool, S), BuildError> {
        let asked = if self.num_threads > 0 { self.num_threads } else { num_threads_from_env() };
        let mut builder =
            Pool::builder().workers(asked.min(Pool::MAX_WORKERS)).wait_policy(wait_from_env()?);
        // Rayon's pools do not wait for their threads, and some programs rely on that. Rayon's
        // pools do not start additional threads, either: some programs have a table with a row per
        // thread index.
        builder = builder.detach_on_drop().spares(0);
        if self.use_current_thread {
            builder = builder.use_current_thread();
        }
        let named = self.thread_name.is_some();
        if let Some(name) = self.thread_name {
            builder = builder.thread_name(name);
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        // The handlers are for threads that the pool starts.
        let first = usize::from(self.use_current_thread);
        let of_own = move |handler: IndexHandler| {
            move |index| {
                if index >= first {
                    handler(index);
                }
            }
        };
        if let Some(handler) = self.start_handler {
            builder = builder.start_handler(of_own(handler));
        }
        if let Some(handler) = self.exit_handler {
            builder = builder.exit_handler(of_own(handler));
        }
        let handler = self.panic_handler;
        builder = builder.panic_handler(move |payload| {
            let guard = AbortUnlessHandled;
            if let Some(handler) = &handler {
                handler(payload);
                std::mem::forget(guard);
            }
        });
        Ok((builder, named, self.spawn))
    }
}

/// Its drop aborts: the panic of a detached job was not handled.
struct AbortUnlessHandled;

impl Drop for AbortUnlessHandled {
    fn drop(&mut self) {
        eprintln!("a detached job panicked and no panic handler has handled it; aborting");
        std::process::abort();
    }
}

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok()?.parse().ok()
}

/// Reads the number of threads from the environment; 0 means one thread per core.
fn num_threads_from_env() -> usize {
    number("RAYON_NUM_THREADS").or_else(|| number("RAYON_RS_NUM_CPUS")).unwrap_or(0)
}

/// Reads `BLITZ_WAIT`. An empty variable counts as unset, as for the variables of `blitz-core`.
fn wait_from_env() -> Result<WaitPolicy, BuildError> {
    let policy = env::var_os("BLITZ_WAIT").unwrap_or_default();
    match policy.to_str().map(str::trim) {
        Some("") => Ok(WaitPolicy::StealAnything),
        Some("descendants") => Ok(WaitPolicy::DescendantsOnly),
        _ => Err(BuildError::config(format!(
            "BLITZ_WAIT is {policy:?}; it must be \"descendants\", or not be set"
        ))),
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closure = |there: bool| there.then_some(format_args!("<closure>"));
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("get_thread_name", &closure(self.thread_name.is_some()))
            .field("panic_handler", &closure(self.panic_handler.is_some()))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &closure(self.start_handler.is_some()))
            .field("exit_handler", &closure(self.exit_handler.is_some()))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}

/// The former name of [`ThreadPoolBuilder`].
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

/// Builds the global pool.
///
/// # Errors
/// Returns the same errors as [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated)]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.builder.build_global().map_err(Box::from)
}

#[allow(deprecated)]
impl Configuration {
    /// Creates a configuration with the default settings.
    pub fn new() -> Configuration {
        Configuration::default()
    }

    /// Does the same as [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// Returns the same errors as that method.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    /// Does the same as [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Configuration { builder: self.builder.thread_name(closure) }
    }

    /// Does the same as [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Configuration {
        Configuration { builder: self.builder.num_threads(num_threads) }
    }

    /// Does the same as [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.panic_handler(panic_handler) }
    }

    /// Does the same as [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        Configuration { builder: self.builder.stack_size(stack_size) }
    }

    /// Does the same as [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        Configuration { builder: self.builder.breadth_first() }
    }

    /// Does the same as [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.start_handler(start_handler) }
    }

    /// Does the same as [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.exit_handler(exit_handler) }
    }

    pub(crate) fn into_builder(self) -> ThreadPoolBuilder {
        self.builder
    }
}

#[allow(deprecated)]
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}
