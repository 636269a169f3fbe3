//! Asks the kernel to run a thread promptly. Some kernels support that.

use std::{io, num::NonZeroU64, time::Duration};

/// Asks the kernel for a shorter time slice for the calling thread.
///
/// Linux 6.12 and later prefer a thread with a shorter slice when it wakes. They grant 0.1 to
/// 100 ms to threads of the ordinary policy, without a privilege. Older kernels ignore the request.
///
/// The thread also gets the ordinary policy. It keeps its nice value.
///
/// # Errors
///
/// Returns the system's error.
pub fn shorten_slice(slice: Duration) -> io::Result<()> {
    set(libc::sched_attr {
        sched_policy: libc::SCHED_OTHER as u32,
        // Linux has a nice value for each thread. `None` means the calling thread.
        sched_nice: rustix::process::getpriority_process(None)?,
        sched_runtime: u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX),
        ..NOTHING
    })
}

/// Makes the kernel run the calling thread before every thread of the ordinary policy.
///
/// Threads that the calling thread starts do not inherit this. Otherwise workers of a runtime could
/// run before all other threads and starve them.
///
/// # Errors
///
/// Returns the system's error: most users may not ask for this.
pub fn go_before_all() -> io::Result<()> {
    set(libc::sched_attr {
        sched_policy: libc::SCHED_FIFO as u32,
        sched_flags: RESET_ON_FORK,
        sched_priority: 1,
        ..NOTHING
    })
}

/// `SCHED_FLAG_RESET_ON_FORK`.
const RESET_ON_FORK: u64 = 1;

const SIZE: u32 = size_of::<libc::sched_attr>() as u32;

const NOTHING: libc::sched_attr = libc::sched_attr {
    size: SIZE,
    sched_policy: 0,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

#[allow(unsafe_code)]
fn set(attributes: libc::sched_attr) -> io::Result<()> {
    let calling_thread: libc::pid_t = 0;
    let flags: libc::c_uint = 0;
    let attributes: *const libc::sched_attr = &attributes;
    // SAFETY: the call reads `SIZE` bytes from the pointer to a live `sched_attr`, and does not
    // keep the pointer.
    let failed =
        unsafe { libc::syscall(libc::SYS_sched_setattr, calling_thread, attributes, flags) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the timer slack of the calling thread to the minimum, instead of 50 us.
///
/// # Errors
///
/// Returns the system's error.
pub fn sharpen_timers() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_nice_value() {
        use rustix::process::{getpriority_process, setpriority_process};
        // Change the nice value of a thread that ends: most users may not lower a nice value again.
        let tried = std::thread::spawn(|| {
            let nice = (getpriority_process(None).unwrap() + 3).min(19);
            setpriority_process(None, nice).unwrap();
            shorten_slice(Duration::from_micros(300)).unwrap();
            (nice, getpriority_process(None).unwrap())
        });
        let (before, after) = tried.join().unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn the_kernel_accepts_the_requests() {
        shorten_slice(Duration::from_micros(300)).unwrap();
        sharpen_timers().unwrap();
        assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1);
        // Ask on a thread that ends, so that this thread keeps its settings.
        let tried = std::thread::spawn(|| {
            let tried = go_before_all();
            let heir = std::thread::spawn(|| shorten_slice(Duration::from_micros(300)));
            assert!(heir.join().unwrap().is_ok(), "a new thread gets the ordinary policy");
            tried
        });
        if let Err(error) = tried.join().unwrap() {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
    }
}
