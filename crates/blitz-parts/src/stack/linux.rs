//! The stack of a thread, according to the C library.

use core::mem::MaybeUninit;
use core::ops::Range;
use libc::{pthread_attr_destroy, pthread_attr_getguardsize, pthread_attr_getstack};
use libc::{pthread_attr_t, pthread_getattr_np, pthread_self};

/// The attributes of a thread. The drop gives their memory back to the C library.
struct Attributes(pthread_attr_t);

impl Attributes {
    fn of_current_thread() -> Option<Attributes> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the function has no preconditions.
        let thread = unsafe { pthread_self() };
        // SAFETY: the thread is alive, and the pointer is valid for one value.
        let error = unsafe { pthread_getattr_np(thread, attributes.as_mut_ptr()) };
        // SAFETY: without an error the value was initialised.
        (error == 0).then(|| Attributes(unsafe { attributes.assume_init() }))
    }

    fn stack(&self) -> Option<(usize, usize)> {
        let (mut lowest, mut size) = (core::ptr::null_mut(), 0);
        // SAFETY: the attributes are initialised, and both pointers are valid for one value.
        let error = unsafe { pthread_attr_getstack(&raw const self.0, &mut lowest, &mut size) };
        (error == 0).then(|| (lowest.addr(), size))
    }

    fn guard(&self) -> Option<usize> {
        let mut size = 0;
        // SAFETY: the attributes are initialised, and the pointer is valid for one value.
        let error = unsafe { pthread_attr_getguardsize(&raw const self.0, &mut size) };
        (error == 0).then_some(size)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the attributes are initialised, and no call uses them any more.
        unsafe { pthread_attr_destroy(&raw mut self.0) };
    }
}

pub(super) fn bounds() -> Option<Range<usize>> {
    let attributes = Attributes::of_current_thread()?;
    let (lowest, size) = attributes.stack()?;
    // Some libraries count the guard as a part of the stack.
    let usable = lowest.checked_add(attributes.guard()?)?;
    let end = lowest.checked_add(size)?;
    (usable < end).then_some(usable..end)
}
