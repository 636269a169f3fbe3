//! Starts the threads of a new pool.

#![forbid(unsafe_code)]

use crate::team::Team;
use crate::worker::{give_up, is_worker, never_run, run_worker};
use blitz_parts::prim::thread;
use std::io;
use std::sync::{Arc, PoisonError};

/// A closure that starts a worker's thread.
pub(super) type Spawn<'a> = dyn FnMut(ThreadBuilder) -> io::Result<()> + 'a;

/// A team whose threads are being started. It is dropped if the pool cannot be built, for example
/// because a thread cannot be started, or if a closure of the builder panics. The drop stops the
/// threads that run.
pub(super) struct Starting {
    team: Option<Arc<Team>>,
    /// Threads that are still to be started.
    left: usize,
}

impl Starting {
    pub(super) fn new(team: Arc<Team>, threads: usize) -> Starting {
        Starting { team: Some(team), left: threads }
    }

    pub(super) fn team(&self) -> &Arc<Team> {
        match &self.team {
            Some(team) => team,
            None => unreachable!("taken only at the end"),
        }
    }

    /// Returns the start data of worker `index`. From now on that worker counts itself out when it
    /// ends.
    pub(super) fn next(&mut self, index: usize) -> Start {
        self.left -= 1;
        Start { team: self.team().clone(), index }
    }

    pub(super) fn done(mut self) -> Arc<Team> {
        match self.team.take() {
            Some(team) => team,
            None => unreachable!("taken here only"),
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(team) = &self.team {
            give_up(team, self.left);
        }
    }
}

pub(super) fn spawn_default(team: &Team, thread: ThreadBuilder) -> io::Result<()> {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(bytes) = thread.stack_size() {
        builder = builder.stack_size(bytes);
    }
    let handle = builder.spawn(|| thread.run())?;
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    Ok(())
}

/// A worker that needs a thread; passed to
/// [`PoolBuilder::spawn_handler`](crate::PoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    start: Option<Start>,
}

pub(super) struct Start {
    team: Arc<Team>,
    index: usize,
}

impl ThreadBuilder {
    pub(super) fn new(name: String, stack_size: Option<usize>, start: Start) -> ThreadBuilder {
        ThreadBuilder { name: Some(name), stack_size, start: Some(start) }
    }

    /// The worker's index.
    #[must_use]
    pub fn index(&self) -> usize {
        self.start.as_ref().map_or(0, |start| start.index)
    }

    /// The name that the thread should have.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size that the thread should have.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the worker on this thread, until the pool ends.
    ///
    /// # Panics
    /// If this thread is already a worker of a pool, also as the thread that built the pool: see
    /// [`use_current_thread`](crate::PoolBuilder::use_current_thread). The new pool goes on
    /// without the worker that was to run here.
    pub fn run(mut self) {
        assert!(
            !is_worker(),
            "ThreadBuilder::run was called on a thread that is already a worker of a pool: call it \
             on a thread of its own"
        );
        if let Some(start) = self.start.take() {
            run_worker(&start.team, start.index);
        }
    }
}

impl Drop for ThreadBuilder {
    fn drop(&mut self) {
        // The spawner failed or never called `run`: this worker will never start.
        if let Some(start) = self.start.take() {
            never_run(&start.team, start.index);
        }
    }
}

impl std::fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}
