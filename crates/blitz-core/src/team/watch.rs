//! Notifies the watch of a team when it is needed. `worker/watch` implements the watch.

#![forbid(unsafe_code)]

use super::Team;
use blitz_parts::prim::{Step, broken};
use blitz_parts::watch::Need;
use std::io;

impl Team {
    /// Notifies the watch of a task that a worker has just put into its LIFO slot, unannounced.
    #[inline]
    pub(crate) fn watch_slot(&self) {
        self.meet(self.watch.need());
    }

    /// Notifies the watch that a worker has just left the driver.
    pub(crate) fn watch_driver(&self) {
        self.meet(self.watch.need());
    }

    /// Notifies the watch of work that was just left to a worker that is busy, or will be. If that
    /// worker blocks, only a spare can help.
    #[inline]
    pub(crate) fn watch_left(&self) {
        if self.spares.max() > 0 && !broken(Step::WatchHearsOfWork) {
            self.meet(self.watch.need());
        }
    }

    /// Works like `watch_left`, for a caller that has passed a SeqCst fence since it left the work.
    #[inline]
    pub(crate) fn watch_left_after_fence(&self) {
        if self.spares.max() > 0 && !broken(Step::WatchHearsOfWork) {
            self.meet(self.watch.need_after_fence());
        }
    }

    /// Notifies the watch of work that was just put where all workers look, if all workers are
    /// busy: none was woken, and none searches.
    pub(crate) fn watch_work(&self) {
        if !self.sleep().is_any_looking() {
            self.watch_left();
        }
    }

    /// Notifies the watch that a worker begins to work, if stalls are reported to the user.
    pub(crate) fn watch_stalls(&self) {
        if self.reports_stalls {
            self.meet(self.watch.need());
        }
    }

    /// Works like `watch_stalls`, for a caller that has passed a SeqCst fence since it stopped
    /// looking.
    pub(crate) fn watch_stalls_after_fence(&self) {
        if self.reports_stalls {
            self.meet(self.watch.need_after_fence());
        }
    }

    #[inline]
    fn meet(&self, need: Need) {
        if need == Need::Wake {
            self.wake_watch();
        }
    }

    #[cold]
    fn wake_watch(&self) {
        self.watch.wake(|| match self.upward.get() {
            Some(upward) => (upward.start_watch)(self),
            None => Err(io::ErrorKind::Unsupported.into()),
        });
    }

    /// Makes every worker publish each fork and use ordinary fences, if the system has refused the
    /// heavy fence since the last call. A sleeper calls it between that fence and its last look.
    /// Several threads may call it at once. Each returns, and then looks, only after the change is
    /// complete.
    pub(crate) fn notice_refused_fence(&self) {
        self.asymmetric.notice_refusal(|| {
            self.publish_all();
            // The watch stays on for owners that do not know yet that the fence is refused.
            self.meet(self.watch.become_symmetric());
        });
    }
}
