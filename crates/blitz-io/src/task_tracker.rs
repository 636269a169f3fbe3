//! Counting tasks, to wait for all of them.

#![forbid(unsafe_code)]

use crate::borrowed::Notify;
use blitz_core::{Handle, JoinHandle, LocalSet};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Counts tasks, so that a program can wait for all of them at its end.
///
/// Unlike a [`JoinSet`](blitz_core::JoinSet) it keeps no results: a task that ends leaves nothing
/// behind. A task counts until its future is dropped. All clones are the same tracker.
/// [`wait`](TaskTracker::wait) returns when the tracker is closed and counts no task.
/// [`Shutdown`](crate::shutdown::Shutdown) also reports which work is left.
///
/// ```
/// # blitz::block_on(async {
/// let tracker = blitz::task::TaskTracker::new();
/// for n in 0..10 {
///     tracker.spawn(async move { n * n });
/// }
/// tracker.close();
/// tracker.wait().await;
/// assert!(tracker.is_empty());
/// # });
/// ```
#[derive(Clone, Default)]
pub struct TaskTracker {
    tracked: Arc<Tracked>,
}

#[derive(Default)]
struct Tracked {
    state: Mutex<State>,
    /// Notified when the tracker is closed and counts no task.
    over: Notify,
}

#[derive(Clone, Copy, Default)]
struct State {
    count: usize,
    closed: bool,
}

impl State {
    fn is_over(self) -> bool {
        self.closed && self.count == 0
    }
}

impl Tracked {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state. Notifies waiting tasks if the tracker is closed and empty now, and was
    /// not before. Returns the old state.
    fn change(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = self.lock();
        let before = *state;
        change(&mut state);
        let is_over = !before.is_over() && state.is_over();
        drop(state);
        if is_over {
            self.over.notify_waiters();
        }
        before
    }
}

/// Counts as a task of its tracker until it is dropped.
pub struct TaskTrackerToken {
    tracker: TaskTracker,
}

impl TaskTrackerToken {
    /// Returns the tracker that counts this token.
    #[must_use]
    pub fn task_tracker(&self) -> &TaskTracker {
        &self.tracker
    }
}

impl Clone for TaskTrackerToken {
    fn clone(&self) -> TaskTrackerToken {
        self.tracker.token()
    }
}

impl Drop for TaskTrackerToken {
    fn drop(&mut self) {
        self.tracker.tracked.change(|state| state.count -= 1);
    }
}

pin_project! {
    /// A future that its tracker counts until it is dropped: see [`TaskTracker::track_future`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TrackedFuture<F> {
        #[pin]
        future: F,
        // This field comes after the future, so that the future is dropped first.
        token: TaskTrackerToken,
    }
}

impl<F: Future> Future for TrackedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

impl TaskTracker {
    /// Creates a tracker that is open and counts nothing.
    #[must_use]
    pub fn new() -> TaskTracker {
        TaskTracker::default()
    }

    /// Waits until the tracker is closed and counts no task. It is enough that this holds for a
    /// moment during the wait.
    pub async fn wait(&self) {
        // `over` is created before the check, so that it misses no notification.
        let over = self.tracked.over.notified();
        if !self.tracked.lock().is_over() {
            over.await;
        }
    }

    /// Closes the tracker: [`wait`](TaskTracker::wait) returns once no task is counted.
    ///
    /// New tasks can still be started. Returns whether the tracker was open.
    #[expect(clippy::must_use_candidate, reason = "callers want the change")]
    pub fn close(&self) -> bool {
        !self.tracked.change(|state| state.closed = true).closed
    }

    /// Undoes [`close`](TaskTracker::close). Returns whether the tracker was closed.
    ///
    /// ```
    /// let tracker = blitz::task::TaskTracker::new();
    /// assert!(tracker.close() && tracker.reopen());
    /// assert!(!tracker.is_closed());
    /// ```
    #[expect(clippy::must_use_candidate, reason = "callers want the change")]
    pub fn reopen(&self) -> bool {
        self.tracked.change(|state| state.closed = false).closed
    }

