//! Errors, with advice.

#![forbid(unsafe_code)]

use super::id::Id;
use super::panic::{self, Payload};
use blitz_parts::prim::Mutex;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::PoisonError;

/// Why a pool could not be built.
///
/// ```
/// let error = blitz::Pool::builder().workers(1 << 20).build().unwrap_err();
/// assert!(error.is_invalid_config());
/// assert!(error.to_string().contains("65535"));
/// assert_eq!(format!("{error:?}"), format!("BuildError({error})"));
/// ```
pub struct BuildError {
    kind: BuildErrorKind,
}

enum BuildErrorKind {
    Config(String),
    Spawn {
        index: usize,
        source: io::Error,
    },
    GlobalExists,
    AlreadyWorker,
    Driver {
        source: io::Error,
    },
    #[cfg(feature = "tokio-guest")]
    Guest {
        source: io::Error,
    },
    #[cfg(feature = "inspect")]
    Inspect {
        source: io::Error,
    },
}

impl BuildError {
    /// Creates an error about a setting, also for the drop-in `rayon-core`.
    #[doc(hidden)]
    #[must_use]
    pub fn config(text: String) -> BuildError {
        BuildError { kind: BuildErrorKind::Config(text) }
    }

    pub(crate) fn spawn(index: usize, source: io::Error) -> BuildError {
        BuildError { kind: BuildErrorKind::Spawn { index, source } }
    }

    pub(crate) fn global_exists() -> BuildError {
        BuildError { kind: BuildErrorKind::GlobalExists }
    }

    pub(crate) fn already_worker() -> BuildError {
        BuildError { kind: BuildErrorKind::AlreadyWorker }
    }

    pub(crate) fn driver(source: io::Error) -> BuildError {
        BuildError { kind: BuildErrorKind::Driver { source } }
    }

    #[cfg(feature = "tokio-guest")]
    pub(crate) fn guest(source: io::Error) -> BuildError {
        BuildError { kind: BuildErrorKind::Guest { source } }
    }

    #[cfg(feature = "inspect")]
    pub(crate) fn inspect(source: io::Error) -> BuildError {
        match source.kind() {
            io::ErrorKind::InvalidInput => BuildError::config(source.to_string()),
            _ => BuildError { kind: BuildErrorKind::Inspect { source } },
        }
    }

    /// Whether a setting, in the builder or in the environment, cannot be used.
    #[must_use]
    pub fn is_invalid_config(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Config(_))
    }

    /// Whether the system failed to start a thread; [`io_error`](BuildError::io_error) says why.
    #[must_use]
    pub fn is_thread_spawn(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Spawn { .. })
    }

    /// Whether the global pool exists already.
    #[must_use]
    pub fn is_global_already_initialized(&self) -> bool {
        matches!(self.kind, BuildErrorKind::GlobalExists)
    }

    /// Whether the current thread is already a worker of a pool and cannot join another pool.
    #[must_use]
    pub fn is_current_thread_already_worker(&self) -> bool {
        matches!(self.kind, BuildErrorKind::AlreadyWorker)
    }

    /// Whether the pool cannot have timers and sockets.
    ///
    /// The reason is a setting of the pool or a refusal of the system;
    /// [`io_error`](BuildError::io_error) names it.
    #[must_use]
    pub fn is_driver(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Driver { .. })
    }

    /// Returns the system's error, if there was one.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.kind {
            BuildErrorKind::Spawn { source, .. } | BuildErrorKind::Driver { source } => {
                Some(source)
            }
            #[cfg(feature = "tokio-guest")]
            BuildErrorKind::Guest { source } => Some(source),
            #[cfg(feature = "inspect")]
            BuildErrorKind::Inspect { source } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            BuildErrorKind::Config(text) => f.write_str(text),
            BuildErrorKind::Spawn { index, source } => write!(
                f,
                "the thread of worker {index} could not be started: {source}; \
                 use fewer workers or smaller stacks, or raise the system's limits"
            ),
            BuildErrorKind::Driver { source } => {
                write!(f, "the pool cannot have timers and sockets: {source}")
            }
            #[cfg(feature = "tokio-guest")]
            BuildErrorKind::Guest { source } => write!(
                f,
                "the Tokio guest could not be built: {source}; raise the system's limits of threads \
                 and descriptors, or build the pool without tokio_guest"
            ),
            #[cfg(feature = "inspect")]
            BuildErrorKind::Inspect { source } => write!(
                f,
                "{source}; choose another port, or 0 for any free port, or build the pool without \
                 inspect"
            ),
            BuildErrorKind::GlobalExists => f.write_str(
                "the global pool exists already; call build_global before anything uses the global \
                 pool, and only once",
            ),
            BuildErrorKind::AlreadyWorker => f.write_str(
                "the current thread is a worker of a pool already; build this pool on another \
                 thread or without use_current_thread",
            ),
        }
    }
}

// `unwrap`, and a `main` that returns the error, print this text, so it contains the advice.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildError({self})")
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io_error().map(|source| source as _)
    }
}

