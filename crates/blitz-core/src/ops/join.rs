//! `join`: two closures, potentially at once.
//!
//! `join` turns `b` into a job in its own frame, forks the job, and runs `a`. Then `join` usually
//! takes `b` back. If `b` was stolen, `join` waits for the thief. The frame must outlive both
//! closures, so a panic of `a` is held back until `b` is done.

use super::install::{alone, in_worker_holding};
use crate::base::panic::{self, Payload};
use crate::sched::hold::Hold;
use crate::team::{Owner, Team, current};
use crate::worker::help;
use blitz_parts::deque::Place;
use blitz_parts::job::{Armed, Header, StackJob};
use blitz_parts::prim::thread;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Tells a closure of [`join_context`](crate::join_context) where it runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Describes one thread, so it stays on that thread.
    stays_here: PhantomData<*mut ()>,
}

impl FnContext {
    pub(crate) fn new(migrated: bool) -> FnContext {
        FnContext { migrated, stays_here: PhantomData }
    }

    /// Whether a worker that looked for work took the closure, or took the whole call.
    ///
    /// A worker takes the whole call if the caller is not a worker of the pool: then both closures
    /// have migrated. A closure that has migrated usually runs on another thread than the one that
    /// called `join_context`. It runs on the same thread if the calling worker, in a wait for
    /// something else, took its own oldest fork.
    #[inline]
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures on workers of `team`. If the caller is not one of these workers, both
/// closures leave the caller's thread, even if one worker runs both.
pub(crate) fn join_in<A, B, RA, RB>(team: &Team, hold: Option<Hold>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker_holding(team, hold, |owner, left| join_moved(owner, left, a, b))
}

/// Runs both closures on workers of the current team. `left` says whether the closures have left
/// the caller's thread.
fn join_moved<A, B, RA, RB>(owner: Owner<'_>, left: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    alone(owner, || join_on(owner, left, a, |migrated| b(left || migrated)))
}

// Neither `inline(always)` nor `inline(never)`: the compiler knows the closures, and may inline a
// small caller into this function instead. Then the leaves of a recursion need no call at all.
// Forbidding inlining would put this function into another codegen unit, where looking up the
// worker is a call.
#[inline]
pub(crate) fn join_on<A, B, RA, RB>(owner: Owner<'_>, migrated: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA,
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(Armed, b);
    // SAFETY: every way out of this function takes the job back, or finds that it cannot and waits
    // for its latch; `B` and `RB` are `Send`; the word is used once.
    let work = unsafe { job.as_work() };
    // SAFETY: as above. Forks inside `a` are newer than this fork. Each of them was taken back, or
    // has run, by the time `a` returns or unwinds.
    let place = unsafe { owner.jobs().fork(work) };
    let or_finish = |ran: thread::Result<RA>| match ran {
        Ok(ra) => ra,
        Err(payload) => finish_after_panic(&job, place, payload),
    };
    let ra = if owner.jobs().is_fork_wanted() {
        or_finish(catch_unwind(AssertUnwindSafe(|| share_and_run(owner, migrated, a))))
    } else {
        or_finish(catch_unwind(AssertUnwindSafe(|| a(migrated))))
    };
    let rb = if owner.jobs().take_back(place) {
        // SAFETY: taken back.
        unsafe { job.run_inline() }
    } else {
        // Looks the worker up again instead of taking it as an argument: every frame would have to
        // save that argument, and saving registers is most of what a fork costs.
        finish(&job, place)
    };
    (ra, rb)
}

/// The current worker, on a thread that is known to be a worker.
#[inline(always)]
fn owner_again<'a>() -> Owner<'a> {
    match current() {
        Some(owner) => owner,
        None => unreachable!("a worker stays one until its job is done"),
    }
}

/// Offers forks to other workers, and runs `a`. It runs `a` itself instead of returning to the
/// common path: otherwise every frame would have to save the state of `a` across this call.
#[cold]
#[inline(never)]
fn share_and_run<RA>(owner: Owner<'_>, migrated: bool, a: impl FnOnce(bool) -> RA) -> RA {
    let strands = owner.strands();
    if let Some(strands) = strands {
        strands.fork();
    }
    owner.jobs().share();
    match strands {
        None => a(migrated),
        Some(strands) => strands.first_half(|| a(migrated)),
    }
}

/// Completes `b` when it may be public, or stolen.
#[cold]
#[inline(never)]
fn finish<B, RB>(job: &StackJob<Armed, B, RB>, place: Place<Header>) -> RB
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let owner = owner_again();
    if owner.jobs().take_back_public(job.header(), place) {
        let run = || {
            // SAFETY: taken back.
            unsafe { job.run_inline() }
        };
        return match owner.strands() {
            None => run(),
            Some(strands) => strands.second_half(run),
        };
    }
    // SAFETY: the job was found taken, so it was armed (JOB-5): by this worker, or by a thief for
    // which this worker has waited (the deque's O11). This frame owns the job.
    let latch = unsafe { Header::latch(job.header()) };
    if !latch.probe_for_a_moment() {
        // Thieves take the oldest job first, so no older job is left here. The newer jobs have run,
        // or lie below the mark if the stack had no room for them. Later jobs lie above the mark.
        owner.wait_until(latch, owner.jobs().mark(), help(owner.team(), None));
    }
    // SAFETY: the latch is set, and the result is taken once.
    panic::resume_if_err(unsafe { job.take_result() })
}

/// Completes `b` when `a` has panicked. The panic of `a` wins over one of `b`, which the panic hook
/// has reported.
#[cold]
#[inline(never)]
fn finish_after_panic<B, RB>(
    job: &StackJob<Armed, B, RB>,
    place: Place<Header>,
    payload: Payload,
) -> !
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let taken = owner_again().jobs().take_back(place);
    panic::discard(catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: taken back.
        if taken { unsafe { job.run_inline() } } else { finish(job, place) }
    })));
    resume_unwind(payload)
}
