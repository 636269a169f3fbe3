//! Fork and join.

use super::run::run;
use super::stage::{Ctx, Outcome, Stop};
use crate::ledger::Kind;
use crate::plan::op::{Child, ScopeKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;

/// Counts to `n`.
pub fn leaf(n: u32) -> Outcome {
    Ok((0..n).map(|_| std::hint::black_box(1u64)).sum())
}

/// Runs two children by `join`.
pub fn join(ctx: &Ctx, a: &Child, b: &Child) -> Outcome {
    let (left, right) = (ctx.ticket(Kind::Fork), ctx.ticket(Kind::Fork));
    let (a, b) = blitz::join(|| ctx.with_ticket(left, a), || ctx.with_ticket(right, b));
    Ok(a? + b?)
}

/// Forks a binary tree of `depth` levels.
pub fn tree(ctx: &Ctx, depth: u8) -> Outcome {
    fn grow(depth: u8) -> u64 {
        if depth == 0 {
            return 1;
        }
        let (a, b) = blitz::join(|| grow(depth - 1), || grow(depth - 1));
        a + b
    }
    let ticket = ctx.ticket(Kind::Fork);
    let (sum, ()) = blitz::join_context(
        |_| grow(depth),
        |context| {
            ticket.begin();
            std::hint::black_box(context.migrated());
            ticket.end();
        },
    );
    Ok(sum)
}

/// Adds up the results of a scope's jobs.
#[derive(Default)]
struct Sum {
    total: AtomicU64,
    stopped: AtomicBool,
}

impl Sum {
    fn add(&self, outcome: Outcome) {
        match outcome {
            Ok(value) => {
                self.total.fetch_add(value, SeqCst);
            }
            Err(Stop) => self.stopped.store(true, SeqCst),
        }
    }

    fn outcome(&self) -> Outcome {
        if self.stopped.load(SeqCst) { Err(Stop) } else { Ok(self.total.load(SeqCst)) }
    }
}

/// Runs the children as jobs of a scope. Unless the scope is FIFO, each job spawns the next one.
pub fn scope(ctx: &Ctx, kind: ScopeKind, children: &[Child]) -> Outcome {
    let sum = Sum::default();
    let sum = &sum;
    match kind {
        ScopeKind::Plain => blitz::scope(|s| spawn_chain(ctx, sum, children, s)),
        ScopeKind::InPlace => blitz::in_place_scope(|s| spawn_chain(ctx, sum, children, s)),
        ScopeKind::Fifo => blitz::scope_fifo(|s| spawn_row(ctx, sum, children, s)),
        ScopeKind::InPlaceFifo => blitz::in_place_scope_fifo(|s| spawn_row(ctx, sum, children, s)),
        ScopeKind::Broadcast => {
            let seen = AtomicU64::new(0);
            let seen = &seen;
            let mut workers = 0;
            blitz::scope(|s| {
                workers = blitz::current_num_workers() as u64;
                s.spawn_broadcast(move |_, _| {
                    seen.fetch_add(1, SeqCst);
                });
                spawn_chain(ctx, sum, children, s);
            });
            ctx.check(seen.load(SeqCst) == workers, "a broadcast of a scope missed a worker");
        }
    }
    sum.outcome()
}

fn spawn_chain<'s>(ctx: &'s Ctx, sum: &'s Sum, children: &'s [Child], s: &blitz::Scope<'s>) {
    let Some((first, rest)) = children.split_first() else { return };
    let ticket = ctx.ticket(Kind::Fork);
    s.spawn(move |s| {
        spawn_chain(ctx, sum, rest, s);
        sum.add(ctx.with_ticket(ticket, first));
    });
}

fn spawn_row<'s>(ctx: &'s Ctx, sum: &'s Sum, children: &'s [Child], s: &blitz::ScopeFifo<'s>) {
    for child in children {
        let ticket = ctx.ticket(Kind::Fork);
        s.spawn_fifo(move |_| sum.add(ctx.with_ticket(ticket, child)));
    }
}

/// Runs a closure on every worker; waits for the closures unless they are `spawned`.
pub fn broadcast(ctx: &Ctx, spawned: bool) -> Outcome {
    if spawned {
        let ticket = ctx.ticket(Kind::Thing);
        blitz::spawn_broadcast(move |_| ticket.touch());
        return Ok(0);
    }
    let ticket = ctx.ticket(Kind::Fork);
    let indices = blitz::broadcast(|context| {
        ticket.touch();
        (context.index(), context.num_workers())
    });
    ticket.end();
    let right = indices.iter().enumerate().all(|(index, (seen, _))| index == *seen);
    let all = indices.first().is_some_and(|(_, workers)| *workers == indices.len());
    ctx.check(right && all, "a broadcast has wrong indices");
    Ok(0)
}

/// Runs the child inside another pool.
pub fn install(ctx: &Ctx, on: usize, child: &Child) -> Outcome {
    let there = ctx.on(on);
    let Some(runtime) = there.runtime() else { return there.stopped("a runtime is gone") };
    let ticket = there.ticket(Kind::Fork);
    let workers = runtime.pool().num_workers();
    runtime.pool().install(|| {
        there.check(blitz::current_num_workers() == workers, "install led to another pool");
        there.with_ticket(ticket, child)
    })
}

/// Starts jobs without handles.
pub fn detached(ctx: &Ctx, fifo: bool, children: &[Child]) -> Outcome {
    for child in children {
        let (ticket, ctx, child) = (ctx.ticket(Kind::Job), ctx.clone(), child.clone());
        let job = move || {
            // No caller needs the value; the operations inside have checked their own values.
            let _ = ctx.with_ticket(ticket, &child);
        };
        if fifo { blitz::spawn_detached_fifo(job) } else { blitz::spawn_detached(job) }
    }
    Ok(0)
}

/// Lets other jobs go first.
pub fn yields(times: u8) -> Outcome {
    for turn in 0..times {
        if turn % 3 == 0 {
            blitz::yield_local()
        } else {
            blitz::yield_job()
        };
    }
    Ok(0)
}

/// Runs `op` on the current thread, which enters the runtime.
pub fn entered(ctx: &Ctx, op: &Child) -> Outcome {
    let _guard = ctx.handle().enter();
    run(ctx, op)
}

/// Runs `f` on a thread outside every pool, and does not wait for it.
pub fn outside(f: impl FnOnce() + Send + 'static) {
    static THREAD: std::sync::OnceLock<mpsc::Sender<Box<dyn FnOnce() + Send>>> =
        std::sync::OnceLock::new();
    let sender = THREAD.get_or_init(|| {
        let (send, receive) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        std::thread::spawn(move || receive.into_iter().for_each(|f| f()));
        send
    });
    // Sending cannot fail: the thread lives as long as the program.
    let _ = sender.send(Box::new(f));
}
