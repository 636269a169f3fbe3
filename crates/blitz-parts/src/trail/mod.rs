//! Tracks which run a worker is in and what that run waits for. A thief that follows a trail takes
//! no job of a run that is over.
//!
//! # Who calls it
//! The worker whose trail it is: [`Trail::begin`], [`Trail::end`], [`Trail::wait_for`],
//! [`Trail::end_wait`]. Workers that wait for a job follow its runner: [`Trail::is_still`] as the
//! condition of a steal, [`Trail::next`] for the worker that the runner itself waits for. Threads
//! that explain what a pool does: [`Trail::waits_now`]. Thieves
//! about to force private jobs into the open: [`Trail::is_stuck`]. Caller: `blitz-core/worker`.
//!
//! # State
//! | word | meaning | who writes |
//! |---|---|---|
//! | `run` | the number of the innermost run; 0: none | the worker |
//! | `waits_for` | the [`Runner`] that the innermost run waits for; 0: none that is known | the worker |
//! | `begun` | the number of the run that began last, wraps around | the worker |
//! | `seen` | how many jobs the worker had pushed when a thief last looked | thieves |
//!
//! # Transitions
//! ```text
//!  run, waits_for:  (r, w) ──begin──▶ waits_for := 0 ─▶ run := n ─▶ begun := n
//!                              in it: waits_for := the run it waits for, := 0
//!                   (r, w) ◀──end──── waits_for := w ◀─ run := r
//!                   n was never used before
//!
//!  follower of n:   run is n? ─▶ steal an item ─▶ run is still n? ─▶ exchange: it is ours
//!                   read begun ─▶ run is n? ─▶ read waits_for
//!                   ─▶ begun is the same, run is still n? ─▶ follow it
//! ```
//!
//! # Invariants
//! - **TRAIL-1** A thief that steals from the worker's deque on condition that the worker [is
//!   still](Trail::is_still) in a run gets no job of a later run, nor of an inner run that has not
//!   ended.
//! - **TRAIL-2** [`Trail::next`] returns a runner that this run waits for, or has waited for. It
//!   never returns one that the worker waits for outside of the run or in another run, not even in
//!   an inner run that is over.
//! - **TRAIL-3** A worker counts as stuck only if it has pushed nothing since a thief last asked.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `run` store in `begin`, after `waits_for := 0` | Release | O4 | TRAIL-2: a follower that sees the number does not see what was waited for outside |
//! | O2 | `waits_for` store in `end`, after that of `run` | Release | O5 | TRAIL-2: a follower that sees the outer wait again sees the end of the run |
//! | O3 | `waits_for` stores in `wait_for`, `end_wait` | Release | O5 | TRAIL-2: a follower that sees what a later run waits for sees that it is another run |
//! | O4 | `run` loads of followers | Acquire | O1 | as there |
//! | O5 | `waits_for` load of followers, before `run` is loaded again | Acquire | O2, O3 | as there |
//! | O6 | `run` store in `begin`, before the run pushes | any | the deque's `end` store and load (its O2, O5) | TRAIL-1: a thief that sees an item sees the number of the run that pushed it |
//! | O7 | the worker's own loads, the follower's second load of `begun`, `seen` | Relaxed | – | nothing depends on the order, or O5 comes before |
//! | O8 | `begun` store in `begin`, after that of `run`; first load of followers | Release, Acquire | each other | TRAIL-2: a follower that counts a run inside sees it as `run`, or its end |
//! | O9 | `run` store in `end` | Release | O4 | TRAIL-2: a follower that sees the outer run again does not see what the inner one waited for |
//!
//! # What this does not do
//! A job that a run leaves in the deque at its end, because no caller waits for it, counts as a job
//! of the outer run. The follower's policy decides whether that matters. Numbers wrap around: a
//! follower that sleeps for four billion runs of one worker may take another run for its own.
//!
//! # Lineage
//! Leapfrogging (Wagner and Calder 1993): a waiting worker takes only jobs of the worker that it
//! waits for. The number of the run makes that a condition of the steal.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::latch::Runner;
use crate::prim::{Acquire, AtomicU32, AtomicU64, Relaxed, Release, Step, broken};

/// Which run one worker is in, and what it waits for there.
#[derive(Debug, Default)]
pub struct Trail {
    run: AtomicU32,
    waits_for: AtomicU64,
    begun: AtomicU32,
    seen: AtomicU64,
}

