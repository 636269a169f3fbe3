//! A connection that the system accepts for a listener.

#![forbid(unsafe_code)]

use super::ring::is_cancelled;
use super::{RESTARTS, Uring};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Mutex;

type Accepted = Pin<Box<dyn Future<Output = io::Result<(OwnedFd, SocketAddr)>> + Send>>;

/// What is under way belongs to the listener, not to the task that waits for it: so no connection is lost if the
/// task goes away, and the next one waits for the same. Tasks take turns.
#[derive(Default)]
pub(crate) struct Accepting {
    under_way: Mutex<Option<Accepted>>,
}

impl Accepting {
    /// The next connection to `listener`; none if the ring takes no more operations.
    pub(crate) async fn next(
        &self,
        uring: Arc<Uring>,
        listener: BorrowedFd<'_>,
    ) -> Option<io::Result<(OwnedFd, SocketAddr)>> {
        let mut under_way = self.under_way.lock().await;
        let mut restarts = 0;
        loop {
            let accepted = match under_way.take() {
                Some(accepted) => under_way.insert(accepted),
                None => under_way.insert(Box::pin(uring.accept(listener)?)),
            };
            let result = accepted.await;
            *under_way = None;
            match &result {
                Err(error) if is_cancelled(error) && restarts < RESTARTS => restarts += 1,
                _ => return Some(result),
            }
        }
    }
}

impl fmt::Debug for Accepting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepting").finish_non_exhaustive()
    }
}
