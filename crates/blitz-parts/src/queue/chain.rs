//! Tasks in a row: what moves between queues in one piece.

use crate::prim::model_has_failed;
use crate::task::{Header, Runnable};
use core::ptr::{NonNull, null_mut};

/// An owned row of tasks, oldest first, linked through their headers. Iterating takes them out; a task
/// that is still in the row when it is dropped is cancelled.
#[derive(Debug)]
#[must_use = "the tasks of a chain that is dropped are cancelled"]
pub struct Chain {
    /// The oldest task; meaningless if there is none.
    first: *mut Header,
    /// The newest task, whose link is not set; meaningless if there is none.
    last: *mut Header,
    len: usize,
}

// SAFETY: a chain is a list of `Runnable`, which is `Send`.
unsafe impl Send for Chain {}

impl Chain {
    /// No tasks.
    ///
    /// ```
    /// use blitz_parts::queue::Chain;
    /// assert!(Chain::new().is_empty());
    /// ```
    pub fn new() -> Chain {
        Chain { first: null_mut(), last: null_mut(), len: 0 }
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a task behind the newest.
    pub fn push(&mut self, task: Runnable) {
        let task = task.into_raw().as_ptr();
        self.append(Chain { first: task, last: task, len: 1 });
    }

    /// Puts all tasks of `newer` behind the newest.
    pub fn append(&mut self, newer: Chain) {
        if newer.is_empty() {
            return;
        }
        let newer = core::mem::ManuallyDrop::new(newer);
        if self.is_empty() {
            self.first = newer.first;
        } else {
            // SAFETY: the chain owns its tasks, so the newest is alive.
            let last = unsafe { &*self.last };
            // SAFETY: as above, so nobody else uses its link.
            unsafe { last.set_next(newer.first) };
        }
        self.last = newer.last;
        self.len += newer.len;
    }

    /// Takes the `count` oldest tasks out, or all if there are fewer. Costs a step per task taken, unless
    /// all are.
    pub fn split_front(&mut self, count: usize) -> Chain {
        if count >= self.len {
            return core::mem::take(self);
        }
        if count == 0 {
            return Chain::new();
        }
        let mut front = Chain { first: self.first, last: self.first, len: count };
        for _ in 1..count {
            // SAFETY: it is not the newest task of this chain, since `count` is below its length.
            front.last = unsafe { after(front.last) };
        }
        // SAFETY: as above.
        self.first = unsafe { after(front.last) };
        self.len -= count;
        front
    }
}

/// The task behind `task`.
///
/// # Safety
/// 1. `task` is in a chain that the caller owns, and not its newest.
unsafe fn after(task: *mut Header) -> *mut Header {
    // SAFETY: the chain owns its tasks (obligation 1), so this one is alive.
    let header = unsafe { &*task };
    // SAFETY: nobody else uses its link, which was set when a task was put behind it (obligation 1).
    unsafe { header.next() }
}

impl Default for Chain {
    fn default() -> Self {
        Chain::new()
    }
}

impl Iterator for Chain {
    type Item = Runnable;

    fn next(&mut self) -> Option<Runnable> {
        if self.is_empty() {
            return None;
        }
        let first = NonNull::new(self.first)?;
        self.len -= 1;
        if self.len > 0 {
            // SAFETY: there are more, so it is not the newest.
            self.first = unsafe { after(self.first) };
        }
        // SAFETY: it came from `Runnable::into_raw`, and leaves the chain here.
        Some(unsafe { Runnable::from_raw(first) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        if !model_has_failed() {
            self.for_each(drop);
        }
    }
}
