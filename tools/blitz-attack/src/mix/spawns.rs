//! Tasks and jobs with handles.

use super::jobs::outside;
use super::run::future;
use super::stage::{Ctx, Outcome, Running, Stop, ticketed};
use crate::ledger::{Kind, Stub};
use crate::plan::op::{Child, End, Spawn, SpawnKind, Wrap};
use blitz::time::{Duration, timeout};
use blitz::{JoinError, JoinHandle};

blitz::task_local!(static NUMBER: u64);

/// The length of a timeout that must not elapse.
const NEVER: Duration = Duration::from_secs(100_000);

/// Starts the work of `spawn`, and joins its handle.
pub fn join(ctx: &Ctx, spawn: &Spawn) -> Outcome {
    let Some((handle, check)) = start(ctx, spawn) else { return Ok(0) };
    check.done(handle.join())
}

/// Starts the work of `spawn`, and awaits its handle.
pub async fn wait(ctx: &Ctx, spawn: &Spawn) -> Outcome {
    let Some((handle, check)) = start(ctx, spawn) else { return Ok(0) };
    check.done(handle.await)
}

/// The expectations about spawned work.
struct Check {
    ctx: Ctx,
    stub: Stub,
    kind: Kind,
    end: End,
    child: Child,
}

impl Check {
    fn done(&self, result: Result<Outcome, JoinError>) -> Outcome {
        let cancelled = result.as_ref().is_err_and(JoinError::is_cancelled);
        if !result.as_ref().is_err_and(JoinError::is_panic) {
            self.stub.check_handle(self.kind, cancelled);
        }
        if self.end == End::Wait {
            return self.ctx.expect(&self.child, self.ctx.settle(result)?);
        }
        match result {
            Ok(outcome) => drop(self.ctx.expect(&self.child, outcome)),
            Err(error) if error.is_cancelled() => {}
            Err(error) => self.ctx.complain(format!("aborted work panicked: {error}")),
        }
        Ok(0)
    }
}

/// Starts the work of `spawn`. Returns no handle if the plan drops the handle.
fn start(ctx: &Ctx, spawn: &Spawn) -> Option<(JoinHandle<Outcome>, Check)> {
    let there = spawn.on.map_or_else(|| ctx.clone(), |on| ctx.on(on));
    let is_task = matches!(spawn.how, SpawnKind::Task | SpawnKind::TryTask);
    let kind = if is_task { Kind::Task } else { Kind::Job };
    let mut ticket = there.ticket(kind);
    if spawn.on.is_some() {
        ticket = ticket.from_outside();
    }
    let stub = ticket.stub();
    if matches!(spawn.end, End::Abort | End::AbortOutside) {
        stub.excuse();
    }
    let child = spawn.child.clone();
    let handle = if is_task {
        let (task, _) = ticketed(ticket, body(there.clone(), spawn.wrap, child.clone()));
        match (spawn.how, spawn.on) {
            (SpawnKind::TryTask, _) => match there.handle().try_spawn(task) {
                Ok(handle) => handle,
                Err(full) => there.handle().spawn(full.into_future()),
            },
            (_, Some(_)) => there.handle().spawn(task),
            (_, None) => blitz::spawn(task),
        }
    } else {
        let (inside, child) = (there.clone(), child.clone());
        let job = move || inside.with_ticket(ticket, &child);
        match (spawn.how, spawn.on) {
            (SpawnKind::Cpu, None) => blitz::spawn_cpu(job),
            (SpawnKind::Cpu, Some(_)) => there.handle().spawn_cpu(job),
            (_, None) => blitz::spawn_blocking(job),
            (_, Some(_)) => there.handle().spawn_blocking(job),
        }
    };
    match spawn.end {
        End::Drop => return None,
        End::Wait => {}
        End::Abort => handle.abort(),
        End::AbortOutside => {
            let abort = handle.abort_handle();
            outside(move || abort.abort());
        }
    }
    Some((handle, Check { ctx: there, stub, kind, end: spawn.end, child }))
}

/// The future of a task: checks the task's own id and values.
fn body(ctx: Ctx, wrap: Wrap, child: Child) -> Running {
    Box::pin(async move {
        let id = blitz::task::try_id();
        ctx.check(id.is_some(), "a task has no id");
        ctx.check(NUMBER.try_get().is_err(), "a task inherits a value of another one");
        let inner = future(ctx.clone(), child);
        let outcome = match wrap {
            Wrap::Bare => inner.await,
            Wrap::Shield => blitz::task::shield(inner).await,
            Wrap::Unconstrained => blitz::task::unconstrained(inner).await,
            Wrap::Timeout => match timeout(NEVER, inner).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    ctx.complain("a timeout of a day elapsed");
                    Err(Stop)
                }
            },
            Wrap::Local => {
                let number = ctx.stage.ledger.written() as u64;
                let there = ctx.clone();
                let inside = async move {
                    let outcome = inner.await;
                    there.check(NUMBER.try_get() == Ok(number), "a task lost its own value");
                    outcome
                };
                NUMBER.scope(number, inside).await
            }
        };
        ctx.check(blitz::task::try_id() == id, "a task's id has changed");
        outcome
    })
}
