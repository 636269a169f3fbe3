//! Times in buckets of powers of two.

#![forbid(unsafe_code)]

use blitz_parts::counter::Counter;
use std::fmt;
use std::time::Duration;

/// Bucket `i` holds times below `2^i` microseconds that bucket `i - 1` does not.
const BUCKETS: usize = 24;

/// What one thread writes and any thread reads.
#[derive(Default)]
pub(crate) struct Times {
    buckets: [Counter; BUCKETS],
}

impl Times {
    /// One more. Only the one writer may call it.
    pub(crate) fn add(&self, time: Duration) {
        self.bucket(time).add(1);
    }

    fn bucket(&self, time: Duration) -> &Counter {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bits = (u64::BITS - micros.leading_zeros()) as usize;
        &self.buckets[bits.min(BUCKETS - 1)]
    }

    pub(crate) fn read(&self) -> Histogram {
        Histogram { counts: std::array::from_fn(|i| self.buckets[i].get()) }
    }
}

/// How many times fell into each range; ranges double in length. A sample: not each poll is timed.
///
/// ```
/// let histogram = blitz::Histogram::default();
/// assert_eq!(histogram.count(), 0);
/// assert_eq!(histogram.quantile(0.99), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Histogram {
    /// How many times were measured.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Each range's upper end, exclusive, and how many times fell into it. The last range has no
    /// end.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.counts.iter().enumerate().map(|(i, &count)| (upper_end(i), count))
    }

    /// A time that the share `q` of all, between 0 and 1, did not reach; `None` if nothing was
    /// measured.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let total = self.count();
        let wanted = (q.clamp(0.0, 1.0) * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets().find_map(|(end, count)| {
            seen += count;
            (seen >= wanted && total > 0).then_some(end)
        })
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            *own += other;
        }
    }
}

fn upper_end(bucket: usize) -> Duration {
    if bucket == BUCKETS - 1 { Duration::MAX } else { Duration::from_micros(1 << bucket) }
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.quantile(0.5), self.quantile(0.99)) {
            (Some(median), Some(high)) => {
                write!(f, "{} measured, half below {median:?}, 99 % below {high:?}", self.count())
            }
            _ => f.write_str("nothing measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Times};
    use std::time::Duration;

    #[test]
    fn a_time_is_below_the_end_of_its_bucket_and_not_below_that_of_the_one_before() {
        for micros in [0, 1, 2, 3, 4, 1_000, 1_000_000] {
            let times = Times::default();
            let time = Duration::from_micros(micros);
            times.add(time);
            let full: Vec<_> = times.read().buckets().collect();
            let at = full.iter().position(|&(_, count)| count == 1).unwrap();
            assert!(time < full[at].0);
            assert!(at == 0 || time >= full[at - 1].0, "{micros}");
        }
    }

    #[test]
    fn the_longest_times_have_a_bucket_too() {
        let times = Times::default();
        times.add(Duration::MAX);
        times.add(Duration::from_secs(3_600));
        assert_eq!(times.read().quantile(0.5), Some(Duration::MAX));
        assert_eq!(times.read().count(), 2);
    }

    #[test]
    fn quantiles_count_from_below() {
        let times = Times::default();
        for _ in 0..99 {
            times.add(Duration::from_micros(3));
        }
        times.add(Duration::from_micros(1_000));
        let read = times.read();
        assert_eq!(read.quantile(0.0), Some(Duration::from_micros(4)));
        assert_eq!(read.quantile(0.99), Some(Duration::from_micros(4)));
        assert_eq!(read.quantile(1.0), Some(Duration::from_micros(1_024)));
        let mut sum = Histogram::default();
        sum.add(&read);
        sum.add(&read);
        assert_eq!(sum.count(), 200);
        assert!(sum.to_string().starts_with("200 measured"));
    }
}
