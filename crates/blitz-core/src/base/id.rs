//! Ids of tasks and jobs.

#![forbid(unsafe_code)]

use blitz_parts::task::{Runnable, Serial, ShownTask, TaskRef};
use std::fmt;

/// The id of a task or job: a serial number, unique in the process.
///
/// A newer task or job may have a smaller id than an older one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Serial);

impl Id {
    pub(crate) fn of(task: &TaskRef) -> Id {
        Id(task.serial())
    }

    pub(crate) fn of_runnable(task: &Runnable) -> Id {
        Id(task.serial())
    }

    /// The id of the task that has this number.
    pub(crate) fn of_serial(serial: Serial) -> Id {
        Id(serial)
    }

    /// The id of a task that a worker shows to other threads.
    pub(crate) fn of_shown(task: ShownTask) -> Id {
        Id(task.serial())
    }

    /// Creates a new id.
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
