//! Two levels of summaries above the signal words. They show where there may be a runnable task.

#![forbid(unsafe_code)]

use super::bits::Bits;
use super::crew::{Crew, Marked, Permit, Sleeper, Told};
use crate::barrier;
use crate::prim::{Acquire, Relaxed, Step, broken};
use crate::slots::Slots;
use crossbeam_utils::CachePadded;
use std::sync::Arc;

/// The summaries, and the workers that sleep until a bit is set.
#[derive(Debug)]
pub struct SummaryTree {
    /// The root word of the first 64 leaves. Many pools have no more leaves, so this word is read
    /// most often.
    first: Arc<CachePadded<Bits>>,
    /// The root words of the leaves after those: one word for every 64 leaves.
    more: Slots<Arc<CachePadded<Bits>>>,
    leaves: Slots<Arc<Branch>>,
    crew: CachePadded<Crew>,
}

/// A leaf word, and the way from it to the root.
#[derive(Debug)]
pub struct Branch {
    /// Bit i: signal word i may have a bit.
    leaf: CachePadded<Bits>,
    root: Arc<CachePadded<Bits>>,
    /// The leaf's bit in its root word.
    bit: u64,
}

impl SummaryTree {
    /// Creates a tree without leaves.
    pub fn new() -> SummaryTree {
        let crew = CachePadded::new(Crew::new());
        SummaryTree { first: Arc::default(), more: Slots::new(), leaves: Slots::new(), crew }
    }

    /// Adds a leaf. Only one thread at a time may call this.
    pub(super) fn add_leaf(&self) -> Arc<Branch> {
        let index = self.leaves.len();
        let root = match index / 64 {
            0 => &self.first,
            root => match self.more.get(root - 1) {
                Some(word) => word,
                None => self.more.add(Arc::default()).1,
            },
        };
        let leaf = CachePadded::new(Bits::default());
        let branch = Branch { leaf, root: root.clone(), bit: 1 << (index % 64) };
        self.leaves.add(Arc::new(branch)).1.clone()
    }

    /// How many leaves there are.
    #[inline]
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// How many root words there are: one for every 64 leaves.
    #[inline]
    pub(super) fn root_count(&self) -> usize {
        self.leaf_count().div_ceil(64)
    }

    /// Returns which leaves of root word `root` may have a task.
    #[inline]
    pub(super) fn root(&self, root: usize) -> u64 {
        match root {
            0 => self.first.load(Acquire), // O9
            root => self.more.get(root - 1).map_or(0, |word| word.load(Acquire)), // O9
        }
    }

    /// Whether leaf `leaf` may have a task.
    #[inline]
    pub(super) fn is_marked(&self, leaf: usize) -> bool {
        self.root(leaf / 64) >> (leaf % 64) & 1 != 0
    }

    /// Whether any leaf may have a task.
    #[inline]
    pub fn has_any(&self) -> bool {
        let is_set = |word: &Arc<CachePadded<Bits>>| (word.load(Relaxed) != 0).then_some(());
        self.first.load(Relaxed) != 0 || self.more.find_from(0, is_set).is_some()
    }

    /// The root words at about one moment, for debugging.
    ///
    /// ```
    /// use blitz_parts::bitmap::SummaryTree;
    /// assert_eq!(SummaryTree::new().snapshot_summary(), []);
    /// ```
    pub fn snapshot_summary(&self) -> Vec<u64> {
        (0..self.root_count()).map(|root| self.root(root)).collect()
    }

    /// The leaf words at about one moment.
    pub fn snapshot_leaves(&self) -> Vec<u64> {
        self.leaves.iter().map(|branch| branch.leaf()).collect()
    }

    /// Returns which of `workers` looks into `leaf` first. Leaves go to the workers in turn, so
    /// they keep their owners when more are added. They are distributed again when the number of
    /// workers changes.
    ///
    /// ```
    /// use blitz_parts::bitmap::SummaryTree;
    /// assert_eq!(SummaryTree::compute_partition_owner(5, 4), 1);
    /// ```
    #[inline]
    pub fn compute_partition_owner(leaf: usize, workers: usize) -> usize {
        leaf % workers.max(1)
    }

