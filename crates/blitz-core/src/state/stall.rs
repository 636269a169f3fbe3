//! Workers that are stuck in one poll or job: reports about them, and counts.

#![forbid(unsafe_code)]

use crate::base::Id;
use blitz_parts::counter::Counter;
use blitz_parts::prim::{Mutex, MutexGuard};
use blitz_parts::thread::Shares;
use blitz_parts::ticks;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A worker that has been stuck in one poll or job for a while: see [`stalls`](crate::stalls()).
///
/// ```
/// let (go, wait) = std::sync::mpsc::channel();
/// let pool = blitz::Pool::builder().workers(1).build()?;
/// let stuck = pool.spawn_cpu(move || wait.recv().unwrap());
/// while pool.stalls().is_empty() {
///     std::thread::yield_now();
/// }
/// let report = &pool.stalls()[0];
/// println!("{report}"); // worker 0 has not come back for 20 ms: a job, blocked in futex …
/// assert_eq!((report.worker(), report.task()), (0, None));
/// go.send(()).unwrap();
/// stuck.join().unwrap();
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StallReport {
    pub(crate) worker: usize,
    pub(crate) thread: Option<u32>,
    pub(crate) task: Option<StalledTask>,
    pub(crate) length: Duration,
    pub(crate) kind: StallKind,
    pub(crate) call: Option<String>,
    pub(crate) channel: Option<String>,
    pub(crate) behind: usize,
    pub(crate) events: Vec<String>,
}

/// The task that a stuck worker polls.
#[derive(Clone, Debug)]
pub(crate) struct StalledTask {
    pub(crate) id: Id,
    pub(crate) type_name: &'static str,
    pub(crate) site: &'static Location<'static>,
    pub(crate) name: Option<Arc<str>>,
}

/// The kinds of stalls.
///
/// ```
/// assert_eq!(blitz::StallKind::Blocked.name(), "blocked");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StallKind {
    /// The worker's thread computes.
    Computing,
    /// The thread is ready to compute, but other threads have the processors.
    Preempted,
    /// The thread waits in the kernel.
    Blocked,
    /// The system does not report what the thread does.
    Unknown,
}

impl StallKind {
    pub(crate) const ALL: [StallKind; 4] =
        [StallKind::Computing, StallKind::Preempted, StallKind::Blocked, StallKind::Unknown];

    /// Returns the kind in one word: `cpu`, `preempted`, `blocked` or `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StallKind::Computing => "cpu",
            StallKind::Preempted => "preempted",
            StallKind::Blocked => "blocked",
            StallKind::Unknown => "unknown",
        }
    }

    /// The kind of a stall, from how the thread `spent` its recent time and whether it `is_ready`
    /// to run now.
    pub(crate) fn of(spent: Option<(Duration, Shares)>, is_ready: Option<bool>) -> StallKind {
        // A computing thread may be in a page fault right now, and so not ready to run: then the
        // time that it spent decides. It does not decide for a long period, because a thread that
        // has computed for long may be blocked by now.
        let computed = |(passed, shares): (Duration, Shares)| {
            shares.ran >= passed / 4 * 3 && !passed.is_zero() && passed <= Duration::from_secs(1)
        };
        match (spent, is_ready) {
            (Some((_, shares)), Some(true)) if shares.delayed > shares.ran => StallKind::Preempted,
            (_, Some(true)) => StallKind::Computing,
            (Some(spent), _) if computed(spent) => StallKind::Computing,
            (_, Some(false)) => StallKind::Blocked,
            (_, None) => StallKind::Unknown,
        }
    }
}

impl StallReport {
    /// Returns the index of the worker.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the system's id of the worker's thread.
    #[must_use]
    pub fn thread(&self) -> Option<u32> {
        self.thread
    }

    /// Returns the id of the task that the worker polls; `None` if it runs a job.
    #[must_use]
    pub fn task(&self) -> Option<Id> {
        self.task.as_ref().map(|task| task.id)
    }

    /// Returns the type of the task's future. For an `async fn` it is the path of the function.
    #[must_use]
    pub fn type_name(&self) -> Option<&'static str> {
        self.task.as_ref().map(|task| task.type_name)
    }

    /// Returns where the task was spawned.
    #[must_use]
    pub fn site(&self) -> Option<&'static Location<'static>> {
        self.task.as_ref().map(|task| task.site)
    }

    /// Returns the name that [`task::Builder`](crate::TaskBuilder) gave the task.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.task.as_ref()?.name.as_deref()
    }

    /// Returns how long the worker was seen in the same poll or job. It may have been there for
    /// longer.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Returns the kind of the stall.
    #[must_use]
    pub fn kind(&self) -> StallKind {
        self.kind
    }

    /// Returns the system call that the thread is in, if the system reports it.
    #[must_use]
    pub fn system_call(&self) -> Option<&str> {
        self.call.as_deref()
    }

    /// Returns the kernel function in which the thread waits, if the system reports it.
    #[must_use]
    pub fn wait_channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// Returns how many tasks, and jobs that other workers can take, are in the worker's queues.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.behind
    }

    /// Returns the last events that the worker [recorded](crate::Pool::trace), the oldest first.
    #[must_use]
    pub fn events(&self) -> &[String] {
        &self.events
    }
}

