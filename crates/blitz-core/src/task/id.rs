//! The id of the current task.

#![forbid(unsafe_code)]

pub use crate::base::Id;
use crate::base::context;

/// Returns the id of the calling task.
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
/// If called outside a task; [`try_id`] returns `None` there.
#[must_use]
pub fn id() -> Id {
    match try_id() {
        Some(id) => id,
        None => panic!("task::id was called outside a task; spawn one, or use task::try_id"),
    }
}

/// Returns the id of the calling task; `None` outside a task.
///
/// ```
/// assert_eq!(blitz::task::try_id(), None);
/// ```
#[must_use]
pub fn try_id() -> Option<Id> {
    context::task().map(|task| Id::of(&task))
}
