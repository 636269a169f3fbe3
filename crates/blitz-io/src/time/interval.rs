//! Intervals: ticks at fixed times.

#![forbid(unsafe_code)]

use super::{Duration, Instant, Sleep, sleep_until};
use blitz_parts::tuning::TICK_LATENESS;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Creates an interval that ticks every `period`, the first time at once.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, Instant, interval};
///
/// let start = Instant::now();
/// let mut interval = interval(Duration::from_millis(2));
/// for _ in 0..4 {
///     interval.tick().await;
/// }
/// assert!(start.elapsed() >= Duration::from_millis(6));
/// # });
/// ```
///
/// # Panics
/// If `period` is zero.
#[track_caller]
#[must_use]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Creates an interval that ticks every `period`, the first time at `start`.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{Duration, Instant, interval_at};
///
/// let start = Instant::now() + Duration::from_millis(2);
/// let mut interval = interval_at(start, Duration::from_millis(1));
/// assert_eq!(interval.tick().await, start);
/// assert_eq!(interval.tick().await, start + Duration::from_millis(1));
/// # });
/// ```
///
/// # Panics
/// If `period` is zero.
#[track_caller]
#[must_use]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "the period of an interval has to be longer than zero");
    let missed = MissedTickBehavior::default();
    Interval { sleep: Box::pin(sleep_until(start)), period, missed }
}

/// How an [`Interval`] handles ticks that no task waited for in time.
///
/// A tick that is late by at most five milliseconds is not missed.
///
/// An example: the period is 10 ms, and the task waits for the tick of 20 ms only at 57 ms.
///
/// | behaviour | ticks then |
/// |---|---|
/// | `Burst` | 57, 57, 57, 57 (for 20, 30, 40 and 50), 60, 70 … |
/// | `Delay` | 57, 67, 77 … |
/// | `Skip` | 57, 60, 70 … |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Missed ticks come at once, until none is missing. The default.
    #[default]
    Burst,
    /// The next tick comes a period after the late one.
    Delay,
    /// Missed ticks are skipped; the next tick comes at its regular time.
    Skip,
}

impl MissedTickBehavior {
    /// Returns when the next tick comes, after the tick of `due` was seen at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let late = now.duration_since(due);
        let next = match self {
            MissedTickBehavior::Delay if late > TICK_LATENESS => now.checked_add(period),
            MissedTickBehavior::Skip if late > TICK_LATENESS => {
                let into = late.as_nanos() % period.as_nanos();
                // This always fits, unless the tick was due centuries ago.
                let into = Duration::from_nanos(u64::try_from(into).unwrap_or(u64::MAX));
                now.checked_add(period.saturating_sub(into))
            }
            _ => due.checked_add(period),
        };
        next.unwrap_or_else(Instant::far_future)
    }
}

/// Ticks at fixed times; returned by [`interval`] and [`interval_at`].
#[derive(Debug)]
pub struct Interval {
    sleep: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and returns when it was due. Dropping the future loses no tick.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Works like [`Interval::tick`], for callers that poll themselves.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut interval = blitz::time::interval(blitz::time::Duration::from_secs(60));
    /// std::future::poll_fn(|cx| {
    ///     assert!(interval.poll_tick(cx).is_ready());
    ///     assert!(interval.poll_tick(cx).is_pending());
    ///     std::task::Poll::Ready(())
    /// })
    /// .await;
    /// # });
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.sleep.as_mut().poll(cx));
        let due = self.sleep.deadline();
        let next = self.missed.next(due, Instant::now(), self.period);
        self.sleep.as_mut().restart(next);
        Poll::Ready(due)
    }

    /// Makes the next tick come a period from now.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, Instant, interval};
    ///
    /// let mut interval = interval(Duration::from_millis(2));
    /// let before = Instant::now();
    /// interval.reset();
    /// assert!(interval.tick().await >= before + Duration::from_millis(2));
    /// # });
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Makes the next tick come at once.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, interval};
    ///
    /// let mut interval = interval(Duration::from_secs(3_600));
    /// interval.tick().await; // the first tick comes at once
    /// interval.reset_immediately();
    /// interval.tick().await;
    /// # });
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Makes the next tick come when `after` has passed from now.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, Instant, interval};
    ///
    /// let mut interval = interval(Duration::from_secs(3_600));
    /// interval.tick().await;
    /// let before = Instant::now();
    /// interval.reset_after(Duration::from_millis(1));
    /// assert!(interval.tick().await >= before + Duration::from_millis(1));
    /// # });
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now().checked_add(after).unwrap_or_else(Instant::far_future));
    }

    /// Makes the next tick come at `deadline`.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, Instant, interval};
    ///
    /// let mut interval = interval(Duration::from_secs(3_600));
    /// interval.tick().await;
    /// let soon = Instant::now() + Duration::from_millis(1);
    /// interval.reset_at(soon);
    /// assert_eq!(interval.tick().await, soon);
    /// # });
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
    }

    /// Returns how this interval handles missed ticks.
    #[must_use]
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets how this interval handles missed ticks.
    ///
    /// ```
    /// # use blitz::time::{Duration, MissedTickBehavior, interval};
    /// let mut interval = interval(Duration::from_secs(1));
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    /// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// Returns the time from tick to tick.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }
}
