//! The processor's cycle counter, if the system uses it as its clock. Then all cores agree on it
//! and it runs at a constant rate. Reading it takes half as long as asking the system for the time.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod x86_64;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use x86_64 as system;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod none;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use none as system;

/// Whether the counter is reliable as a clock.
#[inline]
pub fn are_trusted() -> bool {
    system::are_trusted()
}

/// Returns the counter; on systems other than Linux on x86-64, returns 0. The processor may read
/// the counter some nanoseconds before or after the instructions around this call.
///
/// ```
/// use blitz_parts::cycles;
/// let before = cycles::read();
/// assert!(!cycles::are_trusted() || cycles::read() >= before);
/// ```
#[inline]
pub fn read() -> u64 {
    system::read()
}
