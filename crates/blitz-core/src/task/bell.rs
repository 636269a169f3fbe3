//! The wakers of `block_on`. They set a latch or unpark a thread. When one is used up or dropped,
//! its target forgets, for `explain`, which task it awaits: under a lock of its own, which no
//! thread holds for more than a load or a store.
//!
//! A driver may call such a waker at any time: it runs no user code and waits for no other work. So
//! `block_on` is woken even if a worker has no room on its stack for other wakers, which may run
//! any code. There is one exception: if the pool of a `block_on` has ended, and a waker of that
//! `block_on` is the last reference to the pool, the drop of the waker drops the pool's handlers.

use std::ptr;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The target of a waker. Each type has its own table; the address of the table identifies its
/// wakers.
pub(super) trait Bell: Send + Sync + 'static {
    /// The table of this type, a static.
    fn table() -> &'static RawWakerVTable;

    /// Wakes the waiting thread. Runs no user code.
    fn ring(&self);

    /// Called before a clone of the waker is used up or dropped. Runs no user code.
    fn lose_waker(&self);
}

/// Returns a waker that rings `bell`.
pub(super) fn waker<B: Bell>(bell: Arc<B>) -> Waker {
    // SAFETY: the functions of the table expect a pointer from `into_raw`, and keep its count; a
    // bell is `Send` and `Sync`.
    unsafe { Waker::new(Arc::into_raw(bell).cast(), B::table()) }
}

/// Returns the table for bells of type `B`.
pub(super) const fn table_of<B: Bell>() -> RawWakerVTable {
    RawWakerVTable::new(clone::<B>, wake::<B>, wake_by_ref::<B>, drop_one::<B>)
}

/// Whether `waker` has one of `tables`.
pub(super) fn is_of(waker: &Waker, tables: [&'static RawWakerVTable; 2]) -> bool {
    tables.into_iter().any(|table| ptr::eq(waker.vtable(), table))
}

/// Returns the bell of `waker`, if it is a `B`.
pub(super) fn of<B: Bell>(waker: &Waker) -> Option<&B> {
    // SAFETY: the data of a waker with this table is a pointer from `Arc::<B>::into_raw`, and the
    // waker has a count.
    is_of(waker, [B::table(); 2]).then(|| unsafe { &*waker.data().cast::<B>() })
}

/// # Safety
/// 1. `bell` came from `Arc::<B>::into_raw` and has a count. (The same holds for all functions of
///    the table.)
unsafe fn clone<B: Bell>(bell: *const ()) -> RawWaker {
    // SAFETY: obligation 1.
    unsafe { Arc::increment_strong_count(bell.cast::<B>()) };
    RawWaker::new(bell, B::table())
}

unsafe fn wake<B: Bell>(bell: *const ()) {
    // SAFETY: obligation 1; the waker gives its count up.
    let bell = unsafe { Arc::from_raw(bell.cast::<B>()) };
    bell.lose_waker();
    bell.ring();
}

unsafe fn wake_by_ref<B: Bell>(bell: *const ()) {
    // SAFETY: obligation 1; the waker keeps its count.
    unsafe { &*bell.cast::<B>() }.ring();
}

unsafe fn drop_one<B: Bell>(bell: *const ()) {
    // SAFETY: obligation 1; the waker gives its count up.
    unsafe { Arc::from_raw(bell.cast::<B>()) }.lose_waker();
}

#[cfg(test)]
mod tests {
    use super::{Bell, is_of, table_of, waker};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::{RawWakerVTable, Waker};

    struct Count(AtomicUsize);

    static COUNTS: RawWakerVTable = table_of::<Count>();
    static OTHERS: RawWakerVTable = table_of::<Count>();

    impl Bell for Count {
        fn table() -> &'static RawWakerVTable {
            &COUNTS
        }

        fn ring(&self) {
            self.0.fetch_add(1, SeqCst);
        }

        fn lose_waker(&self) {}
    }

    #[test]
    fn a_bell_rings_and_is_counted() {
        let bell = Arc::new(Count(AtomicUsize::new(0)));
        let one = waker(bell.clone());
        let other = one.clone();
        assert_eq!(Arc::strong_count(&bell), 3);
        one.wake_by_ref();
        one.wake();
        other.wake_by_ref();
        drop(other);
        assert_eq!((Arc::strong_count(&bell), bell.0.load(SeqCst)), (1, 3));
    }

    #[test]
    fn a_bell_is_known_by_its_table() {
        let bell = waker(Arc::new(Count(AtomicUsize::new(0))));
        assert!(is_of(&bell, [&OTHERS, &COUNTS]) && is_of(&bell.clone(), [&COUNTS, &OTHERS]));
        assert!(!is_of(Waker::noop(), [&COUNTS, &OTHERS]));
    }
}
