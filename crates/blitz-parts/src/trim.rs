//! Frees memory that a queue needed for a burst.

use crate::tuning::CHAIN_KEEPS;
use std::collections::VecDeque;

/// Takes the memory of an empty queue that was long. The caller frees it after it has released the
/// queue's lock.
///
/// ```
/// use blitz_parts::trim::outgrown;
/// use std::collections::VecDeque;
/// let mut queue: VecDeque<u64> = (0..100_000).collect();
/// assert!(outgrown(&mut queue).is_none());
/// queue.clear();
/// drop(outgrown(&mut queue));
/// assert_eq!(queue.capacity(), 0);
/// queue.push_back(1);
/// queue.clear();
/// assert!(outgrown(&mut queue).is_none() && queue.capacity() > 0);
/// ```
#[must_use = "the memory is freed where the result is dropped"]
pub fn outgrown<T>(queue: &mut VecDeque<T>) -> Option<VecDeque<T>> {
    let is_outgrown = queue.is_empty() && queue.capacity() > CHAIN_KEEPS;
    is_outgrown.then(|| core::mem::take(queue))
}
