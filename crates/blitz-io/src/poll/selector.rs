//! The system's readiness queue, through mio. Only this file waits in it.

#![forbid(unsafe_code)]

use super::timer::{Limit, Timer};
use blitz_parts::readiness::Ready;
use mio::event::{Event, Source};
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The smaller of the timer's and the waker's token. Registrations have still smaller tokens.
pub(super) const RESERVED: usize = usize::MAX - 1;
const TIMER: Token = Token(RESERVED);
const WAKER: Token = Token(usize::MAX);

/// Priority events, where the system has them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PRIORITY: Option<Interest> = Some(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PRIORITY: Option<Interest> = None;

/// The events that readers wait for. Urgent data is among them where the system has it, because a
/// read stops at urgent data.
const READING: Interest = match PRIORITY {
    Some(priority) => Interest::READABLE.add(priority),
    None => Interest::READABLE,
};

/// The queue in which descriptors are registered. One thread at a time waits there for events.
pub(super) struct Selector {
    registry: Registry,
    waker: Waker,
    /// Set once the system has refused a timer.
    without_timer: OnceLock<()>,
    /// Only the worker with the driver's lease uses it, so the lock is always free.
    queue: Mutex<Queue>,
}

struct Queue {
    poll: Poll,
    events: Events,
    /// `None` if the system has no such timer, or forbids it.
    timer: Option<Timer>,
}

impl Selector {
    /// Makes a queue whose waits return at most `events` events.
    pub(super) fn new(events: usize) -> io::Result<Selector> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(&registry, WAKER)?;
        let timer = Timer::new(&registry, TIMER).ok();
        let without_timer = OnceLock::new();
        if timer.is_none() {
            let _ = without_timer.set(());
        }
        let queue = Queue { poll, events: Events::with_capacity(events.max(1)), timer };
        Ok(Selector { registry, waker, without_timer, queue: Mutex::new(queue) })
    }

    /// Waits for events until `limit`, or for ever if there is none. Calls `note` with the token
    /// and the readiness of each.
    pub(super) fn wait(&self, limit: Option<Limit>, mut note: impl FnMut(usize, Ready)) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let timeout = limit.and_then(|limit| self.timeout(&mut queue, limit));
        let Queue { poll, events, timer } = &mut *queue;
        match poll.poll(events, timeout) {
            Ok(()) => {}
            // A signal handler has run: the caller looks for work and comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the system does not let Blitz wait for events: {error}"),
        }
        for event in events.iter() {
            match (event.token(), &mut *timer) {
                (WAKER, _) => {}
                (TIMER, timer) => timer.iter_mut().for_each(Timer::has_fired),
                (token, _) => note(token.0, ready(event)),
            }
        }
    }

    /// Whether a wait would return at once: an event happened, the timer fired, or the waker was
    /// called. Any thread may ask. Returns false if the system cannot tell.
    #[cfg(target_os = "linux")]
    pub(super) fn has_news(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut queue = [PollFd::new(&self.registry, PollFlags::IN)];
        matches!(poll(&mut queue, Some(&Timespec::default())), Ok(1))
    }

    /// Returns false: this system cannot tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn has_news(&self) -> bool {
        false
    }

    /// The timeout to pass to the system's queue; `None` if the timer ends the wait.
    fn timeout(&self, queue: &mut Queue, limit: Limit) -> Option<Duration> {
        if limit.left.is_zero() {
            return Some(Duration::ZERO);
        }
        if let Some(timer) = &mut queue.timer {
            if timer.set(limit).is_ok() {
                return None;
            }
            // A filter of system calls that came later forbids the timer: use the queue's timeout.
            queue.timer = None;
            let _ = self.without_timer.set(());
        }
        Some(limit.left)
    }

    /// Whether the system's timer ends waits. Otherwise the timeout of its queue does, which may be
    /// rounded to milliseconds.
    pub(super) fn has_timer(&self) -> bool {
        self.without_timer.get().is_none()
    }

    /// The number of the system's queue, which is a descriptor.
    pub(super) fn number(&self) -> i32 {
        self.registry.as_raw_fd()
    }

    /// Makes the current or the next wait return.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            panic!("a sleeping worker cannot be woken: {error}");
        }
    }

    /// Reports events of `source` from now on, each change once, with `token`.
    pub(super) fn register(
        &self,
        source: &mut impl Source,
        token: usize,
        interest: crate::io::Interest,
    ) -> io::Result<()> {
        self.registry.register(source, Token(token), asked_for(interest)?)
    }

    /// Reports no more events of `source`, except those that a wait has already received.
    pub(super) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.registry.deregister(source)
    }
}

