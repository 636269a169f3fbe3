//! Runs an operation, as a plain call or as a future.

use super::stage::{Ctx, Outcome, Running};
use super::{io, jobs, locals, meet, panics, sets, spawns, timers, wakers};
use crate::plan::op::{Child, Op};

/// Runs `op` on the current thread.
pub fn run(ctx: &Ctx, op: &Child) -> Outcome {
    if op.awaits() {
        // This thread runs the children of `All` itself, joins spawned work, and blocks on any
        // other operation that awaits.
        return match &**op {
            Op::All(children) => children.iter().map(|child| run(ctx, child)).sum(),
            Op::Spawn(spawn) => {
                let _doing = ctx.doing(op);
                ctx.expect(op, spawns::join(ctx, spawn))
            }
            _ => blitz::block_on(future(ctx.clone(), op.clone())),
        };
    }
    let _doing = ctx.doing(op);
    let outcome = match &**op {
        Op::Leaf(n) => jobs::leaf(*n),
        Op::Join(a, b) => jobs::join(ctx, a, b),
        Op::Tree(depth) => jobs::tree(ctx, *depth),
        Op::Scope(kind, children) => jobs::scope(ctx, *kind, children),
        Op::Broadcast { spawned } => jobs::broadcast(ctx, *spawned),
        Op::Install(on, child) => jobs::install(ctx, *on, child),
        Op::Detached { fifo, jobs } => jobs::detached(ctx, *fifo, jobs),
        Op::BlockOn(child) => blitz::block_on(future(ctx.clone(), child.clone())),
        Op::YieldJobs(times) => jobs::yields(*times),
        Op::Locals { tasks, left } => locals::run(ctx, tasks, *left),
        Op::Panic(place) => panics::run(ctx, *place),
        _ => unreachable!("the others await"),
    };
    ctx.expect(op, outcome)
}

/// Runs `op` as a future.
pub fn future(ctx: Ctx, op: Child) -> Running {
    Box::pin(async move {
        if !op.awaits() {
            return run(&ctx, &op);
        }
        let _doing = ctx.doing(&op);
        let outcome = match &*op {
            Op::All(children) => {
                let mut sum = Ok(0);
                for child in children {
                    let one = future(ctx.clone(), child.clone()).await;
                    sum = sum.and_then(|sum| Ok(sum + one?));
                }
                sum
            }
            Op::Spawn(spawn) => spawns::wait(&ctx, spawn).await,
            Op::Set(end, children) => sets::run(&ctx, *end, children).await,
            Op::YieldTasks(times) => timers::yields(*times).await,
            Op::Timer(kind, millis) => timers::run(&ctx, *kind, *millis).await,
            Op::Meet(kind, count) => meet::run(&ctx, *kind, *count).await,
            Op::Io(kind, bytes) => io::run(&ctx, *kind, usize::from(*bytes)).await,
            Op::Waker(kind) => wakers::run(&ctx, *kind).await,
            _ => unreachable!("the others do not await"),
        };
        ctx.expect(&op, outcome)
    })
}
