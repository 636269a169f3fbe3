//! Counts the allocated bytes, for scenarios that check that memory is freed. The system's numbers
//! do not show whether it is, because the allocator keeps freed memory that it cannot give back.

#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Counts bytes, and passes each call on to the system's allocator.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Starts to count, from zero.
pub fn start() {
    LIVE.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
}

/// Returns how many more bytes are allocated than when [`start`] was called.
#[must_use]
pub fn live() -> isize {
    LIVE.load(Relaxed)
}

fn add(bytes: isize) {
    // Without this check every thread would write to the same word at each allocation, which would
    // change the timing of races.
    if COUNTS.load(Relaxed) {
        LIVE.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller's obligations are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
