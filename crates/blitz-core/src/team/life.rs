//! How long a team works: the counts of its reasons to go on.

#![forbid(unsafe_code)]

use super::Team;
use blitz_parts::prim::{AcqRel, Acquire, AtomicUsize, Relaxed};

impl Team {
    /// Adds a reason to go on.
    pub(crate) fn hold(&self) {
        self.alive.fetch_add(1, Relaxed);
    }

    /// Adds a reason to go on, unless there was none and the workers are leaving.
    pub(crate) fn hold_while_at_work(&self) -> bool {
        add_unless_zero(&self.alive)
    }

    /// Whether the handle is gone.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Acquire)
    }

    /// Adds a reason to poll tasks, unless they are being cancelled.
    pub(crate) fn try_hold_tasks(&self) -> bool {
        add_unless_zero(&self.task_holds)
    }

    /// Gives up a reason to poll tasks. Returns whether it was the last.
    pub(crate) fn release_tasks(&self) -> bool {
        self.task_holds.fetch_sub(1, AcqRel) == 1
    }

    /// Whether tasks are cancelled instead of polled.
    #[inline]
    pub(crate) fn tasks_end(&self) -> bool {
        self.task_holds.load(Acquire) == 0
    }

    /// Gives up a reason to go on. The last one stops the workers. Returns whether it was the last.
    pub(crate) fn release(&self) -> bool {
        let was_last = self.alive.fetch_sub(1, AcqRel) == 1;
        if was_last {
            self.sleep().stop();
            self.watch.stop();
            self.blocking.stop();
            // A worker that leaves may spawn a job, and bring the count up and down again.
            if !self.stopped.swap(true, AcqRel) {
                self.count_out();
            }
        }
        was_last
    }
}

/// Adds one, unless there is none; returns whether there was.
fn add_unless_zero(count: &AtomicUsize) -> bool {
    let mut seen = count.load(Relaxed);
    while seen > 0 {
        match count.compare_exchange(seen, seen + 1, AcqRel, Relaxed) {
            Ok(_) => return true,
            Err(now) => seen = now,
        }
    }
    false
}