    /// Whether the tracker is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.tracked.lock().closed
    }

    /// Returns how many tasks the tracker counts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracked.lock().count
    }

    /// Whether the tracker counts no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a task that is counted: see [`spawn`](blitz_core::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        blitz_core::spawn(self.track_future(task))
    }

    /// Works like [`spawn`](TaskTracker::spawn), on the pool of `handle`.
    #[track_caller]
    pub fn spawn_on<F>(&self, task: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        handle.spawn(self.track_future(task))
    }

    /// Starts a task that is counted and stays on this thread: see
    /// [`spawn_local`](blitz_core::spawn_local).
    ///
    /// ```
    /// use blitz::task::{LocalSet, TaskTracker};
    /// use std::rc::Rc;
    ///
    /// # blitz::block_on(async {
    /// let tracker = TaskTracker::new();
    /// let local = LocalSet::new();
    /// let task = local.run_until(async {
    ///     let text = Rc::new("not Send");
    ///     tracker.spawn_local(async move { text.len() }).await
    /// });
    /// assert_eq!(task.await.unwrap(), 8);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the thread is outside every [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        blitz_core::spawn_local(self.track_future(task))
    }

    /// Works like [`spawn_local`](TaskTracker::spawn_local), in `local`.
    #[track_caller]
    pub fn spawn_local_on<F>(&self, task: F, local: &LocalSet) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        local.spawn_local(self.track_future(task))
    }

    /// Starts a blocking closure that is counted: see
    /// [`spawn_blocking`](blitz_core::spawn_blocking).
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let tracker = blitz::task::TaskTracker::new();
    /// let length = tracker.spawn_blocking(|| std::fs::metadata("Cargo.toml").unwrap().len());
    /// assert!(length.await.unwrap() > 0);
    /// tracker.close();
    /// tracker.wait().await;
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, task: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        blitz_core::spawn_blocking(self.track(task))
    }

    /// Works like [`spawn_blocking`](TaskTracker::spawn_blocking), with a thread of the pool of
    /// `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(&self, task: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        handle.spawn_blocking(self.track(task))
    }

    /// Starts a job that is counted: see [`spawn_cpu`](blitz_core::spawn_cpu).
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let tracker = blitz::task::TaskTracker::new();
    /// assert_eq!(tracker.spawn_cpu(|| (1..=10).sum::<u32>()).await.unwrap(), 55);
    /// tracker.close();
    /// tracker.wait().await;
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_cpu<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        blitz_core::spawn_cpu(self.track(job))
    }

    /// Wraps a closure, which counts until it has returned or is dropped.
    fn track<F, T>(&self, f: F) -> impl FnOnce() -> T + Send + 'static + use<F, T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: 'static,
    {
        let token = self.token();
        move || {
            let result = f();
            drop(token);
            result
        }
    }

    /// Counts a future that the caller polls, or hands to another runtime.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let tracker = blitz::task::TaskTracker::new();
    /// let future = tracker.track_future(async { 7 });
    /// assert_eq!((tracker.len(), future.await, tracker.len()), (1, 7, 0));
    /// # });
    /// ```
    pub fn track_future<F: Future>(&self, future: F) -> TrackedFuture<F> {
        TrackedFuture { future, token: self.token() }
    }

    /// Returns a token that counts as a task until it is dropped.
    ///
    /// ```
    /// let tracker = blitz::task::TaskTracker::new();
    /// let token = tracker.token();
    /// assert_eq!(tracker.len(), 1);
    /// drop(token);
    /// assert!(tracker.is_empty());
    /// ```
    #[must_use = "a token no longer counts once it is dropped"]
    pub fn token(&self) -> TaskTrackerToken {
        self.tracked.change(|state| state.count += 1);
        TaskTrackerToken { tracker: self.clone() }
    }

    /// Whether both are clones of one tracker.
    #[must_use]
    pub fn ptr_eq(left: &TaskTracker, right: &TaskTracker) -> bool {
        Arc::ptr_eq(&left.tracked, &right.tracked)
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State { count, closed } = *self.tracked.lock();
        f.debug_struct("TaskTracker").field("len", &count).field("is_closed", &closed).finish()
    }
}

impl fmt::Debug for TaskTrackerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskTrackerToken").field(&self.tracker).finish()
    }
}

impl<F> fmt::Debug for TrackedFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackedFuture").field("token", &self.token).finish_non_exhaustive()
    }
}