/// Lets `?` return the error from functions that return `io::Error`. Keeps the kind of a system
/// error.
impl From<BuildError> for io::Error {
    fn from(error: BuildError) -> io::Error {
        let kind = match error.io_error() {
            Some(source) => source.kind(),
            None if error.is_invalid_config() => io::ErrorKind::InvalidInput,
            None => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Why there is no current pool: see [`Handle::try_current`](crate::Handle::try_current).
///
/// ```
/// let error = blitz::Handle::try_current().unwrap_err();
/// assert!(error.is_missing_context());
/// assert!(error.to_string().contains("block_on"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TryCurrentError {
    kind: TryCurrentErrorKind,
}

#[derive(Clone, PartialEq, Eq)]
enum TryCurrentErrorKind {
    MissingContext,
    ThreadLocalDestroyed,
}

impl TryCurrentError {
    pub(crate) fn missing_context() -> TryCurrentError {
        TryCurrentError { kind: TryCurrentErrorKind::MissingContext }
    }

    pub(crate) fn thread_local_destroyed() -> TryCurrentError {
        TryCurrentError { kind: TryCurrentErrorKind::ThreadLocalDestroyed }
    }

    /// Whether the thread is not a worker and has not entered a pool.
    #[must_use]
    pub fn is_missing_context(&self) -> bool {
        self.kind == TryCurrentErrorKind::MissingContext
    }

    /// Whether the thread is ending, so that its thread locals are gone.
    #[must_use]
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.kind == TryCurrentErrorKind::ThreadLocalDestroyed
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            TryCurrentErrorKind::MissingContext => {
                "this thread is in no pool: make the call inside a task or Runtime::block_on, or \
                 after Handle::enter, or use the handle of blitz::global"
            }
            TryCurrentErrorKind::ThreadLocalDestroyed => {
                "this thread is ending, and its thread locals are destroyed: get the handle \
                 earlier, and keep it"
            }
        })
    }
}

impl fmt::Debug for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TryCurrentError({self})")
    }
}

impl std::error::Error for TryCurrentError {}

/// Why a spawned task or job has no result.
///
/// ```
/// let error = blitz::spawn_cpu(|| panic!("oh")).join().unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.to_string(), "the job panicked: oh");
/// assert_eq!(*error.into_panic().downcast_ref::<&str>().unwrap(), "oh");
/// ```
pub struct JoinError {
    /// Boxed: an error is one word, so that it does not make results larger.
    ending: Box<Ending>,
}

/// How a task or job without a result ended.
struct Ending {
    /// "task" or "job".
    what: &'static str,
    id: Id,
    cause: Cause,
}

enum Cause {
    Cancelled,
    // A payload is `Send` but not `Sync`. The mutex lets threads share the error.
    Panicked(Mutex<Payload>),
}

impl JoinError {
    pub(crate) fn panicked(what: &'static str, id: Id, payload: Payload) -> JoinError {
        JoinError::new(what, id, Cause::Panicked(Mutex::new(payload)))
    }

    pub(crate) fn cancelled(what: &'static str, id: Id) -> JoinError {
        JoinError::new(what, id, Cause::Cancelled)
    }

    #[cold]
    fn new(what: &'static str, id: Id, cause: Cause) -> JoinError {
        JoinError { ending: Box::new(Ending { what, id, cause }) }
    }

    /// The id of the task or job.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let handle = blitz::spawn(async { panic!("oh") });
    /// let id = handle.id();
    /// assert_eq!(handle.await.unwrap_err().id(), id);
    /// # });
    /// ```
    #[must_use]
    pub fn id(&self) -> Id {
        self.ending.id
    }

    /// Whether the task or job was cancelled, by an abort or by the end of its pool.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.ending.cause, Cause::Cancelled)
    }

    /// Whether the task or job panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.ending.cause, Cause::Panicked(_))
    }

    /// Returns the panic's payload, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    /// If the task or job was cancelled: see [`try_into_panic`](JoinError::try_into_panic).
    #[must_use]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("into_panic was called on an error that is not a panic: {error}"),
        }
    }

    /// Returns the panic's payload, if the task or job panicked.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let error = blitz::spawn(async { panic!("oh") }).await.unwrap_err();
    /// assert_eq!(error.to_string(), "the task panicked: oh");
    /// assert_eq!(*error.try_into_panic().unwrap().downcast_ref::<&str>().unwrap(), "oh");
    /// # });
    /// ```
    ///
    /// # Errors
    /// Returns the error itself if the task or job was cancelled.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        if self.is_cancelled() {
            return Err(self);
        }
        match self.ending.cause {
            Cause::Panicked(payload) => {
                Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Cause::Cancelled => unreachable!("a cancelled error was returned above"),
        }
    }
}

/// Lets `?` return the error from functions that return `io::Error`. Tokio has this conversion,
/// too.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// assert_eq!(blitz::spawn_cpu(|| 7).join()?, 7);
/// let error = std::io::Error::from(blitz::spawn_cpu(|| panic!("oh")).join().unwrap_err());
/// assert_eq!(error.to_string(), "the job panicked: oh");
/// # Ok(())
/// # }
/// ```
impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        io::Error::other(error)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ending { what, cause, .. } = &*self.ending;
        match cause {
            Cause::Cancelled => write!(f, "the {what} was cancelled"),
            Cause::Panicked(payload) => {
                let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
                // The formatter may be user code that formats this error again: release the lock
                // first.
                let message = panic::message(&payload).to_owned();
                drop(payload);
                write!(f, "the {what} panicked: {message}")
            }
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
