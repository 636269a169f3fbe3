//! Triggers, which make a pool write its timeline to a file.
//!
//! Any thread may fire a trigger. The writing thread looks up which triggers are fired. A trigger
//! stays fired until the writing thread resets it, so threads that fire it again meanwhile do not
//! wake that thread.

#![forbid(unsafe_code)]

use blitz_parts::prim::thread::Thread;
use blitz_parts::prim::{Mutex, MutexGuard, OnceLock};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

/// The events that make a pool write its timeline to a file: see
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
    /// A worker has been inside the same poll or job for about twenty milliseconds.
    /// [`PoolMetrics::stalls`](crate::PoolMetrics::stalls) counts these events. With this trigger
    /// the watch looks at the workers while any of them is awake, as with
    /// [`PoolBuilder::stall_handler`](crate::PoolBuilder::stall_handler).
    Stall,
    /// A poll has taken at least this long. This trigger makes the pool time each poll.
    SlowPoll(Duration),
    /// A task has waited at least this long between becoming runnable and its poll. If polls are
    /// short, the pool measures only some of these waits, as for
    /// [`TaskMetrics::schedule_latencies`](crate::TaskMetrics::schedule_latencies).
    ScheduleDelay(Duration),
}

impl TraceTrigger {
    /// The word for this trigger in the names of its files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            TraceTrigger::Stall => "stall",
            TraceTrigger::SlowPoll(_) => "slow-poll",
            TraceTrigger::ScheduleDelay(_) => "delay",
        }
    }
}

/// A trigger, and the folder of its files.
#[derive(Clone, Debug)]
pub(crate) struct TraceOn {
    pub(crate) trigger: TraceTrigger,
    pub(crate) dir: PathBuf,
    /// How many files stay in the folder. Older ones are removed.
    pub(crate) keep: usize,
}

/// The triggers of a team.
#[derive(Default)]
pub(crate) struct Triggers {
    list: Vec<TraceOn>,
    /// The triggers that were fired, by index.
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

    /// Whether a stuck worker fires a trigger.
    pub(crate) fn include_stalls(&self) -> bool {
        self.list.iter().any(|on| on.trigger == TraceTrigger::Stall)
    }

    /// Whether each poll has to be timed.
    pub(crate) fn times_polls(&self) -> bool {
        let times = |on: &TraceOn| matches!(on.trigger, TraceTrigger::SlowPoll(_));
        self.list.iter().any(times)
    }

    /// Sets the thread that writes, and wakes it: triggers that fired earlier could not wake it.
    pub(crate) fn served_by(&self, thread: Thread) {
        // Called once per team, so the cell is empty.
        let _ = self.thread.set(thread);
        self.wake();
    }

    /// Called when a worker is stuck.
    #[cold]
    pub(crate) fn on_stall(&self) {
        self.ask(|trigger| trigger == TraceTrigger::Stall);
    }

    /// Called when a poll took this long.
    #[inline]
    pub(crate) fn on_poll(&self, time: Duration) {
        if !self.list.is_empty() {
            self.ask(|trigger| matches!(trigger, TraceTrigger::SlowPoll(limit) if time >= limit));
        }
    }

    /// Called when a task waited this long for its poll, in nanoseconds.
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

    /// The triggers that were fired and not reset.
    pub(crate) fn asked(&self) -> Vec<usize> {
        self.lock().clone()
    }

    /// Resets a trigger, so that it can fire again.
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
        // Wake the writing thread: it then sees that the team is gone, and ends.
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::{TraceOn, TraceTrigger, Triggers};
    use blitz_parts::prim::thread;
    use std::time::Duration;

    #[test]
    fn a_trigger_fires_at_its_limit_and_only_once() {
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

    #[test]
    fn a_thread_that_is_set_after_a_trigger_fired_is_woken() {
        let mut triggers = Triggers::default();
        let trigger = TraceTrigger::Stall;
        triggers.add(TraceOn { trigger, dir: "unused".into(), keep: 1 });
        triggers.on_stall();
        triggers.served_by(thread::current());
        // This parks for ever, unless the thread was woken.
        thread::park();
    }
}
