//! Limits the time that a future may take.

#![forbid(unsafe_code)]

use super::{Duration, Instant, Sleep, sleep, sleep_until};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for `future`, but at most for `duration`, counted from this call. The returned value owns
/// the future and drops it.
///
/// A future that is ready in its first poll costs no more than reading the clock.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, timeout};
///
/// assert_eq!(timeout(Duration::from_secs(60), async { 7 }).await, Ok(7));
/// let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert_eq!(late.unwrap_err().to_string(), "the deadline has passed");
/// # });
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(duration) }
}

/// Waits for `future`, but at most until `deadline`: see [`timeout`].
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Instant, timeout_at};
///
/// // A future that is ready in its first poll is in time, even if the deadline has passed.
/// assert_eq!(timeout_at(Instant::now(), async { 7 }).await, Ok(7));
/// assert!(timeout_at(Instant::now(), std::future::pending::<()>()).await.is_err());
/// # });
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep_until(deadline) }
}

pin_project! {
    /// Future returned by [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        #[pin]
        sleep: Sleep,
    }
}

impl<F> Timeout<F> {
    /// Returns the future that has to be ready in time.
    ///
    /// ```
    /// use blitz::time::{Duration, timeout};
    /// let mut timeout = timeout(Duration::from_secs(1), std::future::ready(7));
    /// assert_eq!(timeout.get_ref().clone().into_inner(), 7);
    /// *timeout.get_mut() = std::future::ready(8);
    /// assert_eq!(timeout.into_inner().into_inner(), 8);
    /// ```
    #[must_use]
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns the future that has to be ready in time.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// Returns the future without the timeout.
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        // Ignores the budget: the future may spend all of it in each poll, and the timeout has to
        // work all the same.
        this.sleep.poll_elapsed(cx).map(|()| Err(Elapsed(())))
    }
}

/// A future was not ready in time.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, timeout};
///
/// let late = timeout(Duration::ZERO, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(std::io::Error::from(late).kind(), std::io::ErrorKind::TimedOut);
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, elapsed)
    }
}
