//! Panics in every kind of closure and future: each arrives where the documentation says, and other
//! work runs to its end.

use super::stage::{Ctx, Outcome, Stop, text_of, ticketed};
use crate::ledger::Kind;
use crate::plan::Planned;
use crate::plan::op::PanicPlace;
use blitz::JoinError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Panics in `place`.
pub fn run(ctx: &Ctx, place: PanicPlace) -> Outcome {
    match place {
        PanicPlace::JoinLeft
        | PanicPlace::JoinRight
        | PanicPlace::JoinBoth
        | PanicPlace::ScopeJob
        | PanicPlace::ScopeBody
        | PanicPlace::Install
        | PanicPlace::Broadcast
        | PanicPlace::BlockOn => {
            let caught = catch_unwind(AssertUnwindSafe(|| call(ctx, place)));
            match caught {
                Ok(true) => return ctx.stopped("a runtime is gone"),
                Ok(false) => ctx.complain(format!("{place:?}: the panic got lost")),
                Err(payload) => check(ctx, place, &*payload),
            }
        }
        PanicPlace::Cpu => {
            let ticket = ctx.ticket(Kind::Thing);
            expect_panic(ctx, place, blitz::spawn_cpu(move || explode(ticket)).join())?;
        }
        PanicPlace::Blocking => {
            let ticket = ctx.ticket(Kind::Thing);
            expect_panic(ctx, place, blitz::spawn_blocking(move || explode(ticket)).join())?;
        }
        PanicPlace::Task => {
            let (task, _) = ticketed(ctx.ticket(Kind::Thing), explodes());
            expect_panic(ctx, place, blitz::spawn(task).join())?;
        }
        PanicPlace::LocalTask => {
            let set = blitz::LocalSet::new();
            let (task, _) = ticketed(ctx.ticket(Kind::Thing), explodes());
            let result =
                set.block_on(ctx.handle().clone(), async { blitz::spawn_local(task).await });
            expect_panic(ctx, place, result)?;
        }
        PanicPlace::DetachedTask => {
            ctx.expect_stray(false);
            let (task, _) = ticketed(ctx.ticket(Kind::Thing), explodes());
            drop(blitz::spawn(task));
        }
        PanicPlace::DetachedJob => {
            ctx.expect_stray(!ctx.is_ending());
            let ticket = ctx.ticket(Kind::Thing);
            blitz::spawn_detached(move || explode(ticket));
        }
        PanicPlace::FutureDrop => {
            let bomb = Bomb { _ticket: ctx.ticket(Kind::Thing) };
            let handle = blitz::spawn(bomb);
            handle.abort();
            match handle.join() {
                Ok(()) => ctx.complain("a future that is never ready became ready"),
                Err(error) if error.is_cancelled() => {
                    ctx.complain("a future panicked in its drop, but its task counts as cancelled");
                }
                Err(error) => check(ctx, place, &*error.into_panic()),
            }
        }
        PanicPlace::ResultDrop => {
            ctx.expect_stray(false);
            let bomb = Bomb { _ticket: ctx.ticket(Kind::Thing) };
            let handle = blitz::spawn(async move { (bomb,) });
            // If the task has ended already, its result explodes here.
            drop(catch_unwind(AssertUnwindSafe(|| drop(handle))));
        }
    }
    Ok(1)
}

/// Makes the call that `place` names, which panics.
///
/// Returns true if the runtime is gone instead, and false if the panic got lost.
fn call(ctx: &Ctx, place: PanicPlace) -> bool {
    let ticket = ctx.ticket(Kind::Fork);
    let beside = move || {
        ticket.begin();
        ticket.end();
    };
    match place {
        PanicPlace::JoinLeft => {
            blitz::join(bang, beside);
        }
        PanicPlace::JoinRight => {
            blitz::join(beside, bang);
        }
        PanicPlace::JoinBoth => {
            beside();
            blitz::join(bang, bang);
        }
        PanicPlace::ScopeJob => blitz::scope(|s| {
            s.spawn(|_| panic_any(Planned));
            s.spawn(move |_| beside());
        }),
        PanicPlace::ScopeBody => blitz::in_place_scope(|s| {
            s.spawn(move |_| beside());
            panic_any(Planned)
        }),
        PanicPlace::Install => {
            beside();
            match ctx.runtime() {
                Some(runtime) => runtime.pool().install(|| panic_any(Planned)),
                None => return true,
            }
        }
        PanicPlace::Broadcast => {
            beside();
            let last = blitz::current_num_workers() - 1;
            drop(blitz::broadcast(|context| {
                if context.index() == last {
                    panic_any(Planned);
                }
            }));
        }
        _ => {
            beside();
            blitz::block_on(async {
                blitz::task::yield_now().await;
                panic_any(Planned)
            })
        }
    }
    false
}

fn bang() {
    panic_any(Planned)
}

async fn explodes() {
    bang();
}

fn explode(ticket: crate::ledger::Ticket) {
    ticket.begin();
    panic_any(Planned)
}

fn expect_panic(ctx: &Ctx, place: PanicPlace, result: Result<(), JoinError>) -> Result<(), Stop> {
    match result {
        Ok(()) => ctx.complain(format!("{place:?}: the panic got lost")),
        Err(error) if error.is_cancelled() => {
            return ctx.stopped("work that was to panic was cancelled");
        }
        Err(error) => check(ctx, place, &*error.into_panic()),
    }
    Ok(())
}

fn check(ctx: &Ctx, place: PanicPlace, payload: &(dyn Any + Send)) {
    if !payload.is::<Planned>() {
        ctx.complain(format!("{place:?}: another panic arrived: {}", text_of(payload)));
    }
}

/// Panics when it is dropped; as a future it is never ready.
struct Bomb {
    _ticket: crate::ledger::Ticket,
}

impl Future for Bomb {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any(Planned);
        }
    }
}
