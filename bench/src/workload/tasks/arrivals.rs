//! Counts tasks that have reached some point, for example their end, and notifies at the last one.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::oneshot;

/// A counter that is used again and again. It is leaked once per contest, so that tasks need no
/// reference count for it.
#[derive(Debug)]
pub(in crate::workload) struct Arrivals {
    expected: u64,
    arrived: AtomicU64,
    complete: Mutex<Option<oneshot::Sender<()>>>,
}

impl Arrivals {
    /// Makes a counter that waits for `expected` tasks at a time.
    pub(in crate::workload) fn leaked(expected: u64) -> &'static Self {
        Box::leak(Box::new(Self {
            expected,
            arrived: AtomicU64::new(0),
            complete: Mutex::default(),
        }))
    }

    /// Returns how many tasks it waits for.
    pub(in crate::workload) fn expected(&self) -> u64 {
        self.expected
    }

    /// Begins to count from zero. The receiver is notified when all expected tasks have arrived.
    pub(in crate::workload) fn expect(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.arrived.store(0, Ordering::Relaxed);
        *self.complete.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// Counts one arrival.
    #[inline]
    pub(in crate::workload) fn arrive(&self) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.expected {
            self.tell();
        }
    }

    /// Returns how many tasks have arrived: too many, if a task ran twice.
    pub(in crate::workload) fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Acquire)
    }

    #[cold]
    fn tell(&self) {
        let complete = self.complete.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(complete) = complete {
            // The receiver may be gone.
            let _ = complete.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_arrival_notifies_and_a_surplus_is_counted() {
        let arrivals = Arrivals::leaked(2);
        for _ in 0..2 {
            let mut complete = arrivals.expect();
            arrivals.arrive();
            assert!(complete.try_recv().is_err());
            arrivals.arrive();
            assert!(complete.try_recv().is_ok());
            arrivals.arrive();
            assert_eq!(arrivals.arrived(), 3);
        }
    }
}
