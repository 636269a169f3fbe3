//! `scope`: any number of jobs that may borrow from the frame that waits for them.

use super::install::in_worker_holding;
use crate::base::panic::{self, Payload};
use crate::sched::hold::Hold;
use crate::state::Joint;
use crate::team::{AnyLatch, Team, current};
use crate::worker::{inject, mark, need_worker, post, visit};
use blitz_parts::deque::Mark;
use blitz_parts::guests::Injected;
use blitz_parts::job::{Header, HeapJob, Work};
use blitz_parts::latch::{CountLatch, Latch};
use blitz_parts::prim::{Mutex, Step, broken};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

/// Runs `op` on a worker of `team`, with a scope whose jobs run there, and waits for them.
pub(crate) fn scope_in<'scope, OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_worker_holding(team, hold, |_, _| in_place(team, None, op))
}

/// Runs `op` here with a scope whose jobs run on `team`, and waits for them. `hold` keeps the team
/// at work until `op` has returned and all jobs have run.
pub(crate) fn in_place<'scope, OP, R>(team: &Team, hold: Option<Hold>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let _visit = visit();
    let scope = Scope { core: ScopeCore::new(team, hold) };
    scope.core.complete(|| op(&scope))
}

/// Spawns jobs that may borrow everything that outlives `'scope`.
pub struct Scope<'scope> {
    core: ScopeCore<'scope>,
}

impl<'scope> Scope<'scope> {
    /// Spawns a job into the scope. Any worker of the scope's pool may run it. The worker that
    /// spawned several jobs begins with the newest.
    ///
    /// ```
    /// let (send, receive) = std::sync::mpsc::channel();
    /// blitz::scope(|s| {
    ///     s.spawn(move |s| {
    ///         let send2 = send.clone();
    ///         s.spawn(move |_| send2.send(2).unwrap());
    ///         send.send(1).unwrap();
    ///     });
    /// });
    /// assert_eq!(receive.iter().sum::<i32>(), 3);
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.core.push(self.core.job_in(self, body));
    }

    pub(super) fn core(&self) -> &ScopeCore<'scope> {
        &self.core
    }
}

impl std::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.core.fmt("Scope", f)
    }
}

/// The end of a scope: its body has returned, and its jobs have run.
struct ScopeEnd {
    /// Keeps the team at work, if the scope's caller is outside it. The last count of the scope
    /// gives this up, before the caller's wait ends: the caller may run other work on top of its
    /// frame, and that work may drop the pool.
    hold: Cell<Option<Hold>>,
    latch: AnyLatch,
}

impl Latch for ScopeEnd {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is live until the inner latch is set (obligation 1), and only the last
        // count of the scope's latch gets here: no other thread uses the cell.
        drop(unsafe { &(*this).hold }.take());
        // SAFETY: as above.
        let latch = unsafe { &raw const (*this).latch };
        // SAFETY: the inner latch is live until it is set.
        unsafe { AnyLatch::set(latch) };
    }
}

/// The common part of both kinds of scope.
pub(super) struct ScopeCore<'scope> {
    team: Arc<Team>,
    /// The owner has one count, and every job has one.
    latch: CountLatch<ScopeEnd>,
    /// Jobs that the owner's worker has pushed since the scope began lie above this mark.
    mark: Mark<Header>,
    panic: Mutex<Option<Payload>>,
    /// Whether a job went through the injector. Then the owner also looks there.
    injected: Injected,
    /// Jobs may contain whatever lives at least as long as the scope, and `'scope` must not shrink.
    jobs: PhantomData<Box<dyn FnOnce(&'scope ()) + Send + Sync + 'scope>>,
}

