//! The ways in which a runtime of a round ends.

use super::stage::Ctx;
use crate::plan::Curtain;
use crate::plan::settings::Settings;
use crate::watch;
use blitz::Runtime;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Longer than any shutdown may take: the watchdog aborts the program earlier.
const PATIENT: Duration = Duration::from_secs(100_000);

/// Ends the runtime of `ctx`; returns a thread that may still be ending it.
pub fn fall(ctx: &Ctx, curtain: Curtain, settings: &Settings) -> Option<JoinHandle<()>> {
    let _doing = watch::begin(curtain.name(), ctx.home);
    ctx.stage.ledger.begin_end(ctx.home);
    let runtime = ctx.stage.take(ctx.home);
    // A drop that waits leaves nothing behind.
    let waits = !settings.detach_on_drop;
    match curtain {
        Curtain::Here => {
            drop(runtime);
            gone(ctx, waits);
        }
        Curtain::Thread => {
            let ctx = ctx.clone();
            return Some(std::thread::spawn(move || {
                drop(runtime);
                gone(&ctx, waits);
            }));
        }
        Curtain::Patient => {
            let ended = runtime.shutdown_within(PATIENT).is_ok();
            ctx.check(ended, "shutdown_within returned before the runtime had ended");
            // It waits even if a drop does not.
            gone(ctx, true);
        }
        Curtain::Impatient => {
            if runtime.shutdown_within(Duration::from_millis(1)).is_ok() {
                gone(ctx, true);
            }
        }
        Curtain::Background => runtime.shutdown_background(),
        Curtain::OwnTask => by_itself(runtime, |handle, end| {
            drop(handle.spawn(async move { end() }));
        }),
        Curtain::OwnJob => by_itself(runtime, |handle, end| drop(handle.spawn_cpu(end))),
        Curtain::OwnBlocking => by_itself(runtime, |handle, end| drop(handle.spawn_blocking(end))),
        Curtain::OtherWorker => {
            let next = ctx.on(ctx.home + 1).runtime();
            let runtime = std::sync::Mutex::new(Some(runtime));
            let next = next.expect("runtimes end in order");
            next.pool().install(|| drop(take(&runtime)));
            gone(ctx, waits);
        }
        Curtain::OtherTask => {
            let next = ctx.on(ctx.home + 1).runtime().expect("runtimes end in order");
            let ended = next.spawn(async move { drop(runtime) }).join();
            ctx.check(ended.is_ok(), "a task that drops a runtime failed");
            gone(ctx, waits);
        }
        Curtain::OtherEnd => {
            let next = ctx.on(ctx.home + 1).runtime().expect("runtimes end in order");
            drop(next.spawn(async move {
                std::future::pending::<()>().await;
                drop(runtime);
            }));
        }
    }
    None
}

fn take(runtime: &std::sync::Mutex<Option<Runtime>>) -> Option<Runtime> {
    runtime.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
}

fn gone(ctx: &Ctx, waits: bool) {
    if waits {
        ctx.stage.ledger.note_gone(ctx.home);
    }
}

type Ending = Box<dyn FnOnce() + Send>;

/// Lets the runtime's own work drop the runtime, and waits until the runtime is dropped.
fn by_itself(runtime: Runtime, start: impl FnOnce(blitz::Handle, Ending)) {
    let handle = runtime.handle();
    let (send, receive) = mpsc::channel();
    // The closure owns the runtime. So the runtime does not end before the closure runs or is
    // dropped.
    let runtime = Arc::new(std::sync::Mutex::new(Some(runtime)));
    let end = Box::new(move || {
        let runtime = take(&runtime);
        drop(runtime);
        // Fails only if `start` has panicked: otherwise the receiver waits below.
        let _ = send.send(());
    });
    start(handle, end);
    // Fails if the closure was dropped instead of called. That drop has dropped the runtime, too.
    let _ = receive.recv();
}

impl Curtain {
    fn name(self) -> &'static str {
        match self {
            Curtain::Here => "the end, by the thread that built it",
            Curtain::Thread => "the end, by a thread",
            Curtain::Patient => "the end, by shutdown_within",
            Curtain::Impatient => "the end, by a short shutdown_within",
            Curtain::Background => "the end, by shutdown_background",
            Curtain::OwnTask => "the end, by a task of its own",
            Curtain::OwnJob => "the end, by a job of its own",
            Curtain::OwnBlocking => "the end, by a blocking closure of its own",
            Curtain::OtherWorker => "the end, by a worker of another runtime",
            Curtain::OtherTask => "the end, by a task of another runtime",
            Curtain::OtherEnd => "the end, with another runtime",
        }
    }
}
