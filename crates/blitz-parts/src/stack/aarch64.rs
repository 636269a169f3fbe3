//! The stack pointer of AArch64.

use core::arch::asm;

#[inline(always)]
pub(super) fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register and does nothing else.
    unsafe {
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}
