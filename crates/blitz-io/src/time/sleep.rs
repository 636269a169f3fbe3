//! Sleeping: a future that is ready when its time has come.

#![forbid(unsafe_code)]

use super::{Duration, Instant, now};
use crate::driver;
use crate::timers::clock::{self, Nanos};
use blitz_core::driver::poll_spend;
use blitz_parts::wheel::{Entry, Waiting};
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for `duration`, counted from this call.
///
/// The call only reads the clock; the timer starts when the future is first polled. A duration
/// beyond the clock's range lasts for ever.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, Instant, sleep};
///
/// let start = Instant::now();
/// sleep(Duration::from_millis(3)).await;
/// assert!(start.elapsed() >= Duration::from_millis(3));
/// # });
/// ```
#[inline]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = now::now_at_latest().saturating_add(clock::nanos_in(duration));
    // Unless the sleep is due at once, the first poll need not look at the clock again.
    Sleep::new(deadline, !duration.is_zero())
}

/// Waits until `deadline`. The future is ready at once if the deadline has passed.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, Instant, sleep_until};
///
/// let deadline = Instant::now() + Duration::from_millis(3);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # });
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(clock::nanos_of(deadline.into_std()), false)
}

pin_project! {
    /// Future returned by [`sleep`] and [`sleep_until`]. Dropping it removes the timer.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Sleep {
        deadline: Nanos,
        // The deadline was in the future when the clock was last read.
        ahead: bool,
        // The deadline had passed in the first poll.
        passed: bool,
        #[pin]
        entry: Entry,
    }
}

impl Sleep {
    #[inline]
    fn new(deadline: Nanos, ahead: bool) -> Sleep {
        Sleep { deadline, ahead, passed: false, entry: Entry::new() }
    }

    /// Returns the moment at which the sleep ends.
    ///
    /// ```
    /// use blitz::time::{Duration, Instant, sleep_until};
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        Instant::from_std(now::moment_at(self.deadline))
    }

    /// Whether the sleep has ended. Returns false before the first poll, which starts the timer.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, sleep};
    ///
    /// let mut sleep = std::pin::pin!(sleep(Duration::from_millis(1)));
    /// assert!(!sleep.is_elapsed());
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// # });
    /// ```
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.passed || self.entry.state() == Waiting::Fired
    }

    /// Moves the deadline, whether or not it has passed already. If the sleep is waiting, the task
    /// that polled it last is woken at the new deadline. If the sleep has ended or was not polled
    /// yet, its next poll starts the timer.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, Instant, sleep};
    ///
    /// let mut sleep = std::pin::pin!(sleep(Duration::from_secs(3_600)));
    /// sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// sleep.await;
    /// # });
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = clock::nanos_of(deadline.into_std());
        *this.ahead = false;
        *this.passed = false;
        this.entry.reset(clock::tick_after(*this.deadline));
    }

    /// Works like [`Sleep::reset`], but wakes no task until it is polled again.
    pub(super) fn restart(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = clock::nanos_of(deadline.into_std());
        *this.ahead = false;
        *this.passed = false;
        this.entry.cancel();
    }

    /// Polls without spending budget, for callers that spend it themselves.
    #[inline]
    pub(super) fn poll_elapsed(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.try_poll_elapsed(cx) {
            Poll::Ready(Err(error)) => panic!("this sleep would never end: {error}"),
            polled => polled.map(drop),
        }
    }

    /// Polls without spending budget. Returns an error where a poll of the future panics.
    #[inline]
    pub(crate) fn try_poll_elapsed(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.as_mut().project();
        match this.entry.state() {
            Waiting::Fired => Poll::Ready(Ok(())),
            Waiting::No | Waiting::Closed => self.register(cx),
            Waiting::Yes => match this.entry.poll(cx.waker()) {
                Waiting::Fired => Poll::Ready(Ok(())),
                Waiting::Yes => Poll::Pending,
                Waiting::No | Waiting::Closed => self.register(cx),
            },
        }
    }

    /// Inserts the timer into a wheel of the current runtime, unless the deadline has passed.
    #[inline]
    fn register(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        if !std::mem::take(this.ahead) && now::now_nanos() >= *this.deadline {
            *this.passed = true;
            return Poll::Ready(Ok(()));
        }
        let tick = clock::tick_after(*this.deadline);
        let waker = cx.waker().clone();
        let entry = this.entry;
        let inserted = driver::with_current(|driver, worker| {
            driver.timers().insert(worker, entry, tick, waker)
        });
        match inserted {
            Ok(Ok(())) => Poll::Pending,
            Ok(Err(_)) => Poll::Ready(Err(io::Error::other(
                "the runtime has ended; keep its Runtime or Pool as long as it is used",
            ))),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Future for Sleep {
    type Output = ();

    /// # Panics
    /// If the current runtime has ended, or if the system refuses a resource that timers need.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.as_mut().poll_elapsed(cx));
        ready!(poll_spend(cx)).made_progress();
        Poll::Ready(())
    }
}
