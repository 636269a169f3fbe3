//! The error of a pool that could not be built, with Rayon's messages.

#![forbid(unsafe_code)]

use blitz_core::BuildError;
use std::error::Error;
use std::fmt;

/// Why a thread pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    inner: BuildError,
}

impl ThreadPoolBuildError {
    pub(crate) fn new(inner: BuildError) -> ThreadPoolBuildError {
        ThreadPoolBuildError { inner }
    }

    /// The text of an error that does not come from the system.
    fn text(&self) -> Option<&'static str> {
        if self.inner.is_global_already_initialized() {
            Some("The global thread pool has already been initialized.")
        } else if self.inner.is_current_thread_already_worker() {
            Some("The current thread is already part of another thread pool.")
        } else {
            None
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text(), self.inner.io_error()) {
            (Some(text), _) => text.fmt(f),
            (None, Some(system)) => system.fmt(f),
            (None, None) => self.inner.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match (self.text(), self.inner.io_error()) {
            (Some(text), _) => text,
            (None, Some(system)) => system.description(),
            (None, None) => "the thread pool's settings cannot be used",
        }
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.io_error().map(|system| system as &(dyn Error + 'static))
    }
}
