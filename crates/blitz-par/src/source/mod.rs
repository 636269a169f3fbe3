//! Sources of items.

pub mod array;
pub mod bridge;
pub mod chunks;
pub mod collections;
pub mod deque;
pub mod exact_chunks;
pub mod option;
pub mod piece;
pub mod pulled;
pub mod range;
pub mod range_inclusive;
pub mod repeat;
pub mod slice;
pub mod split;
pub mod split_on;
pub mod string;
pub mod vec;
pub mod walk;
pub mod windows;