/// Writes one sentence, without the events.
impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StallReport { worker, length, .. } = self;
        write!(f, "worker {worker} has not come back for {length:.0?}: ")?;
        match &self.task {
            None => f.write_str("a job")?,
            Some(StalledTask { id, type_name, site, name }) => {
                write!(f, "task {id} ")?;
                if let Some(name) = name {
                    write!(f, "{name:?} ")?;
                }
                write!(f, "{type_name} from {site}")?;
            }
        }
        match self.kind {
            StallKind::Computing => f.write_str(", computing")?,
            StallKind::Preempted => f.write_str(", waiting for a processor")?,
            StallKind::Blocked => f.write_str(", blocked")?,
            StallKind::Unknown => {}
        }
        if let Some(call) = &self.call {
            write!(f, " in {call}")?;
        }
        if let Some(thread) = self.thread {
            write!(f, " (thread {thread})")?;
        }
        match self.behind {
            0 => Ok(()),
            behind => write!(f, "; {behind} behind it"),
        }
    }
}

/// Called for a worker that is stuck for long.
pub(crate) type StallHandler = Box<dyn Fn(&StallReport) + Send + Sync>;

/// Counts the stalls of a team, and remembers since when each worker is stuck.
#[derive(Default)]
pub(crate) struct Stalls {
    counts: [Counter; 4],
    sights: Mutex<Vec<Sight>>,
    desk: Mutex<Desk>,
}

/// When a worker was first seen in its current poll or job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sight {
    /// The worker's progress count at that time.
    pub(crate) progress: u64,
    /// When it was first seen, in ticks; zero if it was not.
    pub(crate) since: u64,
    /// How its thread had spent its time, at that moment or somewhat later.
    pub(crate) sample: Option<Sample>,
}

/// How a thread had spent its time at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The moment, in ticks.
    pub(crate) at: u64,
    pub(crate) shares: Shares,
}

impl Sample {
    /// How much time has passed since `before`, and how the thread has spent it.
    pub(crate) fn since(self, before: Sample) -> (Duration, Shares) {
        let ran = self.shares.ran.saturating_sub(before.shares.ran);
        let delayed = self.shares.delayed.saturating_sub(before.shares.delayed);
        (ticks::to_duration(self.at.saturating_sub(before.at)), Shares { ran, delayed })
    }
}

impl Sight {
    /// A sight at this moment, of a worker with this progress count.
    pub(crate) fn new(progress: u64) -> Sight {
        Sight { progress, since: ticks::now().max(1), sample: None }
    }

    /// How long ago the worker was first seen.
    pub(crate) fn age(&self) -> Duration {
        ticks::to_duration(ticks::now().saturating_sub(self.since))
    }
}

/// Pending reports, which a separate thread makes.
#[derive(Default)]
struct Desk {
    due: Vec<(usize, Sight)>,
    /// Whether there is a thread that makes them, or one is being started.
    is_served: bool,
    /// When the last line was written, in ticks, if one was.
    last_line: Option<u64>,
    /// Reports since the last line. No line was written for them.
    unwritten: u64,
}

/// How many reports wait at most; further ones are dropped. So many wait only if the handler
/// blocks.
const DUE_MAX: usize = 256;

/// A line is written at most this often.
const LINE_EVERY: Duration = Duration::from_secs(1);

impl Stalls {
    /// Counts a stall.
    pub(crate) fn count(&self, kind: StallKind) {
        self.counts[kind as usize].add(1);
    }

    /// The number of stalls by kind.
    pub(crate) fn counts(&self) -> [u64; 4] {
        StallKind::ALL.map(|kind| self.counts[kind as usize].get())
    }

    /// Returns since when `worker` has been seen in its current poll or job. Its progress count
    /// identifies the poll or job.
    pub(crate) fn see(&self, worker: usize, progress: u64) -> Sight {
        self.keep(worker, Sight::new(progress))
    }

    /// Keeps the oldest sight of one poll or job, with the first sample; returns what is kept.
    pub(crate) fn keep(&self, worker: usize, sight: Sight) -> Sight {
        let mut sights = lock(&self.sights);
        if sights.len() <= worker {
            sights.resize(worker + 1, Sight::default());
        }
        let kept = &mut sights[worker];
        if kept.progress == sight.progress && kept.since != 0 {
            kept.since = kept.since.min(sight.since);
            kept.sample = kept.sample.or(sight.sample);
        } else {
            *kept = sight;
        }
        *kept
    }

