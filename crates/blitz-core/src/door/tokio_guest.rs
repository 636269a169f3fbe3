//! A Tokio runtime beside the pool, for crates that call Tokio's `spawn`, timers, sockets or files.
//!
//! ```text
//!   threads of the pool ──inside of──▶ Tokio's context ──▶ the guest: its reactor, timers, threads
//!   threads of the guest ──have entered──▶ the pool: spawn, join and sockets of Blitz lead there
//! ```
//!
//! The guest is built before the first worker starts. The last worker ends it, when no task of the
//! pool is left that may use it, and cancels the guest's own tasks. A separate thread drops the
//! Tokio runtime, because Tokio refuses to block inside an async context. The last worker waits for
//! that thread. So a pool ends after its guest, and every time limit for the pool also limits the
//! guest.

use super::builder::PoolBuilder;
use super::handle::Handle;
use super::pool::Pool;
use crate::base::BuildError;
use crate::base::ambient::{Ambient, AmbientGuard};
use crate::team::{Entered, Team};
use blitz_parts::park::{give_way_before_wait, wait_is_over};
use blitz_parts::prim::{Mutex, thread, thread_local};
use std::any::Any;
use std::cell::RefCell;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, Weak};
use tokio::runtime;

#[cfg_attr(docsrs, doc(cfg(feature = "tokio-guest")))]
impl PoolBuilder {
    /// Gives the pool a Tokio runtime of one thread, and enters its context on each thread of the
    /// pool.
    ///
    /// Without a Tokio runtime, crates that call Tokio's `spawn`, timers, sockets or files panic
    /// with "there is no reactor running". With a guest they work inside this pool's tasks, jobs,
    /// `spawn_blocking` closures and futures in `block_on`. Their timers and sockets belong to the
    /// guest. The tasks that they spawn with Tokio's functions belong to the guest, too. A task of
    /// the pool may use both runtimes at once.
    ///
    /// On the guest's threads this pool is current: tasks and jobs that are started there with
    /// Blitz's functions go to this pool. A task of the guest that computes, forks or blocks keeps
    /// the guest's only thread, and no spare replaces it. `axum::serve` runs its handlers in tasks
    /// of the guest. If handlers compute or block, let them await
    /// [`spawn_cpu`](crate::spawn_cpu), serve with `blitz_hyper::serve`, or ask for
    /// [more threads](PoolBuilder::tokio_guest_threads).
    ///
    /// The guest has its own clock, which [`start_paused`](PoolBuilder::start_paused) does not
    /// pause. A pool that only waits for a timer of the guest counts as idle, and its paused clock
    /// advances.
    ///
    /// # The end
    /// The guest ends after the last task of the pool. It cancels its tasks and waits for closures
    /// of Tokio's `spawn_blocking`. [`Pool::shutdown_within`] limits the wait, and reports what is
    /// left as [`Unfinished::guest`](crate::Unfinished::guest). A pool that is dropped on a thread
    /// of its guest does not wait.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(2).tokio_guest().build()?;
    /// let answer = runtime.spawn(async {
    ///     tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    ///     tokio::spawn(async { 6 * 7 }).await
    /// });
    /// assert_eq!(runtime.block_on(answer).unwrap().unwrap(), 42);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn tokio_guest(self) -> Self {
        self.tokio_guest_threads(1)
    }

    /// Works like [`tokio_guest`](PoolBuilder::tokio_guest), with `threads` threads that poll the
    /// guest's tasks.
    ///
    /// One thread is enough for the guest's reactor and timers. More threads help if the crates
    /// that need the guest spawn tasks that compute or block, as `axum::serve` does with handlers.
    /// With zero, building the pool fails.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).tokio_guest_threads(2).build()?;
    /// assert_eq!(runtime.tokio().unwrap().metrics().num_workers(), 2);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    pub fn tokio_guest_threads(mut self, threads: usize) -> Self {
        self.ambient = Some(Box::new(move |host| {
            let guest = TokioGuest::start(host, threads)?;
            Ok(Arc::new(guest))
        }));
        self
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "tokio-guest")))]
impl Pool {
    /// Works like [`Handle::tokio`], for this pool.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).tokio_guest().build()?;
    /// assert!(runtime.tokio().is_some());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn tokio(&self) -> Option<runtime::Handle> {
        tokio_of(self.team())
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "tokio-guest")))]
impl Handle {
    /// Returns the handle of the pool's Tokio runtime, if it was built with
    /// [`tokio_guest`](PoolBuilder::tokio_guest).
    ///
    /// Threads outside the pool use it to enter the guest.
    ///
    /// ```
    /// let runtime = blitz::Runtime::builder().workers(1).tokio_guest().build()?;
    /// let tokio = runtime.handle().tokio().unwrap();
    /// let inside = tokio.enter();
    /// let task = tokio::spawn(async { 7 });
    /// drop(inside);
    /// assert_eq!(runtime.block_on(task).unwrap(), 7);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    #[must_use]
    pub fn tokio(&self) -> Option<runtime::Handle> {
        tokio_of(self.team())
    }
}

fn tokio_of(team: &Team) -> Option<runtime::Handle> {
    let ambient: &dyn Any = &**team.ambient()?;
    ambient.downcast_ref::<TokioGuest>().map(|guest| runtime::Handle::clone(&guest.handle))
}

/// A Tokio runtime that belongs to a pool.
struct TokioGuest {
    handle: Arc<runtime::Handle>,
    stage: Arc<Mutex<Stage>>,
}

