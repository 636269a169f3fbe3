//! Used on systems that do not say what a thread does, and in models. A thread without progress
//! counts as blocked; under shuttle the schedule decides.

use super::{Shares, Whereabouts};
use std::time::Duration;

pub(super) fn current() -> i32 {
    1
}

pub(super) fn time_used(_thread: i32) -> Option<Duration> {
    None
}

#[cfg(blitz_shuttle)]
pub(super) fn is_blocked(_thread: i32) -> bool {
    crate::prim::any_below(2) == 0
}

#[cfg(not(blitz_shuttle))]
pub(super) fn is_blocked(_thread: i32) -> bool {
    true
}

pub(super) fn set_slice(_thread: i32, _slice: Option<Duration>) -> bool {
    false
}

#[cfg(any(blitz_shuttle, blitz_loom))]
pub(super) fn processor() -> Option<u32> {
    Some(0)
}

#[cfg(not(any(blitz_shuttle, blitz_loom)))]
pub(super) fn processor() -> Option<u32> {
    None
}

pub(super) fn shares(_thread: i32) -> Option<Shares> {
    None
}

pub(super) fn whereabouts(_thread: i32) -> Whereabouts {
    Whereabouts::default()
}
