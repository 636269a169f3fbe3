//! Converts the ticks of events to times.

#![forbid(unsafe_code)]

use blitz_parts::recorder::Event;
use blitz_parts::ticks::{self, Reading};
use std::time::Duration;

/// The moment at which a trace was taken, and the time that it covers.
pub(super) struct Clock {
    now: Reading,
    last: Duration,
}

impl Clock {
    /// Starts a trace that covers `last`.
    pub(super) fn now(last: Duration) -> Clock {
        Clock { now: ticks::refine(), last }
    }

    /// How many ticks ago an event was. Only the lower bits of its ticks are known.
    pub(super) fn age(&self, ticks: u64) -> u64 {
        let unknown = u64::BITS - Event::BITS;
        self.now.ticks.wrapping_sub(ticks) << unknown >> unknown
    }

    /// The time of an event, unless it was before the trace begins.
    pub(super) fn time(&self, ticks: u64) -> Option<Duration> {
        let ago = ticks::to_duration(self.age(ticks));
        (ago <= self.last).then(|| self.now.since_start.saturating_sub(ago))
    }

    pub(super) fn begin(&self) -> Duration {
        self.now.since_start.saturating_sub(self.last)
    }

    /// The wall-clock time when the trace was taken, since the Unix epoch.
    pub(super) fn wall(&self) -> Duration {
        self.now.wall
    }

    pub(super) fn end(&self) -> Duration {
        self.now.since_start
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use blitz_parts::ticks::{self, Reading};
    use std::time::Duration;

    #[test]
    fn wrapped_ticks_are_distinguished_by_age() {
        ticks::refine();
        let now = Reading {
            ticks: (1 << 48) + 5,
            since_start: Duration::from_secs(9),
            wall: Duration::ZERO,
        };
        let clock = Clock { now, last: Duration::from_secs(1) };
        assert_eq!(clock.age(5), 0);
        // This event was recorded before the counter wrapped.
        assert_eq!(clock.age((1 << 48) - 2), 7);
        assert_eq!(clock.time(5), Some(Duration::from_secs(9)));
        assert_eq!(clock.time(6), None);
        assert_eq!((clock.begin(), clock.end()), (Duration::from_secs(8), Duration::from_secs(9)));
    }
}
