//! Linux: the clock of a thread, its state in `/proc`, and `sched_setattr`.

use super::calls::name_of_call;
use super::{Shares, Whereabouts};
use core::mem::{MaybeUninit, size_of};
use std::borrow::Cow;
use std::fs;
use std::time::Duration;

pub(super) fn current() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The clock of a thread by its number, as `pthread_getcpuclockid` makes it.
fn clock_of(thread: i32) -> libc::clockid_t {
    /// Selects the clock that counts the processor time of one thread.
    const PER_THREAD_SCHED: libc::clockid_t = 4 | 2;
    (!thread << 3) | PER_THREAD_SCHED
}

pub(super) fn time_used(thread: i32) -> Option<Duration> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel writes the time if it returns zero, else nothing.
    let result = unsafe { libc::clock_gettime(clock_of(thread), time.as_mut_ptr()) };
    if result != 0 {
        return None;
    }
    // SAFETY: the kernel has written the time.
    let time = unsafe { time.assume_init() };
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

pub(super) fn is_blocked(thread: i32) -> bool {
    is_ready(thread) != Some(true)
}

/// Whether the thread runs or is ready to run.
fn is_ready(thread: i32) -> Option<bool> {
    // The name, in parentheses, may contain any character; the state is the first letter after it.
    let stat = fs::read(format!("/proc/self/task/{thread}/stat")).ok()?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(end + 2).map(|&state| state == b'R')
}

pub(super) fn shares(thread: i32) -> Option<Shares> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let (ran, delayed) = (numbers.next()?, numbers.next()?);
    Some(Shares { ran: Duration::from_nanos(ran), delayed: Duration::from_nanos(delayed) })
}

pub(super) fn whereabouts(thread: i32) -> Whereabouts {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok();
    let channel = read("wchan").filter(|name| !name.is_empty() && name != "0");
    Whereabouts {
        is_ready: is_ready(thread),
        call: read("syscall").as_deref().and_then(call),
        channel,
    }
}

/// The system call in a line of `/proc/self/task/N/syscall`: the number of the call comes first, or
/// `running`, or -1 outside every call.
fn call(line: &str) -> Option<Cow<'static, str>> {
    let number = line.split_whitespace().next()?.parse().ok().filter(|&number| number >= 0)?;
    Some(match name_of_call(number) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("number {number}")),
    })
}

/// `SCHED_FLAG_RESET_ON_FORK`.
const RESET_ON_FORK: u64 = 1;

/// How `thread` is scheduled.
fn attributes(thread: i32) -> Option<libc::sched_attr> {
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    let at = attributes.as_mut_ptr();
    // SAFETY: the kernel writes as many bytes as there are, at most.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, at, SIZE, 0) };
    // SAFETY: all bytes were zero or come from the kernel, and every value is valid.
    (got == 0).then(|| unsafe { attributes.assume_init() })
}

/// The size of the structure, which the kernel asks for.
const SIZE: u32 = size_of::<libc::sched_attr>() as u32;

pub(super) fn set_slice(thread: i32, slice: Option<Duration>) -> bool {
    let Some(mut attributes) = attributes(thread) else { return false };
    if i64::from(attributes.sched_policy) != i64::from(libc::SCHED_OTHER) {
        // The user has chosen another scheduling class for the thread, which has no slices.
        return false;
    }
    let nanos = slice.map_or(0, |slice| u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX));
    attributes.size = SIZE;
    attributes.sched_runtime = nanos;
    // With this flag, threads that `thread` starts have the usual slice. Only a privileged thread
    // may clear the flag.
    attributes.sched_flags = RESET_ON_FORK;
    // SAFETY: the kernel reads the attributes, which are alive during the call.
    unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) == 0 }
}

pub(super) fn processor() -> Option<u32> {
    // Not by rustix, which takes it for granted that the system answers. A filter may refuse the
    // call, which it makes where no page of the kernel answers, as on 64-bit Arm.
    // SAFETY: the function only returns a number.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        attributes, call, current, is_blocked, processor, set_slice, shares, time_used, whereabouts,
    };
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thread_that_waits_for_a_message_is_blocked_and_one_that_computes_is_not() {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            tell.send(current()).unwrap();
            wait.recv().unwrap();
        });
        let thread = told.recv().unwrap();
        // The thread may not have reached its wait yet, or may wait for something else before it,
        // such as a page of memory. Only its wait for the message lasts.
        let waits = || {
            let before = time_used(thread).unwrap();
            let (is_blocked, place) = (is_blocked(thread), whereabouts(thread));
            // A kernel may be built without the file that names the call.
            let is_in_wait = place.call.as_deref().is_none_or(|call| call == "futex");
            is_blocked
                && place.is_ready == Some(false)
                && is_in_wait
                && time_used(thread) == Some(before)
        };
        while !waits() {
            std::thread::yield_now();
        }
        assert!(!is_blocked(current()));
        go.send(()).unwrap();
        other.join().unwrap();
        // The kernel wakes the thread that joins before it forgets the thread that has ended.
        while time_used(thread).is_some() {
            std::thread::yield_now();
        }
        assert_eq!((shares(thread), whereabouts(thread).is_ready), (None, None));
    }

    #[test]
    fn a_line_of_the_kernel_names_the_call() {
        let futex = format!("{} 0x7f00 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7fb6", libc::SYS_futex);
        assert_eq!(call(&futex).as_deref(), Some("futex"));
        assert_eq!(call("99999 0x0").as_deref(), Some("number 99999"));
        for none in ["running\n", "-1 0x7ffc 0x7fb6", ""] {
            assert_eq!(call(none), None);
        }
    }

    #[test]
    fn a_thread_that_computes_uses_time() {
        let before = time_used(current()).unwrap();
        let since = Instant::now();
        while time_used(current()).unwrap() == before {
            assert!(since.elapsed() < Duration::from_secs(60));
        }
    }

    #[test]
    fn a_slice_is_set_and_given_back_where_the_kernel_has_slices() {
        std::thread::spawn(|| {
            let slice = || attributes(current()).map(|attributes| attributes.sched_runtime);
            let before = slice();
            let is_set = set_slice(current(), Some(Duration::from_micros(300)));
            // An older kernel takes the call and has no slices.
            assert!(!is_set || slice() == Some(300_000) || slice() == before);
            assert_eq!(std::thread::spawn(slice).join().unwrap(), before, "no slice is inherited");
            assert!(set_slice(current(), None) || !is_set);
            assert_eq!(slice(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_runs_on_a_processor_that_it_may_use() {
        let affinity = rustix::thread::sched_getaffinity(None).unwrap();
        assert!(affinity.is_set(processor().unwrap() as usize));
    }

    #[test]
    fn another_thread_can_set_the_slice() {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            tell.send(current()).unwrap();
            wait.recv().unwrap();
            attributes(current()).map(|attributes| attributes.sched_runtime)
        });
        let thread = told.recv().unwrap();
        let before = attributes(thread).map(|attributes| attributes.sched_runtime);
        let is_set = set_slice(thread, Some(Duration::from_millis(20)));
        go.send(()).unwrap();
        let after = other.join().unwrap();
        // An older kernel takes the call and has no slices.
        assert!(!is_set || after == Some(20_000_000) || after == before);
    }
}
