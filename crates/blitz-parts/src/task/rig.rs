//! For tests and models: a scheduler that is a queue, and futures that do as they are told.

use super::{Failure, Join, LateReport, Owned, Payload, Ran, Runnable, Scheduler, new};
use crate::prim::Mutex;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;

/// Whoever runs tasks, reduced to a queue. Tasks point to it, so it stays in its box until they have ended.
pub(crate) struct Rig {
    queue: Mutex<VecDeque<Runnable>>,
    pub(crate) owned: Owned,
    panics: Arc<Mutex<Vec<Payload>>>,
    late: Arc<Mutex<Vec<Payload>>>,
}

/// The scheduler of a [`Rig`].
#[derive(Clone, Copy)]
pub(crate) struct ToRig(NonNull<Rig>);

// SAFETY: everything in a rig is behind locks.
unsafe impl Send for ToRig {}
// SAFETY: as above.
unsafe impl Sync for ToRig {}

impl ToRig {
    fn rig(&self) -> &Rig {
        // SAFETY: tests keep their rig until its tasks have ended.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: tests keep their rig until its tasks have ended, and the methods do not unwind.
unsafe impl Scheduler for ToRig {
    fn schedule(&self, task: Runnable) {
        self.rig().queue.lock().unwrap().push_back(task);
    }

    fn owned(&self) -> &Owned {
        &self.rig().owned
    }

    fn report_panic(&self, payload: Payload) {
        self.rig().panics.lock().unwrap().push(payload);
    }

    fn late_report(&self) -> Option<LateReport> {
        let late = self.rig().late.clone();
        Some(Box::new(move |payload| late.lock().unwrap().push(payload)))
    }
}

impl Rig {
    pub(crate) fn new() -> Arc<Rig> {
        Arc::new(Rig {
            queue: Mutex::new(VecDeque::new()),
            owned: Owned::new(),
            panics: Arc::new(Mutex::new(Vec::new())),
            late: Arc::new(Mutex::new(Vec::new())),
        })
    }

    pub(crate) fn scheduler(&self) -> ToRig {
        ToRig(NonNull::from(self))
    }

    /// A task that is not in the queue yet.
    pub(crate) fn task<F>(&self, future: F) -> (Runnable, Join<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        new(future, self.scheduler())
    }

    /// A task in the queue.
    pub(crate) fn spawn<F>(&self, future: F) -> Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, join) = self.task(future);
        self.scheduler().schedule(runnable);
        join
    }

    /// The oldest entry of the queue.
    pub(crate) fn pop(&self) -> Option<Runnable> {
        self.queue.lock().unwrap().pop_front()
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    /// Runs the oldest entry of the queue; one that is to run again goes to the back.
    pub(crate) fn run_one(&self) -> Option<Ran> {
        let ran = self.pop()?.run();
        if let Ran::Again(task) = ran {
            self.scheduler().schedule(task);
            return Some(Ran::Idle);
        }
        Some(ran)
    }

    /// Runs until the queue is empty; returns how many runs that took.
    pub(crate) fn run_all(&self) -> usize {
        core::iter::from_fn(|| self.run_one()).count()
    }

    /// The messages of the panics that were reported, in order.
    pub(crate) fn panics(&self) -> Vec<String> {
        texts(&self.panics)
    }

    /// The messages of the panics that were reported after their task's end.
    pub(crate) fn late_panics(&self) -> Vec<String> {
        texts(&self.late)
    }
}

fn texts(payloads: &Mutex<Vec<Payload>>) -> Vec<String> {
    payloads.lock().unwrap().iter().map(text).collect()
}

/// The text of a panic.
pub(crate) fn text(payload: &Payload) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// The outcome of a task, by a poll with a waker that does nothing.
pub(crate) fn outcome<T>(join: &mut Join<T>) -> Poll<Result<T, Failure>> {
    join.poll(&mut Context::from_waker(Waker::noop()))
}