impl<'scope> ScopeCore<'scope> {
    pub(super) fn new(team: &Team, hold: Option<Hold>) -> ScopeCore<'scope> {
        let end = ScopeEnd { hold: Cell::new(hold), latch: AnyLatch::for_current_thread() };
        ScopeCore {
            team: team.arc(),
            latch: CountLatch::new(1, end),
            mark: mark(),
            panic: Mutex::new(None),
            injected: Injected::new(false),
            jobs: PhantomData,
        }
    }

    pub(super) fn team(&self) -> &Team {
        &self.team
    }

    /// Runs the scope's body and waits for its jobs, even if the body panics.
    pub(super) fn complete<R>(&self, body: impl FnOnce() -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(body));
        // SAFETY: the owner's own count, given up once.
        unsafe { CountLatch::set(&raw const self.latch) };
        let joint = || Some(self.joint());
        self.latch.inner().latch.wait_for_jobs_of(&self.team, self.mark, &self.injected, joint);
        let first = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (result, first) {
            (Ok(value), None) => value,
            (Ok(_), Some(payload)) => panic::resume_if_err(Err(payload)),
            (Err(payload), first) => {
                // The drop of `first` may panic, which would end the process while this thread
                // unwinds.
                panic::discard(first);
                panic::resume_if_err(Err(payload))
            }
        }
    }

    /// The join point of the scope's jobs, for a worker that measures.
    pub(super) fn joint(&self) -> Joint {
        Joint::Scope((&raw const self.latch).addr())
    }

    /// Makes a job of this scope. The scope ends only after the job has run.
    pub(super) fn job(&self, body: impl FnOnce() + Send + 'scope) -> Work {
        self.latch.increment();
        let core = SendPtr(self);
        let run = move || {
            let core = core;
            ScopeCore::run(core.0, body);
        };
        // SAFETY: what the closure borrows outlives `'scope`, and the scope waits for its count;
        // `body` is `Send`; `run` catches panics.
        unsafe { HeapJob::into_work(run) }
    }

    /// Makes a job that gets `scope`, which contains this core.
    pub(super) fn job_in<S: Sync + 'scope>(
        &self,
        scope: &S,
        body: impl FnOnce(&S) + Send + 'scope,
    ) -> Work {
        let scope = SendPtr(scope);
        self.job(move || {
            // SAFETY: the scope waits for this job, so the scope is alive.
            body(unsafe { scope.get() });
        })
    }

    /// Posts a job to every worker. The job calls `body` with `scope`, which contains this core,
    /// and with the worker's index.
    pub(super) fn broadcast_in<S: Sync + 'scope>(
        &self,
        scope: &S,
        body: impl Fn(&S, usize) + Send + Sync + 'scope,
    ) {
        let body = Arc::new(body);
        for worker in self.team.first_workers() {
            let (body, index) = (body.clone(), worker.index());
            post(worker, self.job_in(scope, move |scope: &S| body(scope, index)));
        }
        // The caller may block in the scope's body until a job has run.
        need_worker(&self.team);
    }

    /// Runs `body`, keeps its panic, and gives up one count of the scope at `this`.
    fn run(this: *const ScopeCore<'scope>, body: impl FnOnce()) {
        // SAFETY: the count given up below keeps the scope alive until then.
        let core = unsafe { &*this };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
            let mut first = core.panic.lock().unwrap_or_else(PoisonError::into_inner);
            let surplus = if first.is_none() { first.replace(payload) } else { Some(payload) };
            drop(first);
            panic::discard(surplus);
        }
        let latch = &raw const core.latch;
        // SAFETY: this job has one of the counts and gives it up once.
        unsafe { CountLatch::set(latch) };
    }

    /// Puts a job of this scope where the team's workers find it.
    pub(super) fn push(&self, work: Work) {
        match current() {
            Some(owner) if owner.is_in(&self.team) => owner.jobs().push(work),
            Some(owner) if owner.stands_for(&self.team) => {
                owner.jobs().push_counted(work, Some(self.joint()));
            }
            _ => {
                // Once injected, the job may run and the scope may end: keep what is still needed.
                let team = self.team.clone();
                if !broken(Step::ScopeInjectedFirst) {
                    self.injected.set();
                }
                inject(&team, work);
            }
        }
    }

    pub(super) fn fmt(&self, name: &str, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(name)
            .field("workers", &self.team.num_workers())
            .field("unfinished_jobs", &self.latch.left())
            .finish_non_exhaustive()
    }
}

/// A pointer to a scope, on its way to the job that runs in it.
pub(super) struct SendPtr<T>(pub(super) *const T);

// SAFETY: scopes are shared between threads anyway (`Sync`); the pointer is a reference whose
// lifetime the scope's count guarantees instead of the borrow checker.
unsafe impl<T: Sync> Send for SendPtr<T> {}

// SAFETY: as above.
unsafe impl<T: Sync> Sync for SendPtr<T> {}

impl<T> Clone for SendPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SendPtr<T> {}

impl<T> SendPtr<T> {
    /// # Safety
    /// 1. The pointee is alive for `'a`.
    pub(super) unsafe fn get<'a>(self) -> &'a T {
        // SAFETY: obligation 1.
        unsafe { &*self.0 }
    }
}

// SAFETY: everything in it may be shared, with three exceptions. The pointer in `AnyLatch` to the
// owner's bed is only followed while the team that holds the bed is alive. The pointer in the mark
// is only compared, and only by the owner. Only the thread that gives up the last count uses the
// cell with the hold, and a hold may be dropped on any thread.
unsafe impl Sync for ScopeCore<'_> {}
// SAFETY: as above.
unsafe impl Send for ScopeCore<'_> {}