/// Returns the events to request from the system. The system always reports errors, so for errors
/// alone this requests both directions.
fn asked_for(interest: crate::io::Interest) -> io::Result<Interest> {
    let directions = match (interest.is_readable(), interest.is_writable()) {
        (true, false) => Some(READING),
        (false, true) => Some(Interest::WRITABLE),
        (true, true) => Some(READING | Interest::WRITABLE),
        (false, false) => None,
    };
    if !interest.is_priority() {
        return Ok(directions.unwrap_or(READING | Interest::WRITABLE));
    }
    let none = || io::Error::new(io::ErrorKind::Unsupported, "only Linux has priority events");
    let priority = PRIORITY.ok_or_else(none)?;
    Ok(directions.map_or(priority, |directions| directions | priority))
}

fn ready(event: &Event) -> Ready {
    let mut ready = Ready::EMPTY;
    let mut add = |is, what| {
        if is {
            ready |= what;
        }
    };
    add(event.is_readable(), Ready::READABLE);
    add(event.is_writable(), Ready::WRITABLE);
    add(event.is_read_closed(), Ready::READ_CLOSED);
    add(event.is_write_closed(), Ready::WRITE_CLOSED);
    add(event.is_error(), Ready::ERROR);
    add(event.is_priority(), Ready::URGENT | Ready::PRIORITY);
    ready
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").field("registry", &self.registry).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, Selector};
    use std::time::{Duration, Instant};

    const LEFT: Duration = Duration::from_micros(300);

    fn wait(selector: &Selector, moment: u64, left: Duration) {
        selector.wait(Some(Limit { moment, left }), |token, _| panic!("an event of {token}"));
    }

    /// Waits until `time` has passed; returns how many waits that took.
    fn waits(selector: &Selector, moment: u64, time: Duration) -> usize {
        let (start, mut waits) = (Instant::now(), 0);
        while start.elapsed() < time {
            wait(selector, moment, time.saturating_sub(start.elapsed()));
            waits += 1;
        }
        waits
    }

    /// How many waits may end because of a signal: child processes of other tests send signals.
    const BY_SIGNALS: usize = 20;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_selector_has_news_from_a_wake_until_the_wait_that_it_ends() {
        let selector = Selector::new(16).unwrap();
        assert!(!selector.has_news());
        selector.wake();
        assert!(selector.has_news() && selector.has_news(), "asking takes nothing away");
        selector.wait(Some(Limit::NOW), |token, _| panic!("an event of {token}"));
        assert!(!selector.has_news());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_timer_that_has_fired_is_news() {
        let selector = Selector::new(16).unwrap();
        let queue = || selector.queue.lock().unwrap();
        let limit = Limit { moment: 1, left: Duration::from_micros(1) };
        assert_eq!(selector.timeout(&mut queue(), limit), None, "the timer ends the wait");
        while !selector.has_news() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_wait_ends_at_its_limit_and_not_before() {
        let selector = Selector::new(1).unwrap();
        // Each moment is waited for twice: the second wait has to set the timer again, because the
        // timer has fired.
        let moments = (0..200).map(|n| n / 2);
        let waits: usize = moments.map(|moment| waits(&selector, moment, LEFT)).sum();
        assert!(waits <= 200 + BY_SIGNALS, "{waits} waits for 200 moments");
        wait(&selector, 99, Duration::ZERO);
    }

    /// The timer stays set to the moment while wake-ups end waits.
    #[test]
    fn a_wait_that_was_ended_early_goes_on_to_the_same_limit() {
        let selector = Selector::new(8).unwrap();
        for moment in 0..20 {
            selector.wake();
            wait(&selector, moment, 20 * LEFT);
            let waits = waits(&selector, moment, 20 * LEFT);
            assert!(waits <= 2 + BY_SIGNALS, "{waits} waits");
        }
        // The timer is set to a far moment and back to a near one.
        selector.wake();
        wait(&selector, 30, Duration::MAX);
        waits(&selector, 31, LEFT);
    }

    #[test]
    fn without_a_timer_the_queue_ends_a_wait() {
        let selector = Selector::new(1).unwrap();
        selector.queue.lock().unwrap().timer = None;
        let waits: usize = [1, 2, 2].map(|moment| waits(&selector, moment, LEFT)).iter().sum();
        assert!(waits <= 3 + BY_SIGNALS, "{waits} waits for 3 moments");
        selector.wake();
        wait(&selector, 3, Duration::MAX);
    }
}
