//! An array of tasks that moves between queues in one piece.

use crate::prim::model_has_failed;
use crate::task::{Header, Runnable};
use crate::tuning::CHAIN_KEEPS;
use core::ptr::NonNull;
use std::collections::VecDeque;

/// An owned array of tasks, oldest first. Dropping it cancels the tasks in it.
///
/// It holds pointers, and is not linked through the tasks. If there are thousands of tasks, most
/// are no longer in the cache, and a thread that follows links would wait for memory at each task.
#[derive(Debug, Default)]
#[must_use = "the tasks of a chain that is dropped are cancelled"]
pub struct Chain {
    /// Each pointer came from `Runnable::into_raw`. The elements are not `Runnable`s, because those
    /// could not be copied in one piece.
    tasks: VecDeque<NonNull<Header>>,
}

// SAFETY: a chain holds queue entries, which may be sent.
unsafe impl Send for Chain {}

impl Chain {
    /// Creates a chain without tasks.
    ///
    /// ```
    /// use blitz_parts::queue::Chain;
    /// assert!(Chain::new().is_empty());
    /// ```
    pub fn new() -> Chain {
        Chain::default()
    }

    /// Creates a chain of these tasks, with room for one more.
    pub(crate) fn of(tasks: impl ExactSizeIterator<Item = Runnable>) -> Chain {
        let mut row = VecDeque::with_capacity(tasks.len() + 1);
        row.extend(tasks.map(Runnable::into_raw));
        Chain { tasks: row }
    }

    /// How many tasks there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is no task.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Appends a task.
    pub fn push(&mut self, task: Runnable) {
        self.tasks.push_back(task.into_raw());
    }

    /// Appends all tasks of `newer`.
    pub fn append(&mut self, mut newer: Chain) {
        self.tasks.append(&mut newer.tasks);
    }

    /// Takes out the `count` oldest tasks, or all if there are fewer. Taking all of them also gives
    /// up the memory of a long chain.
    pub fn split_front(&mut self, count: usize) -> Chain {
        if count >= self.len() && self.tasks.capacity() > CHAIN_KEEPS {
            return core::mem::take(self);
        }
        let count = count.min(self.len());
        let (front, back) = self.tasks.as_slices();
        let from_front = count.min(front.len());
        let mut oldest = Vec::with_capacity(count);
        oldest.extend_from_slice(&front[..from_front]);
        oldest.extend_from_slice(&back[..count - from_front]);
        self.tasks.drain(..count);
        Chain { tasks: oldest.into() }
    }
}

impl Iterator for Chain {
    type Item = Runnable;

    #[inline]
    fn next(&mut self) -> Option<Runnable> {
        let task = self.tasks.pop_front()?;
        // SAFETY: the task came from `into_raw`, and has just left the chain.
        Some(unsafe { Runnable::from_raw(task) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.tasks.iter().size_hint()
    }
}

impl Drop for Chain {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() && !model_has_failed() {
            self.for_each(drop);
        }
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{CHAIN_KEEPS, Chain};
    use crate::queue::fixture::{Numbered, task};

    #[test]
    fn a_chain_that_wraps_around_is_taken_apart_in_its_order() {
        let tasks = Numbered::new(20);
        let mut chain = Chain::of(tasks.give_all(0..7).collect::<Vec<_>>().into_iter());
        let mut taken = Vec::new();
        for number in 7..20 {
            taken.extend(tasks.take_all(chain.split_front(1)));
            tasks.give_all(number..number + 1).for_each(|task| chain.push(task));
        }
        taken.extend(tasks.take_all(chain.split_front(6)));
        taken.extend(tasks.take_all(chain.split_front(6)));
        assert!(taken.is_sorted() && chain.is_empty());
        tasks.assert_each_once(taken);
    }

    #[test]
    fn the_memory_of_a_long_chain_goes_with_its_last_tasks() {
        let mut chain = Chain::new();
        (0..=CHAIN_KEEPS).for_each(|_| chain.push(task(|| ())));
        assert_eq!(chain.split_front(CHAIN_KEEPS).len(), CHAIN_KEEPS);
        assert!(chain.tasks.capacity() > CHAIN_KEEPS);
        assert_eq!(chain.split_front(2).len(), 1);
        assert_eq!(chain.tasks.capacity(), 0);
        chain.push(task(|| ()));
        assert_eq!(chain.split_front(1).len(), 1);
        assert!(chain.tasks.capacity() > 0, "a short chain keeps its memory");
    }
}
