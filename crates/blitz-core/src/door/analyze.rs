//! `analyze`: work, span and parallelism of a computation.

#![forbid(unsafe_code)]

use super::builder::PoolBuilder;
use super::current::with_working_team;
use crate::ops::install::install_in;
use crate::ops::yield_job::{Yield, yield_local};
use crate::sched::hold::Hold;
use crate::state::{Strands, Sums};
use crate::team::{Owner, Team, current};
use blitz_parts::ticks;
use blitz_parts::tuning::{ANALYSIS_BURDEN, ANALYSIS_GRAIN, ANALYSIS_SLACK, ANALYSIS_STEALS};
use std::fmt;
use std::time::Duration;

/// The result of [`analyze`]: work, span and parallelism of a computation.
///
/// `Display` writes the figures, and a verdict as the last line.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1_000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = blitz::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let numbers: Vec<_> = (0..100_000).collect();
/// let analysis = blitz::analyze(|| sum(&numbers));
/// assert_eq!(analysis.value, 4_999_950_000);
/// assert_eq!(analysis.forks, 127);
/// println!("{analysis}");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Analysis<R> {
    /// The closure's result.
    pub value: R,
    /// The time of the whole computation on one worker, without the cost of forks.
    pub work: Duration,
    /// The time of the longest chain of parts that depend on each other. No number of workers is
    /// faster.
    pub span: Duration,
    /// The span if each part of the chain that must be stolen starts late by `burden`.
    pub burdened_span: Duration,
    /// The cost of a steal: the median of the pool's
    /// [`steal_latencies`](crate::PoolMetrics::steal_latencies). If the pool's workers have not
    /// stolen often enough for a median, it is a fixed estimate.
    pub burden: Duration,
    /// The number of forks and spawned jobs.
    pub forks: u64,
    /// The number of workers of the pool in which `analyze` was called.
    pub workers: usize,
}

impl<R> Analysis<R> {
    /// How many workers could be busy on average: work divided by span.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// The parallelism with the cost of steals: a pessimistic estimate.
    #[must_use]
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// The average work per fork: see the [verdict](Self::verdict).
    #[must_use]
    pub fn grain(&self) -> Duration {
        let parts = u128::from(self.forks) + 1;
        Duration::from_nanos(u64::try_from(self.work.as_nanos() / parts).unwrap_or(u64::MAX))
    }

    /// Advice in words.
    ///
    /// ```
    /// let analysis = blitz::analyze(|| (0..1_000).sum::<u32>());
    /// assert_eq!(analysis.verdict(), "no forks: one worker does all of it");
    /// ```
    #[must_use]
    pub fn verdict(&self) -> String {
        let (parallelism, workers) = (self.parallelism(), self.workers as f64);
        if self.forks == 0 {
            return "no forks: one worker does all of it".to_owned();
        }
        if self.grain() < ANALYSIS_GRAIN {
            let parts = parallelism / ANALYSIS_SLACK >= workers;
            let room = if parts { "" } else { ", and look for longer parts that are independent" };
            return format!("forks of {:.0?}: coarsen{room}", self.grain());
        }
        if parallelism < workers {
            return format!(
                "parallelism {parallelism:.1} for {workers} workers: on average at most \
                 {parallelism:.1} of them are busy"
            );
        }
        let burdened = self.burdened_parallelism();
        if burdened < workers {
            let burden = self.burden;
            return format!(
                "parallelism {parallelism:.1}, but {burdened:.1} if a steal costs {burden:.1?}: \
                 fork earlier or coarsen"
            );
        }
        if parallelism < workers * ANALYSIS_SLACK {
            return format!(
                "parallelism {parallelism:.1} for {workers} workers: enough, with little to spare"
            );
        }
        format!("parallelism {parallelism:.0} for {workers} workers: enough")
    }

    fn of(value: R, sums: Sums, workers: usize, burden: u64) -> Analysis<R> {
        Analysis {
            value,
            work: ticks::to_duration(sums.work),
            span: ticks::to_duration(sums.path.span),
            burdened_span: ticks::to_duration(sums.path.burdened),
            burden: ticks::to_duration(burden),
            forks: sums.forks,
            workers,
        }
    }
}

fn ratio(work: Duration, span: Duration) -> f64 {
    if span.is_zero() { 1.0 } else { (work.as_secs_f64() / span.as_secs_f64()).max(1.0) }
}

impl<R> fmt::Display for Analysis<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "work                  {:>10.1?}", self.work)?;
        writeln!(f, "span                  {:>10.1?}", self.span)?;
        writeln!(f, "parallelism           {:>10.1}", self.parallelism())?;
        writeln!(
            f,
            "burdened parallelism  {:>10.1}, with {:.1?} per steal",
            self.burdened_parallelism(),
            self.burden
        )?;
        writeln!(f, "forks                 {:>10}", self.forks)?;
        writeln!(f, "work per fork         {:>10.1?}", self.grain())?;
        f.write_str(&self.verdict())
    }
}

