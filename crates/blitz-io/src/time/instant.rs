//! A moment, by the clock of the current runtime.

#![forbid(unsafe_code)]

use super::now;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A moment: [`std::time::Instant`] on the clock of the current runtime, which tests may
/// [pause](super::pause).
///
/// ```
/// use blitz::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let end = start + Duration::from_millis(5);
/// assert_eq!(end - start, Duration::from_millis(5));
/// assert_eq!(start.saturating_duration_since(end), Duration::ZERO);
/// assert_eq!(Instant::from_std(end.into_std()), end);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// Returns the current moment, by the clock of the current runtime.
    ///
    /// ```
    /// # use blitz::time::Instant;
    /// let start = Instant::now();
    /// assert!(Instant::now() >= start);
    /// ```
    #[inline]
    #[must_use]
    pub fn now() -> Instant {
        Instant { std: now::now() }
    }

    /// Converts a moment of the standard library.
    #[must_use]
    pub const fn from_std(std: std::time::Instant) -> Instant {
        Instant { std }
    }

    /// Converts this moment to one of the standard library.
    #[must_use]
    pub const fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// About three decades from now: as good as never, and within the range of every clock.
    pub(crate) fn far_future() -> Instant {
        Instant { std: now::far_future() }
    }

    /// Returns the time since `earlier`; zero if `earlier` is after this moment.
    ///
    /// ```
    /// # use blitz::time::{Duration, Instant};
    /// let start = Instant::now();
    /// assert_eq!((start + Duration::from_secs(1)).duration_since(start), Duration::from_secs(1));
    /// assert_eq!(start.duration_since(start + Duration::from_secs(1)), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time since `earlier`, or `None` if `earlier` is after this moment.
    ///
    /// ```
    /// # use blitz::time::{Duration, Instant};
    /// let start = Instant::now();
    /// assert_eq!(start.checked_duration_since(start + Duration::from_secs(1)), None);
    /// ```
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// Works like [`Instant::duration_since`].
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time since this moment.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// use blitz::time::{Duration, Instant, sleep};
    ///
    /// let start = Instant::now();
    /// sleep(Duration::from_millis(2)).await;
    /// assert!(start.elapsed() >= Duration::from_millis(2));
    /// # });
    /// ```
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// Returns the moment that is later by `duration`, or `None` if the clock has no such moment.
    ///
    /// ```
    /// # use blitz::time::{Duration, Instant};
    /// assert_eq!(Instant::now().checked_add(Duration::MAX), None);
    /// ```
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_add(duration).map(Instant::from_std)
    }

    /// Returns the moment that is earlier by `duration`, or `None` if the clock has no such moment.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_sub(duration).map(Instant::from_std)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Instant {
        Instant::from_std(std)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> std::time::Instant {
        instant.into_std()
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant { std: self.std + duration }
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant { std: self.std - duration }
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Works like [`Instant::duration_since`].
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}