/// The stages of a guest's life.
enum Stage {
    /// It runs as long as this value is kept.
    Runs(runtime::Runtime),
    /// A thread drops it.
    Ends,
    /// It has ended.
    Over,
}

/// Sets the stage to `next`, and returns the stage before.
fn advance(stage: &Mutex<Stage>, next: Stage) -> Stage {
    let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *stage, next)
}

thread_local! {
    /// The pool whose guest this thread belongs to. The thread has entered that pool.
    static HOST: RefCell<Option<(Weak<Team>, Entered)>> = const { RefCell::new(None) };
}

impl TokioGuest {
    fn start(host: &Handle, threads: usize) -> Result<TokioGuest, BuildError> {
        if threads == 0 {
            return Err(BuildError::config(
                "tokio_guest_threads is 0; tasks of the guest would never be polled: give it at least \
                 one thread"
                    .to_owned(),
            ));
        }
        // The guest must not keep its pool alive: the pool keeps the guest alive.
        let team = host.team().weak();
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("blitz-tokio")
            .enable_all()
            // A thread of the guest yields before it sleeps, so that it sleeps less: workers can
            // hand several requests over to it, and need not wake it for each.
            .on_thread_park(|| give_way_before_wait(has_work))
            .on_thread_unpark(wait_is_over)
            .on_thread_start(move || {
                if let Some(host) = team.upgrade() {
                    let entered = Entered::new(host);
                    drop(HOST.with(|here| here.replace(Some((team.clone(), entered)))));
                }
            })
            // Dropping the last reference may end the team, so it happens after the borrow.
            .on_thread_stop(|| drop(HOST.try_with(RefCell::take)))
            .build()
            .map_err(BuildError::guest)?;
        let handle = Arc::new(runtime.handle().clone());
        Ok(TokioGuest { handle, stage: Arc::new(Mutex::new(Stage::Runs(runtime))) })
    }
}

/// Returns whether other threads have given work to the guest that this thread belongs to.
fn has_work() -> bool {
    let guest = runtime::Handle::try_current();
    guest.is_ok_and(|guest| guest.metrics().global_queue_depth() > 0)
}

impl Ambient for TokioGuest {
    fn enter(&self) -> Option<AmbientGuard> {
        match runtime::Handle::try_current() {
            Ok(current) if current.id() == self.handle.id() => None,
            Err(error) if error.is_thread_local_destroyed() => None,
            _ => Some(Box::new(OwnedGuard::new(self.handle.clone()))),
        }
    }

    fn is_here(&self) -> bool {
        let is_of = |host: &Weak<Team>| {
            let team = host.upgrade();
            let ambient = team.as_ref().and_then(|team| team.ambient());
            ambient.is_some_and(|ambient| std::ptr::addr_eq(Arc::as_ptr(ambient), self))
        };
        let here = |host: &RefCell<Option<(Weak<Team>, Entered)>>| {
            host.borrow().as_ref().is_some_and(|(team, _)| is_of(team))
        };
        HOST.try_with(here).unwrap_or(false)
    }

    fn end(&self) {
        let Stage::Runs(runtime) = advance(&self.stage, Stage::Ends) else { return };
        let (runtime, stage) = (Ending(Some(runtime)), self.stage.clone());
        let name = "blitz-tokio-end".to_owned();
        let ending = thread::Builder::new().name(name).spawn(move || {
            runtime.wait();
            advance(&stage, Stage::Over);
        });
        match ending {
            // A thread of the guest must not wait, because the guest waits for this thread.
            Ok(ending) if !self.is_here() => drop(ending.join()),
            Ok(_) => {}
            // No thread is left that could report the end of the guest.
            Err(_) => drop(advance(&self.stage, Stage::Over)),
        }
    }

    fn unfinished(&self) -> usize {
        match *self.stage.lock().unwrap_or_else(PoisonError::into_inner) {
            Stage::Runs(_) | Stage::Over => 0,
            Stage::Ends => self.handle.metrics().num_alive_tasks().max(1),
        }
    }
}

impl Drop for TokioGuest {
    fn drop(&mut self) {
        // Usually the last worker has ended the guest already.
        if let Stage::Runs(runtime) = advance(&self.stage, Stage::Over) {
            runtime.shutdown_background();
        }
    }
}

/// A guest that is ending. If no thread could be started, it is dropped without waiting, because
/// Tokio panics if an async context blocks.
struct Ending(Option<runtime::Runtime>);

impl Ending {
    /// Cancels the guest's tasks and waits for its threads.
    fn wait(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Tokio's guard together with the handle that it borrows.
struct OwnedGuard {
    // Dropped in this order.
    guard: Option<runtime::EnterGuard<'static>>,
    _handle: Arc<runtime::Handle>,
}

impl OwnedGuard {
    fn new(handle: Arc<runtime::Handle>) -> OwnedGuard {
        let guard = handle.enter();
        // SAFETY: the guard borrows the handle in the `Arc` beside it, which stays at the same
        // address until the guard is dropped.
        let guard =
            unsafe { transmute::<runtime::EnterGuard<'_>, runtime::EnterGuard<'static>>(guard) };
        OwnedGuard { guard: Some(guard), _handle: handle }
    }
}

impl Drop for OwnedGuard {
    fn drop(&mut self) {
        let guard = self.guard.take();
        // Tokio panics if a newer guard was forgotten on this thread. That is the user's mistake,
        // and the message is printed, but the panic must not end a worker.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(guard)));
    }
}
