//! Local sets, on the thread that calls the operation.

use super::run::future;
use super::stage::{Ctx, Outcome, Stop, ticketed};
use crate::ledger::Kind;
use crate::plan::op::Child;
use blitz::LocalSet;
use std::cell::Cell;
use std::rc::Rc;

/// Runs the children as tasks of one thread, beside `left` tasks that are dropped with the set.
pub fn run(ctx: &Ctx, children: &[Child], left: u8) -> Outcome {
    let set = LocalSet::new();
    let here = std::thread::current().id();
    let total = Rc::new(Cell::new(Ok(0u64)));
    for _ in 0..left {
        let (task, _) = ticketed(ctx.ticket(Kind::Thing), std::future::pending::<()>());
        drop(set.spawn_local(task));
    }
    let outcome = set.block_on(ctx.handle().clone(), async {
        let tasks: Vec<_> = children
            .iter()
            .map(|child| {
                let (inside, child, total) = (ctx.clone(), child.clone(), total.clone());
                let local = async move {
                    let outcome = future(inside.clone(), child).await;
                    let same = std::thread::current().id() == here;
                    inside.check(same, "a local task changed threads");
                    total.set(total.get().and_then(|sum| Ok(sum + outcome?)));
                };
                blitz::spawn_local(ticketed(ctx.ticket(Kind::Thing), local).0)
            })
            .collect();
        for task in tasks {
            if let Err(error) = task.await {
                return ctx.stopped(&format!("a local task: {error}"));
            }
        }
        Ok(0)
    });
    outcome.and_then(|_: u64| total.get()).map_err(|Stop| Stop)
}
