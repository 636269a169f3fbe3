//! The waits that block workers and threads of `spawn_blocking`, for threads that look at the pool.
//!
//! A wait is here while its thread sleeps for it, or helps with other work meanwhile.

#![forbid(unsafe_code)]

use super::blocking::Listed;
use crate::base::Id;
use crate::base::context::Frame;
use blitz_parts::latch::Runner;
use blitz_parts::prim::{MODELLED, Mutex, MutexGuard};
use blitz_parts::task::TaskRef;
use blitz_parts::tuning::CHAIN_KEEPS;
use slab::Slab;
use std::sync::{Arc, PoisonError};

/// Into how many parts the list is divided, so that workers rarely meet at one.
const PARTS: usize = 16;

/// The target of the wakers of a `block_on`.
pub(crate) trait Sleeper: Send + Sync {
    /// Whether the wait may be over: the thread was notified, or is not about to sleep.
    fn may_go_on(&self) -> bool;

    /// The task whose join handle has a waker of this sleeper, if one is known, and
    /// no waker of the sleeper was used or dropped since.
    fn awaits(&self) -> Option<Id>;
}

/// What a wait is for.
pub(crate) enum WaitsFor {
    /// A future. Its wakers wake the sleeper.
    Future(Arc<dyn Sleeper>),
    /// A job or a blocking closure, and nothing else.
    Closure(Id, Listed),
    /// A job that another worker runs, and nothing else.
    Run(Runner),
}

/// One wait that blocks a thread.
pub(crate) struct Wait {
    pub(crate) frame: Frame,
    /// The task whose poll waits, if it is a task.
    pub(crate) task: Option<TaskRef>,
    /// The worker that waits, if it is a worker.
    pub(crate) worker: Option<usize>,
    /// The run that waits, if the worker is in one.
    pub(crate) run: Option<Runner>,
    pub(crate) waits_for: WaitsFor,
}

/// The waits of one pool.
#[derive(Default)]
pub(crate) struct Waits {
    parts: [Mutex<Part>; PARTS],
}

#[derive(Default)]
struct Part {
    waits: Slab<(u64, Wait)>,
    /// How many waits were ever here.
    begun: u64,
}

/// Keeps a wait in the list until dropped.
#[must_use]
pub(crate) struct Listing<'a> {
    part: &'a Mutex<Part>,
    place: usize,
}

impl Waits {
    pub(crate) fn list(&self, wait: Wait) -> Listing<'_> {
        // In a model all waits share one part: addresses of frames differ between executions, and a
        // seed must always lead to the same execution.
        let part = &self.parts[if MODELLED { 0 } else { wait.frame.part() % PARTS }];
        let mut waits = lock(part);
        waits.begun += 1;
        let number = waits.begun;
        let place = waits.waits.insert((number, wait));
        drop(waits);
        Listing { part, place }
    }

    /// Calls `see` for each wait, with its part and its number in that part. `see` runs under a
    /// lock, so it must not drop the last reference to anything.
    pub(crate) fn each(&self, mut see: impl FnMut((usize, u64), &Wait)) {
        for (index, part) in self.parts.iter().enumerate() {
            lock(part).waits.iter().for_each(|(_, (number, wait))| see((index, *number), wait));
        }
    }
}

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        let mut part = lock(self.part);
        let wait = part.waits.remove(self.place);
        if part.waits.is_empty() && part.waits.capacity() > CHAIN_KEEPS / PARTS {
            part.waits = Slab::new();
        }
        drop(part);
        // Not under the lock: it may be the last reference to a task or a pool.
        drop(wait);
    }
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    // No user code runs under the lock.
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
