//! The system's readiness queue, through mio. No other file knows how it is asked.

#![forbid(unsafe_code)]

use blitz_parts::readiness::Ready;
use mio::event::{Event, Source};
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The token of the waker; no registration has this number.
pub(super) const RESERVED: usize = usize::MAX;
const WAKER: Token = Token(RESERVED);

/// The events that readers wait for. Urgent data is among them where the system has it, since reads
/// end before it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const READING: Interest = Interest::READABLE.add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const READING: Interest = Interest::READABLE;

/// Where descriptors are registered, and where one thread at a time waits for events of them.
pub(super) struct Selector {
    registry: Registry,
    waker: Waker,
    /// Only the worker with the driver's lease uses it, so the lock is always free.
    queue: Mutex<Queue>,
}

struct Queue {
    poll: Poll,
    events: Events,
}

impl Selector {
    /// Makes a queue of which one wait brings at most `events`.
    pub(super) fn new(events: usize) -> io::Result<Selector> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(&registry, WAKER)?;
        let queue = Queue { poll, events: Events::with_capacity(events.max(1)) };
        Ok(Selector { registry, waker, queue: Mutex::new(queue) })
    }

    /// Waits for events and calls `note` with the token and the readiness of each; at most for
    /// `timeout`, for ever if there is none.
    pub(super) fn wait(&self, timeout: Option<Duration>, mut note: impl FnMut(usize, Ready)) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Queue { poll, events } = &mut *queue;
        match poll.poll(events, timeout) {
            Ok(()) => {}
            // A signal handler has run: the caller looks for work and comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the system does not let Blitz wait for events: {error}"),
        }
        for event in events.iter().filter(|event| event.token() != WAKER) {
            note(event.token().0, ready(event));
        }
    }

    /// Makes the current or the next wait return.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            panic!("a sleeping worker cannot be woken: {error}");
        }
    }

    /// Reports events of `source` from now on, each change once, under the name `token`.
    pub(super) fn register(
        &self,
        source: &mut impl Source,
        token: usize,
        interest: crate::io::Interest,
    ) -> io::Result<()> {
        let interest = match (interest.is_readable(), interest.is_writable()) {
            (true, false) => READING,
            (false, true) => Interest::WRITABLE,
            _ => READING | Interest::WRITABLE,
        };
        self.registry.register(source, Token(token), interest)
    }

    /// Reports no more events of `source`, except those that a wait has already.
    pub(super) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.registry.deregister(source)
    }
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
    add(event.is_priority(), Ready::URGENT);
    ready
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").field("registry", &self.registry).finish_non_exhaustive()
    }
}
