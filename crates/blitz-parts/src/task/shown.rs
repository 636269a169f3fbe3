//! Shows to other threads which task a worker polls.

use super::site::Site;
use super::{Header, Runnable, Serial, Vtable};
use core::fmt;
use core::panic::Location;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// The task that a worker polls, or polled last, for threads that look at the worker.
///
/// A reader needs no reference to the task: the words are copies of what tells the task from
/// others. They are two, without an order between them. So a reader believes them only if the
/// worker has begun no poll for a long time, before and after it reads. They are plain std atomics
/// even under the model checkers, as those of [`Counter`](crate::counter::Counter) are: no protocol
/// rests on them.
#[derive(Default)]
pub struct Shown {
    vtable: AtomicPtr<Vtable>,
    /// The low half of the serial number, and above it the site.
    words: AtomicU64,
}

/// What [`Shown`] says about a task.
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
    /// Shows that the worker polls `task`. Only the worker calls it.
    #[inline]
    pub fn set(&self, task: &Runnable) {
        // SAFETY: the entry's reference keeps the task alive.
        let header: &Header = unsafe { task.header().as_ref() };
        self.vtable.store(ptr::from_ref(header.vtable).cast_mut(), Relaxed);
        let words = u64::from(header.serial) | u64::from(header.site.to_bits()) << 32;
        self.words.store(words, Relaxed);
    }

    /// The task that was shown last, if there was one.
    pub fn get(&self) -> Option<ShownTask> {
        let vtable = NonNull::new(self.vtable.load(Relaxed))?;
        Some(ShownTask { vtable, words: self.words.load(Relaxed) })
    }

    /// Shows again what was shown before other tasks were polled in between. Only the worker calls
    /// it.
    pub fn restore(&self, before: Option<ShownTask>) {
        let (vtable, words) = match before {
            Some(task) => (task.vtable.as_ptr(), task.words),
            None => (ptr::null_mut(), 0),
        };
        self.vtable.store(vtable, Relaxed);
        self.words.store(words, Relaxed);
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
