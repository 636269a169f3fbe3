//! For systems on which this crate reads no cycle counter.

pub(super) fn are_trusted() -> bool {
    false
}

#[inline]
pub(super) fn read() -> u64 {
    0
}
