//! Ids of tasks.

#![forbid(unsafe_code)]

use blitz_parts::task::{Runnable, Serial, ShownTask, TaskRef};
use std::fmt;

/// The id of a task or job: a serial number, unique in the process.
///
/// Of two ids the greater one is not always the newer one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Serial);

impl Id {
    pub(crate) fn of(task: &TaskRef) -> Id {
        Id(task.serial())
    }

    pub(crate) fn of_runnable(task: &Runnable) -> Id {
        Id(task.serial())
    }

    /// Of a task that a worker shows to others.
    pub(crate) fn of_shown(task: ShownTask) -> Id {
        Id(task.serial())
    }

    /// A new one.
    pub(crate) fn next() -> Id {
        Id(Serial::next())
    }

    /// The number.
    pub(crate) fn number(self) -> u64 {
        self.0.get().get()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
