//! Asks the system what a thread does, and sets the length of its time slice.
//!
//! A thread that is blocked is not computing: it has used no processor time since the last check,
//! and the system does not count it as ready to run. A thread that waits for a processor is not
//! blocked.

#[cfg(all(target_os = "linux", not(any(blitz_shuttle, blitz_loom))))]
mod calls;
#[cfg(all(target_os = "linux", not(any(blitz_shuttle, blitz_loom))))]
mod linux;
#[cfg(all(target_os = "linux", not(any(blitz_shuttle, blitz_loom))))]
use linux as system;
#[cfg(any(not(target_os = "linux"), blitz_shuttle, blitz_loom))]
mod unknown;
#[cfg(any(not(target_os = "linux"), blitz_shuttle, blitz_loom))]
use unknown as system;

use std::borrow::Cow;
use std::time::Duration;

/// The system's number of a thread. The thread may have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(i32);

/// The current thread.
///
/// ```
/// use blitz_parts::thread::{current, is_blocked, time_used};
/// if let (Some(before), Some(after)) = (time_used(current()), time_used(current())) {
///     assert!(after >= before && !is_blocked(current()));
/// }
/// ```
pub fn current() -> ThreadId {
    ThreadId(system::current())
}

impl ThreadId {
    /// Returns the bits of the system's number, which are never zero.
    pub fn to_bits(self) -> u32 {
        u32::from_ne_bytes(self.0.to_ne_bytes())
    }

    /// The inverse of [`to_bits`](ThreadId::to_bits); `None` for zero.
    pub fn from_bits(bits: u32) -> Option<ThreadId> {
        (bits != 0).then(|| ThreadId(i32::from_ne_bytes(bits.to_ne_bytes())))
    }
}

/// How much processor time the thread has used; `None` if the system does not say.
pub fn time_used(thread: ThreadId) -> Option<Duration> {
    system::time_used(thread.0)
}

/// Whether the thread is neither running nor ready to run: it waits in the kernel.
///
/// Returns true where the system does not say. So a caller has to ask for [`time_used`], too: a
/// thread that makes progress is not blocked.
pub fn is_blocked(thread: ThreadId) -> bool {
    system::is_blocked(thread.0)
}

/// The processor on which the current thread runs; `None` if the system does not say.
///
/// The thread may have moved when this returns.
///
/// ```
/// assert_eq!(blitz_parts::thread::processor().is_some(), cfg!(target_os = "linux"));
/// ```
pub fn processor() -> Option<u32> {
    system::processor()
}

/// Lets `thread` run for about `slice` before other threads get their turn. When a thread wakes,
/// the system prefers it to threads with a longer slice. `None` stands for the default slice.
/// Returns whether the system accepts the call. An older Linux accepts it and has no slices.
///
/// ```
/// use blitz_parts::thread::{current, set_slice};
/// use std::time::Duration;
/// if set_slice(current(), Some(Duration::from_millis(1))) {
///     assert!(set_slice(current(), None));
/// }
/// ```
pub fn set_slice(thread: ThreadId, slice: Option<Duration>) -> bool {
    system::set_slice(thread.0, slice)
}

/// How a thread has spent its time since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The thread ran on a processor.
    pub ran: Duration,
    /// The thread was ready to run, and no processor was free.
    pub delayed: Duration,
}

/// Returns how the thread has spent its time; `None` if the system does not say.
///
/// ```
/// use blitz_parts::thread::{current, shares};
/// if let (Some(before), Some(after)) = (shares(current()), shares(current())) {
///     assert!(after.ran >= before.ran && after.delayed >= before.delayed);
/// }
/// ```
pub fn shares(thread: ThreadId) -> Option<Shares> {
    system::shares(thread.0)
}

/// Where in the kernel a thread is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Whether the thread runs, or is ready to run; `None` if the system does not say.
    pub is_ready: Option<bool>,
    /// The system call that the thread is in.
    pub call: Option<Cow<'static, str>>,
    /// The function of the kernel in which the thread waits.
    pub channel: Option<String>,
}

/// Returns where in the kernel the thread is. Fields are empty if the system does not say.
///
/// ```
/// use blitz_parts::thread::{current, whereabouts};
/// assert_ne!(whereabouts(current()).is_ready, Some(false));
/// ```
pub fn whereabouts(thread: ThreadId) -> Whereabouts {
    system::whereabouts(thread.0)
}