/// Runs `f` on one worker, and measures how parallel `f` is.
///
/// It counts the jobs that `f` forks by [`join`](crate::join), scopes,
/// [`spawn_cpu`](crate::spawn_cpu), [`spawn_detached`](crate::spawn_detached) and parallel
/// iterators, on the current or the global pool. Parallel iterators are cut as if a worker were
/// always idle. Jobs that have not run when `f` returns run before `analyze` returns. Forks outside
/// an analysis do not get slower.
///
/// It starts a thread outside the pool, and the caller waits as in [`install`](crate::install).
/// Tasks, timers and sockets that `f` starts belong to the current pool, and are not counted. Work
/// of other pools is not counted, either; a wait for it counts as work. Time in which the system
/// runs other threads also counts as work: measure an optimised build on a quiet machine. Awaiting
/// a job's handle, instead of joining it, does not lengthen the span.
///
/// An analysis inside another analysis measures its own closure. The work of that closure also
/// counts for the outer analysis. If jobs have not run when the inner closure returns, the outer
/// analysis runs them before it returns, and their work counts only there.
///
/// ```
/// let analysis = blitz::analyze(|| blitz::join(|| 1, || 2));
/// assert_eq!((analysis.value, analysis.forks), ((1, 2), 1));
/// ```
///
/// # Panics
/// A panic of `f` continues here. `analyze` also panics if the system cannot start a thread, or if
/// the global pool is needed and cannot be built: see [`global`](crate::global).
#[track_caller]
pub fn analyze<F, R>(f: F) -> Analysis<R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let measuring = current().and_then(Owner::analysing);
    if let Some(analysing) = measuring {
        let strands = &analysing.strands;
        let before = pause(strands);
        strands.resume();
        let value = f();
        let after = pause(strands);
        strands.resume();
        let sums = since(&before, &after);
        return Analysis::of(value, sums, analysing.origin.num_workers(), strands.burden());
    }
    with_working_team(|team, hold| analyze_on_new_worker(team, hold, f))
}

#[track_caller]
fn analyze_on_new_worker<F, R>(team: &Team, hold: Option<Hold>, f: F) -> Analysis<R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let burden = burden(team);
    let pool = match PoolBuilder::build_for_analysis(team) {
        Ok(pool) => pool,
        Err(error) => panic!("analyze needs a thread of its own: {error}"),
    };
    let (origin, workers) = (team.arc(), team.num_workers());
    install_in(pool.team(), hold, |owner, _| {
        let strands = owner.begin_analysis(origin, Strands::new(burden));
        let _entered = owner.enter_own();
        let (value, sums) = {
            // The jobs run even if `f` panics: their pool waits for them.
            let _rest = RunRest;
            strands.resume();
            let value = f();
            strands.pause();
            (value, strands)
        };
        Analysis::of(value, sums.finish(), workers, burden)
    })
}

/// Runs the jobs that are left on this worker when it is dropped.
struct RunRest;

impl Drop for RunRest {
    fn drop(&mut self) {
        while yield_local() == Some(Yield::Executed) {}
    }
}

/// Ends the strand; returns the totals so far.
fn pause(strands: &Strands) -> Sums {
    strands.pause();
    strands.sums()
}

/// The totals between two moments.
fn since(before: &Sums, after: &Sums) -> Sums {
    Sums {
        work: after.work - before.work,
        path: after.path.since(before.path),
        forks: after.forks - before.forks,
    }
}

/// The cost of a steal in this team, in ticks.
fn burden(team: &Team) -> u64 {
    let steals = super::metrics::steal_latencies(team);
    let usual = (steals.count() >= ANALYSIS_STEALS).then(|| steals.quantile(0.5)).flatten();
    ticks::of_duration(usual.unwrap_or(ANALYSIS_BURDEN))
}

#[cfg(test)]
mod tests {
    use super::Analysis;
    use std::time::Duration;

    fn analysis(work: u64, span: u64, burdened: u64, forks: u64) -> Analysis<()> {
        Analysis {
            value: (),
            work: Duration::from_nanos(work),
            span: Duration::from_nanos(span),
            burdened_span: Duration::from_nanos(burdened),
            burden: Duration::from_micros(5),
            forks,
            workers: 8,
        }
    }

    #[test]
    fn verdicts_name_the_first_thing_to_change() {
        let of = |work, span, burdened, forks| analysis(work, span, burdened, forks).verdict();
        assert_eq!(of(1_000, 1_000, 1_000, 0), "no forks: one worker does all of it");
        assert_eq!(of(4_000_000, 1_000, 1_000, 99_999), "forks of 40ns: coarsen");
        assert!(of(4_000, 4_000, 4_000, 99).starts_with("forks of 40ns: coarsen, and look"));
        assert_eq!(
            of(3_100_000, 1_000_000, 1_000_000, 9),
            "parallelism 3.1 for 8 workers: on average at most 3.1 of them are busy"
        );
        assert!(of(1_900_000, 1_000_000, 1_000_000, 9).ends_with("at most 1.9 of them are busy"));
        assert!(of(90_000_000, 1_000_000, 50_000_000, 9).contains("1.8 if a steal costs 5.0µs"));
        assert!(of(16_000_000, 1_000_000, 1_000_000, 9).ends_with("with little to spare"));
        assert_eq!(
            of(900_000_000, 1_000_000, 1_000_000, 9),
            "parallelism 900 for 8 workers: enough"
        );
    }

    #[test]
    fn an_empty_computation_has_a_parallelism_of_one() {
        let nothing = analysis(0, 0, 0, 0);
        assert_eq!((nothing.parallelism(), nothing.burdened_parallelism()), (1.0, 1.0));
        assert!(nothing.grain().is_zero());
        assert_eq!(nothing.to_string().lines().count(), 7);
    }
}
