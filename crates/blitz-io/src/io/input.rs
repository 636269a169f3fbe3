//! Standard input.
//!
//! ```text
//!  a reader finds nothing ─▶ asks the thread, leaves its waker ─▶ the thread blocks in one read
//!  the bytes ─▶ the store, which all readers share ─▶ the thread calls all wakers
//! ```
//!
//! A read from a terminal or a pipe may take for ever, and cannot be cancelled. So one thread does
//! all reads of the process. It belongs to no pool, and the end of a pool does not wait for it. The
//! thread reads only on request, so that a program that has read a line of a terminal leaves the
//! next lines to other processes.

#![forbid(unsafe_code)]

use crate::borrowed::{AsyncRead, ReadBuf};
use blitz_core::driver::poll_spend;
use blitz_parts::panic::discard;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread;

/// The most bytes that one read returns.
const PIECE: usize = 8 << 10;

/// Returns a reader of standard input that does not block a worker.
///
/// All readers, also those of other runtimes, share one buffer. A read that waits does not keep the
/// program from ending.
///
/// ```no_run
/// use blitz::io::{AsyncBufReadExt, BufReader};
///
/// # blitz::block_on(async {
/// let mut lines = BufReader::new(blitz::io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[must_use]
pub fn stdin() -> Stdin {
    Stdin { _private: () }
}

/// Standard input: see [`stdin`].
pub struct Stdin {
    _private: (),
}

/// State that the readers and the thread share.
static STORE: Mutex<Store> = Mutex::new(Store {
    bytes: VecDeque::new(),
    stage: Stage::Absent,
    outcome: None,
    waiting: Vec::new(),
});
/// Notifies the thread of a request.
static ASKED: Condvar = Condvar::new();

struct Store {
    bytes: VecDeque<u8>,
    stage: Stage,
    /// The end of the input or an error, for one reader. The next reader requests a new read: a
    /// terminal may deliver more input after an end.
    outcome: Option<io::Result<()>>,
    waiting: Vec<Waker>,
}

/// The state of the thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It was not started yet.
    Absent,
    /// It waits for a request.
    Idle,
    /// It reads, or is about to.
    Reading,
}

fn store() -> MutexGuard<'static, Store> {
    // No user code runs under the lock.
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Moves stored bytes into `buffer`, or else takes the outcome; `None` if there is neither.
    fn take(&mut self, buffer: &mut ReadBuf<'_>) -> Option<io::Result<()>> {
        if self.bytes.is_empty() {
            return self.outcome.take();
        }
        let (front, _) = self.bytes.as_slices();
        let length = front.len().min(buffer.remaining());
        buffer.put_slice(&front[..length]);
        self.bytes.drain(..length);
        Some(Ok(()))
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let unit = ready!(poll_spend(cx));
        // Clone the waker before taking the lock: a clone runs user code.
        let waker = cx.waker().clone();
        let mut store = store();
        if let Some(taken) = store.take(buffer) {
            drop(store);
            unit.made_progress();
            return Poll::Ready(taken);
        }
        // A task that polls repeatedly is listed once.
        let is_known = store.waiting.iter().any(|known| known.will_wake(&waker));
        let spare = if is_known {
            Some(waker)
        } else {
            store.waiting.push(waker);
            None
        };
        let before = std::mem::replace(&mut store.stage, Stage::Reading);
        drop(store);
        drop(spare);
        match before {
            Stage::Reading => {}
            Stage::Idle => ASKED.notify_one(),
            Stage::Absent => {
                let thread = thread::Builder::new().name("blitz-stdin".to_owned());
                if let Err(error) = thread.spawn(serve) {
                    return Poll::Ready(Err(give_up(error)));
                }
            }
        }
        Poll::Pending
    }
}

/// Wakes all readers, so that they try again: the thread could not be started.
#[cold]
fn give_up(error: io::Error) -> io::Error {
    let mut store = store();
    store.stage = Stage::Absent;
    let waiting = std::mem::take(&mut store.waiting);
    drop(store);
    wake_all(waiting);
    error
}

/// Wakes readers. A waker may be the code of any runtime: if it panics, the other readers are still
/// woken, and the caller goes on, even if the drop of the panic's payload panics, too.
fn wake_all(waiting: Vec<Waker>) {
    for waker in waiting {
        discard(catch_unwind(AssertUnwindSafe(|| waker.wake())));
    }
}

/// Reads on each request, until the process ends.
fn serve() {
    let mut piece = vec![0; PIECE];
    loop {
        let read = loop {
            match io::stdin().lock().read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let mut store = store();
        match read {
            Ok(0) => store.outcome = Some(Ok(())),
            Ok(length) => store.bytes.extend(&piece[..length]),
            Err(error) => store.outcome = Some(Err(error)),
        }
        store.stage = Stage::Idle;
        let waiting = std::mem::take(&mut store.waiting);
        drop(store);
        wake_all(waiting);
        let mut store = self::store();
        while store.stage != Stage::Reading {
            store = ASKED.wait(store).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stdin")
    }
}

#[cfg(test)]
mod tests {
    use super::wake_all;
    use std::panic::panic_any;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::task::{Wake, Waker};

    /// A payload whose drop panics.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the payload's drop");
        }
    }

    struct Loud(AtomicU32);

    impl Wake for Loud {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
            panic_any(Bomb);
        }
    }

    #[test]
    fn all_readers_are_woken_although_payloads_of_panics_panic() {
        let readers = [(); 3].map(|()| Arc::new(Loud(AtomicU32::new(0))));
        wake_all(readers.iter().cloned().map(Waker::from).collect());
        assert!(readers.iter().all(|reader| reader.0.load(Relaxed) == 1));
    }
}
