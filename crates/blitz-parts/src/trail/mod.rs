//! Tracks which run a worker is in and what that run waits for. A thief that follows a trail takes
//! no job of a run that is over.
//!
//! # Who calls it
//! The trail's own worker: the methods of [`TrailOwner`]. Workers that wait for a job follow its
//! runner: [`Trail::is_still`] as the condition of a steal, [`Trail::next`] for the worker that the
//! runner itself waits for. Threads that explain what a pool does: [`Trail::waits_now`]. The worker
//! itself, the watch, and threads that ask what workers do: [`Trail::is_in_run`]. Thieves that are
//! about to make private jobs public: [`Trail::is_stuck`]. Callers: `blitz-core/team`,
//! `blitz-core/worker`, `blitz-core/door/explain`.
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
//!  follower of n:   run is n? ─▶ steal an item ─▶ run is still n? ─▶ exchange: item taken
//!                   read begun ─▶ run is n? ─▶ read waits_for
//!                   ─▶ begun is the same, run is still n? ─▶ follow it
//! ```
//!
//! # Invariants
//! - **TRAIL-1** A thief that steals from the worker's deque on condition that the worker [is
//!   still](Trail::is_still) in a run gets no job of a later run, nor of an inner run that has not
//!   ended.
//! - **TRAIL-2** [`Trail::next`] returns a runner that this run waits for, or has waited for. It
//!   never returns a runner that the worker waits for outside the run or in another run, not
//!   even in an inner run that is over.
//! - **TRAIL-3** A worker counts as stuck only if it has pushed nothing since a thief last asked.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `run` store in `begin`, after `waits_for := 0` | Release | O4 | TRAIL-2: a follower that sees the number does not see the outer wait |
//! | O2 | `waits_for` store in `end`, after that of `run` | Release | O5 | TRAIL-2: a follower that sees the outer wait again sees the end of the run |
//! | O3 | `waits_for` stores in `wait_for`, `end_wait` | Release | O5 | TRAIL-2: a follower that sees the wait of a later run also sees that the worker is in another run |
//! | O4 | `run` loads of followers | Acquire | O1 | as O1 |
//! | O5 | `waits_for` load of followers, before `run` is loaded again | Acquire | O2, O3 | as O2 and O3 |
//! | O6 | `run` store in `begin`, before the run pushes | any | the deque's `end` store and load (its O2, O5) | TRAIL-1: a thief that sees an item sees the number of the run that pushed it |
//! | O7 | the worker's own loads, `is_in_run`, the follower's second load of `begun`, `seen` | Relaxed | – | nothing depends on the order, or O5 comes before |
//! | O8 | `begun` store in `begin`, after that of `run`; first load of followers | Release, Acquire | each other | TRAIL-2: a follower whose `begun` counts an inner run also sees the number of that run in `run`, or sees its end |
//! | O9 | `run` store in `end` | Release | O4 | TRAIL-2: a follower that sees the outer run again does not see the inner run's wait |
//!
//! # What this does not do
//! A job that a run leaves in the deque at its end, because no caller waits for it, counts as a job
//! of the outer run. The follower's policy decides whether that matters. Numbers wrap around: a
//! follower that sleeps for four billion runs of one worker may mistake another run for the one
//! that it follows.
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
use core::marker::PhantomData;

/// Which run one worker is in, and what it waits for there. The worker writes it through
/// [`Trail::owner`]; all other threads use it directly.
#[derive(Debug, Default)]
pub struct Trail {
    run: AtomicU32,
    waits_for: AtomicU64,
    begun: AtomicU32,
    seen: AtomicU64,
}

/// The worker's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
///
/// ```compile_fail,E0277
/// # use blitz_parts::trail::Trail;
/// let trail = Trail::new();
/// // SAFETY: no other thread uses the trail.
/// let owner = unsafe { trail.owner() };
/// std::thread::scope(|scope| _ = scope.spawn(|| owner.wait()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TrailOwner<'a> {
    trail: &'a Trail,
    stays_here: PhantomData<*mut ()>,
}

