//! The listeners of signals.

#![forbid(unsafe_code)]

use super::SignalKind;
use super::bell::Bell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Listens to signals of this kind, from now on.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::signal::unix::{SignalKind, signal};
/// let mut hangups = signal(SignalKind::hangup())?;
/// let reload = blitz::spawn(async move {
///     while hangups.recv().await.is_some() {
///         println!("reading the settings again");
///     }
/// });
/// # reload.abort();
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If Blitz cannot listen to such signals (`SIGKILL`, `SIGSTOP`, `SIGSEGV`, `SIGFPE`, `SIGILL`), if
/// the system refuses, or if the runtime has ended.
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let bell = Bell::of(kind)?;
    let seen = bell.count();
    Ok(Signal { bell, seen, waiting: None })
}

/// A listener to one kind of signal, made by [`signal`].
///
/// From its creation on it misses no signal, even while no task waits. Several signals that come
/// before a task looks count as one, as usual on Unix. Any number of listeners may listen to the
/// same signal; each gets it.
#[must_use = "signals are received with `recv`"]
pub struct Signal {
    bell: Arc<Bell>,
    /// The number of signals at the last check.
    seen: u64,
    /// The future that waits for the next signal, created by the first poll.
    waiting: Option<Waiting>,
}

type Waiting = Pin<Box<dyn Future<Output = io::Result<u64>> + Send + Sync>>;

impl Signal {
    /// Waits for a signal; returns `None` if no more will come.
    ///
    /// No more signals come when the runtime in which the listener was made has ended.
    ///
    /// Dropping the future loses no signal.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::signal::unix::{SignalKind, signal};
    /// let mut children = signal(SignalKind::child())?;
    /// let mut child = std::process::Command::new("true").spawn()?;
    /// assert_eq!(children.recv().await, Some(()));
    /// child.wait()?;
    /// # Ok(()) }) }
    /// ```
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Works like [`recv`](Signal::recv), as a poll function.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let waiting = self.waiting.get_or_insert_with(|| {
            let (bell, seen) = (self.bell.clone(), self.seen);
            Box::pin(async move { bell.beyond(seen).await })
        });
        let count = ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        match count {
            Ok(count) => {
                self.seen = count;
                Poll::Ready(Some(()))
            }
            Err(_) => Poll::Ready(None),
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("bell", &self.bell).field("seen", &self.seen).finish()
    }
}
