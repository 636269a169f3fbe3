//! What a task waits for.

#![forbid(unsafe_code)]

use super::length::length;
use crate::base::Id;
use crate::state::AwaitedClosure;
use blitz_parts::sleep::Awaited;

/// One event that could wake a task: a part of a [`WaitingTask`](crate::WaitingTask).
///
/// ```
/// # let pool = blitz::Pool::builder().workers(1).build()?;
/// for task in pool.explain().tasks() {
///     for edge in task.waits() {
///         println!("{} waits: {}", task.info().id(), edge.detail());
///     }
/// }
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    pub(super) kind: WaitKind,
    pub(super) target: Option<Id>,
    pub(super) detail: String,
}

/// The kinds of events that a task waits for.
///
/// ```
/// assert_eq!(blitz::WaitKind::Join.name(), "join");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// The end of another task, through its join handle.
    Join,
    /// A socket or another descriptor.
    Io,
    /// A timer.
    Timer,
    /// A closure of [`spawn_blocking`](crate::spawn_blocking).
    Blocking,
    /// A job of [`spawn_cpu`](crate::spawn_cpu).
    Job,
    /// A job that another worker runs. A poll that waits like this blocks its worker.
    Latch,
    /// A waker whose holder the pool did not find: in a lock, a channel, a combinator, or an
    /// [`AbortHandle`](crate::AbortHandle).
    Unknown,
}

impl WaitEdge {
    pub(super) fn join(target: Id) -> WaitEdge {
        let detail = format!("join {target}");
        WaitEdge { kind: WaitKind::Join, target: Some(target), detail }
    }

    pub(super) fn of_event(event: Awaited) -> WaitEdge {
        let (kind, detail) = match event {
            Awaited::Io(detail) => (WaitKind::Io, detail),
            Awaited::Timer(left) => (WaitKind::Timer, format!("timer in {}", length(left))),
        };
        WaitEdge { kind, target: None, detail }
    }

    pub(super) fn of_closure(closure: &AwaitedClosure) -> WaitEdge {
        let state = if closure.has_begun { "runs" } else { "waits for a thread" };
        let detail = format!("blocking closure {}, which {state}", closure.type_name);
        WaitEdge { kind: WaitKind::Blocking, target: Some(closure.id), detail }
    }

    pub(super) fn of_job(job: &AwaitedClosure) -> WaitEdge {
        let state = if job.has_begun { "runs" } else { "waits for a worker" };
        let detail = format!("job {} {}, which {state}", job.id, job.type_name);
        WaitEdge { kind: WaitKind::Job, target: Some(job.id), detail }
    }

    pub(super) fn unknown(wakers: usize) -> WaitEdge {
        let detail = match wakers {
            1 => "unknown holder of its waker".to_owned(),
            many => format!("unknown holders of {many} wakers"),
        };
        WaitEdge { kind: WaitKind::Unknown, target: None, detail }
    }

    /// Returns the kind of the event.
    #[must_use]
    pub fn kind(&self) -> WaitKind {
        self.kind
    }

    /// Returns the id of the task, closure or job whose end is awaited; `None` for other events.
    #[must_use]
    pub fn target(&self) -> Option<Id> {
        self.target
    }

    /// Returns a description of the event: `read fd 7 127.0.0.1:5432`, `timer in 93 s`, `join
    /// 0x102`.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl WaitKind {
    /// Returns the kind in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WaitKind::Join => "join",
            WaitKind::Io => "io",
            WaitKind::Timer => "timer",
            WaitKind::Blocking => "blocking",
            WaitKind::Job => "job",
            WaitKind::Latch => "latch",
            WaitKind::Unknown => "unknown",
        }
    }
}
