//! The contestants: one file per pool, each with the smallest adapter that the workloads need.
//!
//! A workload is written once, generic over [`Rival`]. Pools that hand a context from job to job
//! (chili's `Scope`, Forte's `Worker`) receive it through [`Rival::Ctx`], so that no pool pays for
//! a thread-local lookup that its own users would not need. [`Floor`], the lowest possible cost of
//! a fork, has its memory as `Ctx`; for the others `Ctx` is `()`.

mod blitz;
mod chili;
mod condvar;
mod floor;
mod forte;
mod rayon;
mod seq;

pub use blitz::Blitz;
pub use chili::Chili;
pub use condvar::Condvar;
pub use floor::Floor;
pub use forte::Forte;
pub use rayon::Rayon;
pub use seq::{Seq, SeqRight};

use serde::{Deserialize, Serialize};

/// A pool that can be started.
pub trait Build: Sized {
    /// Starts a pool in which `workers` threads compute.
    ///
    /// For chili and Forte the calling thread is one of them, as it is for their users.
    ///
    /// # Errors
    ///
    /// Returns the pool's own message if it cannot be built.
    fn build(workers: usize) -> Result<Self, String>;
}

/// A pool that can fork and join.
pub trait Rival: Build + Sync {
    /// The context that a running job needs to fork.
    type Ctx<'c>;

    /// Runs `f` in the pool and waits for its result. Call it on a thread outside the pool.
    fn enter<T, F>(&self, f: F) -> T
    where
        T: Send,
        F: Work<Self, T>;

    /// Runs both closures: `a` at once on this thread, and `b` on another thread that takes it
    /// while `a` runs. If no thread takes `b`, this thread runs it after `a`. Only [`SeqRight`]
    /// runs `b` first.
    fn join<A, B, RA, RB>(ctx: &mut Self::Ctx<'_>, a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>;
}

/// A closure that a rival can run with any of its contexts.
pub trait Work<R: Rival, T>: for<'x, 'y> FnOnce(&'x mut R::Ctx<'y>) -> T + Send {}

impl<R, T, F> Work<R, T> for F
where
    R: Rival,
    F: for<'x, 'y> FnOnce(&'x mut R::Ctx<'y>) -> T + Send,
{
}

/// A pool with scopes, into which jobs are spawned.
pub trait Scoped: Rival {
    /// Spawns jobs that may borrow values that outlive `'s`.
    type Scope<'s>;

    /// Runs `f` and waits for the jobs in its scope. The caller is in the pool.
    fn scope<'s>(f: impl FnOnce(&Self::Scope<'s>) + Send);

    /// Spawns `job` into `scope`.
    fn spawn<'s>(scope: &Self::Scope<'s>, job: impl FnOnce(&Self::Scope<'s>) + Send + 's);
}

/// A pool that takes a job from outside and runs it on one of its threads, without a result.
pub trait Post: Build {
    /// Hands `job` over and returns at once.
    fn post(&self, job: impl FnOnce() + Send + 'static);
}

/// The name of a rival, as it appears in tables and on the command line of a contestant process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RivalKind {
    /// The pool of this repository.
    Blitz,
    /// The pool of this repository with its signal scheduler.
    #[serde(rename = "blitz-signal")]
    Signal,
    /// The pool of this repository without recorders.
    #[serde(rename = "blitz-unrecorded")]
    Unrecorded,
    /// The pool of this repository with a page that a scraper reads.
    #[serde(rename = "blitz-inspected")]
    Inspected,
    /// The sequential twin: the same source, every fork a plain call.
    Seq,
    /// A sequential twin that runs the second closure of each fork before the first.
    #[serde(rename = "seq-right")]
    SeqRight,
    /// `rayon`.
    Rayon,
    /// `rayon` on the drop-in core, compared with the parallel iterators of this repository.
    #[serde(rename = "rayon-on-blitz")]
    RayonOnBlitz,
    /// `orx-parallel`.
    #[serde(rename = "orx-parallel")]
    Orx,
    /// `paralight`.
    Paralight,
    /// `chili`.
    Chili,
    /// `forte`.
    Forte,
    /// A fork with only the steps that no fork can leave out.
    Floor,
    /// Two threads that each do half of the work, which is cut by hand. There is no fork.
    Halves,
    /// A queue behind a mutex and a condition variable, the baseline of the wake-up rows.
    Condvar,
    /// `tokio`, its multi-threaded runtime.
    Tokio,
    /// Tokio with its unstable metrics, which a scraper reads.
    #[serde(rename = "tokio-metrics")]
    TokioMetrics,
    /// Tokio with the layer of `console-subscriber`, to which no console is connected.
    #[serde(rename = "tokio-console")]
    TokioConsole,
    /// Tokio with the recorder of `dial9`.
    #[serde(rename = "tokio-dial9")]
    TokioDial9,
    /// `async-executor`, which smol uses.
    Smol,
    /// The pool of this repository; its tasks run jobs by `spawn_cpu`.
    #[serde(rename = "blitz-spawn-cpu")]
    SpawnCpu,
    /// Tokio; its tasks hand jobs to Rayon, which answers through a channel.
    #[serde(rename = "tokio+rayon")]
    TokioRayon,
    /// Tokio and Rayon as in `TokioRayon`; Tokio's workers have a shorter kernel slice.
    #[serde(rename = "tokio-slice+rayon")]
    TokioSlice,
    /// Tokio; its tasks run jobs inside `block_in_place`.
    #[serde(rename = "tokio-in-place")]
    TokioInPlace,
    /// Tokio; its tasks run jobs by `spawn_blocking`.
    #[serde(rename = "tokio-blocking")]
    TokioBlocking,
    /// smol; its tasks hand jobs to Rayon, which answers through a channel.
    #[serde(rename = "smol+rayon")]
    SmolRayon,
    /// A server without a runtime: the cost of the system calls, which is the floor of the echo
    /// rows.
    Bare,
    /// Not a runtime, but a fixed number. A goal compares a contestant's result with it.
    Limit,
    /// An older build of this repository's pool: see
    /// [`Case::beside_older`](crate::case::Case::beside_older).
    #[serde(rename = "blitz-before")]
    Before,
    /// The older build with the signal scheduler.
    #[serde(rename = "signal-before")]
    SignalBefore,
    /// The older build; its tasks run jobs by `spawn_cpu`.
    #[serde(rename = "spawn-cpu-before")]
    SpawnCpuBefore,
}

