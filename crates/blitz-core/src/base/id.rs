//! What tells tasks apart.

#![forbid(unsafe_code)]

use blitz_parts::task::TaskRef;
use std::fmt;
use std::num::NonZeroU64;

/// What tells a task from all others that exist at the same time. It may be used again once the
/// task is complete and all its handles are gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn of(task: &TaskRef) -> Id {
        Id(task.id())
    }

    /// The id of what lies at `address`.
    pub(crate) fn of_address(address: *const ()) -> Id {
        Id(NonZeroU64::new(address.addr() as u64).unwrap_or(NonZeroU64::MAX))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
