//! The stack pointer of x86-64.

use core::arch::asm;

#[inline(always)]
pub(super) fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register and does nothing else.
    unsafe {
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}
