//! Contestants whose tasks serve sockets and start computations.
//!
//! Each is written as users of its runtime would write it.

use std::{
    future::{Future, ready},
    thread,
    time::Duration,
};

use blitz_contestant::os;
use tokio::sync::oneshot;

use super::{Blitz, Forte, Outside, Smol, Tokio, blitz::BlitzWith};
use crate::rival::{self, Build as _, Rival};

/// A computation that a task waits for.
pub trait Job: Copy + Send + Sync + 'static {
    /// Whether it forks. A computation that does not fork needs no pool.
    fn forks(self) -> bool;

    /// Runs in the pool of `R` and returns the same number each time.
    fn run<R: Rival>(self, ctx: &mut R::Ctx<'_>) -> u64;
}

/// A runtime, and how its tasks run jobs.
pub trait Hybrid: 'static {
    /// Serves sockets and timers.
    type Runtime: Outside + Sync;
    /// Runs jobs.
    type Jobs: Jobs;

    /// Builds the runtime, and the pool that runs the jobs. If the two do not share their threads,
    /// each has `workers` threads.
    ///
    /// # Errors
    ///
    /// Returns a message if the runtime or the pool cannot be built.
    fn build(workers: usize) -> Result<(Self::Runtime, Self::Jobs), String>;
}

/// How the tasks of a runtime run jobs.
pub trait Jobs: Copy + Send + Sync + 'static {
    /// Runs `job`, inside the first poll or while the task waits.
    fn run<J: Job>(self, job: J) -> impl Future<Output = Result<u64, String>> + Send;
}

/// Blitz with one of its schedulers. Tasks run jobs themselves.
#[derive(Debug, Clone, Copy)]
pub struct Inline<const SIGNAL: bool>;

impl<const SIGNAL: bool> Hybrid for Inline<SIGNAL> {
    type Runtime = BlitzWith<SIGNAL>;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Self::Runtime, Self), String> {
        Ok((BlitzWith::build_for_outside(workers)?, Self))
    }
}

impl<const SIGNAL: bool> Jobs for Inline<SIGNAL> {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        Ok(job.run::<rival::Blitz>(&mut ()))
    }
}

/// Blitz. Tasks run jobs by `spawn_cpu`.
#[derive(Debug, Clone, Copy)]
pub struct SpawnCpu;

impl Hybrid for SpawnCpu {
    type Runtime = Blitz;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Blitz, Self), String> {
        Ok((Blitz::build_for_outside(workers)?, Self))
    }
}

impl Jobs for SpawnCpu {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        let job = ::blitz::spawn_cpu(move || job.run::<rival::Blitz>(&mut ()));
        job.await.map_err(|error| error.to_string())
    }
}

/// A pool that is never shut down: a contestant is killed at the end.
type Pool = &'static rival::Rayon;

fn rayon(workers: usize) -> Result<Pool, String> {
    Ok(Box::leak(Box::new(rival::Rayon::build(workers)?)))
}

/// Jobs are handed over to Rayon, which answers through a channel.
#[derive(Debug, Clone, Copy)]
pub struct Bridge(Pool);

impl Jobs for Bridge {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        use rival::Post as _;
        let (sender, receiver) = oneshot::channel();
        self.0.post(move || {
            // This cannot fail: the task waits, since no task of a workload is aborted.
            let _ = sender.send(job.run::<rival::Rayon>(&mut ()));
        });
        receiver.await.map_err(|error| error.to_string())
    }
}

/// Tokio beside Rayon.
#[derive(Debug)]
pub struct TokioRayon;

impl Hybrid for TokioRayon {
    type Runtime = Tokio;
    type Jobs = Bridge;

    fn build(workers: usize) -> Result<(Tokio, Bridge), String> {
        Ok((Tokio::build_for_outside(workers)?, Bridge(rayon(workers)?)))
    }
}

/// Tokio beside Rayon. Tokio's workers have a short slice, so the kernel prefers them.
#[derive(Debug)]
pub struct TokioSlice;

impl Hybrid for TokioSlice {
    type Runtime = Tokio;
    type Jobs = Bridge;

    fn build(workers: usize) -> Result<(Tokio, Bridge), String> {
        let shorten = || os::shorten_slice(SLICE);
        // First check that the kernel grants the slice. A thread that ends asks for it, so that
        // this thread keeps its own slice.
        let tried = thread::spawn(shorten).join();
        let tried = tried.map_err(|_| "a thread panicked".to_owned())?;
        tried.map_err(|error| format!("the kernel grants no slice: {error}"))?;
        let runtime = Tokio::build_with(workers, move |builder| {
            // Ignore an error: the slice has just been granted to another thread.
            builder.on_thread_start(move || drop(shorten()))
        })?;
        Ok((runtime, Bridge(rayon(workers)?)))
    }
}

