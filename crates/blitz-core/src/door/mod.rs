//! The public types and functions, on top of everything else. No other module uses this module.

pub(crate) mod analyze;
mod backend;
pub(crate) mod builder;
pub(crate) mod current;
pub(crate) mod diagnostics;
pub mod driver;
pub(crate) mod dump;
mod env;
pub(crate) mod explain;
pub(crate) mod exposition;
mod familiar;
pub(crate) mod families;
pub(crate) mod global;
pub(crate) mod handle;
mod holds;
#[cfg(feature = "inspect")]
pub(crate) mod inspect;
pub(crate) mod jobs;
pub(crate) mod join_map;
mod join_set;
mod local_set;
pub(crate) mod metrics;
pub(crate) mod pool;
pub(crate) mod region_metrics;
mod schedstat;
mod stalls;
pub(crate) mod task_builder;
pub(crate) mod task_info;
pub(crate) mod task_metrics;
mod task_refs;
pub(crate) mod tasks;
pub(crate) mod threads;
#[cfg(feature = "tokio-guest")]
mod tokio_guest;
pub(crate) mod trace;
pub(crate) mod type_metrics;
pub(crate) mod unfinished;
