//! A counter for statistics. With one writer it needs no read-modify-write; any thread may read it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A statistic that any thread may read. Either one thread writes it by [`add`](Counter::add) and
/// [`set`](Counter::set), or all threads add to it by [`add_shared`](Counter::add_shared) and
/// [`take_shared`](Counter::take_shared).
///
/// It is a plain std atomic even under the model checker: statistics take no part in any protocol,
/// and a modelled access would multiply the interleavings for nothing.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Creates a counter at zero.
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds `n`. Only the counter's one writer may call it; a second writer would lose counts.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds `n` from any thread.
    #[inline]
    pub fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Adds `n` from any thread and returns the value before. If `n` is never zero, no two calls
    /// return the same value.
    #[inline]
    pub fn take_shared(&self, n: u64) -> u64 {
        self.0.fetch_add(n, Relaxed)
    }

    /// Sets the value. Only the counter's one writer may call it.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// The value at some recent moment.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
