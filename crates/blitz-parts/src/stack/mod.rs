//! Where the current thread's stack lies, and where in it the thread is.
//!
//! `bounds` asks the system and is slow; its caller caches the answer. `pointer` is one instruction
//! on known architectures. On others it is the address of a local variable. That is wrong only
//! under AddressSanitizer, which may put local variables on the heap.

#[cfg(all(target_os = "linux", not(blitz_shuttle)))]
mod linux;
#[cfg(all(target_os = "linux", not(blitz_shuttle)))]
use linux as system;
// The system does not know the stacks of a model's threads.
#[cfg(any(not(target_os = "linux"), blitz_shuttle))]
mod unknown;
#[cfg(any(not(target_os = "linux"), blitz_shuttle))]
use unknown as system;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as register;
#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as register;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod local;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use local as register;

use core::ops::Range;

/// The addresses of the current thread's stack, without its guard; `None` if the system does not
/// tell them.
///
/// ```
/// use blitz_parts::stack;
/// if let Some(bounds) = stack::bounds() {
///     assert!(bounds.contains(&stack::pointer()));
/// }
/// ```
pub fn bounds() -> Option<Range<usize>> {
    system::bounds()
}

/// About where the current thread is on its stack, which grows towards lower addresses.
#[inline]
pub fn pointer() -> usize {
    register::pointer()
}

#[cfg(test)]
mod tests {
    use super::{bounds, pointer};
    use std::thread;

    #[test]
    fn a_thread_is_within_its_bounds_which_are_at_least_as_large_as_it_asked_for() {
        let size = 1 << 20;
        let thread = thread::Builder::new().stack_size(size);
        let (bounds, here) = thread.spawn(|| (bounds(), pointer())).unwrap().join().unwrap();
        if let Some(bounds) = bounds {
            assert!(bounds.contains(&here));
            // Some libraries count the guard as a part of the stack that was asked for.
            assert!(bounds.len() >= size - (64 << 10));
        }
    }

    #[test]
    fn the_stack_grows_towards_lower_addresses() {
        #[inline(never)]
        fn deeper(levels: u32) -> usize {
            let mut frame = [0u8; 128];
            std::hint::black_box(&mut frame);
            if levels == 0 { pointer() } else { deeper(levels - 1) + usize::from(frame[0]) }
        }
        assert!(deeper(8) < pointer());
    }
}
