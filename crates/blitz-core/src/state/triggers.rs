//! What makes a pool write its timeline to a file: who asks, and which thread is told.
//!
//! Any thread asks. The thread that writes takes what was asked for. A trigger stays asked for
//! until that thread lets go of it, so threads that ask again meanwhile do not wake it.

#![forbid(unsafe_code)]

use blitz_parts::prim::thread::Thread;
use blitz_parts::prim::{Mutex, MutexGuard, OnceLock};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

/// What makes a pool write its timeline to a file: see
/// [`PoolBuilder::trace_on`](crate::PoolBuilder::trace_on).
///
/// ```
/// use blitz::TraceTrigger;
/// let dir = std::env::temp_dir().join("blitz-traces");
/// let builder = blitz::Pool::builder()
///     .trace_on(TraceTrigger::Stall, &dir, 4)
///     .trace_on(TraceTrigger::SlowPoll(std::time::Duration::from_millis(50)), &dir, 4);
/// # drop(builder);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceTrigger {
    /// A worker has not come back from one poll or job for about twenty milliseconds, while work
    /// waits: what [`PoolMetrics::stalls`](crate::PoolMetrics::stalls) counts.
    Stall,
    /// A poll has taken at least this long. With it each poll is timed.
    SlowPoll(Duration),
    /// A task has waited at least this long between becoming runnable and its poll. If polls are
    /// short, only some are measured, as for
    /// [`TaskMetrics::schedule_latencies`](crate::TaskMetrics::schedule_latencies).
    ScheduleDelay(Duration),
}

impl TraceTrigger {
    /// A word for the name of a file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            TraceTrigger::Stall => "stall",
            TraceTrigger::SlowPoll(_) => "slow-poll",
            TraceTrigger::ScheduleDelay(_) => "delay",
        }
    }
}

/// A trigger, and where its files go.
#[derive(Clone, Debug)]
pub(crate) struct TraceOn {
    pub(crate) trigger: TraceTrigger,
    pub(crate) dir: PathBuf,
    /// How many files may lie there.
    pub(crate) keep: usize,
}

/// The triggers of a team.
#[derive(Default)]
pub(crate) struct Triggers {
    list: Vec<TraceOn>,
    /// Which of them were asked for, by index.
    asked: Mutex<Vec<usize>>,
    thread: OnceLock<Thread>,
}

impl Triggers {
    pub(crate) fn add(&mut self, trace_on: TraceOn) {
        self.list.push(trace_on);
    }

    pub(crate) fn list(&self) -> &[TraceOn] {
        &self.list
    }

    /// Whether each poll has to be timed.
    pub(crate) fn times_polls(&self) -> bool {
        let times = |on: &TraceOn| matches!(on.trigger, TraceTrigger::SlowPoll(_));
        self.list.iter().any(times)
    }

    /// Sets the thread that writes.
    pub(crate) fn served_by(&self, thread: Thread) {
        // There is one only.
        let _ = self.thread.set(thread);
    }

    /// A worker is stuck.
    #[cold]
    pub(crate) fn on_stall(&self) {
        self.ask(|trigger| trigger == TraceTrigger::Stall);
    }

    /// A poll took this long.
    #[inline]
    pub(crate) fn on_poll(&self, time: Duration) {
        if !self.list.is_empty() {
            self.ask(|trigger| matches!(trigger, TraceTrigger::SlowPoll(limit) if time >= limit));
        }
    }

    /// A task waited this long for its poll, in nanoseconds.
    #[inline]
    pub(crate) fn on_delay(&self, nanos: u64) {
        if !self.list.is_empty() {
            let time = Duration::from_nanos(nanos);
            self.ask(
                |trigger| matches!(trigger, TraceTrigger::ScheduleDelay(limit) if time >= limit),
            );
        }
    }

    #[cold]
    fn ask(&self, happened: impl Fn(TraceTrigger) -> bool) {
        for (index, on) in self.list.iter().enumerate() {
            if happened(on.trigger) {
                let mut asked = self.lock();
                if !asked.contains(&index) {
                    asked.push(index);
                    drop(asked);
                    self.wake();
                }
            }
        }
    }

    /// Which triggers were asked for and not let go of.
    pub(crate) fn asked(&self) -> Vec<usize> {
        self.lock().clone()
    }

    /// Lets a trigger be asked for again.
    pub(crate) fn let_go(&self, index: usize) {
        self.lock().retain(|&asked| asked != index);
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Triggers {
    fn drop(&mut self) {
        // The thread sees that the team is gone.
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::{TraceOn, TraceTrigger, Triggers};
    use std::time::Duration;

    #[test]
    fn only_what_reaches_its_limit_asks_and_only_once() {
        let mut triggers = Triggers::default();
        let limit = Duration::from_millis(5);
        let all = [
            TraceTrigger::Stall,
            TraceTrigger::SlowPoll(limit),
            TraceTrigger::ScheduleDelay(limit),
        ];
        triggers.on_stall();
        assert!(triggers.asked().is_empty() && !triggers.times_polls());
        for trigger in all {
            triggers.add(TraceOn { trigger, dir: "unused".into(), keep: 1 });
        }
        assert!(triggers.times_polls());
        triggers.on_poll(limit / 2);
        triggers.on_delay(4_999_999);
        assert!(triggers.asked().is_empty());
        triggers.on_delay(5_000_000);
        triggers.on_poll(limit);
        triggers.on_poll(limit * 2);
        assert_eq!(triggers.asked(), [2, 1]);
        triggers.let_go(2);
        triggers.on_stall();
        assert_eq!(triggers.asked(), [1, 0]);
    }
}
