//! The waker of a join handle, in one word of its task.

use super::Header;
use super::waker;
use core::mem::{self, ManuallyDrop};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use core::task::Waker;

/// A waker in one word, since every task has room for one word. The waker of a task is the address
/// of that task's header; any other waker is in a box.
pub(super) struct JoinWaker {
    /// A header with a reference; or a boxed [`Waker`], plus [`BOXED`].
    word: NonNull<Header>,
}

/// Headers and wakers are aligned, so this bit of their addresses is free.
const BOXED: usize = 1;

const _: () = assert!(align_of::<Header>() > BOXED && align_of::<Waker>() > BOXED);

impl JoinWaker {
    /// Creates a join waker that wakes what `waker` wakes.
    #[inline]
    pub(super) fn of(waker: &Waker) -> JoinWaker {
        match waker::header_of(waker) {
            // SAFETY: the waker's reference keeps the task alive.
            Some(task) => unsafe { JoinWaker::of_task(task) },
            None => JoinWaker::of_foreign(waker.clone()),
        }
    }

    /// Creates a join waker that wakes `task`.
    ///
    /// # Safety
    /// 1. The caller has a reference to the task.
    #[inline]
    pub(super) unsafe fn of_task(task: NonNull<Header>) -> JoinWaker {
        // SAFETY: obligation 1.
        unsafe { task.as_ref() }.state.add_reference();
        JoinWaker { word: task }
    }

    /// Keeps the clone of a waker whose table is not `VTABLE`. In the polls of a probed task, the
    /// task's own waker is such a waker; its clone has `VTABLE`, and needs no box.
    pub(super) fn of_foreign(clone: Waker) -> JoinWaker {
        match waker::header_of(&clone) {
            Some(task) => {
                mem::forget(clone);
                JoinWaker { word: task }
            }
            None => JoinWaker::boxed(clone),
        }
    }

    fn boxed(waker: Waker) -> JoinWaker {
        let waker = NonNull::from(Box::leak(Box::new(waker)));
        JoinWaker { word: waker.cast().map_addr(|address| address | BOXED) }
    }

    /// Wakes the waiter, and consumes the waker.
    #[inline]
    pub(super) fn wake(self) {
        let this = ManuallyDrop::new(self);
        match this.boxed_waker() {
            // SAFETY: this waker, which is not dropped, owned the reference.
            None => unsafe { waker::wake_task(this.word) },
            // SAFETY: `boxed` leaked it, and it is taken back once, since this waker is not
            // dropped.
            Some(waker) => unsafe { Box::from_raw(waker.as_ptr()) }.wake(),
        }
    }

    /// Returns the boxed waker, if there is one.
    #[inline]
    fn boxed_waker(&self) -> Option<NonNull<Waker>> {
        if self.word.addr().get() & BOXED == 0 {
            return None;
        }
        let waker = self.word.as_ptr().map_addr(|address| address & !BOXED);
        // SAFETY: `boxed` has set the bit in the address of a waker.
        Some(unsafe { NonNull::new_unchecked(waker.cast()) })
    }
}

/// The place of the join waker in a header.
///
/// The owner of the place, according to the table in the [module](super), puts and takes the waker.
/// Any holder of a reference may read the word. So the word is an atomic. It is a plain std atomic
/// even under the model checker, since such reads are not part of the protocol. A
/// [witness](crate::prim::Witness) beside it shows the checker the owners' accesses.
#[derive(Default)]
pub(super) struct JoinPlace(AtomicPtr<Header>);

impl JoinPlace {
    /// Puts a waker here. If one was here, it is forgotten.
    ///
    /// # Safety
    /// 1. The caller owns the place.
    #[inline]
    pub(super) unsafe fn put(&self, waker: JoinWaker) {
        self.0.store(waker.word.as_ptr(), Relaxed);
        mem::forget(waker);
    }

    /// Takes the waker that was put here.
    ///
    /// # Safety
    /// 1. There is a waker, the caller owns the place, and the waker is taken once.
    #[inline]
    pub(super) unsafe fn take(&self) -> JoinWaker {
        // SAFETY: obligation 1: what was put here is not null.
        JoinWaker { word: unsafe { NonNull::new_unchecked(self.0.load(Relaxed)) } }
    }

    /// Whether `waker` and the waker here are of the same task; false for a waker in a box. The
    /// calling thread may not own the place. In that case the owner may free the box at any time,
    /// so this function does not look into the box.
    #[inline]
    pub(super) fn is_of_same_task(&self, waker: &Waker) -> bool {
        waker::header_of(waker).is_some_and(|task| task.as_ptr() == self.0.load(Relaxed))
    }

    /// The address of the task whose waker is here, or was.
    pub(super) fn task(&self) -> Option<usize> {
        let address = self.0.load(Relaxed).addr();
        (address != 0 && address & BOXED == 0).then_some(address)
    }
}

impl Drop for JoinWaker {
    fn drop(&mut self) {
        match self.boxed_waker() {
            // SAFETY: this waker, which is being dropped, owns the reference.
            None => unsafe { Header::release(self.word) },
            // SAFETY: `boxed` leaked it, and it is taken back once.
            Some(waker) => drop(unsafe { Box::from_raw(waker.as_ptr()) }),
        }
    }
}
