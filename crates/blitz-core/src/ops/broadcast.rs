//! `broadcast`: runs the same closure once on every worker.

use super::detached::refuse;
use super::scope::Scope;
use super::scope_fifo::ScopeFifo;
use crate::base::context::Aside;
use crate::base::panic;
use crate::sched::hold::{Hold, job};
use crate::team::{AnyLatch, Owner, Team, current};
use crate::worker::{mark, need_worker, post, visit};
use blitz_parts::guests::Injected;
use blitz_parts::job::StackJob;
use blitz_parts::latch::{CountLatch, Latch};
use std::marker::PhantomData;
use std::sync::Arc;

/// Tells a broadcast closure about the worker that it runs on.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    workers: usize,
    /// Keeps the context on the worker's thread, and inside the call.
    stays_here: PhantomData<(&'a (), *mut ())>,
}

impl BroadcastContext<'_> {
    /// The context of worker `index` of `team`.
    fn new(team: &Team, index: usize) -> BroadcastContext<'_> {
        BroadcastContext { index, workers: team.num_workers(), stays_here: PhantomData }
    }

    /// The worker's index.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many workers the pool has.
    #[inline]
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.workers
    }
}

/// One count of the caller's latch. It lies in a job, and the latch outlives that job.
struct Share<'a>(&'a CountLatch<AnyLatch>);

impl Latch for Share<'_> {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live (obligation 1); the count latch is live until its last count.
        let latch = unsafe { (*this).0 };
        // SAFETY: each job gives up one count.
        unsafe { CountLatch::set(latch) };
    }
}

/// Runs `op` once on every worker of `team`, and returns the results. `hold` keeps the team at work
/// until every worker has run `op`.
pub(crate) fn broadcast_in<OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let _visit = visit();
    let latch = CountLatch::new(team.num_workers(), AnyLatch::for_current_thread());
    let op = &op;
    // Each share has a hold, and the caller has none while it waits: it may run other work on top
    // of its frame, and that work may drop the pool.
    let share = |index| {
        let hold = hold.as_ref().map(|hold| Hold::new(hold.team()));
        StackJob::new(Share(&latch), move |_: bool| {
            let _hold = hold;
            op(BroadcastContext::new(team, index))
        })
    };
    let jobs: Vec<_> = (0..team.num_workers()).map(share).collect();
    drop(hold);
    // A spare has no share: the worker that it replaces has a share.
    let has_share = |owner: &Owner<'_>| owner.is_in(team) && owner.index() < team.num_workers();
    let here = current().filter(has_share);
    let own = here.map(|owner| owner.index());
    for (job, worker) in
        jobs.iter().zip(team.first_workers()).filter(|(_, to)| Some(to.index()) != own)
    {
        // SAFETY: this frame, and with it the vector, stays until the latch is set; `OP` is `Sync`
        // and `R` is `Send`; each word is used for one run.
        post(worker, unsafe { job.as_work() });
    }
    if let Some(owner) = here {
        // No other worker can run the caller's share, so run it here, even if the stack has little
        // room.
        let _aside = Aside::begin();
        // SAFETY: as above.
        owner.execute(unsafe { jobs[owner.index()].as_work() });
    }
    latch.inner().wait_for_jobs_of(team, mark(), &Injected::new(false), || None);
    let (mut results, mut first) = (Vec::with_capacity(jobs.len()), None);
    // Take all results before a panic resumes, so that every result is dropped.
    for job in &jobs {
        // SAFETY: the latch is set, and each result is taken once.
        match unsafe { job.take_result() } {
            Ok(result) => results.push(result),
            Err(payload) if first.is_none() => first = Some(payload),
            // The drop of this payload may panic, which would end the process while this thread
            // unwinds.
            Err(payload) => panic::discard(payload),
        }
    }
    match first {
        None => results,
        Some(payload) => panic::resume_if_err(Err(payload)),
    }
}

/// Runs `op` once on every worker of `team`, at some later time. Without a hold, drops `op`.
pub(crate) fn spawn_broadcast_in<OP>(team: &Team, hold: Option<Hold>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    // Each job has its own hold. `_hold` keeps the team at work until all jobs are posted.
    let Some(_hold) = hold else { return refuse(team, op) };
    let op = Arc::new(op);
    for worker in team.first_workers() {
        let (op, team, index) = (op.clone(), team.arc(), worker.index());
        let hold = Hold::new(worker.team());
        post(worker, job(hold, move || op(BroadcastContext::new(&team, index))));
    }
    need_worker(team);
}

impl<'scope> Scope<'scope> {
    /// Spawns `body` once on every worker of the scope's pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let seen = AtomicUsize::new(0);
    /// blitz::scope(|s| s.spawn_broadcast(|_, _| { seen.fetch_add(1, Ordering::Relaxed); }));
    /// assert_eq!(seen.into_inner(), blitz::current_num_workers());
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.core().broadcast_in(self, move |scope, index| {
            body(scope, BroadcastContext::new(scope.core().team(), index));
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns `body` once on every worker of the scope's pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.core().broadcast_in(self, move |scope, index| {
            body(scope, BroadcastContext::new(scope.core().team(), index));
        });
    }
}