impl RivalKind {
    /// Every rival.
    pub const ALL: [Self; 31] = [
        Self::Blitz,
        Self::Signal,
        Self::Unrecorded,
        Self::Inspected,
        Self::Seq,
        Self::SeqRight,
        Self::Rayon,
        Self::RayonOnBlitz,
        Self::Orx,
        Self::Paralight,
        Self::Chili,
        Self::Forte,
        Self::Floor,
        Self::Halves,
        Self::Condvar,
        Self::Tokio,
        Self::TokioMetrics,
        Self::TokioConsole,
        Self::TokioDial9,
        Self::Smol,
        Self::SpawnCpu,
        Self::TokioRayon,
        Self::TokioSlice,
        Self::TokioInPlace,
        Self::TokioBlocking,
        Self::SmolRayon,
        Self::Bare,
        Self::Limit,
        Self::Before,
        Self::SignalBefore,
        Self::SpawnCpuBefore,
    ];

    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blitz => "blitz",
            Self::Signal => "blitz-signal",
            Self::Unrecorded => "blitz-unrecorded",
            Self::Inspected => "blitz-inspected",
            Self::Seq => "seq",
            Self::SeqRight => "seq-right",
            Self::Rayon => "rayon",
            Self::RayonOnBlitz => "rayon-on-blitz",
            Self::Orx => "orx-parallel",
            Self::Paralight => "paralight",
            Self::Chili => "chili",
            Self::Forte => "forte",
            Self::Floor => "floor",
            Self::Halves => "halves",
            Self::Condvar => "condvar",
            Self::Tokio => "tokio",
            Self::TokioMetrics => "tokio-metrics",
            Self::TokioConsole => "tokio-console",
            Self::TokioDial9 => "tokio-dial9",
            Self::Smol => "smol",
            Self::SpawnCpu => "blitz-spawn-cpu",
            Self::TokioRayon => "tokio+rayon",
            Self::TokioSlice => "tokio-slice+rayon",
            Self::TokioInPlace => "tokio-in-place",
            Self::TokioBlocking => "tokio-blocking",
            Self::SmolRayon => "smol+rayon",
            Self::Bare => "bare",
            Self::Limit => "limit",
            Self::Before => "blitz-before",
            Self::SignalBefore => "signal-before",
            Self::SpawnCpuBefore => "spawn-cpu-before",
        }
    }

    /// The older build of a pool of this repository.
    ///
    /// ```
    /// use blitz_bench::rival::RivalKind;
    /// assert_eq!(RivalKind::Signal.older(), Some(RivalKind::SignalBefore));
    /// assert_eq!(RivalKind::Tokio.older(), None);
    /// ```
    #[must_use]
    pub fn older(self) -> Option<Self> {
        match self {
            Self::Blitz => Some(Self::Before),
            Self::Signal => Some(Self::SignalBefore),
            Self::SpawnCpu => Some(Self::SpawnCpuBefore),
            _ => None,
        }
    }

    /// The pool of which this is an older build.
    #[must_use]
    pub fn newer(self) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.older() == Some(self))
    }

    /// Whether it is the pool of this repository as it is now, and not an older build of it.
    ///
    /// ```
    /// use blitz_bench::rival::RivalKind;
    /// assert!(RivalKind::Signal.is_ours() && !RivalKind::Tokio.is_ours());
    /// ```
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Blitz | Self::Signal | Self::SpawnCpu | Self::Unrecorded | Self::Inspected
        )
    }

    /// Whether it is not a rival but a yardstick: a floor, which no runtime can beat, or the
    /// sequential twin in the other order.
    ///
    /// ```
    /// use blitz_bench::rival::RivalKind;
    /// assert!(RivalKind::Halves.is_floor() && !RivalKind::Tokio.is_floor());
    /// ```
    #[must_use]
    pub fn is_floor(self) -> bool {
        matches!(self, Self::Floor | Self::Halves | Self::Bare | Self::SeqRight)
    }

    /// Whether it is Tokio with a tool that observes Tokio. Such a tool needs a compiler flag, so a
    /// program of another workspace runs Tokio and the tool.
    ///
    /// ```
    /// use blitz_bench::rival::RivalKind;
    /// assert!(RivalKind::TokioDial9.looks_into_tokio() && !RivalKind::Tokio.looks_into_tokio());
    /// ```
    #[must_use]
    pub fn looks_into_tokio(self) -> bool {
        matches!(self, Self::TokioMetrics | Self::TokioConsole | Self::TokioDial9)
    }

    /// The rival called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The version of this rival; `None` for a rival without a version of its own.
    #[must_use]
    pub fn version(self) -> Option<&'static str> {
        match self {
            Self::Blitz => Some(env!("BLITZ_BENCH_BLITZ")),
            Self::Rayon => Some(env!("BLITZ_BENCH_RAYON")),
            Self::Orx => Some(env!("BLITZ_BENCH_ORX")),
            Self::Paralight => Some(env!("BLITZ_BENCH_PARALIGHT")),
            Self::Chili => Some(env!("BLITZ_BENCH_CHILI")),
            Self::Forte => Some(env!("BLITZ_BENCH_FORTE")),
            Self::Tokio => Some(env!("BLITZ_BENCH_TOKIO")),
            Self::TokioMetrics => Some(env!("BLITZ_BENCH_TOKIO_UNSTABLE")),
            Self::TokioConsole => Some(env!("BLITZ_BENCH_CONSOLE")),
            Self::TokioDial9 => Some(env!("BLITZ_BENCH_DIAL9")),
            Self::Smol => Some(env!("BLITZ_BENCH_SMOL")),
            // These have the version of `Blitz`.
            Self::Signal | Self::Unrecorded | Self::Inspected => None,
            // These are code of this package, or no pool at all.
            Self::Seq | Self::SeqRight | Self::Condvar => None,
            Self::Floor | Self::Halves | Self::Bare | Self::Limit => None,
            // These use other rivals, which have versions.
            Self::RayonOnBlitz | Self::SpawnCpu | Self::TokioRayon | Self::TokioSlice => None,
            Self::TokioInPlace | Self::TokioBlocking | Self::SmolRayon => None,
            // Another program runs these, and knows its own version.
            Self::Before | Self::SignalBefore | Self::SpawnCpuBefore => None,
        }
    }

    /// A remark about this version of the rival for readers of the numbers.
    #[must_use]
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Self::Forte => Some("the newest release that does not need Rust 1.96"),
            Self::Tokio => Some("multi-threaded, with drivers where there is I/O"),
            Self::TokioMetrics => Some("tokio_unstable, with a histogram of poll times"),
            Self::TokioConsole => Some("the version of console-subscriber; no console connected"),
            Self::TokioDial9 => Some("the version of dial9; records into memory, without wakes"),
            Self::Smol => Some("async-executor and async-io, one thread per worker"),
            _ => None,
        }
    }
}

