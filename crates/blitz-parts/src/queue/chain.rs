//! Tasks in a row: what moves between queues in one piece.

#![forbid(unsafe_code)]

use crate::task::Runnable;
use crate::tuning::CHAIN_KEEPS;
use std::collections::VecDeque;

/// An owned row of tasks, oldest first. A task that is still in the row when it is dropped is cancelled.
///
/// The row is made of pointers and not linked through the tasks: a row of thousands is not in the cache any
/// more when it is taken apart, and who follows links waits for one task after the other.
#[derive(Debug, Default)]
#[must_use = "the tasks of a chain that is dropped are cancelled"]
pub struct Chain {
    tasks: VecDeque<Runnable>,
}

impl Chain {
    /// No tasks.
    ///
    /// ```
    /// use blitz_parts::queue::Chain;
    /// assert!(Chain::new().is_empty());
    /// ```
    pub fn new() -> Chain {
        Chain::default()
    }

    /// No tasks, and room for as many.
    pub(crate) fn with_room(tasks: usize) -> Chain {
        Chain { tasks: VecDeque::with_capacity(tasks) }
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Puts a task behind the newest.
    pub fn push(&mut self, task: Runnable) {
        self.tasks.push_back(task);
    }

    /// Puts all tasks of `newer` behind the newest.
    pub fn append(&mut self, mut newer: Chain) {
        self.tasks.append(&mut newer.tasks);
    }

    /// Takes the `count` oldest tasks out, or all if there are fewer; with all of them goes the memory that
    /// a long row has needed.
    pub fn split_front(&mut self, count: usize) -> Chain {
        if count >= self.len() && self.tasks.capacity() > CHAIN_KEEPS {
            return core::mem::take(self);
        }
        let count = count.min(self.len());
        Chain { tasks: self.tasks.drain(..count).collect() }
    }
}

impl Iterator for Chain {
    type Item = Runnable;

    fn next(&mut self) -> Option<Runnable> {
        self.tasks.pop_front()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.tasks.iter().size_hint()
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{CHAIN_KEEPS, Chain};
    use crate::queue::fixture::task;

    #[test]
    fn the_memory_of_a_long_row_goes_with_its_last_tasks() {
        let mut chain = Chain::new();
        (0..=CHAIN_KEEPS).for_each(|_| chain.push(task(|| ())));
        assert_eq!(chain.split_front(CHAIN_KEEPS).len(), CHAIN_KEEPS);
        assert!(chain.tasks.capacity() > CHAIN_KEEPS);
        assert_eq!(chain.split_front(2).len(), 1);
        assert_eq!(chain.tasks.capacity(), 0);
        chain.push(task(|| ()));
        assert_eq!(chain.split_front(1).len(), 1);
        assert!(chain.tasks.capacity() > 0, "that of a short one stays");
    }
}
