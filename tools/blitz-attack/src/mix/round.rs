//! One round: builds the runtimes of a plan, lets the actors play, ends each runtime, and checks
//! the ledger.

use super::curtain;
use super::jobs::entered;
use super::run::{future, run};
use super::stage::{Ctx, Outcome, Stage, ticketed};
use crate::ledger::{Kind, Ledger};
use crate::os;
use crate::plan::settings::Settings;
use crate::plan::{Door, Finale, Plan, Step};
use crate::watch;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

/// How often a round checks whether everything has ended.
const LOOK: Duration = Duration::from_micros(200);

/// The result of a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    /// Workers that were started.
    pub workers: usize,
    /// Closures and futures that were handed to runtimes.
    pub tickets: usize,
}

/// Plays the round of `plan`.
///
/// # Errors
/// Returns all complaints of the round.
pub fn play(plan: &Plan, folder: &Path, threads: Option<usize>) -> Result<Score, Vec<String>> {
    let ledger = Ledger::new();
    watch::begin_round(describe(plan), ledger.clone());
    let stage = Stage::build(plan, ledger.clone(), folder.to_path_buf())
        .map_err(|error| vec![format!("a runtime could not be built: {error}")])?;
    let adopted = plan.runtimes.iter().any(Settings::is_adopted);
    if adopted {
        plan.actors.iter().flatten().for_each(|step| call(&stage, step));
    } else {
        std::thread::scope(|threads| {
            for steps in &plan.actors {
                threads.spawn(|| steps.iter().for_each(|step| call(&stage, step)));
            }
        });
    }
    if plan.finales.iter().any(|finale| finale.curtain.is_by_other()) {
        let _doing = watch::begin("detached work comes to its end", 0);
        while ledger.outstanding() > 0 {
            sleep(LOOK);
        }
    }
    let mut left = Vec::new();
    for (home, finale) in plan.finales.iter().enumerate() {
        let ctx = Ctx { stage: stage.clone(), home };
        left.extend(callers(&ctx, finale));
        leftovers(&ctx, finale);
        left.extend(curtain::fall(&ctx, finale.curtain, &plan.runtimes[home]));
    }
    let doing = watch::begin("the threads outside come to their end", 0);
    for thread in left {
        if thread.join().is_err() {
            ledger.complain("a thread outside of every pool panicked".into());
        }
    }
    drop(doing);
    close(&stage, &ledger, threads);
    let score = Score {
        workers: plan.runtimes.iter().map(|settings| settings.workers).sum(),
        tickets: ledger.written(),
    };
    let complaints = ledger.complaints();
    watch::end_round();
    if complaints.is_empty() { Ok(score) } else { Err(complaints) }
}

/// Describes the round for a report.
#[must_use]
pub fn describe(plan: &Plan) -> String {
    let mut text = format!("replay with: --seed {} --rounds 1\n", plan.seed);
    for (home, settings) in plan.runtimes.iter().enumerate() {
        let curtain = plan.finales[home].curtain;
        text += &format!("runtime {home}: {settings:?}, ends by {curtain:?}\n");
    }
    text
}

/// Waits until everything is dropped and every thread has ended, and compares the counts of panics.
fn close(stage: &Stage, ledger: &Ledger, threads: Option<usize>) {
    let doing = watch::begin("everything is dropped", 0);
    while ledger.outstanding() > 0 {
        sleep(LOOK);
    }
    drop(doing);
    let doing = watch::begin("the threads of the runtimes come to their end", 0);
    while let (Some(before), Some(now)) = (threads, os::threads()) {
        if now <= before {
            break;
        }
        sleep(LOOK);
    }
    drop(doing);
    for (home, arena) in stage.arenas.iter().enumerate() {
        let certain = arena.strays_certain.load(SeqCst);
        let most = arena.strays_most();
        let seen = arena.strays_seen.load(SeqCst);
        if seen < certain || seen > most {
            ledger.complain(format!(
                "the panic handler of runtime {home} was called {seen} times, not {certain} to {most}"
            ));
        }
    }
}