/// Evaluates `$body`, in which `$rival` names the type of a fork-join rival.
///
/// [`Rival`] is not dyn-compatible, so every workload is compiled for every rival, and the name on
/// the command line selects one.
macro_rules! with_rival {
    ($kind:expr, $rival:ident => $body:expr) => {{
        use $crate::rival::RivalKind;
        match $kind {
            RivalKind::Blitz => {
                type $rival = $crate::rival::Blitz;
                $body
            }
            RivalKind::Seq => {
                type $rival = $crate::rival::Seq;
                $body
            }
            RivalKind::SeqRight => {
                type $rival = $crate::rival::SeqRight;
                $body
            }
            RivalKind::Rayon => {
                type $rival = $crate::rival::Rayon;
                $body
            }
            RivalKind::Chili => {
                type $rival = $crate::rival::Chili;
                $body
            }
            RivalKind::Forte => {
                type $rival = $crate::rival::Forte;
                $body
            }
            RivalKind::Floor => {
                type $rival = $crate::rival::Floor;
                $body
            }
            kind => Err(format!("{} cannot fork and join", kind.name())),
        }
    }};
}
pub(crate) use with_rival;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in RivalKind::ALL {
            assert_eq!(RivalKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(RivalKind::from_name("threads"), None);
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        assert!(RivalKind::Rayon.version().unwrap().starts_with("1."));
        assert_eq!(RivalKind::Forte.version(), Some("1.0.0-alpha.4"));
        assert_eq!(RivalKind::Seq.version(), None);
        // The tools are compared with the Tokio of this workspace.
        assert_eq!(RivalKind::TokioMetrics.version(), RivalKind::Tokio.version());
    }
}
