//! A set of tasks that returns results in the order in which the tasks end.
//!
//! ```text
//!  spawn ─▶ slot: handle, bell
//!  a task ends ─▶ its bell puts the slot's number into `rung` and wakes the set's waiter
//!  join_next ─▶ takes the oldest number ─▶ that slot's handle has a result
//! ```
//!
//! So taking a result costs the same in a large set as in a small one. Slots and their bells are
//! reused. A bell may ring late, for a task that had the slot before. If the slot's handle has no
//! result then, the set skips the number.

#![forbid(unsafe_code)]

use super::{AbortHandle, Id, JoinHandle, LocalSet, budget, spawn_local};
use crate::base::JoinError;
use blitz_parts::prim::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

/// A set of tasks and jobs. Returns their results as they end.
///
/// Dropping it aborts the remaining tasks; [`detach_all`](JoinSet::detach_all) lets them run on.
///
/// ```
/// # blitz::block_on(async {
/// let mut set = blitz::JoinSet::new();
/// for n in 0..10 {
///     set.spawn(async move { n * n });
/// }
/// let mut sum = 0;
/// while let Some(square) = set.join_next().await {
///     sum += square.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # });
/// ```
#[must_use = "dropping the set aborts its tasks"]
pub struct JoinSet<T> {
    slots: Vec<Slot<T>>,
    /// The numbers of slots without a handle.
    free: Vec<usize>,
    news: Arc<News>,
}

struct Slot<T> {
    handle: Option<JoinHandle<T>>,
    bell: Waker,
}

/// State that the tasks and the set share.
#[derive(Default)]
struct News {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The numbers of slots whose bell has rung.
    rung: VecDeque<usize>,
    /// The waker of the task that waits for the set.
    waiting: Option<Waker>,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn oldest(&self) -> Option<usize> {
        self.lock().rung.pop_front()
    }

