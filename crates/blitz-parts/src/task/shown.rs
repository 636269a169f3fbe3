//! Shows to other threads which task a worker polls.

use super::site::Site;
use super::{Header, Runnable, Serial, Vtable};
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// The task that a worker polls, or polled last, for threads that look at the worker. The worker
/// writes it through [`Shown::owner`].
///
/// A reader needs no reference to the task: the words are copies of its identity. There is no order
/// between the two words. So a reader trusts them only if the worker has begun no poll for a long
/// time, before and after the read. They are plain std atomics even under the model checkers, like
/// those of [`Counter`](crate::counter::Counter), because no protocol relies on them.
#[derive(Default)]
pub struct Shown {
    vtable: AtomicPtr<Vtable>,
    /// The low half of the serial number, and above it the site.
    words: AtomicU64,
}

/// The worker's end. Neither `Send` nor `Sync`: it stays on the thread that made it.
///
/// ```compile_fail,E0277
/// # use blitz_parts::task::Shown;
/// let shown = Shown::default();
/// // SAFETY: no other thread uses it.
/// let owner = unsafe { shown.owner() };
/// std::thread::scope(|scope| _ = scope.spawn(|| owner.restore(None)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ShownOwner<'a> {
    shown: &'a Shown,
    stays_here: PhantomData<*mut ()>,
}

/// A task in [`Shown`].
#[derive(Clone, Copy)]
pub struct ShownTask {
    vtable: NonNull<Vtable>,
    words: u64,
}

// SAFETY: tables are statics, and immutable.
unsafe impl Send for ShownTask {}
// SAFETY: as above.
unsafe impl Sync for ShownTask {}

impl Shown {
    /// The task that was shown last, if there was one.
    pub fn get(&self) -> Option<ShownTask> {
        let vtable = NonNull::new(self.vtable.load(Relaxed))?;
        let words = self.words.load(Relaxed);
        // The worker may be between its two stores: the words are not stored yet, or are cleared
        // already. No site is zero.
        (words >> 32 != 0).then_some(ShownTask { vtable, words })
    }

    /// The worker's end.
    ///
    /// # Safety
    /// 1. At any time at most one thread uses `ShownOwner`s of this value. If another thread takes
    ///    over, some other synchronisation orders its uses after those of the thread before it.
    #[inline(always)]
    pub unsafe fn owner(&self) -> ShownOwner<'_> {
        ShownOwner { shown: self, stays_here: PhantomData }
    }
}

impl ShownOwner<'_> {
    /// Shows that the worker polls `task`.
    #[inline]
    pub fn set(self, task: &Runnable) {
        // SAFETY: the entry's reference keeps the task alive.
        let header: &Header = unsafe { task.header().as_ref() };
        self.shown.vtable.store(ptr::from_ref(header.vtable.get()).cast_mut(), Relaxed);
        let words = u64::from(header.serial) | u64::from(header.site.to_bits()) << 32;
        self.shown.words.store(words, Relaxed);
    }

    /// Shows a task again after other tasks were polled in between.
    pub fn restore(self, before: Option<ShownTask>) {
        let (vtable, words) = match before {
            Some(task) => (task.vtable.as_ptr(), task.words),
            None => (ptr::null_mut(), 0),
        };
        self.shown.vtable.store(vtable, Relaxed);
        self.shown.words.store(words, Relaxed);
    }
}

impl ShownTask {
    /// The name of the future's type.
    pub fn type_name(self) -> &'static str {
        // SAFETY: the pointer comes from a reference to a static.
        (unsafe { self.vtable.as_ref() }.type_name)()
    }

    /// Where the task was spawned.
    pub fn site(self) -> &'static Location<'static> {
        Site::from_bits((self.words >> 32) as u32).location()
    }

    /// The serial number of the task, unless four billion tasks were spawned since.
    pub fn serial(self) -> Serial {
        Serial::latest(self.words as u32)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shown").field(&self.get()).finish()
    }
}

impl fmt::Debug for ShownTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} {} from {}", self.serial(), self.type_name(), self.site())
    }
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{Relaxed, Shown};
    use crate::task::rig::Rig;

    #[test]
    fn a_reader_between_the_two_stores_of_the_worker_sees_no_task() {
        let (rig, shown) = (Rig::new(), Shown::default());
        // SAFETY: no other thread uses it.
        let owner = unsafe { shown.owner() };
        assert!(shown.get().is_none());
        let join = rig.spawn(async {});
        let task = rig.pop().unwrap();
        owner.set(&task);
        assert!(shown.get().unwrap().site().file().ends_with("rig.rs"));
        // The reader finds the task's table; the other word is not stored yet, or is cleared
        // already.
        shown.words.store(0, Relaxed);
        assert!(shown.get().is_none());
        owner.set(&task);
        owner.restore(None);
        assert!(shown.get().is_none());
        drop((task, join));
        assert!(rig.is_well_and_done());
    }
}
