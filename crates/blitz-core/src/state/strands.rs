//! The work and the span of a computation, measured while one worker runs it.
//!
//! A strand is code between two forks or joins, or between one of these and the beginning or end of
//! a job. The sum of all strands is the work. Strands that depend on each other form paths, which
//! begin where the computation begins. The longest path is the span. A burdened path is longer by
//! the cost of a steal for each piece of work on it that another worker would have to steal.

#![forbid(unsafe_code)]

use blitz_parts::ticks;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// How many times the cost of reading the clock is measured. The minimum counts.
const READINGS: usize = 64;

/// How far a moment is from the beginning of the computation, along the longest path, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) span: u64,
    pub(crate) burdened: u64,
}

impl Path {
    fn plus(self, ticks: u64) -> Path {
        Path { span: self.span + ticks, burdened: self.burdened + ticks }
    }

    /// The distance from an earlier moment.
    pub(crate) fn since(self, begin: Path) -> Path {
        Path { span: self.span - begin.span, burdened: self.burdened - begin.burdened }
    }

    /// The maximum of each kind of length.
    fn max(self, other: Path) -> Path {
        Path { span: self.span.max(other.span), burdened: self.burdened.max(other.burdened) }
    }
}

/// Identifies work that may be joined: a scope by its address, a job by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Joint {
    Scope(usize),
    Job(u64),
}

/// A `join` whose halves have not both run.
#[derive(Clone, Copy)]
struct Fork {
    begin: Path,
    /// Where the first half ended.
    first: Path,
}

/// A reading of the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) work: u64,
    pub(crate) path: Path,
    pub(crate) forks: u64,
}

/// The strands of one worker. Only its thread uses it.
pub(crate) struct Strands {
    /// The measured time of an empty strand.
    reading: u64,
    /// The cost of a steal, in ticks.
    burden: u64,
    /// When the current strand began; `None` between strands.
    begun: Cell<Option<u64>>,
    work: Cell<u64>,
    /// How far the current strand is from the beginning of the computation.
    path: Cell<Path>,
    /// The farthest end of a job.
    farthest: Cell<Path>,
    count: Cell<u64>,
    forks: RefCell<Vec<Fork>>,
    /// Where numbered jobs begin that have not run yet.
    begins: RefCell<HashMap<Joint, Path>>,
    /// Where jobs ended that are still to be joined.
    ends: RefCell<HashMap<Joint, Path>>,
}

impl Strands {
    /// `burden` is the cost of a steal, in ticks.
    pub(crate) fn new(burden: u64) -> Strands {
        let reading = || {
            let before = ticks::now();
            ticks::now().saturating_sub(before)
        };
        let reading = (0..READINGS).map(|_| reading()).min().unwrap_or(0);
        Strands::with(reading, burden)
    }

    fn with(reading: u64, burden: u64) -> Strands {
        Strands {
            reading,
            burden,
            begun: Cell::new(None),
            work: Cell::new(0),
            path: Cell::default(),
            farthest: Cell::default(),
            count: Cell::new(0),
            forks: RefCell::default(),
            begins: RefCell::default(),
            ends: RefCell::default(),
        }
    }

    /// The cost of a steal, in ticks.
    pub(crate) fn burden(&self) -> u64 {
        self.burden
    }

    /// Begins a strand.
    pub(crate) fn resume(&self) {
        self.resume_at(ticks::now());
    }

    fn resume_at(&self, now: u64) {
        self.begun.set(Some(now));
    }

    /// Ends the strand, if there is one.
    pub(crate) fn pause(&self) {
        self.pause_at(ticks::now());
    }

    fn pause_at(&self, now: u64) {
        if let Some(begun) = self.begun.take() {
            let ticks = now.saturating_sub(begun).saturating_sub(self.reading);
            self.work.set(self.work.get() + ticks);
            self.path.set(self.path.get().plus(ticks));
        }
    }

    /// Returns the totals. The path is that of the current strand.
    pub(crate) fn sums(&self) -> Sums {
        Sums { work: self.work.get(), path: self.path.get(), forks: self.count.get() }
    }

    /// Counts a fork; returns where the piece of work begins that forks off now.
    fn fork_off(&self) -> Path {
        self.count.set(self.count.get() + 1);
        let here = self.path.get();
        Path { burdened: here.burdened + self.burden, ..here }
    }

    /// Notes that the current strand forks: `first_half` and `second_half` follow.
    pub(crate) fn fork(&self) {
        self.pause();
        let begin = self.fork_off();
        self.forks.borrow_mut().push(Fork { begin, first: begin });
    }

    /// Calls the first half of the newest fork.
    pub(crate) fn first_half<R>(&self, half: impl FnOnce() -> R) -> R {
        self.resume();
        let _end = OnEnd(|| {
            self.pause();
            if let Some(fork) = self.forks.borrow_mut().last_mut() {
                fork.first = self.path.replace(fork.begin);
            }
        });
        half()
    }

    /// Calls the second half of the newest fork, and joins it with the first.
    pub(crate) fn second_half<R>(&self, half: impl FnOnce() -> R) -> R {
        self.resume();
        let _end = OnEnd(|| {
            self.pause();
            if let Some(fork) = self.forks.borrow_mut().pop() {
                self.path.set(self.path.get().max(fork.first));
            }
            self.resume();
        });
        half()
    }

    /// Notes that the current strand spawns a job; returns where the job begins. The caller resumes
    /// the strand.
    pub(crate) fn spawn(&self, joint: Option<Joint>) -> Path {
        self.pause();
        let begin = self.fork_off();
        if let Some(joint @ Joint::Job(_)) = joint {
            self.begins.borrow_mut().insert(joint, begin);
        }
        begin
    }

