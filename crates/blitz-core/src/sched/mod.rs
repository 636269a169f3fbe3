//! Tasks on the workers: where a runnable task waits, and which worker takes it from there.
//!
//! ```text
//!  woken or spawned on a worker ─▶ its LIFO slot ─evicts─▶ its ring ─overflows─▶ the queue
//!  woken during its own poll ───────────────────────────▶ its ring
//!  woken by what happened in the driver, but for the first ▶ its ring (as others if rings are not shared)
//!  woken or spawned elsewhere ─────────────────────────────────────────────────▶ the queue
//!
//!  a worker takes: batch buffer, LIFO slot (three in a row at most), ring; every `interval` polls, or
//!  when it has none of its own: a fair batch of the queue; else half of another's ring, which goes before
//!  own tasks if that worker is stuck
//! ```
//!
//! The sleep protocol is that of jobs: putting a task where other workers can take it wakes a
//! sleeper if none looks for work. A LIFO slot is its owner's: if the owner is stuck, `watch` moves
//! the task in it to the queue.
//!
//! `tasks` is common to both schedulers; `stealing` and `bitmap` are specific.

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
