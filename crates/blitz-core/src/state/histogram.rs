//! Times in buckets, four per power of two.

#![forbid(unsafe_code)]

use blitz_parts::counter::Counter;
use std::fmt;
use std::time::Duration;

/// The first bucket ends after the first quarter of the octave that begins with this bit.
const FIRST_BIT: u32 = 6;
const OCTAVES: usize = 30;
const PER_OCTAVE: usize = 4;
const BUCKETS: usize = OCTAVES * PER_OCTAVE;

/// A histogram that any thread reads. One thread writes it by `add`, or any thread by `add_shared`.
pub(crate) struct Times {
    buckets: [Counter; BUCKETS],
    nanos: Counter,
}

impl Default for Times {
    fn default() -> Times {
        Times { buckets: [const { Counter::new() }; BUCKETS], nanos: Counter::new() }
    }
}

impl Times {
    /// Adds a measured time that counts `weight` times. Only the single writer may call it.
    pub(crate) fn add(&self, nanos: u64, weight: u64) {
        self.buckets[place(nanos)].add(weight);
        self.nanos.add(nanos.saturating_mul(weight));
    }

    /// Adds a time, from any thread.
    pub(crate) fn add_shared(&self, nanos: u64) {
        self.buckets[place(nanos)].add_shared(1);
        self.nanos.add_shared(nanos);
    }

    pub(crate) fn read(&self) -> Histogram {
        let counts = std::array::from_fn(|i| self.buckets[i].get());
        Histogram { counts, nanos: self.nanos.get() }
    }
}

/// A small histogram, with one bucket per power of two. One thread writes it, any thread reads it.
pub(crate) struct Octaves([Counter; OCTAVES]);

impl Octaves {
    pub(crate) fn new() -> Octaves {
        Octaves([const { Counter::new() }; OCTAVES])
    }

    /// Adds a measured time that counts `weight` times. Only the single writer may call it.
    pub(crate) fn add(&self, nanos: u64, weight: u64) {
        self.0[place(nanos) / PER_OCTAVE].add(weight);
    }

    /// Adds the counts to those of `sum`, each in the last bucket of its power of two. The sum of
    /// the times stays as it is.
    pub(crate) fn add_to(&self, sum: &mut Histogram) {
        let buckets = sum.counts.chunks_mut(PER_OCTAVE).zip(&self.0);
        buckets.for_each(|(buckets, count)| buckets[PER_OCTAVE - 1] += count.get());
    }
}

/// Which bucket a time belongs to.
fn place(nanos: u64) -> usize {
    let nanos = nanos.max(1 << FIRST_BIT);
    let bit = nanos.ilog2();
    let quarter = (nanos >> (bit - 2)) as usize % PER_OCTAVE;
    ((bit - FIRST_BIT) as usize * PER_OCTAVE + quarter).min(BUCKETS - 1)
}

/// Counts durations by range. There are four ranges per power of two, from 64 ns to 69 s. If only a
/// sample was measured, each measurement also counts for the unmeasured ones.
///
/// ```
/// let histogram = blitz::Histogram::default();
/// assert_eq!(histogram.count(), 0);
/// assert_eq!(histogram.quantile(0.99), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    nanos: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: [0; BUCKETS], nanos: 0 }
    }
}

impl Histogram {
    /// Returns how many durations were counted: those that were measured, and those for which a
    /// measured one stands.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the durations that were counted.
    ///
    /// ```
    /// assert!(blitz::Histogram::default().sum().is_zero());
    /// ```
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// Returns each range's upper end, exclusive, and its number of durations. The last range has
    /// no end.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.counts.iter().enumerate().map(|(i, &count)| (upper_end(i), count))
    }

    /// Each power of two up to the last range, and the number of durations below it.
    pub(crate) fn octaves(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let mut below = 0;
        let octave = move |(i, counts): (usize, &[u64])| {
            below += counts.iter().sum::<u64>();
            (upper_end(i * PER_OCTAVE + PER_OCTAVE - 1), below)
        };
        self.counts.chunks(PER_OCTAVE).enumerate().map(octave).take(OCTAVES - 1)
    }

    /// Returns a time below which at least the fraction `q` of all times lies; `None` if nothing
    /// was counted.
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
        self.nanos = self.nanos.saturating_add(other.nanos);
    }
}

