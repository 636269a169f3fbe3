//! What tells tasks apart.

#![forbid(unsafe_code)]

use super::context;
use blitz_parts::task::TaskRef;
use std::fmt;
use std::num::NonZeroU64;

/// What tells a task from all others that exist at the same time. It may be used again once the task is
/// complete and all its handles are gone.
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

/// The id of the task that calls it.
///
/// ```
/// let (inside, outside) = blitz::block_on(async {
///     let handle = blitz::spawn(async { blitz::task::id() });
///     let outside = handle.id();
///     (handle.await.unwrap(), outside)
/// });
/// assert_eq!(inside, outside);
/// ```
///
/// # Panics
/// Outside of a task; [`try_id`] returns `None` there.
pub fn id() -> Id {
    match try_id() {
        Some(id) => id,
        None => panic!("task::id was called outside of a task; spawn one, or use task::try_id"),
    }
}

/// The id of the task that calls it; `None` outside of a task.
///
/// ```
/// assert_eq!(blitz::task::try_id(), None);
/// ```
pub fn try_id() -> Option<Id> {
    context::task().map(|task| Id::of(&task))
}
