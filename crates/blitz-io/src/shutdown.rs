//! Graceful shutdown: stop taking new work, let running work finish within a time limit, and report
//! what is left.
//!
//! ```text
//!  running ──start──▶ draining ──nothing is tracked any more──▶ clean
//!                        └────────────the deadline passes──────▶ expired: a report of what is left
//! ```

#![forbid(unsafe_code)]

use crate::borrowed::Notify;
use crate::time;
use slab::Slab;
use std::fmt::{self, Debug};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Coordinates the graceful shutdown of servers, connections and jobs.
///
/// All clones are the same coordinator. Accept loops, connections and jobs take part by
/// [`track`](Self::track). The servers of `blitz-hyper` track each of their connections, including
/// upgraded ones.
///
/// ```
/// use blitz::shutdown::Shutdown;
/// use std::time::Duration;
///
/// # blitz::block_on(async {
/// let shutdown = Shutdown::new();
/// let mut running = shutdown.track("the writer of the journal");
/// blitz::spawn(async move {
///     running.draining().await;
///     // … writes what it has, and is done when `running` is dropped.
/// });
///
/// let mut stuck = shutdown.track("a job that does not listen");
/// let report = shutdown.finish(Duration::from_millis(5)).await;
/// assert_eq!(report.left.len(), 1);
/// assert!(report.to_string().contains("does not listen"));
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Set once, under the lock of `tracked`: a task that registers a waker either sees it, or is
    /// woken.
    draining: OnceLock<()>,
    expired: OnceLock<()>,
    tracked: Mutex<Slab<Tracked>>,
    /// Notified when a stage begins and when nothing is tracked any more.
    news: Notify,
}

/// The description of running work, not formatted yet, and its start.
type Undescribed = (Arc<dyn Debug + Send + Sync>, Instant);

struct Tracked {
    /// Shared, so that it can be formatted without the lock.
    what: Arc<dyn Debug + Send + Sync>,
    since: Instant,
    /// The task to wake when draining begins.
    waker: Option<Waker>,
}

impl Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prints the number only: descriptions are user code, which must not run under the lock.
        let running = self.tracked().len();
        f.debug_struct("State")
            .field("draining", &self.draining.get().is_some())
            .field("expired", &self.expired.get().is_some())
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

impl Shutdown {
    /// Creates a coordinator.
    #[must_use]
    pub fn new() -> Shutdown {
        Shutdown::default()
    }

    /// Begins to drain: servers stop accepting and finish the requests that they have begun.
    ///
    /// Does nothing the second time.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let shutdown = blitz::shutdown::Shutdown::new();
    /// let seen = shutdown.clone();
    /// let task = blitz::spawn(async move { seen.draining().await });
    /// assert!(!shutdown.is_draining());
    /// shutdown.start();
    /// task.await.unwrap();
    /// assert!(shutdown.is_draining() && !shutdown.is_expired());
    /// # });
    /// ```
    pub fn start(&self) {
        let wakers: Vec<Waker> = {
            let mut tracked = self.state.tracked();
            if self.state.draining.set(()).is_err() {
                return;
            }
            tracked.iter_mut().filter_map(|(_, tracked)| tracked.waker.take()).collect()
        };
        let mut panic = None;
        for waker in wakers {
            // A waker is foreign code; if one panics, the others are still called.
            panic = catch_unwind(AssertUnwindSafe(|| waker.wake())).err().or(panic);
        }
        self.state.news.notify_waiters();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Whether [`start`](Self::start) was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.state.draining.get().is_some()
    }

    /// Waits until [`start`](Self::start) is called.
    pub async fn draining(&self) {
        self.state.until(|state| state.draining.get().is_some()).await;
    }

