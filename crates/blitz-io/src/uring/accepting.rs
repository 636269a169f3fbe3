//! A connection that the system accepts for a listener.
//!
//! ```text
//!  accept ────────┐ locks for one poll               ┌▶ every task in `accept`
//!                 ├───────────▶ operation ──▶ Bell ──┤
//!  poll_accept ───┘                                  └▶ the newest task in `poll_accept`
//! ```
//!
//! The operation belongs to the listener, not to the task that began it: no connection is lost if
//! the task goes away. A task polls the operation with a waker of the listener's own, the `Bell`,
//! which notifies the tasks in the drawing. The first notified task that polls gets the connection.
//! So a notified task that does not poll does not block the others.

#![forbid(unsafe_code)]

use super::ring::is_cancelled;
use super::{RESTARTS, Uring};
use crate::borrowed::Notify;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A connection, and the address of its peer.
type Accepted = (OwnedFd, SocketAddr);
type Operation = Pin<Box<dyn Future<Output = io::Result<Accepted>> + Send>>;

/// The accept operation that io_uring runs for a listener.
#[derive(Default)]
pub(crate) struct Accepting {
    /// Locked for one poll, which calls only the waker of the bell.
    under_way: Mutex<Option<Operation>>,
    bell: Arc<Bell>,
}

/// Notifies the tasks that wait for the operation.
#[derive(Default)]
struct Bell {
    /// The tasks in `accept`.
    accepting: Notify,
    /// The task that called `poll_accept` last.
    polling: Mutex<Option<Waker>>,
}

impl Accepting {
    /// Returns the next connection to `listener`; `None` if the ring takes no more operations.
    ///
    /// The error may be `WouldBlock`. Before Linux 5.19 the system does not wait for a connection
    /// if the listener is non-blocking, and later systems may give up after many false alarms. Then
    /// the caller waits until the listener is readable, and calls `next` again.
    pub(crate) async fn next(
        &self,
        uring: Arc<Uring>,
        listener: BorrowedFd<'_>,
    ) -> Option<io::Result<Accepted>> {
        let mut restarts = 0;
        loop {
            let mut news = pin!(self.bell.accepting.notified());
            // From here on this task misses no completion.
            news.as_mut().enable();
            match self.poll(|| uring.accept(listener).map(|op| Box::pin(op) as Operation))? {
                Poll::Ready(Err(error)) if is_cancelled(&error) && restarts < RESTARTS => {
                    restarts += 1;
                }
                Poll::Ready(result) => return Some(result),
                Poll::Pending => news.await,
            }
        }
    }

    /// Polls the operation that an `accept` has begun, even if that future is gone; `None` if there
    /// is none. If the operation is pending, the task of `cx` is woken when it completes.
    pub(crate) fn poll_begun(&self, cx: &mut Context<'_>) -> Option<Poll<io::Result<Accepted>>> {
        if self.lock().is_none() {
            return None;
        }
        // Cloned and dropped without a lock: that is user code.
        let waker = cx.waker().clone();
        let before = lock(&self.bell.polling).replace(waker);
        drop(before);
        match self.poll(|| None)? {
            // The thread that began the operation has ended.
            Poll::Ready(Err(error)) if is_cancelled(&error) => None,
            // The system did not wait: see `next`.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => None,
            progress => Some(progress),
        }
    }

    /// Polls the operation that is under way, or else the one that `begin` begins; `None` if there
    /// is neither.
    fn poll(
        &self,
        begin: impl FnOnce() -> Option<Operation>,
    ) -> Option<Poll<io::Result<Accepted>>> {
        let mut under_way = self.lock();
        let mut operation = match under_way.take() {
            Some(operation) => operation,
            None => begin()?,
        };
        let waker = Waker::from(self.bell.clone());
        let progress = operation.as_mut().poll(&mut Context::from_waker(&waker));
        if progress.is_pending() {
            *under_way = Some(operation);
            return Some(progress);
        }
        // Drop it without the lock: the operation may hold the last reference to the ring.
        drop(under_way);
        drop(operation);
        Some(progress)
    }

    /// Begins `operation` in place of one of the system.
    #[cfg(test)]
    pub(crate) fn begin_with<F>(&self, operation: F)
    where
        F: Future<Output = io::Result<Accepted>> + Send + 'static,
    {
        *self.lock() = Some(Box::pin(operation));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Operation>> {
        lock(&self.under_way)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let polling = lock(&self.polling).take();
        self.accepting.notify_waiters();
        if let Some(waker) = polling {
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under these locks leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Accepting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepting").finish_non_exhaustive()
    }
}
