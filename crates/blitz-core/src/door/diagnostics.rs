//! Reports the system features that a pool uses.

#![forbid(unsafe_code)]

use super::env::{WORKERS_VARIABLE, workers_from_env};
use crate::state::Scheduler;
use crate::state::default_workers;
use blitz_parts::{barrier, park};

/// The system features and variables that Blitz found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The primitive that blocks threads.
    pub futex: &'static str,
    /// Whether forks can keep jobs private until a worker is idle; otherwise every job is
    /// published.
    pub asymmetric_fence: bool,
    /// How many workers a pool gets by default, without `BLITZ_WORKERS`.
    pub workers_default: usize,
    /// The value of `BLITZ_WORKERS`, if it is set.
    pub workers_env: Option<String>,
    /// Why `BLITZ_WORKERS` cannot be used, if it is invalid.
    pub workers_env_error: Option<String>,
    /// The default scheduler of a pool, taking `BLITZ_SCHEDULER` into account if it can be used.
    pub scheduler: Scheduler,
    /// The value of `BLITZ_SCHEDULER`, if it is set.
    pub scheduler_env: Option<String>,
    /// Why `BLITZ_SCHEDULER` cannot be used, if it is invalid.
    pub scheduler_env_error: Option<String>,
}

/// Examines the system and the variables of Blitz.
///
/// ```
/// let found = blitz::diagnostics();
/// assert!(found.workers_default >= 1);
/// assert!(!found.futex.is_empty());
/// ```
#[must_use]
pub fn diagnostics() -> Diagnostics {
    let set =
        |variable: &str| std::env::var_os(variable).map(|text| text.to_string_lossy().into_owned());
    let scheduler = Scheduler::from_env();
    Diagnostics {
        futex: park::futex::backend_name(),
        asymmetric_fence: barrier::available(),
        workers_default: default_workers(),
        workers_env: set(WORKERS_VARIABLE),
        workers_env_error: workers_from_env().err().map(|error| error.to_string()),
        scheduler_env: set(Scheduler::VARIABLE),
        scheduler_env_error: scheduler.as_ref().err().map(ToString::to_string),
        scheduler: scheduler.unwrap_or_default(),
    }
}