/// Makes one call from outside, and checks its result.
fn call(stage: &Arc<Stage>, step: &Step) {
    let ctx = Ctx { stage: stage.clone(), home: step.on };
    let _doing = watch::begin(step.door.name(), step.on);
    let outcome = enter(&ctx, step);
    if ctx.expect(&step.op, outcome).is_err() {
        ctx.complain("a call stopped, and no runtime was ending");
    }
}

fn enter(ctx: &Ctx, step: &Step) -> Outcome {
    let Some(runtime) = ctx.runtime() else { return ctx.stopped("a runtime is gone") };
    let (inside, op) = (ctx.clone(), step.op.clone());
    match step.door {
        Door::Install => runtime.pool().install(|| run(ctx, &step.op)),
        Door::BlockOn => runtime.block_on(future(inside, op)),
        Door::Enter => entered(ctx, &step.op),
        Door::Spawn => {
            let (task, _) = ticketed(ctx.ticket(Kind::Task), future(inside, op));
            ctx.settle(runtime.spawn(task).join())?
        }
        Door::Cpu => {
            let ticket = ctx.ticket(Kind::Job);
            let handle = runtime.spawn_cpu(move || inside.with_ticket(ticket, &op));
            ctx.settle(handle.join())?
        }
        Door::Blocking => {
            let ticket = ctx.ticket(Kind::Job);
            let handle = runtime.spawn_blocking(move || inside.with_ticket(ticket, &op));
            ctx.settle(handle.join())?
        }
    }
}

impl Door {
    fn name(self) -> &'static str {
        match self {
            Door::Install => "a call by install",
            Door::BlockOn => "a call by block_on",
            Door::Spawn => "a call by spawn",
            Door::Cpu => "a call by spawn_cpu",
            Door::Blocking => "a call by spawn_blocking",
            Door::Enter => "a call by enter",
        }
    }
}

/// Starts work that no caller waits for before the runtime ends.
fn leftovers(ctx: &Ctx, finale: &Finale) {
    for leftover in &finale.leftovers {
        let (inside, op) = (ctx.clone(), leftover.op.clone());
        if leftover.job {
            let ticket = ctx.ticket(Kind::Job);
            drop(ctx.handle().spawn_cpu(move || inside.with_ticket(ticket, &op)));
        } else {
            let stays = leftover.stays;
            let task = async move {
                let outcome = future(inside, op).await;
                if stays {
                    std::future::pending::<()>().await;
                }
                outcome
            };
            drop(ctx.handle().spawn(ticketed(ctx.ticket(Kind::Task), task).0));
        }
    }
}

/// Starts threads that call the runtime while it ends, and afterwards.
fn callers(ctx: &Ctx, finale: &Finale) -> Vec<JoinHandle<()>> {
    let calls = finale.calls;
    let caller = move |ctx: Ctx| {
        let _doing = watch::begin("a caller during the end", ctx.home);
        for number in 0..calls {
            late_call(&ctx, number);
            watch::progress();
        }
    };
    (0..finale.callers)
        .map(|_| {
            let ctx = ctx.clone();
            std::thread::spawn(move || caller(ctx))
        })
        .collect()
}

fn late_call(ctx: &Ctx, number: u16) {
    let task = || ticketed(ctx.ticket(Kind::Task).from_outside(), async { 7 }).0;
    let job = || {
        let ticket = ctx.ticket(Kind::Job);
        move || {
            ticket.begin();
            ticket.end();
            7
        }
    };
    let result = match number % 6 {
        0 => ctx.handle().spawn(task()).join(),
        1 => ctx.handle().spawn_cpu(job()).join(),
        2 => ctx.handle().spawn_blocking(job()).join(),
        3 => ctx.handle().block_on(async { blitz::spawn(task()).await }),
        4 => {
            let _guard = ctx.handle().enter();
            let job = job();
            blitz::spawn_detached(move || assert_eq!(job(), 7));
            return;
        }
        _ => {
            drop(ctx.handle().spawn(task()));
            return;
        }
    };
    if let Ok(value) = ctx.settle(result) {
        ctx.check(value == 7, "a late call brought another number");
    }
}
