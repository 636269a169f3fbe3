//! Cooperation: a task that never has to wait still yields now and then.
//!
//! Each poll of a task begins with a budget. Futures of this runtime spend one unit whenever they
//! are ready. When nothing is left they return pending and wake the task again.

#![forbid(unsafe_code)]

use crate::base::context::{self, Budget};
use crate::team::current;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A unit of budget, which an operation spends if it is ready.
#[derive(Debug)]
#[must_use = "an operation that is ready spends it"]
pub struct Spent(());

impl Spent {
    /// Spends the unit: the operation was ready.
    #[inline]
    pub fn made_progress(self) {
        context::spend();
    }
}

/// Returns a unit. If none is left, wakes the task again and returns pending, so that other tasks
/// run first.
#[inline]
pub fn poll_spend(cx: &mut Context<'_>) -> Poll<Spent> {
    if context::has_budget() { Poll::Ready(Spent(())) } else { let_others_go_first(cx) }
}

#[cold]
fn let_others_go_first(cx: &mut Context<'_>) -> Poll<Spent> {
    if let Some(worker) = current() {
        worker.queues.counters.budget_spent.add(1);
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Returns whether the task may go on without yielding.
///
/// Always returns true outside tasks and [`block_on`](crate::block_on), and in [`unconstrained`].
///
/// ```
/// assert!(blitz::task::coop::has_budget_remaining());
/// ```
#[must_use]
pub fn has_budget_remaining() -> bool {
    context::has_budget()
}

/// Makes `future` spend one unit of the task's budget whenever it is ready.
///
/// Use it for futures that may be ready many times in a row, such as receiving from a channel that
/// is never empty.
///
/// ```
/// # blitz::block_on(async {
/// let (send, mut receive) = blitz::sync::mpsc::unbounded_channel();
/// send.send(7).unwrap();
/// assert_eq!(blitz::task::coop::cooperative(receive.recv()).await, Some(7));
/// # });
/// ```
pub fn cooperative<F: Future>(future: F) -> Cooperative<F> {
    Cooperative { future }
}

pin_project! {
    /// Future returned by [`cooperative`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Cooperative<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Cooperative<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let unit = ready!(poll_spend(cx));
        let output = ready!(self.project().future.poll(cx));
        unit.made_progress();
        Poll::Ready(output)
    }
}

/// Spends one unit of the task's budget, and yields if none is left. Use it in loops that await no
/// future of this runtime.
///
/// ```
/// # blitz::block_on(async {
/// let mut sum = 0u64;
/// for n in 0..1_000 {
///     sum += n;
///     blitz::task::consume_budget().await;
/// }
/// assert_eq!(sum, 499_500);
/// # });
/// ```
pub async fn consume_budget() {
    std::future::poll_fn(|cx| {
        ready!(poll_spend(cx)).made_progress();
        Poll::Ready(())
    })
    .await;
}

/// Polls `future` without a budget: it is never made to yield. It can starve other tasks.
///
/// ```
/// # blitz::block_on(async {
/// let seven = blitz::task::unconstrained(async { 7 }).await;
/// assert_eq!(seven, 7);
/// # });
/// ```
pub fn unconstrained<F: Future>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

pin_project! {
    /// Future returned by [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        context::with_budget(Budget::UNLIMITED, || self.project().future.poll(cx))
    }
}
