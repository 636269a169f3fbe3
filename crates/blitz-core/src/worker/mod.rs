//! The behaviour of a worker: it finds work, runs it, waits and sleeps.

mod adopted;
mod analysis;
mod driver;
mod ending;
mod find;
mod jobs;
mod latch;
mod mail;
mod outside;
mod relief;
mod run;
mod shutdown;
mod spare;
mod stack;
mod stall;
mod thread;
mod visit;
mod wait;
mod watch;

pub(crate) use adopted::{adopt, current_team, index_in, is_worker, with_worker};
pub(crate) use driver::tell_driver_of_end;
pub(crate) use find::{Found, Look, Wanted};
pub(crate) use latch::mark;
pub(crate) use mail::post;
pub(crate) use outside::{inject, push_or_inject};
pub(crate) use shutdown::{ends_within, give_up, is_own_thread, shut_down, wait_for_end};
pub(crate) use spare::{block_in_place, connect};
#[cfg(all(test, blitz_shuttle))]
pub(crate) use stack::with_room;
pub(crate) use stack::{Room, room};
pub(crate) use stall::{stalled, stalls};
pub(crate) use thread::{never_run, run_start_handler, run_worker};
pub(crate) use visit::{need_worker, visit, wait_outside};
pub(crate) use wait::{Help, help, help_outside};
