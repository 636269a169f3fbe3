//! The address of a local variable.

#[inline(never)]
pub(super) fn pointer() -> usize {
    let marker = 0u8;
    core::hint::black_box(&raw const marker).addr()
}