    /// Whether the time limit of [`finish`](Self::finish) has passed before all tracked work was
    /// over.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.state.expired.get().is_some()
    }

    /// Waits until the time limit of [`finish`](Self::finish) passes while tracked work is still
    /// running. That work should then stop at once.
    pub async fn expired(&self) {
        self.state.until(|state| state.expired.get().is_some()).await;
    }

    /// Counts work as running until the returned value and its [places](Running::place) are
    /// dropped. `what` describes the work in the [report](Report).
    pub fn track(&self, what: impl Debug + Send + Sync + 'static) -> Running {
        let tracked = Tracked { what: Arc::new(what), since: Instant::now(), waker: None };
        let key = self.state.tracked().insert(tracked);
        let place = Place { state: Arc::clone(&self.state), key };
        Running { place: Arc::new(place), registered: None }
    }

    /// Returns how many pieces of tracked work are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.state.tracked().len()
    }

    /// Returns what is running at this moment, the oldest first.
    #[must_use]
    pub fn report(&self) -> Report {
        Report::of(self.state.running())
    }

    /// Drains, waits for at most `patience`, and reports what is left.
    ///
    /// It calls [`start`](Self::start) and waits until nothing is running any more. When `patience`
    /// is over, servers drop the connections that are left, except upgraded ones. The handlers of
    /// upgraded connections own them, and may wait for [`expired`](Self::expired).
    pub async fn finish(&self, patience: Duration) -> Report {
        self.start();
        match time::timeout(patience, self.drained()).await {
            Ok(()) => Report::default(),
            Err(_) => {
                let running = self.state.running();
                let _ = self.state.expired.set(());
                self.state.news.notify_waiters();
                // Descriptions are user code, which may panic or block. So they are formatted after
                // the connections were notified.
                Report::of(running)
            }
        }
    }

    /// Waits until nothing is running, however long that takes.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let shutdown = blitz::shutdown::Shutdown::new();
    /// let running = shutdown.track("a request");
    /// assert_eq!(shutdown.running(), 1);
    /// blitz::spawn(async move { drop(running) });
    /// shutdown.drained().await;
    /// # });
    /// ```
    pub async fn drained(&self) {
        self.state.until(|state| state.tracked().is_empty()).await;
    }
}

impl State {
    fn tracked(&self) -> MutexGuard<'_, Slab<Tracked>> {
        // No user code runs under the lock.
        self.tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is running, the oldest first.
    fn running(&self) -> Vec<Undescribed> {
        let mut running: Vec<_> = {
            let tracked = self.tracked();
            tracked.iter().map(|(_, tracked)| (tracked.what.clone(), tracked.since)).collect()
        };
        running.sort_by_key(|(_, since)| *since);
        running
    }

    async fn until(&self, done: impl Fn(&State) -> bool) {
        loop {
            // From here on no notification is missed.
            let news = self.news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            if done(self) {
                return;
            }
            news.await;
        }
    }
}

/// Work that the shutdown waits for. The work counts as over when this value and its
/// [places](Running::place) are dropped.
///
/// See [`Shutdown::track`].
#[derive(Debug)]
#[must_use = "the work counts as over when this is dropped"]
pub struct Running {
    place: Arc<Place>,
    /// A clone of the waker that the coordinator has: comparing with it needs no lock.
    registered: Option<Waker>,
}

/// Keeps work tracked until its last owner is dropped: see [`Running::place`].
pub struct Place {
    state: Arc<State>,
    key: usize,
}

impl Running {
    /// Returns a value that keeps this work tracked after `self` is dropped.
    ///
    /// A connection that is handed over to another task needs it, for example.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let shutdown = blitz::shutdown::Shutdown::new();
    /// let running = shutdown.track("a connection");
    /// let upgraded = running.place();
    /// drop(running);
    /// assert_eq!(shutdown.running(), 1);
    /// drop(upgraded);
    /// assert_eq!(shutdown.running(), 0);
    /// # });
    /// ```
    #[must_use]
    pub fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place)
    }

    /// Waits until this work should finish.
    pub async fn draining(&mut self) {
        poll_fn(|cx| self.poll_draining(cx)).await;
    }

    /// Works like [`draining`](Self::draining), as a poll function. Repeated polls by the same task
    /// are nearly free.
    pub fn poll_draining(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Place { state, key } = &*self.place;
        if state.draining.get().is_some() {
            return Poll::Ready(());
        }
        if self.registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        // Cloning and dropping wakers is user code, so it happens without the lock.
        let (waker, registered) = (cx.waker().clone(), cx.waker().clone());
        let mut tracked = state.tracked();
        if state.draining.get().is_some() {
            return Poll::Ready(());
        }
        let before = tracked[*key].waker.replace(waker);
        drop(tracked);
        drop(before);
        self.registered = Some(registered);
        Poll::Pending
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The place's other holders need no wake-up, and must not keep the waker of this task.
        if self.registered.is_some() && Arc::strong_count(&self.place) > 1 {
            let old = self.place.state.tracked()[self.place.key].waker.take();
            drop(old);
        }
    }
}

impl Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (gone, empty) = {
            let mut tracked = self.state.tracked();
            let gone = tracked.remove(self.key);
            (gone, tracked.is_empty())
        };
        if empty {
            self.state.news.notify_waiters();
        }
        // The description and the waker are the user's values. Drop them without the lock, and
        // last, since that may panic.
        drop(gone);
    }
}

