//! Limits how many clients are served at a time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A fixed number of places. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<(Mutex<usize>, Condvar)>);

/// The right to one place, which is free again when the pass is dropped.
#[derive(Debug)]
pub(crate) struct Pass(Gate);

impl Gate {
    pub(crate) fn new(places: usize) -> Gate {
        Gate(Arc::new((Mutex::new(places), Condvar::new())))
    }

    /// Takes a place, if one is free.
    pub(crate) fn try_enter(&self) -> Option<Pass> {
        self.enter_within(Duration::ZERO)
    }

    /// Takes a place; waits for a free one for at most `time`.
    pub(crate) fn enter_within(&self, time: Duration) -> Option<Pass> {
        let deadline = Instant::now() + time;
        let (free, changed) = &*self.0;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            free = changed.wait_timeout(free, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Pass(self.clone()))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::time::Duration;

    #[test]
    fn places_are_counted_and_come_back() {
        let gate = Gate::new(2);
        let (first, second) = (gate.try_enter(), gate.try_enter());
        assert!(first.is_some() && second.is_some() && gate.try_enter().is_none());
        drop(first);
        assert!(gate.try_enter().is_some());
    }

    #[test]
    fn a_waiting_caller_takes_a_place_that_becomes_free() {
        let gate = Gate::new(1);
        let held = gate.try_enter();
        let other = gate.clone();
        let waits =
            std::thread::spawn(move || other.enter_within(Duration::from_secs(600)).is_some());
        drop(held);
        assert!(waits.join().unwrap());
    }
}
