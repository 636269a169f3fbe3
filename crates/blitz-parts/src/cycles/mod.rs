//! The processor's cycle counter, if the system uses it as its clock. Then all cores agree on it
//! and it runs at a constant rate. Reading it takes half as long as a call of the system's clock.

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

/// The counter; 0 where there is none. It may be read some nanoseconds too early or too late.
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
