//! The protocols of Blitz: every atomic word that synchronises threads, one folder per protocol.
//!
//! This crate is an implementation detail of `blitz-rt`; nothing here is stable.

pub mod alarm;
pub mod barrier;
pub mod bitmap;
#[cfg(all(test, blitz_loom))]
mod compose;
pub mod counter;
pub mod cycles;
pub mod deque;
pub mod guests;
pub mod inject;
pub mod job;
pub mod latch;
pub mod life;
pub mod lifo;
pub mod mail;
pub mod panic;
pub mod park;
pub mod prim;
pub mod queue;
pub mod readiness;
pub mod recorder;
pub mod ring;
pub mod rng;
pub mod seats;
pub mod sleep;
pub mod slots;
pub mod stack;
pub mod stock;
pub mod task;
pub mod thread;
pub mod ticks;
pub mod trail;
pub mod trim;
pub mod tuning;
pub mod watch;
pub mod wheel;
