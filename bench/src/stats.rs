//! Medians and percentiles of samples, and of the ratio of two contestants that took turns.

use blitz_contestant::{Metric, Sample};
use serde::{Deserialize, Serialize};

/// The middle of a set of samples and how far they spread: nine tenths lie above `p10`, nine tenths
/// below `p90`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The 10th percentile.
    pub p10: f64,
    /// The 50th percentile.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The lower end of the 95 % confidence interval of the true median. With fewer than nine
    /// samples it is the smallest sample. With fewer than six, it is less certain than 95 %.
    pub median_low: f64,
}

impl Spread {
    /// Summarises `samples`; `None` if there are none.
    ///
    /// ```
    /// use blitz_bench::stats::Spread;
    /// let spread = Spread::of(&[3.0, 1.0, 2.0]).unwrap();
    /// assert_eq!(spread.median, 2.0);
    /// assert_eq!(Spread::of(&[]), None);
    /// ```
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        Some(Self {
            p10: percentile_of_sorted(&sorted, 10.0)?,
            median: percentile_of_sorted(&sorted, 50.0)?,
            p90: percentile_of_sorted(&sorted, 90.0)?,
            median_low: *sorted.get(rank_below_median(sorted.len()))?,
        })
    }

    /// Summarises `subject / reference`, pair by pair.
    ///
    /// Both sides of a pair were taken in the same round, so a disturbance of the whole machine
    /// slows both and does not change the ratio. Rounds in which either side has no value, or the
    /// reference is not positive, do not count.
    ///
    /// ```
    /// use blitz_bench::stats::Spread;
    /// let subject = [Some(1.0), None, Some(20.0)];
    /// let reference = [Some(2.0), Some(2.0), Some(40.0)];
    /// assert_eq!(Spread::of_ratio(&subject, &reference).unwrap().p90, 0.5);
    /// ```
    #[must_use]
    pub fn of_ratio(subject: &[Option<f64>], reference: &[Option<f64>]) -> Option<Self> {
        let ratios: Vec<f64> = subject
            .iter()
            .zip(reference)
            .filter_map(|(subject, reference)| {
                let (subject, reference) = ((*subject)?, (*reference)?);
                (reference > 0.0).then(|| subject / reference)
            })
            .collect();
        Self::of(&ratios)
    }
}

/// The `percent`-th percentile of `samples`, interpolated linearly between neighbours; `None` if
/// there are none.
///
/// ```
/// assert_eq!(blitz_bench::stats::percentile(&[4.0, 0.0], 25.0), Some(1.0));
/// ```
#[must_use]
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    percentile_of_sorted(&sorted(samples), percent)
}

/// Percentiles of `samples` as metrics; nothing if there are none.
///
/// ```
/// use blitz_bench::{stats::distribution, workload::Metric};
/// let sample = distribution(&[1.0, 3.0, 2.0], &Metric::RETURNS);
/// assert_eq!((sample[&Metric::ReturnP50], sample[&Metric::ReturnMax]), (2.0, 3.0));
/// ```
#[must_use]
pub fn distribution(samples: &[f64], percentiles: &[(Metric, f64)]) -> Sample {
    let sorted = sorted(samples);
    let value = |&(metric, percent): &(Metric, f64)| {
        Some((metric, percentile_of_sorted(&sorted, percent)?))
    };
    percentiles.iter().filter_map(value).collect()
}

/// Returns the index of the sorted sample that is the lower end of the 95 % confidence interval of
/// the median.
///
/// The number of samples below the true median has a binomial distribution, whatever is measured.
fn rank_below_median(samples: usize) -> usize {
    let samples = samples as f64;
    ((samples - 1.96 * samples.sqrt()) / 2.0).round().max(1.0) as usize - 1
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn percentile_of_sorted(sorted: &[f64], percent: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let below = position.floor();
    let low = sorted[below as usize];
    let high = sorted[position.ceil() as usize];
    Some(low + (high - low) * (position - below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(percentile(&[5.0, 1.0, 3.0], 50.0), Some(3.0));
        assert_eq!(percentile(&[4.0, 1.0, 3.0, 2.0], 50.0), Some(2.5));
        assert_eq!(percentile(&[7.0], 50.0), Some(7.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn percentiles_interpolate_and_stay_inside() {
        let samples: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(percentile(&samples, 10.0), Some(10.0));
        assert_eq!(percentile(&samples, 99.0), Some(99.0));
        assert_eq!(percentile(&samples, 100.0), Some(100.0));
        assert_eq!(percentile(&samples, 250.0), Some(100.0));
        assert_eq!(percentile(&[0.0, 10.0], 10.0), Some(1.0));
    }

    #[test]
    fn a_spread_does_not_depend_on_the_order() {
        let up = Spread::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let mixed = Spread::of(&[4.0, 1.0, 5.0, 2.0, 3.0]);
        assert_eq!(up, mixed);
        assert!((up.unwrap().p10 - 1.4).abs() < 1e-12);
    }

    /// Compares with tables of the sign test: the 6th of 21 samples, the 2nd of 9, and the smallest
    /// of a few.
    #[test]
    fn a_median_is_known_within_bounds() {
        let low = |count: u32| {
            Spread::of(&(1..=count).map(f64::from).collect::<Vec<_>>()).unwrap().median_low
        };
        assert_eq!([low(1), low(5), low(9), low(21)], [1.0, 1.0, 2.0, 6.0]);
        assert_eq!(low(1_000), 469.0);
    }

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        // The machine is ten times slower in the second round; the ratio does not notice.
        let subject = [Some(1.0), Some(10.0), Some(1.0)];
        let reference = [Some(2.0), Some(20.0), Some(2.0)];
        let ratio = Spread::of_ratio(&subject, &reference).unwrap();
        assert_eq!((ratio.p10, ratio.median, ratio.p90), (0.5, 0.5, 0.5));
    }

    #[test]
    fn rounds_without_a_value_do_not_count() {
        let subject = [Some(1.0), None, Some(3.0), Some(1.0)];
        let reference = [None, Some(1.0), Some(1.0), Some(0.0)];
        assert_eq!(Spread::of_ratio(&subject, &reference).unwrap().median, 3.0);
        assert_eq!(Spread::of_ratio(&subject, &[None; 4]), None);
    }
}