/// The state of a trail before a run began. Given back to [`Trail::end`].
#[must_use = "a run that began has to end"]
#[derive(Debug)]
pub struct Outside {
    run: u32,
    wait: Wait,
}

/// What a worker waited for, or nothing. Given back to [`Trail::end_wait`].
#[derive(Clone, Copy, Debug)]
pub struct Wait(u64);

impl Trail {
    /// A worker that is in no run.
    ///
    /// ```
    /// use blitz_parts::{latch::Runner, trail::Trail};
    /// let trail = Trail::new();
    /// let (run, outside) = trail.begin();
    /// let runner = Runner { index: 3, run: 7 };
    /// let outer = trail.wait();
    /// trail.wait_for(runner);
    /// assert_eq!((trail.next(run), trail.waits_now()), (Some(runner), Some(runner)));
    /// trail.end_wait(outer);
    /// trail.end(outside);
    /// assert!(!trail.is_still(run) && trail.next(run).is_none());
    /// ```
    pub fn new() -> Trail {
        Trail::default()
    }

    /// Begins a run; returns its number, which is not zero. Own thread only.
    #[inline]
    pub fn begin(&self) -> (u32, Outside) {
        let outside = Outside { run: self.run.load(Relaxed), wait: self.wait() }; // O7
        // Zero means none.
        let run = self.begun.load(Relaxed).wrapping_add(1).max(1); // O7
        if !broken(Step::TrailBeginClears) {
            self.waits_for.store(0, Relaxed);
        }
        if outside.run == 0 || !broken(Step::TrailInnerNumber) {
            let order = if broken(Step::TrailBeginRelease) { Relaxed } else { Release };
            self.run.store(run, order); // O1, O6
        }
        self.begun.store(run, Release); // O8
        (run, outside)
    }

    /// Ends the innermost run. Own thread only.
    #[inline]
    pub fn end(&self, outside: Outside) {
        self.run.store(outside.run, Release); // O9
        let order = if broken(Step::TrailEndRelease) { Relaxed } else { Release };
        self.waits_for.store(outside.wait.0, order); // O2
    }

    /// Whether the worker is in a run. Own thread only.
    #[inline]
    pub fn is_in_run(&self) -> bool {
        self.run.load(Relaxed) != 0 // O7
    }

    /// Whether the worker is still in this run, and in none inside of it.
    #[inline]
    pub fn is_still(&self, run: u32) -> bool {
        self.run.load(Acquire) == run // O4
    }

    /// What the worker waits for. Own thread only.
    #[inline]
    pub fn wait(&self) -> Wait {
        Wait(self.waits_for.load(Relaxed)) // O7
    }

    /// Notes that the worker waits for what `runner` runs. Own thread only.
    pub fn wait_for(&self, runner: Runner) {
        let order = if broken(Step::TrailWaitRelease) { Relaxed } else { Release };
        self.waits_for.store(runner.to_bits(), order); // O3
    }

    /// Ends a wait; `outer` is what [`wait`](Trail::wait) returned before it. Own thread only.
    pub fn end_wait(&self, outer: Wait) {
        let order = if broken(Step::TrailEndWaitRelease) { Relaxed } else { Release };
        self.waits_for.store(outer.0, order); // O3
    }

    /// The runner that the worker waits for in this run, if it is still in it.
    pub fn next(&self, run: u32) -> Option<Runner> {
        let begun = self.begun.load(Acquire); // O8
        if !self.is_still(run) {
            return None;
        }
        let runner = Runner::from_bits(self.waits_for.load(Acquire))?; // O5
        // An inner run may have begun and ended meanwhile, and the wait may belong to it.
        let is_same = broken(Step::TrailNextCounts) || self.begun.load(Relaxed) == begun; // O7
        (is_same && (broken(Step::TrailNextLooksAgain) || self.is_still(run))).then_some(runner)
    }

    /// The runner that the worker waits for in the run that it is in.
    pub fn waits_now(&self) -> Option<Runner> {
        self.next(self.run.load(Relaxed)) // O7
    }

    /// Whether the worker has pushed nothing since a thief last called this: then it may sit in a
    /// long job. `pushes` is the number of jobs that it has pushed by now.
    pub fn is_stuck(&self, pushes: u64) -> bool {
        self.seen.swap(pushes, Relaxed) == pushes // O7
    }
}
