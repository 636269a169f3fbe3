//! What a team and its workers remember. Each type here knows itself alone: none knows the team.

mod adoption;
mod backoff;
mod bitmap;
mod blocking;
mod choice;
mod config;
mod counters;
mod fifo;
mod histogram;
mod owner_only;
mod plugging;
mod queue;
mod sections;
mod spares;
mod tasks;
mod tick;
mod watch;

pub(crate) use adoption::Adoption;
pub(crate) use backoff::Backoff;
pub(crate) use bitmap::{BitmapMarks, BitmapTotals, OwnBitmap};
pub(crate) use blocking::Blocking;
pub use choice::Scheduler;
pub use config::WaitPolicy;
pub(crate) use config::{Config, SlowPoll, default_workers};
pub(crate) use counters::{AGAIN, CANCELLED, COMPLETED, TaskCounters, WorkerCounters};
pub(crate) use fifo::Fifo;
pub use histogram::Histogram;
pub(crate) use owner_only::OwnerOnly;
pub(crate) use plugging::Plugging;
pub(crate) use queue::{TaskQueue, settle};
pub(crate) use sections::Sections;
pub(crate) use spares::{Called, Duty, Rest, Spares};
pub(crate) use tasks::{OwnTasks, TaskQueues};
pub(crate) use tick::Turn;
pub(crate) use watch::WatchThread;
