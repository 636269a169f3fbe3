//! Values of one thread inside shared structures.

/// A value that only the thread of its worker reaches.
pub(crate) struct OwnerOnly<T>(T);

impl<T> OwnerOnly<T> {
    pub(crate) fn new(value: T) -> OwnerOnly<T> {
        OwnerOnly(value)
    }

    /// The value.
    ///
    /// # Safety
    /// 1. Only one thread calls this at a time, and it holds no reference when another thread calls
    ///    it.
    #[inline(always)]
    pub(crate) unsafe fn get(&self) -> &T {
        &self.0
    }
}

// SAFETY: `get` alone hands the value out, to one thread at a time.
unsafe impl<T: Send> Sync for OwnerOnly<T> {}
