//! Wakes all listeners of one signal in one pool.
//!
//! ```text
//!  handler: count + 1 ─▶ a byte into a socket ─▶ the pool's driver ─▶ listeners compare the count
//! ```
//!
//! Listeners do not read the bytes, so that no listener takes an event from another. With edge
//! triggering, each arriving byte is an event. The handler makes room if the socket is full.

#![forbid(unsafe_code)]

use super::SignalKind;
use super::hook::Hook;
use crate::driver;
use crate::io::Interest;
use crate::io::unix::AsyncFd;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

/// State that all listeners to the same signal in the same pool share.
#[derive(Debug)]
pub(super) struct Bell {
    // The fields are dropped in this order: first the handler ends, then the driver stops watching
    // the socket.
    hook: Hook,
    ring: AsyncFd<UnixStream>,
}

/// Every bell that has a listener, by the address of its pool's reactor and its signal.
static BELLS: Mutex<Option<Bells>> = Mutex::new(None);

type Bells = HashMap<(usize, SignalKind), Weak<Bell>>;

impl Bell {
    /// Returns the bell of the current pool, else of the global one.
    ///
    /// # Errors
    /// If Blitz cannot listen to signals of this `kind`, if the system refuses, or if the pool has
    /// ended.
    pub(super) fn of(kind: SignalKind) -> io::Result<Arc<Bell>> {
        let pool = driver::with_current(|driver, _| Arc::as_ptr(driver.reactor()).addr())?;
        let mut bells = lock();
        let bells = bells.get_or_insert_default();
        // A bell keeps its reactor alive, so no other reactor has that address as long as the bell
        // exists.
        if let Some(bell) = bells.get(&(pool, kind)).and_then(Weak::upgrade) {
            return Ok(bell);
        }
        let bell = Arc::new(Bell::new(kind)?);
        bells.retain(|_, bell| bell.strong_count() > 0);
        bells.insert((pool, kind), Arc::downgrade(&bell));
        Ok(bell)
    }

    fn new(kind: SignalKind) -> io::Result<Bell> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let ring = AsyncFd::with_interest(read.try_clone()?, Interest::READABLE)?;
        Ok(Bell { hook: Hook::new(kind, write, read)?, ring })
    }

    /// How many signals there were.
    pub(super) fn count(&self) -> u64 {
        self.hook.count()
    }

    /// Waits until the count differs from `seen`; returns the new count.
    ///
    /// # Errors
    /// If the pool has ended.
    pub(super) async fn beyond(&self, seen: u64) -> io::Result<u64> {
        loop {
            let mut ringing = pin!(self.ring.readable());
            let guard = poll_fn(|cx| {
                let ringing = ringing.as_mut().poll(cx);
                // Read the count after the poll. Another listener may have cleared an event before
                // this one saw it, but the handler counted that signal before the event. Any later
                // event finds this listener waiting.
                if self.count() != seen { Poll::Ready(None) } else { ringing.map(Some) }
            });
            match guard.await {
                None => return Ok(self.count()),
                // Clears an old event. If there was a new one since, this does nothing.
                Some(guard) => guard?.clear_ready(),
            }
        }
    }
}

fn lock() -> MutexGuard<'static, Option<Bells>> {
    // A panic under this lock leaves nothing half done.
    BELLS.lock().unwrap_or_else(PoisonError::into_inner)
}
