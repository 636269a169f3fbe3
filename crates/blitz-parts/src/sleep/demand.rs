//! Chooses the counters that a worker reads after each fork: the pool's, or a pair that always
//! wants every job.

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
        // SAFETY: by their obligation 1 `new` and `tell_by` were given counters that outlive this.
        unsafe { &*counters }.peek()
    }

    /// Makes the worker read the demand from `counters`, starting at some later moment.
    ///
    /// # Safety
    /// 1. The counters outlive the demand.
    pub unsafe fn tell_by(&self, counters: &CachePadded<Counters>) {
        self.counters.store(core::ptr::from_ref(counters).cast_mut(), Relaxed); // O11
    }
}
