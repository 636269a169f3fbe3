//! `block_on`: runs a future to completion on the current thread, which may be any thread.

use super::bell::{self, Bell};
use super::local;
use super::waits::listed;
use crate::base::{Id, context};
use crate::state::{Sleeper, WaitsFor};
use crate::team::{Entered, Owner, Team, current};
use crate::worker::{Help, Room, room, visit, wait_outside};
use blitz_parts::latch::{JobLatch, Latch};
use blitz_parts::park::parker::Parker;
use blitz_parts::prim::{Mutex, thread_local};
use blitz_parts::task::only_queues;
use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, RawWakerVTable, Waker};

/// Runs `future` to completion on the current thread: see [`block_on`](crate::block_on).
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    // Near the limit of the stack the current local set is not driven here: its tasks could fill
    // the stack, each waiting for the next.
    match local::current().filter(|_| room() >= Room::Needed) {
        Some(locals) => block_on_this_thread(local::run_until(locals, future)),
        None => block_on_this_thread(future),
    }
}

fn block_on_this_thread<F: Future>(future: F) -> F::Output {
    let future = pin!(future);
    let _visit = visit();
    match current() {
        Some(owner) => block_on_worker(owner, future),
        None => block_on_foreign_thread(future),
    }
}

/// Works like [`block_on`]. Tasks that the future spawns go to `team`.
pub(crate) fn block_on_in<F: Future>(team: &Team, future: F) -> F::Output {
    let _ambient = team.enter_ambient();
    let _entered = Entered::new(team.arc());
    let inside = current().is_some_and(|owner| owner.is_in(team));
    let _outside = if inside { None } else { wait_outside(team) };
    block_on(future)
}

/// Polls the future of `block_on` once. It is not a task, but has a task's budget.
fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    context::outside_of_tasks(|| future.poll(&mut Context::from_waker(waker)))
}

fn block_on_worker<F: Future>(owner: Owner<'_>, mut future: Pin<&mut F>) -> F::Output {
    let latch = JobLatch::new(owner.bed_ptr());
    let awaits = Awaits::default();
    let bell = Arc::new(WorkerBell { latch, awaits, team: owner.team().arc() });
    let waker = bell::waker(bell.clone());
    loop {
        bell.latch.reset();
        if let Poll::Ready(result) = poll(future.as_mut(), &waker) {
            return result;
        }
        if bell.latch.probe() {
            // The future yielded, or its event has already happened. Let other work of this pool go
            // first: the pool may have no other worker.
            owner.let_another_go_first(&bell.latch);
            continue;
        }
        // The future may wait for any task of this pool.
        listed(WaitsFor::Future(bell.clone()), || {
            owner.wait_until(&bell.latch, owner.jobs().mark(), Help::Anything);
        });
    }
}

/// Whether a wake with `waker` only queues a task or ends a wait of `block_on`. Such a wake runs no
/// user code and does not block. Any other waker may run any code.
///
/// ```
/// use std::task::Waker;
/// assert!(!blitz_core::driver::is_prompt(Waker::noop()));
/// ```
#[inline]
#[must_use]
pub fn is_prompt(waker: &Waker) -> bool {
    only_queues(waker) || bell::is_of(waker, [&WORKER_BELLS, &DOORBELLS])
}

static WORKER_BELLS: RawWakerVTable = bell::table_of::<WorkerBell>();
static DOORBELLS: RawWakerVTable = bell::table_of::<Doorbell>();

/// The task whose join handle has a waker of a `block_on`, for `explain`.
///
/// It is known from the poll that has left the waker, until any waker of this `block_on` is used up
/// or dropped. So if one waker exists besides that of the `block_on` itself, the handle has it.
#[derive(Default)]
struct Awaits(Mutex<Option<Id>>);

impl Awaits {
    fn set(&self, task: Option<Id>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = task;
    }

    fn get(&self) -> Option<Id> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that the join handle of `task` has just kept a clone of `waker`, and
/// has no other waker.
#[cold]
pub(super) fn note_awaited(waker: &Waker, task: Id) {
    let bell = bell::of::<WorkerBell>(waker).map(|bell| &bell.awaits);
    let bell = bell.or_else(|| bell::of::<Doorbell>(waker).map(|bell| &bell.awaits));
    if let Some(awaits) = bell {
        awaits.set(Some(task));
    }
}

/// Returns the address of the sleeper that `waker` wakes, if it is a waker of `block_on`.
pub(super) fn sleeper_of(waker: &Waker) -> Option<usize> {
    bell::is_of(waker, [&WORKER_BELLS, &DOORBELLS]).then(|| waker.data().addr())
}

impl Sleeper for WorkerBell {
    fn may_go_on(&self) -> bool {
        self.latch.probe()
    }

    fn awaits(&self) -> Option<Id> {
        self.awaits.get()
    }
}

impl Sleeper for Doorbell {
    fn may_go_on(&self) -> bool {
        !self.parker.is_parked()
    }

    fn awaits(&self) -> Option<Id> {
        self.awaits.get()
    }
}

/// Wakes a worker that waits in `block_on`.
struct WorkerBell {
    latch: JobLatch,
    awaits: Awaits,
    /// Holds the worker and the bed that the latch points to.
    #[expect(dead_code, reason = "keeps the worker and its bed alive")]
    team: Arc<Team>,
}

// SAFETY: the latch is made of atomics and a pointer to a bed, which the team beside it keeps
// alive.
unsafe impl Send for WorkerBell {}
// SAFETY: as above.
unsafe impl Sync for WorkerBell {}

impl Bell for WorkerBell {
    fn table() -> &'static RawWakerVTable {
        &WORKER_BELLS
    }

    fn ring(&self) {
        // SAFETY: the caller's count keeps the latch and its bed alive.
        unsafe { JobLatch::set(&raw const self.latch) };
    }

    fn lose_waker(&self) {
        self.awaits.set(None);
    }
}

thread_local! {
    /// This thread's parker, while no `block_on` uses it.
    static PARKER: RefCell<Option<(Arc<Doorbell>, Waker)>> = const { RefCell::new(None) };
}

/// Wakes a foreign thread that waits in `block_on`.
struct Doorbell {
    parker: Parker,
    awaits: Awaits,
}

impl Bell for Doorbell {
    fn table() -> &'static RawWakerVTable {
        &DOORBELLS
    }

    fn ring(&self) {
        self.parker.unpark();
    }

    fn lose_waker(&self) {
        self.awaits.set(None);
    }
}

fn block_on_foreign_thread<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    // A late wake-up for an earlier future causes one extra poll of this one, which futures allow.
    // The thread's locals may be gone already.
    let kept = PARKER.try_with(RefCell::take).ok().flatten();
    let (bell, waker) = kept.unwrap_or_else(|| {
        let bell = Arc::new(Doorbell { parker: Parker::new(), awaits: Awaits::default() });
        (bell.clone(), bell::waker(bell))
    });
    let result = loop {
        match poll(future.as_mut(), &waker) {
            Poll::Ready(result) => break result,
            Poll::Pending => listed(WaitsFor::Future(bell.clone()), || bell.parker.park()),
        }
    };
    let _ = PARKER.try_with(|parker| parker.replace(Some((bell, waker))));
    result
}
