//! futex(2), private to the process.

use crate::prim::AtomicU32;
use rustix::io::Errno;
use rustix::thread::futex;

pub(super) const NAME: &str = "linux futex";

pub(super) fn wait(word: &AtomicU32, expected: u32) {
    match futex::wait(word, futex::Flags::PRIVATE, expected, None) {
        // The word changed before the thread blocked, or a signal came: the caller's loop checks
        // again.
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
        Err(error) => unreachable!("futex wait on a live, aligned word failed: {error}"),
    }
}

pub(super) fn wake_one(word: &AtomicU32) {
    if let Err(error) = futex::wake(word, futex::Flags::PRIVATE, 1) {
        unreachable!("futex wake on a live, aligned word failed: {error}");
    }
}
