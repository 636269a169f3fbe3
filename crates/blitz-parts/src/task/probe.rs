//! Probes: polls of a task that show where it waits.
//!
//! A probe wakes a task and has it polled with another waker. A future that waits keeps a clone of
//! its waker. Cloning the probe's waker notes the current stack, and makes an ordinary waker of the
//! task. To the future the poll is a wake without a reason, which every future has to allow.

use super::state::{Life, Wake};
use super::{Header, TaskRef, Vtable};
use crate::prim::{
    Condvar, Instant, MODELLED, Mutex, MutexGuard, Step, broken, lazy_static, model_has_failed,
};
use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

/// How many stacks are kept of one task. A future that waits for many others at once has more.
const STACKS_MAX: usize = 16;

/// A task that is being probed. Dropping it ends the probe.
pub struct Probe {
    task: TaskRef,
    ordinary: &'static Vtable,
}

/// What the polls of a probed task have shown.
struct Noted {
    /// No other probe of this process has the number.
    number: u64,
    /// Whether a poll has begun with the probe's waker, and whether one has ended.
    is_begun: bool,
    is_polled: bool,
    /// Which wait the poll counts for, if a thread waits for it.
    wait: Option<u64>,
    stacks: Vec<Backtrace>,
}

/// What the polls of all probed tasks have shown.
#[derive(Default)]
struct Notes {
    /// The tasks that are probed, by address. Each probe holds a reference to its task, so that no
    /// address is used twice.
    tasks: BTreeMap<usize, Noted>,
    /// How many tasks are not polled yet, for each thread that waits for polls. A poll counts down
    /// here, so that no thread looks at all of its probes after each poll.
    waits: BTreeMap<u64, usize>,
    /// The number that was given last.
    number: u64,
}

impl Notes {
    fn new_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn insert(&mut self, address: usize) {
        let number = self.new_number();
        let noted =
            Noted { number, is_begun: false, is_polled: false, wait: None, stacks: Vec::new() };
        self.tasks.insert(address, noted);
    }

    /// Begins to count the polls of these tasks. Returns the number of the wait.
    fn begin_wait(&mut self, probes: &[Probe]) -> u64 {
        let wait = self.new_number();
        let mut unpolled = 0;
        for probe in probes {
            let noted = self.tasks.get_mut(&probe.task.address());
            if let Some(noted) = noted.filter(|noted| !noted.is_polled) {
                noted.wait = Some(wait);
                unpolled += 1;
            }
        }
        self.waits.insert(wait, unpolled);
        wait
    }

    /// Notes the end of a poll that began in the probe of this number. Returns whether this was the
    /// last of the polls that one thread waits for.
    fn end_poll(&mut self, address: usize, number: Option<u64>) -> bool {
        let Some(noted) = self.tasks.get_mut(&address) else { return false };
        let is_own = number == Some(noted.number) || broken(Step::TaskProbeNumbers);
        if !is_own || noted.is_polled {
            return false;
        }
        noted.is_polled = true;
        let Some(unpolled) = noted.wait.and_then(|wait| self.waits.get_mut(&wait)) else {
            return false;
        };
        *unpolled -= 1;
        *unpolled == 0
    }
}

/// The notes, and how probes learn of polls.
struct Board {
    notes: Mutex<Notes>,
    polled: Condvar,
}

lazy_static! {
    static ref BOARD: Board = Board { notes: Mutex::new(Notes::default()), polled: Condvar::new() };
}

fn notes() -> MutexGuard<'static, Notes> {
    // No user code runs under the lock.
    BOARD.notes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe {
    /// Probes a task that waits: wakes it, so that its scheduler has it polled. Returns `None` if
    /// it does not wait, is woken by another thread meanwhile, or is being probed already.
    pub fn begin(task: TaskRef) -> Option<Probe> {
        let header = task.as_header();
        if header.state.load().glance().life != Life::Idle {
            return None;
        }
        let ordinary = header.vtable.begin_probe()?;
        notes().insert(task.address());
        let wake = header.state.wake_by_ref();
        // The drop of the probe forgets the notes and restores the table.
        let probe = Probe { task, ordinary };
        if wake != Wake::Schedule {
            // Another wake has caused the poll that comes. The worker of that poll may have loaded
            // the ordinary table before the table for probes replaced it.
            return broken(Step::TaskProbeOwnWake).then_some(probe);
        }
        // SAFETY: the exchange made the task SCHEDULED, with a reference for the queue entry.
        unsafe { Header::schedule(probe.task.header()) };
        Some(probe)
    }

    /// Waits until each of the tasks has been polled or cancelled, no longer than `time`. Returns
    /// how many were.
    pub fn wait(probes: &mut [Probe], time: Duration) -> usize {
        let deadline = Instant::now() + time;
        let mut notes = notes();
        let wait = notes.begin_wait(probes);
        loop {
            let unpolled = notes.waits[&wait];
            let left = deadline.saturating_duration_since(Instant::now());
            if unpolled == 0 || left.is_zero() {
                notes.waits.remove(&wait);
                return probes.len() - unpolled;
            }
            notes =
                BOARD.polled.wait_timeout(notes, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the probe. Returns the stacks on which the task's future kept its waker, the first one
    /// first; `None` if the task was not polled.
    pub fn end(self) -> Option<Vec<Backtrace>> {
        let noted = notes().tasks.remove(&self.task.address())?;
        noted.is_polled.then_some(noted.stacks)
    }

    /// The probed task.
    pub fn task(&self) -> &TaskRef {
        &self.task
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        let restore = || self.task.as_header().vtable.end_probe(self.ordinary);
        let is_early = broken(Step::TaskProbeForgetsFirst);
        if is_early {
            restore();
        }
        // While the task has the table for probes, no other probe of the task begins. So these
        // notes are still those of `self`.
        let forgotten = notes().tasks.remove(&self.task.address());
        if !is_early {
            restore();
        }
        drop(forgotten);
    }
}

/// A poll of a task that has the table for probes.
#[must_use]
pub(super) struct ProbedPoll {
    address: usize,
    /// The number of the probe, if the task was still probed when the poll began.
    number: Option<u64>,
}

impl ProbedPoll {
    /// Notes that a poll of the task at `address` begins.
    pub(super) fn begin(address: usize) -> ProbedPoll {
        let mut notes = notes();
        let noted = notes.tasks.get_mut(&address);
        let number = noted.map(|noted| {
            noted.is_begun = true;
            noted.number
        });
        ProbedPoll { address, number }
    }

    /// Notes that the poll has ended. The task may be woken, polled, probed and freed meanwhile:
    /// the notes at its address may be those of another probe.
    pub(super) fn end(self) {
        if notes().end_poll(self.address, self.number) {
            BOARD.polled.notify_all();
        }
    }
}

/// Notes the current stack as one on which the task at `address` keeps its waker.
#[inline(never)]
pub(super) fn note_clone(address: usize) {
    // The probe in which this poll began may have ended. Then the next probe may have made its
    // notes already, but no poll has begun in that next probe.
    let is_own = |noted: &Noted| noted.is_begun || broken(Step::TaskProbePollBegins);
    let wants = |noted: &Noted| is_own(noted) && noted.stacks.len() < STACKS_MAX;
    if !notes().tasks.get(&address).is_some_and(wants) {
        return;
    }
    // Capture the stack without the lock: that takes microseconds, and much longer the first time.
    let stack = if MODELLED { Backtrace::disabled() } else { Backtrace::force_capture() };
    if let Some(noted) = notes().tasks.get_mut(&address).filter(|noted| wants(noted)) {
        noted.stacks.push(stack);
    }
}
