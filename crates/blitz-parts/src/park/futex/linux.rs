//! futex(2), private to the process.

use crate::prim::AtomicU32;
use rustix::io::Errno;
use rustix::thread::{Timespec, futex};
use std::time::Duration;

pub(super) const NAME: &str = "linux futex";

pub(super) fn wait(word: &AtomicU32, expected: u32) {
    wait_for(word, expected, None);
}

pub(super) fn pause(word: &AtomicU32, expected: u32, time: Duration) {
    wait_for(word, expected, Timespec::try_from(time).ok());
}

fn wait_for(word: &AtomicU32, expected: u32, time: Option<Timespec>) {
    match futex::wait(word, futex::Flags::PRIVATE, expected, time.as_ref()) {
        // The word changed before the thread blocked, a signal came, or the time is over: the
        // caller's loop checks again.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
        Err(error) => unreachable!("futex wait on a live, aligned word failed: {error}"),
    }
}

pub(super) fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

pub(super) fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX as u32);
}

fn wake(word: &AtomicU32, most: u32) {
    if let Err(error) = futex::wake(word, futex::Flags::PRIVATE, most) {
        unreachable!("futex wake on a live, aligned word failed: {error}");
    }
}