    /// Runs a job through its handle, if it has not run. When the job later leaves its queue, it
    /// does nothing.
    pub(crate) fn run_early(&self, joint: Joint, job: impl FnOnce()) {
        let begin = self.begins.borrow_mut().remove(&joint);
        if let Some(begin) = begin {
            self.run_job(begin, Some(joint), job);
        }
    }

    /// Runs a job, which does not unwind, as if it had begun at `begin`.
    pub(crate) fn run_job(&self, begin: Path, joint: Option<Joint>, job: impl FnOnce()) {
        let was_running = self.begun.get().is_some();
        self.pause();
        let outside = self.path.replace(begin);
        self.resume();
        job();
        self.pause();
        let end = self.path.replace(outside);
        self.farthest.set(self.farthest.get().max(end));
        if let Some(joint) = joint {
            self.begins.borrow_mut().remove(&joint);
            let mut ends = self.ends.borrow_mut();
            let farthest = ends.entry(joint).or_default();
            // A scope has many jobs. A number belongs to a single job.
            *farthest = farthest.max(end);
        }
        if was_running {
            self.resume();
        }
    }

    /// Calls `wait`, which waits for `joint`. The strand that follows depends on `joint`.
    pub(crate) fn join<R>(&self, joint: Joint, wait: impl FnOnce() -> R) -> R {
        self.pause();
        let waited = wait();
        if let Some(end) = self.ends.borrow_mut().remove(&joint) {
            self.path.set(self.path.get().max(end));
        }
        self.resume();
        waited
    }

    /// Ends the computation: all jobs have run. Returns the totals with the longest path.
    pub(crate) fn finish(&self) -> Sums {
        self.pause();
        Sums { path: self.path.get().max(self.farthest.get()), ..self.sums() }
    }
}

/// Calls the closure when it is dropped, also by a panic.
struct OnEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::{Joint, Path, Strands};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A strand of `ticks` ticks.
    fn strand(strands: &Strands, ticks: u64) {
        strands.resume_at(1_000);
        strands.pause_at(1_000 + ticks);
    }

    fn span(strands: &Strands) -> u64 {
        strands.sums().path.span
    }

    #[test]
    fn the_reading_of_the_clock_is_no_work() {
        let strands = Strands::with(30, 0);
        strand(&strands, 100);
        strand(&strands, 10);
        assert_eq!((strands.sums().work, span(&strands)), (70, 70));
    }

    #[test]
    fn a_fork_is_as_long_as_its_longer_half() {
        // With this cost of a reading, real time counts as nothing.
        let strands = Strands::with(u64::MAX / 2, 50);
        let add = |ticks: u64| {
            strands.work.set(strands.work.get() + ticks);
            strands.path.set(strands.path.get().plus(ticks));
        };
        add(10);
        strands.fork();
        strands.first_half(|| add(100));
        strands.second_half(|| add(70));
        add(5);
        let sums = strands.finish();
        assert_eq!((sums.work, sums.forks), (185, 1));
        assert_eq!(sums.path, Path { span: 115, burdened: 10 + 50 + 70 + 5 });
        assert!(strands.forks.borrow().is_empty());
    }

    #[test]
    fn a_half_that_panics_ends_all_the_same() {
        let strands = Strands::with(u64::MAX / 2, 0);
        strands.fork();
        let first = || strands.first_half(|| panic!("the first half"));
        assert!(catch_unwind(AssertUnwindSafe(first)).is_err());
        let second = || strands.second_half(|| panic!("the second half"));
        assert!(catch_unwind(AssertUnwindSafe(second)).is_err());
        assert!(strands.forks.borrow().is_empty());
        assert!(strands.begun.get().is_some(), "the caller goes on");
    }

    #[test]
    fn code_after_a_scope_comes_after_its_jobs() {
        let strands = Strands::with(u64::MAX / 2, 0);
        let add = |ticks| strands.path.set(strands.path.get().plus(ticks));
        let scope = Joint::Scope(1);
        add(10);
        let begin = strands.spawn(Some(scope));
        add(3);
        strands.join(scope, || {
            strands.run_job(begin, Some(scope), || add(100));
            strands.run_job(begin, Some(scope), || add(40));
            strands.run_job(begin, Some(Joint::Job(7)), || add(400));
        });
        add(1);
        assert_eq!(span(&strands), 111);
        strands.join(Joint::Job(7), || ());
        assert_eq!(span(&strands), 410);
        strands.join(Joint::Job(7), || ());
        assert_eq!(span(&strands), 410, "the job was joined already");
    }

    #[test]
    fn a_job_runs_once_by_its_handle_or_from_its_queue() {
        let strands = Strands::with(u64::MAX / 2, 0);
        let add = |ticks| strands.path.set(strands.path.get().plus(ticks));
        let job = Joint::Job(3);
        add(10);
        let begin = strands.spawn(Some(job));
        add(1);
        strands.join(job, || strands.run_early(job, || add(100)));
        assert_eq!(span(&strands), 110);
        strands.run_job(begin, Some(job), || ());
        strands.run_early(job, || unreachable!("the job has run"));
        assert_eq!(span(&strands), 110);
    }

    #[test]
    fn a_job_that_no_frame_joins_counts_at_the_end() {
        let strands = Strands::with(u64::MAX / 2, 0);
        let begin = strands.spawn(None);
        strands.run_job(begin, None, || {
            strands.path.set(strands.path.get().plus(500));
        });
        assert_eq!(span(&strands), 0);
        assert_eq!(strands.finish().path.span, 500);
    }
}
