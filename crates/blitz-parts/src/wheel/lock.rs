//! A lock for a few instructions at a time: one exchange to take it, one store to give it back.
//!
//! A wheel's lock is taken twice per timer, nearly always by the same thread, so taking a free lock
//! must be fast. A thread that finds the lock taken yields soon: the holder may have lost its core.

use crate::prim::{
    Acquire, AtomicBool, Relaxed, Release, Step, Witness, broken, spin_loop, yield_now,
};
use crate::tuning::WHEEL_SPINS;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

pub(super) struct Lock<T> {
    taken: AtomicBool,
    /// A thread has found the lock taken since the last [`Lock::give_way`]. Carries no data.
    wanted: AtomicBool,
    value: UnsafeCell<T>,
    witness: Witness,
}

// SAFETY: one thread at a time accesses the value, after an exchange that acquires the release of
// the thread before it.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(super) struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock {
            taken: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            value: UnsafeCell::new(value),
            witness: Witness::default(),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        // O1
        if self.taken.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
        self.witness.write();
        Guard { lock: self }
    }

    #[cold]
    fn lock_contended(&self) {
        let mut tries = 0;
        // O1
        while self.taken.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            self.wanted.store(true, Relaxed);
            tries += 1;
            if tries > WHEEL_SPINS {
                yield_now();
            } else {
                spin_loop();
            }
        }
    }

    /// Yields if another thread waits for the lock. A thread that takes the lock again at once
    /// calls this first, since the other thread would otherwise find the lock taken nearly every
    /// time.
    pub(super) fn give_way(&self) {
        if self.wanted.load(Relaxed) {
            self.wanted.store(false, Relaxed);
            yield_now();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the holder of the guard has the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the holder of the guard has the lock. The result borrows the guard mutably, so it
        // is the only reference.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let order = if broken(Step::WheelUnlockRelease) { Relaxed } else { Release };
        self.lock.taken.store(false, order); // O1
    }
}