    /// Forgets `worker`, which is in no poll or job.
    pub(crate) fn forget(&self, worker: usize) {
        if let Some(sight) = lock(&self.sights).get_mut(worker) {
            *sight = Sight::default();
        }
    }

    /// Requests a report of `worker`. Returns whether the caller must start a thread for it.
    pub(crate) fn submit(&self, worker: usize, sight: Sight) -> bool {
        let mut desk = lock(&self.desk);
        if desk.due.len() < DUE_MAX {
            desk.due.push((worker, sight));
        }
        !std::mem::replace(&mut desk.is_served, true)
    }

    /// Takes the reports to be made. If there are none, the thread that makes them ends.
    pub(crate) fn take_due(&self) -> Vec<(usize, Sight)> {
        let mut desk = lock(&self.desk);
        desk.is_served = !desk.due.is_empty();
        std::mem::take(&mut desk.due)
    }

    /// Notes that the thread could not be started.
    pub(crate) fn is_not_served(&self) {
        let mut desk = lock(&self.desk);
        desk.is_served = false;
        desk.due.clear();
    }

    /// Whether a line may be written now. If so, returns how many reports got no line since the
    /// last one.
    pub(crate) fn may_write(&self) -> Option<u64> {
        let mut desk = lock(&self.desk);
        let now = ticks::now();
        let every = |before: u64| ticks::to_duration(now.saturating_sub(before)) >= LINE_EVERY;
        if desk.last_line.is_none_or(every) {
            desk.last_line = Some(now);
            return Some(std::mem::take(&mut desk.unwritten));
        }
        desk.unwritten += 1;
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No user code runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(blitz_shuttle)))]
mod tests {
    use super::{Sight, StallKind, Stalls};
    use blitz_parts::thread::Shares;
    use std::time::Duration;

    const PASSED: Duration = Duration::from_millis(100);

    fn kind(ran: u64, delayed: u64, is_ready: bool) -> StallKind {
        let (ran, delayed) = (Duration::from_millis(ran), Duration::from_millis(delayed));
        StallKind::of(Some((PASSED, Shares { ran, delayed })), Some(is_ready))
    }

    #[test]
    fn the_kind_follows_from_how_the_thread_spent_its_time() {
        assert_eq!(kind(99, 1, true), StallKind::Computing);
        // The thread was just in a page fault.
        assert_eq!(kind(99, 1, false), StallKind::Computing);
        assert_eq!(kind(40, 60, true), StallKind::Preempted);
        assert_eq!(kind(60, 40, true), StallKind::Computing);
        assert_eq!(kind(1, 0, false), StallKind::Blocked);
        let long = Some((60 * PASSED, Shares { ran: 59 * PASSED, delayed: Duration::ZERO }));
        assert_eq!(StallKind::of(long, Some(false)), StallKind::Blocked);
        assert_eq!(StallKind::of(None, None), StallKind::Unknown);
        assert_eq!(StallKind::of(None, Some(true)), StallKind::Computing);
    }

    #[test]
    fn the_oldest_sight_of_one_poll_is_kept_and_that_of_another_is_not() {
        let stalls = Stalls::default();
        let sight = |progress, since| Sight { progress, since, sample: None };
        assert_eq!(stalls.keep(3, sight(7, 100)).since, 100);
        assert_eq!(stalls.see(3, 7).since, 100);
        assert_eq!(stalls.keep(3, sight(7, 90)).since, 90);
        assert_eq!(stalls.keep(3, sight(7, 95)).since, 90);
        assert_eq!(stalls.keep(3, sight(8, 200)).since, 200);
        stalls.forget(3);
        assert_eq!(stalls.keep(3, sight(8, 300)).since, 300);
    }

    #[test]
    fn one_thread_serves_reports_until_there_are_none() {
        let stalls = Stalls::default();
        assert!(stalls.submit(0, Sight::default()));
        assert!(!stalls.submit(1, Sight::default()), "the thread is on its way");
        assert_eq!(stalls.take_due().len(), 2);
        assert!(!stalls.submit(2, Sight::default()), "the thread looks once more");
        assert_eq!(stalls.take_due().len(), 1);
        assert!(stalls.take_due().is_empty());
        assert!(stalls.submit(3, Sight::default()), "the thread has ended");
    }

    #[test]
    fn lines_are_rare_and_skipped_ones_are_counted() {
        let stalls = Stalls::default();
        assert_eq!(stalls.may_write(), Some(0));
        assert_eq!((stalls.may_write(), stalls.may_write()), (None, None));
        stalls.desk.lock().unwrap().last_line = None;
        assert_eq!(stalls.may_write(), Some(2));
    }
}
