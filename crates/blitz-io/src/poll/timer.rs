//! A timer that ends a wait to the microsecond; the system's queue would round to milliseconds.

#![forbid(unsafe_code)]

use std::time::Duration;

/// Until when a wait may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Names the moment: two limits with the same name are the same moment.
    pub(crate) moment: u64,
    /// How long it is until then; the wait does not block if this is zero.
    pub(crate) left: Duration,
}

impl Limit {
    /// The wait does not block.
    pub(crate) const NOW: Limit = Limit { moment: 0, left: Duration::ZERO };
}

pub(super) use system::Timer;

/// A descriptor that becomes readable at a given moment. No thread reads it: the queue reports each
/// change once, and setting a new moment clears it.
///
/// Why not the queue's own timeout? `epoll_wait` counts milliseconds. `epoll_pwait2` counts
/// nanoseconds, but the kernel may be late by the thread's timer slack (50 us) and by a thousandth
/// of the timeout. The descriptor costs one more system call for each wait with a new limit.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use super::Limit;
    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};

    #[derive(Debug)]
    pub(in crate::poll) struct Timer {
        descriptor: OwnedFd,
        /// The moment that the timer is set to; `None` if it is not set, or has fired since.
        set_to: Option<u64>,
    }

    impl Timer {
        /// Makes a timer that `registry` watches.
        pub(in crate::poll) fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let source = descriptor.as_raw_fd();
            registry.register(&mut SourceFd(&source), token, Interest::READABLE)?;
            Ok(Timer { descriptor, set_to: None })
        }

        /// Makes the timer end waits at `limit`, and no longer at the moment it was set to before.
        pub(in crate::poll) fn set(&mut self, limit: Limit) -> io::Result<()> {
            if self.set_to == Some(limit.moment) {
                return Ok(());
            }
            let never = Timespec { tv_sec: i64::MAX, tv_nsec: 0 };
            let value = Timespec::try_from(limit.left).unwrap_or(never);
            let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
            timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
            self.set_to = Some(limit.moment);
            Ok(())
        }

        /// Notes that the queue has reported the timer.
        pub(in crate::poll) fn has_fired(&mut self) {
            self.set_to = None;
        }
    }
}

/// There is no timer here: the queue's own timeout is precise, or the system has nothing better.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use super::Limit;
    use mio::{Registry, Token};
    use std::io;

    #[derive(Debug)]
    pub(in crate::poll) enum Timer {}

    impl Timer {
        pub(in crate::poll) fn new(_: &Registry, _: Token) -> io::Result<Timer> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::poll) fn set(&mut self, limit: Limit) -> io::Result<()> {
            let Limit { moment: _moment, left: _left } = limit;
            match *self {}
        }

        pub(in crate::poll) fn has_fired(&mut self) {
            match *self {}
        }
    }
}
