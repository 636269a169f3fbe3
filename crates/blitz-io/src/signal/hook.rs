//! The code that runs inside signal handlers.

use super::SignalKind;
use blitz_parts::prim::{AtomicU64, SeqCst};
use rustix::io::Errno;
use signal_hook_registry::{FORBIDDEN, SigId, register, unregister};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Counts signals of one kind, and makes a descriptor readable at each signal, until it is dropped.
#[derive(Debug)]
pub(super) struct Hook {
    id: SigId,
    tolls: Arc<Tolls>,
}

/// The state that the handler uses.
#[derive(Debug)]
struct Tolls {
    /// How many signals there were. The system merges several that come at once.
    count: AtomicU64,
    write: UnixStream,
    read: UnixStream,
}

impl Hook {
    /// Counts each signal of `kind`, and then writes a byte to `write`, whose other end is `read`.
    /// Both are non-blocking.
    pub(super) fn new(kind: SignalKind, write: UnixStream, read: UnixStream) -> io::Result<Hook> {
        let number = kind.as_raw_value();
        if FORBIDDEN.contains(&number) {
            let message =
                format!("Blitz cannot listen to signal {number}: it ends or stops the process");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let tolls = Arc::new(Tolls { count: AtomicU64::new(0), write, read });
        let toll = tolls.clone();
        // SAFETY: the action only does what a handler may: see `Tolls::toll`. It is dropped by
        // `unregister`, outside every handler.
        let id = unsafe { register(number, move || toll.toll()) }?;
        Ok(Hook { id, tolls })
    }

    /// How many signals there were.
    pub(super) fn count(&self) -> u64 {
        self.tolls.count.load(SeqCst)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        unregister(self.id);
    }
}

impl Tolls {
    /// Runs in signal handlers, on any thread, at any point: no lock, no allocation, no panic; only
    /// atomics and system calls that never block. The caller saves `errno`.
    fn toll(&self) {
        // Count first: a listener that sees the descriptor readable sees the new count.
        self.count.fetch_add(1, SeqCst);
        while let Err(error) = rustix::io::write(&self.write, &[1]) {
            match error {
                Errno::INTR => {}
                // The socket is full: listeners wait for arrivals and do not read the bytes. Make
                // room for a new byte.
                Errno::AGAIN => drop(rustix::io::read(&self.read, &mut [0; 256])),
                // The system is out of memory: the next signal announces this one, too.
                _ => return,
            }
        }
    }
}
