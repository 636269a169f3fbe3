//! Tasks on the workers: where a runnable task waits, and which worker takes it.
//!
//! ```text
//!  woken or spawned on a worker ─▶ its LIFO slot ─evicts─▶ its ring ─overflows─▶ the queue
//!  woken during its own poll ───────────────────────────▶ its ring
//!  woken by the driver, except the first ───────────────▶ its ring (slot if rings are not shared)
//!  woken or spawned elsewhere ─────────────────────────────────────────────────▶ the queue
//!
//!  a worker takes: batch buffer, LIFO slot (three in a row at most), ring; every `interval` polls, or
//!  when it has none of its own: a fair batch of the queue; else half of another's ring, which goes before
//!  own tasks if that worker is stuck
//! ```
//!
//! After about every 10 us of polls the queue goes first, too (see `state/tick`).
//!
//! Tasks use the sleep protocol of jobs: putting a task where other workers can take it wakes a
//! sleeper, unless a worker already searches. As long as tasks are polled, no worker takes from the
//! LIFO slot of another worker. If the owner is stuck, the watch moves the task in the slot to the
//! queue.
//!
//! Both schedulers use `tasks`; `stealing` and `bitmap` implement one scheduler each.

mod bitmap;
pub(crate) mod cancel;
pub(crate) mod end;
pub(crate) mod hold;
mod home;
mod own;
mod share;
mod stealing;
mod tasks;
mod trace;
pub(crate) mod work;

pub(crate) use home::Home;
pub(crate) use share::{inject, schedule_from_outside};