/// The tracked work that was left when the time was over; empty if all of it finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was still running, the oldest first.
    pub left: Vec<Left>,
}

/// Work that was still running.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// Its description: for a connection, its peer.
    pub what: String,
    /// When it began.
    pub since: Instant,
}

impl Report {
    /// Describes what is running. That calls user code.
    fn of(running: Vec<Undescribed>) -> Report {
        let describe = |(what, since)| Left { what: format!("{what:?}"), since };
        Report { left: running.into_iter().map(describe).collect() }
    }

    /// Whether nothing was left.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left.len() {
            0 => return write!(f, "nothing was left"),
            1 => write!(f, "1 was still running:")?,
            many => write!(f, "{many} were still running:")?,
        }
        for (number, left) in self.left.iter().enumerate() {
            let separator = if number == 0 { "" } else { ";" };
            write!(f, "{separator} {} for {:.1?}", left.what, left.since.elapsed())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blitz_core::{block_on, spawn};
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::task::Wake;

    /// Longer than any test may take: a wait for it would hang.
    const FOREVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn running_work_is_notified_once_and_waited_for() {
        block_on(async {
            let shutdown = Shutdown::new();
            let tasks: Vec<_> = (0..20)
                .map(|n| {
                    let mut running = shutdown.track(n);
                    spawn(async move {
                        running.draining().await;
                        // From now on `draining` is always ready.
                        running.draining().await;
                    })
                })
                .collect();
            assert_eq!(shutdown.running(), 20);
            assert!(!shutdown.is_draining());
            let report = shutdown.finish(FOREVER).await;
            assert_eq!(report, Report::default());
            assert_eq!(report.to_string(), "nothing was left");
            assert!(shutdown.is_draining() && !shutdown.is_expired());
            for task in tasks {
                task.await.unwrap();
            }
        });
    }

    #[test]
    fn work_that_is_tracked_late_is_notified_at_once() {
        block_on(async {
            let shutdown = Shutdown::new();
            shutdown.start();
            shutdown.start();
            shutdown.draining().await;
            shutdown.track("late").draining().await;
            shutdown.drained().await;
        });
    }

    #[test]
    fn what_is_left_is_named_the_oldest_first() {
        block_on(async {
            let shutdown = Shutdown::new();
            let gone = shutdown.track("gone");
            let _old = shutdown.track("old");
            drop(gone);
            // Takes the free place in the table, before the place of `_old`.
            let _young = shutdown.track("young");
            let watch = spawn({
                let shutdown = shutdown.clone();
                async move { shutdown.expired().await }
            });
            let report = shutdown.finish(Duration::ZERO).await;
            let names: Vec<&str> = report.left.iter().map(|left| left.what.as_str()).collect();
            assert_eq!(names, ["\"old\"", "\"young\""]);
            assert!(report.to_string().starts_with("2 were still running: \"old\" for "));
            assert!(!report.is_clean());
            watch.await.unwrap();
        });
    }

    #[test]
    fn a_description_that_panics_does_not_keep_others_from_being_notified() {
        struct Bomb;
        impl Debug for Bomb {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("on purpose")
            }
        }
        let shutdown = Shutdown::new();
        let _running = shutdown.track(Bomb);
        let finish = || block_on(shutdown.finish(Duration::ZERO));
        assert!(catch_unwind(AssertUnwindSafe(finish)).is_err());
        assert!(shutdown.is_expired(), "connections are told to end");
        block_on(shutdown.expired());
    }

    #[test]
    fn a_description_whose_drop_panics_does_not_keep_others_from_being_notified() {
        #[derive(Debug)]
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("on purpose")
            }
        }
        struct Woken(AtomicBool);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.store(true, SeqCst);
            }
        }
        let shutdown = Shutdown::new();
        let running = shutdown.track(Bomb);
        let mut drained = pin!(shutdown.drained());
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(woken.clone());
        assert!(drained.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(running))).is_err());
        assert!(woken.0.load(SeqCst), "the task that waits is woken");
        block_on(drained);
    }

    #[test]
    fn another_task_may_take_over_the_waiting() {
        block_on(async {
            let shutdown = Shutdown::new();
            let mut running = shutdown.track("moves");
            let mut cx = Context::from_waker(Waker::noop());
            assert!(running.poll_draining(&mut cx).is_pending());
            assert!(running.poll_draining(&mut cx).is_pending());
            let task = spawn(async move { running.draining().await });
            let report = shutdown.finish(FOREVER).await;
            assert!(report.is_clean());
            task.await.unwrap();
        });
    }
}
