//! The thread of the watch; see `blitz_parts::watch` for how it is turned on and off.

#![forbid(unsafe_code)]

use blitz_parts::prim::thread::Thread;
use blitz_parts::prim::thread_local;
use blitz_parts::prim::{Mutex, OnceLock};
use blitz_parts::watch::{Need, Next, Watch};
use std::cell::Cell;
use std::io;
use std::sync::PoisonError;

thread_local! {
    /// The watch that this thread serves, if it is a thread of one.
    static HERE: Cell<*const WatchThread> = const { Cell::new(std::ptr::null()) };
}

/// A team's watch. It has a thread once it was first needed.
pub(crate) struct WatchThread {
    /// Whether the thread looks at the workers.
    watch: Watch,
    thread: OnceLock<Thread>,
    starting: Mutex<()>,
}

impl WatchThread {
    /// `needed` says that a worker or a spare could take over from a stuck worker, or that stalls
    /// are reported.
    pub(crate) fn new(needed: bool, asymmetric: bool) -> WatchThread {
        WatchThread {
            watch: Watch::new(needed, asymmetric),
            thread: OnceLock::new(),
            starting: Mutex::new(()),
        }
    }

    /// Makes the current thread the watch from now on.
    pub(crate) fn begin_here(&self) {
        HERE.with(|here| here.set(self));
    }

    /// Whether the current thread is the watch.
    pub(crate) fn is_here(&self) -> bool {
        HERE.try_with(Cell::get).is_ok_and(|here| std::ptr::eq(here, self))
    }

    /// Requests the watch: a worker has just left something behind.
    #[inline]
    pub(crate) fn need(&self) -> Need {
        self.watch.need()
    }

    /// See [`Watch::need_after_fence`].
    #[inline]
    pub(crate) fn need_after_fence(&self) -> Need {
        self.watch.need_after_fence()
    }

    /// Notes that the system refuses the heavy fence: from now on owners use an ordinary one.
    pub(crate) fn become_symmetric(&self) -> Need {
        self.watch.become_symmetric()
    }

    /// Wakes the thread, or starts it by `start`.
    #[cold]
    pub(crate) fn wake(&self, start: impl FnOnce() -> io::Result<Thread>) {
        match self.thread.get() {
            Some(thread) => thread.unpark(),
            None => self.start(start),
        }
    }

    fn start(&self, start: impl FnOnce() -> io::Result<Thread>) {
        let _turn = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = self.thread.get() {
            // Another caller has started the thread, which sleeps again already.
            return thread.unpark();
        }
        let started = start().map(|thread| self.thread.set(thread));
        // If the start failed, tasks behind a stuck worker are not rescued until a later attempt
        // succeeds.
        self.watch.has_started(started.is_ok());
    }

    /// The next step of the thread.
    pub(crate) fn next(&self) -> Next {
        self.watch.next()
    }

    /// Turns the watch off, unless something is `in_use`. Returns whether it is off.
    pub(crate) fn rest(&self, in_use: impl FnOnce() -> bool) -> bool {
        self.watch.rest(in_use)
    }

    /// Stops the watch, because the team ends.
    pub(crate) fn stop(&self) {
        self.watch.stop();
        // Taking the lock waits for a start in progress. A thread that is started later sees the
        // flag first.
        let _turn = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.watch.is_on()
    }
}

#[cfg(test)]
mod tests {
    use super::WatchThread;
    use blitz_parts::prim::thread::{self, Thread};
    use blitz_parts::tuning::WATCH_MISSED;
    use blitz_parts::watch::Need;
    use std::cell::Cell;
    use std::io;

    fn meet(watch: &WatchThread, start: impl FnOnce() -> io::Result<Thread>) {
        if watch.need() == Need::Wake {
            watch.wake(start);
        }
    }

    #[test]
    fn a_watch_that_could_not_be_started_is_tried_again_now_and_then() {
        let watch = WatchThread::new(true, false);
        let attempts = Cell::new(0);
        let fail = || {
            attempts.set(attempts.get() + 1);
            Err(io::ErrorKind::WouldBlock.into())
        };
        meet(&watch, fail);
        assert!(attempts.get() == 1 && !watch.is_on());
        for _ in 0..3 * WATCH_MISSED {
            meet(&watch, fail);
        }
        assert_eq!(attempts.get(), 4, "one further attempt per `WATCH_MISSED` needs");
        assert!(!watch.is_on());
        for _ in 0..WATCH_MISSED {
            meet(&watch, || Ok(thread::current()));
        }
        assert!(watch.is_on());
        meet(&watch, || unreachable!("the watch is on"));
    }
}
