//! Join sets.

use super::run::future;
use super::stage::{Ctx, Outcome, Stop, ticketed};
use crate::ledger::Kind;
use crate::plan::op::{Child, SetEnd};
use blitz::JoinSet;

/// Fills a set with the children, and empties it as `end` says.
pub async fn run(ctx: &Ctx, end: SetEnd, children: &[Child]) -> Outcome {
    let mut set = JoinSet::new();
    let aborts = matches!(end, SetEnd::Shutdown | SetEnd::Drop);
    for (index, child) in children.iter().enumerate() {
        let (inside, child) = (ctx.clone(), child.clone());
        // Excuse the work in any case: if this future is dropped, so is the set, and that aborts
        // its tasks and jobs.
        if index % 3 == 2 {
            let ticket = ctx.ticket(Kind::Job);
            ticket.stub().excuse();
            set.spawn_cpu(move || inside.with_ticket(ticket, &child));
        } else {
            let (task, stub) = ticketed(ctx.ticket(Kind::Task), future(inside, child));
            stub.excuse();
            set.spawn(task);
        }
    }
    ctx.check(set.len() == children.len(), "a join set has lost something");
    match end {
        SetEnd::JoinNext => {
            let mut sum = Ok(0);
            let mut count = 0;
            while let Some(result) = set.join_next().await {
                count += 1;
                let one = ctx.settle(result).and_then(|outcome| outcome);
                sum = sum.and_then(|sum| Ok(sum + one?));
            }
            ctx.check(count == children.len(), "a join set returned too few results");
            return sum;
        }
        SetEnd::JoinAll => {
            if ctx.is_ending() {
                // `join_all` would panic if a task is cancelled.
                return Err(Stop);
            }
            return collect(ctx, set).await;
        }
        SetEnd::Shutdown => set.shutdown().await,
        SetEnd::Detach => set.detach_all(),
        SetEnd::Drop => {}
    }
    ctx.check(aborts || set.is_empty(), "a join set keeps tasks that were detached");
    drop(set);
    Ok(0)
}

/// Calls `join_all`; a panic means that the runtime has ended.
async fn collect(ctx: &Ctx, set: JoinSet<Outcome>) -> Outcome {
    let mut all = Box::pin(set.join_all());
    let result = std::future::poll_fn(|cx| {
        let polled =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| all.as_mut().poll(cx)));
        match polled {
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Ok(std::task::Poll::Ready(values)) => std::task::Poll::Ready(Ok(values)),
            Err(payload) => std::task::Poll::Ready(Err(payload)),
        }
    });
    match result.await {
        Ok(values) => values.into_iter().sum(),
        Err(payload) => ctx.stopped(&format!("join_all: {}", super::stage::text_of(&*payload))),
    }
}
