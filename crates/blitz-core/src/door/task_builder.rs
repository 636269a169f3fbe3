//! Tasks with names.

#![forbid(unsafe_code)]

use super::global::global;
use super::handle::Handle;
use crate::state::NameEntry;
use crate::task::{JoinHandle, LocalSet, spawn_local, try_id};
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

crate::task_local! {
    static NAME: Arc<str>;
}

/// Returns the name that the current task or blocking closure was given, if it has one.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::task;
/// let named = task::Builder::new().name("journal").spawn(async { task::name() })?;
/// assert_eq!(named.await.unwrap().as_deref(), Some("journal"));
/// assert_eq!(task::name(), None);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[must_use]
pub fn name() -> Option<Arc<str>> {
    NAME.try_with(Arc::clone).ok()
}

/// Starts tasks with a name, for logs, panic hooks and handlers of slow polls.
///
/// [`name`] returns the name inside the task, and [`Pool::dump`](crate::Pool::dump) shows it for
/// waiting tasks. Tasks that a named task spawns do not inherit its name.
///
/// ```
/// # blitz::block_on(async {
/// let task = blitz::task::Builder::new().name("counter").spawn(async { 7 })?;
/// assert_eq!(task.await.unwrap(), 7);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "a builder does nothing until it spawns"]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Makes a builder of a task without a name.
    pub fn new() -> Builder<'a> {
        Builder::default()
    }

    /// Gives the task a name. Several tasks may have the same one.
    pub fn name(self, name: &'a str) -> Builder<'a> {
        Builder { name: Some(name) }
    }

    /// Works like [`spawn`](crate::spawn).
    ///
    /// # Errors
    /// If the global pool is needed and cannot be built.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_on(future, &current()?)
    }

    /// Works like [`Handle::spawn`].
    ///
    /// # Errors
    /// Never. It returns a `Result` because Tokio's method does.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(match self.name {
            Some(name) => {
                let name: Arc<str> = name.into();
                let entry = NameEntry::new(handle.team().names.clone(), name.clone());
                handle.spawn(Named { future: NAME.scope(name, future), entry })
            }
            None => handle.spawn(future),
        })
    }

    /// Works like [`spawn_local`](crate::spawn_local).
    ///
    /// # Errors
    /// Never. It returns a `Result` because Tokio's method does.
    ///
    /// # Panics
    /// If called outside every [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(match self.name {
            Some(name) => spawn_local(NAME.scope(name.into(), future)),
            None => spawn_local(future),
        })
    }

    /// Works like [`LocalSet::spawn_local`].
    ///
    /// # Errors
    /// Never. It returns a `Result` because Tokio's method does.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local: &LocalSet) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(match self.name {
            Some(name) => local.spawn_local(NAME.scope(name.into(), future)),
            None => local.spawn_local(future),
        })
    }

    /// Works like [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// # Errors
    /// If the global pool is needed and cannot be built.
    #[track_caller]
    pub fn spawn_blocking<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_blocking_on(f, &current()?)
    }

    /// Works like [`Handle::spawn_blocking`].
    ///
    /// # Errors
    /// Never. It returns a `Result` because Tokio's method does.
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Ok(match self.name.map(Arc::from) {
            Some(name) => handle.spawn_blocking(move || NAME.sync_scope(name, f)),
            None => handle.spawn_blocking(f),
        })
    }
}

pin_project! {
    /// A future whose task has a name in dumps.
    struct Named<F> {
        #[pin]
        future: F,
        // Dropped last.
        entry: NameEntry,
    }
}

impl<F: Future> Future for Named<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.entry.register(try_id);
        this.future.poll(cx)
    }
}

/// The current pool, else the global one.
fn current() -> io::Result<Handle> {
    match Handle::try_current() {
        Ok(handle) => Ok(handle),
        Err(_) => Ok(global()?.handle()),
    }
}
