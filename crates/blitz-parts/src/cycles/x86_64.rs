//! The time stamp counter. Before the kernel uses it as a clock it checks that the counter runs at
//! one rate in all states of the processor, and in step on all cores.

use std::sync::OnceLock;

#[inline]
pub(super) fn are_trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    *TRUSTED.get_or_init(|| std::fs::read_to_string(clock).is_ok_and(|name| name.trim() == "tsc"))
}

#[inline]
pub(super) fn read() -> u64 {
    // SAFETY: every processor of this kind has the instruction, which only reads the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}
