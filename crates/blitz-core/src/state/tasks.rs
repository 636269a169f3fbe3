//! Where one worker's tasks wait.

#![forbid(unsafe_code)]

use super::bitmap::{BitmapMarks, OwnBitmap};
use super::counters::TaskCounters;
use super::tick::Tick;
use blitz_parts::lifo::LifoSlot;
use blitz_parts::ring::Ring;
use blitz_parts::task::{Owned, Runnable, Shown};
use blitz_parts::tuning::{BATCH_SLOTS, RING_SLOTS};
use std::cell::Cell;
use std::fmt;

/// The tasks of one worker that other workers may see and take.
pub(crate) struct TaskQueues {
    pub(crate) lifo: LifoSlot,
    /// Tasks taken from the queue in one batch, in a ring so that other workers can steal them.
    pub(crate) batch: Ring<BATCH_SLOTS>,
    pub(crate) ring: Ring<RING_SLOTS>,
    /// State of the bitmap scheduler; `None` in the stealing scheduler.
    pub(crate) bitmap: Option<Box<BitmapMarks>>,
    /// Waiting tasks: those that first waited on this worker or, in the bitmap scheduler, those
    /// whose slot is in a leaf of this worker.
    pub(crate) owned: Owned,
    pub(crate) counters: TaskCounters,
    /// The task that the worker polls.
    pub(crate) shown: Shown,
}

/// The part of a worker's tasks that only its own thread uses.
pub(crate) struct OwnTasks {
    pub(crate) tick: Tick,
    /// Polls in a row whose task came from the LIFO slot.
    pub(crate) lifo_polls: Cell<u32>,
    /// Whether there may be a task in the batch buffer.
    pub(crate) has_batch: Cell<bool>,
    /// Whether tasks that are woken or spawned on this worker go where all workers look. See
    /// `Tasks::while_parking`.
    pub(crate) parking: Cell<bool>,
    /// The worker that the next fair turn looks at, and how many polls that worker had begun at the
    /// last fair turn.
    pub(crate) suspect: Cell<(usize, u64)>,
    /// State of the bitmap scheduler; `None` in the stealing scheduler.
    pub(crate) bitmap: Option<Box<OwnBitmap>>,
}

impl TaskQueues {
    /// Creates empty queues. `bitmap` says that the team has the bitmap scheduler.
    pub(crate) fn new(bitmap: bool) -> TaskQueues {
        TaskQueues {
            lifo: LifoSlot::new(),
            batch: Ring::new(),
            ring: Ring::new(),
            bitmap: bitmap.then(Box::default),
            owned: Owned::new(),
            counters: TaskCounters::default(),
            shown: Shown::default(),
        }
    }

    /// Whether there is a task that other workers could take.
    pub(crate) fn has_public(&self) -> bool {
        !self.ring.is_empty() || !self.batch.is_empty()
    }

    /// Whether there is a task in the LIFO slot.
    pub(crate) fn has_lifo(&self) -> bool {
        !self.lifo.is_empty()
    }

    /// Whether there is a task in any of the queues.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.has_lifo() || self.has_public()
    }

    /// Tasks that wait in this worker's queues, including the LIFO slot.
    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.batch.len() + usize::from(self.has_lifo())
    }

    /// Takes the task out of the LIFO slot, because the owner is stuck or the team ends. Any thread
    /// may call this.
    pub(crate) fn rescue(&self) -> Option<Runnable> {
        self.lifo.take()
    }
}

impl OwnTasks {
    /// `bitmap` is the worker's part in the bitmap scheduler.
    pub(crate) fn new(tick: Tick, bitmap: Option<OwnBitmap>) -> OwnTasks {
        OwnTasks {
            tick,
            lifo_polls: Cell::new(0),
            has_batch: Cell::new(false),
            parking: Cell::new(false),
            suspect: Cell::new((0, 0)),
            bitmap: bitmap.map(Box::new),
        }
    }
}

impl fmt::Debug for TaskQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskQueues")
            .field("lifo", &self.has_lifo())
            .field("batch", &self.batch.len())
            .field("ring", &self.ring.len())
            .field("waiting", &self.owned.len())
            .finish_non_exhaustive()
    }
}
