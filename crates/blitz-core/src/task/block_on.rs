//! `block_on`: runs a future to completion on the current thread, which may be any thread.

#![forbid(unsafe_code)]

use super::bell;
use super::local;
use super::sleepers::{Doorbell, WorkerBell};
use super::waits::listed;
use crate::base::context;
use crate::state::WaitsFor;
use crate::team::{Entered, Owner, Team, current};
use crate::worker::{Help, Room, room, visit, wait_outside};
use blitz_parts::prim::thread_local;
use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

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
    let bell = Arc::new(WorkerBell::new(owner));
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

thread_local! {
    /// This thread's parker, while no `block_on` uses it.
    static PARKER: RefCell<Option<(Arc<Doorbell>, Waker)>> = const { RefCell::new(None) };
}

fn block_on_foreign_thread<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    // A late wake-up for an earlier future causes one extra poll of this one, which futures allow.
    // The thread's locals may be gone already.
    let kept = PARKER.try_with(RefCell::take).ok().flatten();
    let (bell, waker) = kept.unwrap_or_else(|| {
        let bell = Arc::new(Doorbell::new());
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
