//! The id of the current task.

#![forbid(unsafe_code)]

pub use crate::base::Id;
use crate::base::context;

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
#[must_use]
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
#[must_use]
pub fn try_id() -> Option<Id> {
    context::task().map(|task| Id::of(&task))
}