    /// Returns which leaves have a bit, in the partition of `worker`, one of `workers`. The i-th
    /// leaf of the partition is bit `i % 64`.
    pub(super) fn partition_summary(&self, worker: usize, workers: usize) -> u64 {
        let own = (worker..self.leaf_count()).step_by(workers.max(1));
        let leaves = own.filter_map(|leaf| self.leaves.get(leaf));
        let bit = |(i, branch): (usize, &Arc<Branch>)| u64::from(branch.leaf() != 0) << (i % 64);
        leaves.enumerate().map(bit).fold(0, |all, bit| all | bit)
    }

    /// Permits that no worker has taken yet.
    pub fn permits(&self) -> usize {
        self.crew.load().permits()
    }

    /// Workers that sleep, are about to sleep, or are waking.
    pub fn sleepers(&self) -> usize {
        self.crew.load().sleepers()
    }

    /// Returns what the setter of a task has to do: perhaps wake a sleeper. `is_any_looking` says
    /// whether a worker is awake and looks for work. Such a worker finds the task, or announces it
    /// when it stops looking.
    #[inline]
    pub(super) fn release(&self, task: Marked, is_any_looking: impl FnOnce() -> bool) -> Told {
        self.crew.release(task, is_any_looking)
    }

    pub(super) fn lie_down(&self) -> Sleeper {
        self.crew.lie_down()
    }

    pub(super) fn get_up(&self, sleeper: Sleeper) -> Option<Permit> {
        self.crew.get_up(sleeper)
    }

    pub(super) fn try_acquire(&self) -> Option<Permit> {
        self.crew.try_acquire()
    }

    pub(super) fn close(&self) {
        self.crew.close();
    }
}

impl Default for SummaryTree {
    fn default() -> SummaryTree {
        SummaryTree::new()
    }
}

impl Branch {
    /// Which signal words may have a bit.
    #[inline]
    pub(super) fn leaf(&self) -> u64 {
        self.leaf.load(Acquire) // O9
    }

    /// Whether the leaf's bit is set in the root.
    pub(super) fn is_in_root(&self) -> bool {
        self.root.load(Relaxed) & self.bit != 0
    }

    /// Marks both levels above signal word `word`, in which the caller has just set a bit. Every
    /// setter marks both levels itself, and does not rely on another setter that is doing so.
    /// Returns whether the leaf was not in the root.
    #[inline]
    pub(super) fn mark_signal_active(&self, word: usize) -> bool {
        let bit = 1 << word;
        if !broken(Step::SignalSetFence) {
            barrier::after_exchange(); // O2
        }
        if self.leaf.load(Relaxed) & bit == 0 {
            self.leaf.set(bit, Relaxed);
        }
        self.activate_root()
    }

    #[inline]
    fn activate_root(&self) -> bool {
        // The caller has exchanged the signal word, the leaf or the root before.
        if !broken(Step::SignalLeafFence) {
            barrier::after_exchange(); // O2
        }
        let was_clear = self.root.load(Relaxed) & self.bit == 0;
        if was_clear && !broken(Step::SignalRootSet) {
            self.root.set(self.bit, Relaxed);
        }
        if !broken(Step::SignalRootFence) {
            barrier::after_exchange(); // O4
        }
        was_clear
    }

    /// Clears the leaf bit of signal word `word`, which was seen empty. If `is_set` then finds a
    /// bit in the signal word, sets the leaf bit again. In that case the caller must announce
    /// the task. The task's setter may have relied on the leaf bit that was gone for a moment, and
    /// a worker may have gone to sleep in that moment.
    #[cold]
    pub(super) fn mark_signal_inactive(
        &self,
        word: usize,
        is_set: impl Fn() -> bool,
    ) -> Option<Marked> {
        let bit = 1 << word;
        let left = self.leaf.clear(bit, Relaxed) & !bit;
        if !broken(Step::SignalClearFence) {
            barrier::after_exchange(); // O3
        }
        if is_set() && !broken(Step::SignalClearLooks) {
            self.leaf.set(bit, Relaxed);
            self.activate_root();
            return Some(Marked(()));
        }
        if left == 0 { self.clear_root() } else { None }
    }

    /// Clears the root bit of a leaf that was seen empty, as `mark_signal_inactive` clears a leaf
    /// bit.
    #[cold]
    pub(super) fn clear_root(&self) -> Option<Marked> {
        self.root.clear(self.bit, Relaxed);
        if !broken(Step::SignalRootClearFence) {
            barrier::after_exchange(); // O3
        }
        if self.leaf.load(Relaxed) != 0 && !broken(Step::SignalRootClearLooks) {
            self.activate_root();
            return Some(Marked(()));
        }
        None
    }
}
