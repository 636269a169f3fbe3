//! The threads that a wait blocks, as seen at one moment.

#![forbid(unsafe_code)]

use super::edge::{WaitEdge, WaitKind};
use crate::base::Id;
use crate::base::context::Frame;
use crate::state::{Listed, WaitsFor};
use crate::team::Team;
use blitz_parts::latch::Runner;
use blitz_parts::task::TaskRef;
use std::sync::Arc;

/// How many references to a sleeper are no wakers: that of the `block_on`, that of its own waker,
/// and that of the list.
const NO_WAKERS: usize = 3;

/// A wait that blocks a worker or a thread of `spawn_blocking`.
pub(super) struct Blocked {
    /// No other wait of the team has, or had, this number.
    number: (usize, u64),
    pub(super) frame: Frame,
    /// The task whose poll waits, if it is a task.
    pub(super) task: Option<TaskRef>,
    worker: Option<usize>,
    /// The run of the worker that waits.
    pub(super) run: Option<Runner>,
    pub(super) awaits: Awaits,
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Awaits {
    /// A future, in `block_on`.
    Future {
        /// The address of the sleeper, which wakers have.
        sleeper: usize,
        /// The task whose handle has one of the wakers.
        task: Option<Id>,
        wakers: usize,
    },
    /// A job or a blocking closure, and where it runs, if it runs.
    Closure { id: Id, type_name: &'static str, frame: Option<Frame> },
    /// A job that another worker runs.
    Run(Runner),
    /// The wait may be over.
    Nothing,
}

impl Blocked {
    /// The waits of `team`.
    pub(super) fn look(team: &Team) -> Vec<Blocked> {
        let mut waits = Vec::new();
        team.waits.each(|number, wait| {
            let awaits = match &wait.waits_for {
                WaitsFor::Future(sleeper) => {
                    // Read the wakers first: if one of them was the handle's and is gone, the
                    // sleeper no longer names the task.
                    let wakers = Arc::strong_count(sleeper).saturating_sub(NO_WAKERS);
                    let (task, address) = (sleeper.awaits(), Arc::as_ptr(sleeper).addr());
                    let future = Awaits::Future { sleeper: address, task, wakers };
                    if sleeper.may_go_on() { Awaits::Nothing } else { future }
                }
                WaitsFor::Closure(id, Listed { closure, type_name }) => {
                    Awaits::Closure { id: *id, type_name, frame: closure.runs_at() }
                }
                &WaitsFor::Run(runner) => Awaits::Run(runner),
            };
            let (frame, task) = (wait.frame, wait.task.clone());
            let (worker, run) = (wait.worker, wait.run);
            waits.push(Blocked { number, frame, task, worker, run, awaits });
        });
        waits
    }

    /// Whether it is the same wait, for the same thing.
    pub(super) fn is(&self, other: &Blocked) -> bool {
        self.number == other.number && self.awaits == other.awaits
    }

    /// The thread in words.
    pub(super) fn thread(&self) -> String {
        match self.worker {
            Some(index) => format!("worker {index}"),
            None => "a thread of spawn_blocking".to_owned(),
        }
    }

    /// The wait as an edge of the task whose poll waits.
    ///
    /// `found` is a closure that could end it, if there is one.
    pub(super) fn edge(&self, found: Option<&WaitEdge>) -> WaitEdge {
        let (kind, target, what) = match self.awaits {
            Awaits::Future { task: Some(task), wakers: 1, .. } => {
                (WaitKind::Join, Some(task), format!("join {task}"))
            }
            Awaits::Future { .. } | Awaits::Nothing => match found {
                Some(edge) => (edge.kind, edge.target, edge.detail.clone()),
                None => (WaitKind::Unknown, None, "a future".to_owned()),
            },
            Awaits::Closure { id, type_name, .. } => {
                (WaitKind::Job, Some(id), format!("job {id} {type_name}"))
            }
            Awaits::Run(Runner { index, .. }) => {
                (WaitKind::Latch, None, format!("the work of worker {index}"))
            }
        };
        WaitEdge { kind, target, detail: format!("blocks {} until {what} ends", self.thread()) }
    }
}
