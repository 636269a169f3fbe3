//! Wakers that are not the runtime's own, and futures that misuse their waker.

use super::jobs::outside;
use super::stage::{Ctx, Outcome, ticketed};
use crate::ledger::{Kind, Ticket};
use crate::plan::Planned;
use crate::plan::op::WakerKind;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// Awaits a future that is woken as `kind` says.
pub async fn run(ctx: &Ctx, kind: WakerKind) -> Outcome {
    match kind {
        WakerKind::Foreign => foreign().await,
        WakerKind::Storm => storm().await,
        _ => through(ctx, kind).await?,
    }
    Ok(1)
}

/// A waker that passes a wake-up on. Most kinds also do something else.
struct Passing {
    inner: Waker,
    kind: WakerKind,
    ctx: Ctx,
    _ticket: Ticket,
}

impl Wake for Passing {
    fn wake(self: Arc<Self>) {
        self.inner.wake_by_ref();
        match self.kind {
            WakerKind::PanicsInWake if !std::thread::panicking() => {
                // The panic is caught where the waker is called: on a worker, or where the task is
                // cancelled.
                self.ctx.expect_stray(false);
                panic_any(Planned);
            }
            WakerKind::Spawns => {
                let (task, stub) = ticketed(self.ctx.ticket(Kind::Task), async {});
                stub.excuse();
                drop(self.ctx.handle().spawn(task));
            }
            _ => {}
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if self.kind == WakerKind::PanicsInDrop && !std::thread::panicking() {
            self.ctx.expect_stray(false);
            panic_any(Planned);
        }
    }
}

/// Polls the handle of a task with a custom waker.
async fn through(ctx: &Ctx, kind: WakerKind) -> Result<(), super::stage::Stop> {
    let (task, _) = ticketed(ctx.ticket(Kind::Task), async {
        for _ in 0..3 {
            blitz::task::yield_now().await;
        }
        7
    });
    let mut handle = blitz::spawn(task);
    let result = poll_fn(|cx| {
        let inner = cx.waker().clone();
        let passing = Passing { inner, kind, ctx: ctx.clone(), _ticket: ctx.ticket(Kind::Thing) };
        let waker = Waker::from(Arc::new(passing));
        // This poll drops the waker of the previous poll. If that drop panics, the panic reaches
        // this code. The drop of `waker` below may panic, too, if it drops the last reference.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            std::pin::Pin::new(&mut handle).poll(&mut Context::from_waker(&waker))
        }));
        drop(catch_unwind(AssertUnwindSafe(|| drop(waker))));
        polled.unwrap_or_else(|_| {
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    })
    .await;
    drop(catch_unwind(AssertUnwindSafe(|| drop(handle))));
    ctx.check(ctx.settle(result)? == 7, "a task returned another number");
    Ok(())
}

/// Waits until a thread outside every pool calls the waker, twice in a row.
async fn foreign() {
    let rung = Arc::new(AtomicBool::new(false));
    let mut asked = false;
    poll_fn(|cx| {
        if rung.load(SeqCst) {
            return Poll::Ready(());
        }
        if !asked {
            asked = true;
            let (waker, rung) = (cx.waker().clone(), rung.clone());
            outside(move || {
                rung.store(true, SeqCst);
                waker.wake_by_ref();
                waker.wake();
            });
        }
        Poll::Pending
    })
    .await;
}

/// Wakes itself many times in its own poll, and once more after its end.
async fn storm() {
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        for _ in 0..50 {
            cx.waker().wake_by_ref();
        }
        if polls < 4 {
            return Poll::Pending;
        }
        let late = cx.waker().clone();
        outside(move || late.wake());
        Poll::Ready(())
    })
    .await;
}
