//! Results as a stream, in order: `par::stream`, with the feature `stream`.

#![forbid(unsafe_code)]

use crate::adapt::watched::CancelToken;
use crate::iter::{IntoParallelIterator, ParallelIterator, ParallelIteratorExt};
use crate::tuning;
use blitz_core::{JoinHandle, current_num_workers, spawn_cpu};
use futures_core::{FusedStream, Stream};
use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

/// Calls `f` with each item, in parallel, and returns the results as a stream, in order.
///
/// The stream computes one window of items after the other. A job of the current pool, or else of
/// the global one, takes a window out of `items` and computes its results. While the results of one
/// window are read, only the next window is computed: with a slow consumer no worker stays busy,
/// and at most two windows are in memory. The first poll starts the computation.
///
/// ```
/// # use futures_core::Stream;
/// # fn next<S: Stream + Unpin>(stream: &mut S) -> impl Future<Output = Option<S::Item>> + '_ {
/// #     std::future::poll_fn(|cx| std::pin::Pin::new(&mut *stream).poll_next(cx))
/// # }
/// # blitz::block_on(async {
/// let mut squares = blitz::par::stream(1..=4_u64, |n| n * n);
/// let mut sum = 0;
/// // `next` is in the crates `futures` and `tokio-stream`.
/// while let Some(square) = next(&mut squares).await {
///     sum += square;
/// }
/// assert_eq!(sum, 30);
/// # });
/// ```
///
/// Dropping the stream cancels the window that is being computed: workers finish their current
/// blocks, and later items are dropped. A job that still takes a window out of `items` first takes
/// all of that window.
///
/// # Panics
/// A panic of `f` or of `items` continues in the task that polls, once it has read the results of
/// earlier windows. After the panic the stream is over. Polling also panics if the pool has ended
/// before the stream.
pub fn stream<I, F, R>(items: I, f: F) -> ResultStream<I::IntoIter, F, R>
where
    I: IntoIterator<Item: Send, IntoIter: Send + 'static>,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    ResultStream {
        items: Some(items.into_iter()),
        f: Arc::new(f),
        window: None,
        ready: Vec::new().into_iter(),
        job: None,
        token: CancelToken::new(),
    }
}

/// The results of a parallel loop, in order: made by [`stream()`].
#[must_use = "streams do nothing unless polled"]
pub struct ResultStream<I, F, R> {
    /// The remaining items, while no job has them; `None` for good once there are no more.
    items: Option<I>,
    f: Arc<F>,
    window: Option<usize>,
    ready: vec::IntoIter<R>,
    job: Option<JoinHandle<Window<I, R>>>,
    token: CancelToken,
}

/// The result of a job.
struct Window<I, R> {
    /// The remaining items, if there may be any.
    items: Option<I>,
    results: Vec<R>,
}

impl<I, F, R> ResultStream<I, F, R> {
    /// Sets how many items are in a window; 0 means 1. The default is 1,024 for each worker.
    ///
    /// ```
    /// let _one_by_one = blitz::par::stream(0..10, |n| n + 1).window(1);
    /// ```
    pub fn window(mut self, items: usize) -> Self {
        self.window = Some(items.max(1));
        self
    }
}

impl<I, F, R> ResultStream<I, F, R>
where
    I: Iterator<Item: Send> + Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    /// Starts the job that computes the next window.
    fn begin(&self, items: I) -> JoinHandle<Window<I, R>> {
        let (f, token, window) = (Arc::clone(&self.f), self.token.clone(), self.window);
        spawn_cpu(move || {
            let (f, mut items) = (&*f, items);
            let window = window.unwrap_or_else(|| tuning::WINDOW * current_num_workers());
            let batch: Vec<I::Item> = items.by_ref().take(window).collect();
            let items = (batch.len() == window).then_some(items);
            let results = batch.into_par_iter().cancel_on(&token).map(f).collect();
            Window { items, results }
        })
    }
}

impl<I, F, R> Stream for ResultStream<I, F, R>
where
    I: Iterator<Item: Send> + Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    type Item = R;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<R>> {
        loop {
            // Start the next window even while there are results: a worker computes it while the
            // consumer reads these results.
            if let Some(items) = self.items.take() {
                self.job = Some(self.begin(items));
            }
            if let Some(result) = self.ready.next() {
                return Poll::Ready(Some(result));
            }
            let Some(job) = &mut self.job else { return Poll::Ready(None) };
            let window = ready!(Pin::new(job).poll(cx));
            self.job = None;
            match window {
                Ok(Window { items, results }) => {
                    (self.items, self.ready) = (items, results.into_iter());
                }
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => resume_unwind(payload),
                    Err(error) => panic!("the pool ended before the stream did: {error}"),
                },
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let is_over = self.items.is_none() && self.job.is_none();
        (self.ready.len(), is_over.then_some(self.ready.len()))
    }
}

impl<I, F, R> FusedStream for ResultStream<I, F, R>
where
    I: Iterator<Item: Send> + Send + 'static,
    F: Fn(I::Item) -> R + Send + Sync + 'static,
    R: Send + 'static,
{
    fn is_terminated(&self) -> bool {
        self.items.is_none() && self.job.is_none() && self.ready.len() == 0
    }
}

/// No field of the stream is pinned.
impl<I, F, R> Unpin for ResultStream<I, F, R> {}

impl<I, F, R> Drop for ResultStream<I, F, R> {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

impl<I, F, R> fmt::Debug for ResultStream<I, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultStream")
            .field("window", &self.window)
            .field("ready", &self.ready.len())
            .field("is_computing", &self.job.is_some())
            .finish_non_exhaustive()
    }
}