/// The state of a trail before a run began. The worker passes it to [`TrailOwner::end`].
#[must_use = "a run that began has to end"]
#[derive(Debug)]
pub struct Outside {
    run: u32,
    wait: Wait,
}

/// The wait of a worker, or none. The worker passes it to [`TrailOwner::end_wait`].
#[derive(Clone, Copy, Debug)]
pub struct Wait(u64);

impl Trail {
    /// Creates the trail of a worker that is in no run.
    ///
    /// ```
    /// use blitz_parts::{latch::Runner, trail::Trail};
    /// let trail = Trail::new();
    /// // SAFETY: no other thread uses the trail.
    /// let owner = unsafe { trail.owner() };
    /// let (run, outside) = owner.begin();
    /// let runner = Runner { index: 3, run: 7 };
    /// let outer = owner.wait();
    /// owner.wait_for(runner);
    /// assert_eq!((trail.next(run), trail.waits_now()), (Some(runner), Some(runner)));
    /// owner.end_wait(outer);
    /// owner.end(outside);
    /// assert!(!trail.is_still(run) && trail.next(run).is_none());
    /// ```
    pub fn new() -> Trail {
        Trail::default()
    }

    /// The worker's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `TrailOwner`s of this trail. If another thread takes
    ///    over, some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> TrailOwner<'_> {
        TrailOwner { trail: self, stays_here: PhantomData }
    }

    /// Whether the worker is in a run; for other threads, at some recent moment.
    #[inline]
    pub fn is_in_run(&self) -> bool {
        self.run.load(Relaxed) != 0 // O7
    }

    /// Whether the worker is still in this run, and in none inside it.
    #[inline]
    pub fn is_still(&self, run: u32) -> bool {
        self.run.load(Acquire) == run // O4
    }

    /// The runner that the worker waits for in this run, if the worker is still in the run.
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

    /// Whether the worker has pushed nothing since a thief last called this: then the worker may be
    /// inside a long job. `pushes` is the number of jobs that the worker has pushed by now.
    pub fn is_stuck(&self, pushes: u64) -> bool {
        self.seen.swap(pushes, Relaxed) == pushes // O7
    }
}

impl TrailOwner<'_> {
    /// Begins a run; returns its number, which is not zero.
    #[inline]
    pub fn begin(self) -> (u32, Outside) {
        let trail = self.trail;
        let outside = Outside { run: trail.run.load(Relaxed), wait: self.wait() }; // O7
        // Zero means that there is no run.
        let run = trail.begun.load(Relaxed).wrapping_add(1).max(1); // O7
        if !broken(Step::TrailBeginClears) {
            trail.waits_for.store(0, Relaxed);
        }
        if outside.run == 0 || !broken(Step::TrailInnerNumber) {
            let order = if broken(Step::TrailBeginRelease) { Relaxed } else { Release };
            trail.run.store(run, order); // O1, O6
        }
        trail.begun.store(run, Release); // O8
        (run, outside)
    }

    /// The number of the innermost run, if there is one.
    pub fn run(self) -> Option<u32> {
        let run = self.trail.run.load(Relaxed); // O7
        (run != 0).then_some(run)
    }

    /// Ends the innermost run.
    #[inline]
    pub fn end(self, outside: Outside) {
        let trail = self.trail;
        trail.run.store(outside.run, Release); // O9
        let order = if broken(Step::TrailEndRelease) { Relaxed } else { Release };
        trail.waits_for.store(outside.wait.0, order); // O2
    }

    /// Returns the current wait of the worker.
    #[inline]
    pub fn wait(self) -> Wait {
        Wait(self.trail.waits_for.load(Relaxed)) // O7
    }

    /// Notes that the worker waits for the job that `runner` runs.
    pub fn wait_for(self, runner: Runner) {
        let order = if broken(Step::TrailWaitRelease) { Relaxed } else { Release };
        self.trail.waits_for.store(runner.to_bits(), order); // O3
    }

    /// Ends a wait; `outer` is what [`wait`](Self::wait) returned before it.
    pub fn end_wait(self, outer: Wait) {
        let order = if broken(Step::TrailEndWaitRelease) { Relaxed } else { Release };
        self.trail.waits_for.store(outer.0, order); // O3
    }
}
