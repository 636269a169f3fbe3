//! Chooses the counters that a worker reads after each fork: the pool's, a word that always wants
//! every job, or one that only sends forks through their cold path.

use super::{Counters, Counts};
use crate::prim::{AtomicPtr, Relaxed};
use crossbeam_utils::CachePadded;

/// Tells one worker whether another could use a job (SLEEP-13).
#[derive(Debug)]
pub struct Demand {
    counters: AtomicPtr<CachePadded<Counters>>,
}

impl Demand {
    /// A demand that is read from `counters`.
    ///
    /// # Safety
    /// 1. The counters outlive the demand.
    pub unsafe fn new(counters: &CachePadded<Counters>) -> Demand {
        Demand { counters: AtomicPtr::new(core::ptr::from_ref(counters).cast_mut()) }
    }

    /// A relaxed reading, as [`Counters::peek`].
    #[inline(always)]
    pub fn peek(&self) -> Counts {
        let counters = self.counters.load(Relaxed); // O11
        // SAFETY: the counters passed to `new`, `change` and `tell_by` outlive the demand (their
        // obligation 1).
        unsafe { &*counters }.peek()
    }

    /// If the worker reads the demand from `from`, makes it read from `to`, starting at some later
    /// moment, and returns true.
    ///
    /// # Safety
    /// 1. The counters outlive the demand.
    pub unsafe fn change(&self, from: &CachePadded<Counters>, to: &CachePadded<Counters>) -> bool {
        let from = core::ptr::from_ref(from).cast_mut();
        let to = core::ptr::from_ref(to).cast_mut();
        self.counters.compare_exchange(from, to, Relaxed, Relaxed).is_ok() // O11
    }

    /// Makes the worker read the demand from `counters`, starting at some later moment.
    ///
    /// # Safety
    /// 1. The counters outlive the demand.
    pub unsafe fn tell_by(&self, counters: &CachePadded<Counters>) {
        self.counters.store(core::ptr::from_ref(counters).cast_mut(), Relaxed); // O11
    }
}