/// smol beside Rayon.
#[derive(Debug)]
pub struct SmolRayon;

impl Hybrid for SmolRayon {
    type Runtime = Smol;
    type Jobs = Bridge;

    fn build(workers: usize) -> Result<(Smol, Bridge), String> {
        Ok((Smol::build_for_outside(workers)?, Bridge(rayon(workers)?)))
    }
}

/// Tokio. Tasks run jobs inside `block_in_place`. If a job forks, Rayon runs it and the thread
/// waits.
#[derive(Debug, Clone, Copy)]
pub struct InPlace(Pool);

impl Hybrid for InPlace {
    type Runtime = Tokio;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Tokio, Self), String> {
        Ok((Tokio::build_for_outside(workers)?, Self(rayon(workers)?)))
    }
}

impl Jobs for InPlace {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        Ok(::tokio::task::block_in_place(|| blocking(self.0, job)))
    }
}

/// Tokio. Tasks run jobs by `spawn_blocking`. If a job forks, Rayon runs it and the thread waits.
#[derive(Debug, Clone, Copy)]
pub struct Blocking(Pool);

impl Hybrid for Blocking {
    type Runtime = Tokio;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Tokio, Self), String> {
        Ok((Tokio::build_for_outside(workers)?, Self(rayon(workers)?)))
    }
}

impl Jobs for Blocking {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        let job = ::tokio::task::spawn_blocking(move || blocking(self.0, job));
        job.await.map_err(|error| error.to_string())
    }
}

/// Runs `job` on a thread that may block.
fn blocking<J: Job>(pool: Pool, job: J) -> u64 {
    match job.forks() {
        true => pool.enter(|ctx| job.run::<rival::Rayon>(ctx)),
        false => job.run::<rival::Seq>(&mut ()),
    }
}

/// Tokio. Tasks run jobs themselves, and refuse jobs that fork.
#[derive(Debug, Clone, Copy)]
pub struct Direct;

impl Hybrid for Direct {
    type Runtime = Tokio;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Tokio, Self), String> {
        Ok((Tokio::build_for_outside(workers)?, Self))
    }
}

impl Jobs for Direct {
    fn run<J: Job>(self, job: J) -> impl Future<Output = Result<u64, String>> + Send {
        ready(match job.forks() {
            true => Err("Tokio alone has nothing to fork with".to_owned()),
            false => Ok(job.run::<rival::Seq>(&mut ())),
        })
    }
}

/// Forte with the sockets of `async-io`. Tasks run jobs themselves.
#[derive(Debug, Clone, Copy)]
pub struct ForteInline;

impl Hybrid for ForteInline {
    type Runtime = Forte;
    type Jobs = Self;

    fn build(workers: usize) -> Result<(Forte, Self), String> {
        Ok((Forte::build_for_outside(workers)?, Self))
    }
}

impl Jobs for ForteInline {
    async fn run<J: Job>(self, job: J) -> Result<u64, String> {
        let result = ::forte::Worker::map_current(|mut worker| job.run::<Forte>(&mut worker));
        result.ok_or_else(|| "a task runs on a thread that is no worker".to_owned())
    }
}

/// The slice of Tokio's workers.
///
/// A compromise: 0.3 ms is best beside jobs with short leaves, 0.1 ms beside jobs with long leaves.
/// Each of these two slices shortens the tail of latencies to a quarter.
const SLICE: Duration = Duration::from_micros(200);

/// Evaluates an expression with `$hybrid` standing for a type of [`Hybrid`].
macro_rules! with_hybrid {
    ($kind:expr, $hybrid:ident => $body:expr) => {{
        use $crate::{rival::RivalKind, runtime::hybrid};
        match $kind {
            RivalKind::Blitz => {
                type $hybrid = hybrid::Inline<false>;
                $body
            }
            RivalKind::Signal => {
                type $hybrid = hybrid::Inline<true>;
                $body
            }
            RivalKind::SpawnCpu => {
                type $hybrid = hybrid::SpawnCpu;
                $body
            }
            RivalKind::Tokio => {
                type $hybrid = hybrid::Direct;
                $body
            }
            RivalKind::TokioRayon => {
                type $hybrid = hybrid::TokioRayon;
                $body
            }
            RivalKind::TokioSlice => {
                type $hybrid = hybrid::TokioSlice;
                $body
            }
            RivalKind::TokioInPlace => {
                type $hybrid = hybrid::InPlace;
                $body
            }
            RivalKind::TokioBlocking => {
                type $hybrid = hybrid::Blocking;
                $body
            }
            RivalKind::SmolRayon => {
                type $hybrid = hybrid::SmolRayon;
                $body
            }
            RivalKind::Forte => {
                type $hybrid = hybrid::ForteInline;
                $body
            }
            kind => Err(format!("{} does not both serve and compute", kind.name())),
        }
    }};
}
pub(crate) use with_hybrid;