    /// Returns the oldest number. If there is none, registers `waker` for the next one.
    fn poll_oldest(&self, waker: &Waker) -> Poll<usize> {
        let mut state = self.lock();
        if let Some(number) = state.rung.pop_front() {
            return Poll::Ready(number);
        }
        if state.waiting.as_ref().is_some_and(|waiting| waiting.will_wake(waker)) {
            return Poll::Pending;
        }
        // Cloning and dropping wakers is user code.
        drop(state);
        let waker = waker.clone();
        let mut state = self.lock();
        if let Some(number) = state.rung.pop_front() {
            return Poll::Ready(number);
        }
        let before = state.waiting.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

/// The waker that the task in a slot wakes when it ends.
struct Bell {
    news: Arc<News>,
    number: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.news.lock();
        state.rung.push_back(self.number);
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<T> JoinSet<T> {
    /// Creates an empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet { slots: Vec::new(), free: Vec::new(), news: Arc::default() }
    }

    /// Returns how many tasks are in the set: running tasks, and tasks whose result was not taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no task is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn handles(&self) -> impl Iterator<Item = &JoinHandle<T>> {
        self.slots.iter().filter_map(|slot| slot.handle.as_ref())
    }
}

impl<T: 'static> JoinSet<T> {
    /// Starts a task of the set that stays on this thread: see [`spawn_local`](crate::spawn_local).
    ///
    /// ```
    /// let local = blitz::LocalSet::new();
    /// blitz::block_on(local.run_until(async {
    ///     let mut set = blitz::JoinSet::new();
    ///     set.spawn_local(async { std::rc::Rc::new(7) });
    ///     assert_eq!(*set.join_next().await.unwrap().unwrap(), 7);
    /// }));
    /// ```
    ///
    /// # Panics
    /// If called outside every [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(spawn_local(future))
    }

    /// Starts a task of the set in `local`.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, future: F, local: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local.spawn_local(future))
    }

    pub(crate) fn insert(&mut self, mut handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let number = self.free.pop().unwrap_or_else(|| {
            let number = self.slots.len();
            let bell = Waker::from(Arc::new(Bell { news: self.news.clone(), number }));
            self.slots.push(Slot { handle: None, bell });
            number
        });
        let slot = &mut self.slots[number];
        if handle.poll_finished(&mut Context::from_waker(&slot.bell)).is_ready() {
            slot.bell.wake_by_ref();
        }
        slot.handle = Some(handle);
        abort
    }

    /// Waits for the next task to end, and takes it out of the set; `None` if the set is empty.
    ///
    /// If the future is dropped before it is ready, for instance by `select!`, no result is lost.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Works like [`join_next`](JoinSet::join_next), with the task's id. The id of a failed task is
    /// in the [error](JoinError::id).
    ///
    /// No other task or job of the process ever has the same id.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut set = blitz::JoinSet::new();
    /// let mut names = std::collections::HashMap::new();
    /// for name in ["one", "two"] {
    ///     names.insert(set.spawn(async move { name.len() }).id(), name);
    /// }
    /// while let Some(joined) = set.join_next_with_id().await {
    ///     let (id, length) = joined.unwrap();
    ///     assert_eq!(names.remove(&id).unwrap().len(), length);
    /// }
    /// assert!(names.is_empty());
    /// # });
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes an ended task out of the set, and returns its result; `None` if none has ended.
    ///
    /// ```
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn_cpu(|| 7);
    /// let seven = loop {
    ///     if let Some(result) = set.try_join_next() {
    ///         break result.unwrap();
    ///     }
    ///     std::thread::yield_now();
    /// };
    /// assert_eq!((seven, set.len()), (7, 0));
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(without_id)
    }

    /// Works like [`try_join_next`](JoinSet::try_join_next), with the task's id.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        while let Some(number) = self.news.oldest() {
            let ended = self.take(number);
            if ended.is_some() {
                return ended;
            }
        }
        None
    }

    /// Polls for the next task that has ended; ready with `None` if the set is empty.
    ///
    /// If no task has ended, the context's waker is woken when the next one ends.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_join_next_with_id(cx).map(|next| next.map(without_id))
    }

    /// Works like [`poll_join_next`](JoinSet::poll_join_next), with the task's id.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let spent = ready!(budget::poll_spend(cx));
        loop {
            let number = ready!(self.news.poll_oldest(cx.waker()));
            if let Some(ended) = self.take(number) {
                spent.made_progress();
                return Poll::Ready(Some(ended));
            }
        }
    }

    /// Waits for all tasks, and returns their results in the order in which they ended.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let set: blitz::JoinSet<_> = (0..10).map(|n| async move { n * n }).collect();
    /// assert_eq!(set.join_all().await.into_iter().sum::<i32>(), 285);
    /// # });
    /// ```
    ///
    /// # Panics
    /// As soon as a task has panicked or was cancelled. The panic of a task is resumed here. The
    /// other tasks are aborted.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut results = Vec::with_capacity(self.len());
        while let Some(ended) = self.join_next().await {
            match ended.map_err(JoinError::try_into_panic) {
                Ok(result) => results.push(result),
                Err(Ok(payload)) => resume_unwind(payload),
                Err(Err(error)) => panic!("join_all needs every result, but {error}"),
            }
        }
        results
    }

    /// Takes the result of the task in a slot, and frees the slot. Returns `None` if the task has
    /// not ended, or the slot is free.
    fn take(&mut self, number: usize) -> Option<Result<(Id, T), JoinError>> {
        let Slot { handle: place, bell } = &mut self.slots[number];
        let handle = place.as_mut()?;
        let Poll::Ready(result) = handle.poll_result(&mut Context::from_waker(bell)) else {
            return None;
        };
        let id = handle.id();
        *place = None;
        self.free.push(number);
        Some(result.map(|result| (id, result)))
    }

    /// Aborts all tasks: see [`JoinHandle::abort`]. They stay in the set until they are joined.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort_all(&mut self) {
        self.handles().for_each(|handle| handle.abort());
    }

    /// Aborts all tasks and waits for their end; results and panics are dropped.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Takes all tasks out of the set without aborting them.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let (send, receive) = blitz::sync::oneshot::channel();
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn(async { send.send(7) });
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(receive.await, Ok(7));
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let handle = slot.handle.take();
            if handle.is_some() {
                self.free.push(number);
            }
            // Dropping a result that was not taken runs user code, and may unwind.
            drop(handle);
        }
    }
}

fn without_id<T>(result: Result<(Id, T), JoinError>) -> Result<T, JoinError> {
    result.map(|(_, result)| result)
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.handles().for_each(JoinHandle::abort);
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish_non_exhaustive()
    }
}
