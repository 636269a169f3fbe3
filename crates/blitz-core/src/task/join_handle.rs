//! Handles to the results of tasks and jobs.

#![forbid(unsafe_code)]

use super::sleepers::note_awaited;
use super::{AbortHandle, Id, JobHandle, Polled, budget};
use crate::base::JoinError;
use blitz_parts::task::{Failure, Join, TaskRef};
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The handle of a task or job. Await it to get the result.
///
/// [`spawn`](crate::spawn), [`spawn_cpu`](crate::spawn_cpu) and
/// [`spawn_blocking`](crate::spawn_blocking) return it. Outside async code,
/// [`join`](JoinHandle::join) it.
///
/// Dropping it detaches the task: the task still runs, its result is dropped, and a panic goes to
/// the pool's panic handler.
///
/// ```
/// let task = blitz::spawn(async { 6 * 7 });
/// let job = blitz::spawn_cpu(|| (1..=10).sum::<i32>());
/// let sum = blitz::block_on(async { task.await.unwrap() + job.await.unwrap() });
/// assert_eq!(sum, 42 + 55);
/// ```
pub struct JoinHandle<T> {
    kind: Kind<T>,
}

enum Kind<T> {
    Task(Join<T>),
    /// Boxed, so that it is one word: handles of two words would not be moved in registers.
    Job(Box<Arc<dyn JobHandle<T>>>),
}

impl<T> JoinHandle<T> {
    pub(crate) fn of_task(join: Join<T>) -> JoinHandle<T> {
        JoinHandle { kind: Kind::Task(join) }
    }

    pub(crate) fn of_job(job: Arc<dyn JobHandle<T>>) -> JoinHandle<T> {
        JoinHandle { kind: Kind::Job(Box::new(job)) }
    }

    /// The job behind the handle; `None` if it is a task.
    pub(super) fn as_job(&self) -> Option<&Arc<dyn JobHandle<T>>> {
        match &self.kind {
            Kind::Job(job) => Some(job),
            Kind::Task(_) => None,
        }
    }

    /// Whether the task or job has ended, so that waiting would return at once.
    ///
    /// ```
    /// let handle = blitz::spawn_cpu(|| ());
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// handle.join().unwrap();
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.kind {
            Kind::Task(join) => join.is_finished(),
            Kind::Job(job) => job.is_finished(),
        }
    }

    /// Cancels the task or job.
    ///
    /// The future of a task is dropped at the end of its current poll or, if the task is not being
    /// polled, in place of its next poll, which the abort schedules. A
    /// [shield](crate::task::shield) delays that. The handle then returns a [`JoinError`] that
    /// [`is_cancelled`](JoinError::is_cancelled), unless the task has returned its result in that
    /// poll. A job that has not begun never runs; a job that has begun runs to its end. A task or
    /// job that has ended is not changed.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let handle = blitz::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort(&self) {
        match &self.kind {
            Kind::Task(join) => join.abort(),
            Kind::Job(job) => job.abort(),
        }
    }

    /// Returns a handle that can cancel the task or job, for other parts of the program.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        match &self.kind {
            Kind::Task(join) => AbortHandle::of_task(join.task()),
            Kind::Job(job) => AbortHandle::of_job(Arc::clone(job).to_joinable()),
        }
    }

    /// Ready when the task or job has ended. The result stays in place.
    pub(crate) fn poll_finished(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.kind {
            Kind::Task(join) => poll_task(join, cx),
            Kind::Job(job) => listed_if_pending(job, job.poll_finished(cx)),
        }
    }

    /// Works like `poll`, without a budget, for callers that spend the budget themselves.
    pub(crate) fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        match &mut self.kind {
            Kind::Task(join) => {
                ready!(poll_task(join, cx));
                Poll::Ready(result_of(join))
            }
            Kind::Job(job) => listed_if_pending(job, job.poll(cx)),
        }
    }

    /// Returns the id of the task or job, which no other task or job has.
    #[must_use]
    pub fn id(&self) -> Id {
        match &self.kind {
            Kind::Task(join) => Id::of(&join.task()),
            Kind::Job(job) => job.id(),
        }
    }
}

/// Polls the handle of a task. A `block_on` that awaits it then knows the task.
#[inline]
fn poll_task<T>(join: &mut Join<T>, cx: &mut Context<'_>) -> Poll<()> {
    let waker = cx.waker();
    join.poll_finished_or(cx, |task| note_awaited(waker, Id::of_serial(task)))
}

/// Lists a job among those that tasks await, if the first poll of its handle was pending.
#[inline]
fn listed_if_pending<T, R>(job: &Arc<dyn JobHandle<T>>, polled: Polled<R>) -> Poll<R> {
    match polled {
        Polled::Ready(result) => return Poll::Ready(result),
        Polled::Pending { unlisted: true } => Arc::clone(job).list(),
        Polled::Pending { unlisted: false } => {}
    }
    Poll::Pending
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let spent = ready!(budget::poll_spend(cx));
        match &mut self.kind {
            Kind::Task(join) => {
                ready!(poll_task(join, cx));
                // Spend before the result is read, so that the result need not be moved again.
                spent.made_progress();
                Poll::Ready(result_of(join))
            }
            Kind::Job(job) => {
                let result = ready!(listed_if_pending(job, job.poll(cx)));
                spent.made_progress();
                Poll::Ready(result)
            }
        }
    }
}

/// The outcome of a task that has ended.
#[inline]
fn result_of<T>(join: &mut Join<T>) -> Result<T, JoinError> {
    match join.take() {
        Ok(output) => Ok(output),
        Err(failure) => Err(JoinError::of_task(&join.task(), failure)),
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // The handle of a task detaches by itself.
        if let Kind::Job(job) = &self.kind {
            job.detach();
        }
    }
}

// Nothing in a handle is pinned: the task's future is elsewhere.
impl<T> Unpin for JoinHandle<T> {}
// A panic can only leave the task's data half changed, and the task reports it as an error.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("id", &self.id())
            .field("finished", &self.is_finished())
            .finish()
    }
}

impl JoinError {
    #[cold]
    fn of_task(task: &TaskRef, failure: Failure) -> JoinError {
        match failure {
            Failure::Cancelled => JoinError::cancelled("task", Id::of(task)),
            Failure::Panicked(payload) => JoinError::panicked("task", Id::of(task), payload),
        }
    }
}