fn upper_end(bucket: usize) -> Duration {
    if bucket == BUCKETS - 1 {
        return Duration::MAX;
    }
    let quarters = (PER_OCTAVE + bucket % PER_OCTAVE + 1) as u64;
    Duration::from_nanos((quarters << (bucket / PER_OCTAVE)) << (FIRST_BIT - 2))
}

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.quantile(0.5), self.quantile(0.99)) {
            (Some(median), Some(high)) => {
                write!(f, "{} counted, half below {median:?}, 99 % below {high:?}", self.count())
            }
            _ => f.write_str("nothing measured"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, OCTAVES, Octaves, Times};
    use std::time::Duration;

    #[test]
    fn a_time_is_below_the_end_of_its_bucket_and_not_below_the_end_before() {
        for nanos in [0, 1, 63, 64, 79, 80, 95, 96, 127, 128, 1_000, 1_000_000, 60_000_000_000] {
            let times = Times::default();
            let time = Duration::from_nanos(nanos);
            times.add(nanos, 1);
            let full: Vec<_> = times.read().buckets().collect();
            let at = full.iter().position(|&(_, count)| count == 1).unwrap();
            assert!(time < full[at].0);
            assert!(at == 0 || time >= full[at - 1].0, "{nanos}");
        }
    }

    #[test]
    fn ends_grow_and_double_every_four_buckets() {
        let ends: Vec<_> = Histogram::default().buckets().map(|(end, _)| end).collect();
        assert_eq!(ends.len(), 120);
        assert!(ends.is_sorted_by(|a, b| a < b));
        assert_eq!(ends[0], Duration::from_nanos(80));
        assert_eq!(ends[3], Duration::from_nanos(128));
        assert!(ends[..115].iter().zip(&ends[4..]).all(|(a, b)| *a * 2 == *b));
        assert_eq!(ends[118], Duration::from_nanos(7 << 33));
    }

    #[test]
    fn octaves_count_all_that_is_below() {
        let times = Times::default();
        for nanos in [70, 100, 130, 1_000] {
            times.add(nanos, 1);
        }
        let read = times.read();
        let octaves: Vec<_> = read.octaves().collect();
        assert_eq!(octaves.len(), OCTAVES - 1);
        assert_eq!(octaves[0], (Duration::from_nanos(128), 2));
        assert_eq!(octaves[1], (Duration::from_nanos(256), 3));
        assert_eq!(octaves[28].1, 4);
        assert_eq!(read.sum(), Duration::from_nanos(1_300));
    }

    #[test]
    fn the_longest_times_have_a_bucket_too() {
        let times = Times::default();
        times.add(u64::MAX, 1);
        times.add_shared(3_600_000_000_000);
        assert_eq!(times.read().quantile(0.5), Some(Duration::MAX));
        assert_eq!(times.read().count(), 2);
    }

    #[test]
    fn a_small_histogram_has_quantiles_that_are_powers_of_two() {
        let (times, mut sum) = (Octaves::new(), Histogram::default());
        times.add(3_000, 98);
        times.add(1_000_000, 1);
        times.add(5_000_000, 1);
        [(); 2].iter().for_each(|()| times.add_to(&mut sum));
        assert_eq!(sum.count(), 200);
        assert_eq!(sum.quantile(0.98), Some(Duration::from_nanos(1 << 12)));
        assert_eq!(sum.quantile(0.99), Some(Duration::from_nanos(1 << 20)));
        assert_eq!(sum.quantile(1.0), Some(Duration::from_nanos(1 << 23)));
    }

    #[test]
    fn quantiles_count_from_below() {
        let times = Times::default();
        times.add(3_000, 99);
        times.add(1_000_000, 1);
        let read = times.read();
        assert_eq!(read.quantile(0.0), Some(Duration::from_nanos(3_072)));
        assert_eq!(read.quantile(0.99), Some(Duration::from_nanos(3_072)));
        assert_eq!(read.quantile(1.0), Some(Duration::from_nanos(1 << 20)));
        let mut sum = Histogram::default();
        sum.add(&read);
        sum.add(&read);
        assert_eq!(sum.count(), 200);
        assert!(sum.to_string().starts_with("200 counted"));
    }
}
