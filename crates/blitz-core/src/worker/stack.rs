//! How much of its stack a thread has used: what says how deep waits may nest.
//!
//! A thread that waits in `block_on` polls other tasks meanwhile, which may wait in their turn. Each level
//! costs stack, and how much is the tasks' affair. So there is no fixed depth: another level begins as long
//! as half of the stack is free.

#![forbid(unsafe_code)]

use blitz_parts::tuning::{POLL_DEPTH_SURE, STACK_ASSUMED};
use std::cell::Cell;

thread_local! {
    /// Where the stack was when this thread became a worker, or was asked first; zero before. And how large
    /// it is taken to be.
    static FLOOR: Cell<Floor> = const { Cell::new(Floor { address: 0, size: STACK_ASSUMED }) };
}

#[derive(Clone, Copy)]
struct Floor {
    address: usize,
    size: usize,
}

/// The current thread becomes a worker, with a stack of `size` bytes if that is known.
pub(crate) fn begin(size: Option<usize>) {
    FLOOR.set(Floor { address: here(), size: size.unwrap_or(STACK_ASSUMED) });
}

/// Whether there is room for another poll on top of `depth` of them.
pub(crate) fn has_room(depth: u32) -> bool {
    if FLOOR.get().address == 0 {
        begin(None);
    }
    let floor = FLOOR.get();
    depth < POLL_DEPTH_SURE || floor.address.abs_diff(here()) < floor.size / 2
}

/// About where the stack is.
#[inline(never)]
fn here() -> usize {
    let marker = 0u8;
    std::hint::black_box(&raw const marker).addr()
}

#[cfg(test)]
mod tests {
    use super::{begin, has_room};
    use blitz_parts::tuning::POLL_DEPTH_SURE;

    /// Uses a page per level; returns how many there was room for.
    fn dig(level: u32) -> u32 {
        let page = [level; 1024];
        if std::hint::black_box(has_room(POLL_DEPTH_SURE)) && level < 10_000 {
            dig(level + 1)
        } else {
            std::hint::black_box(page)[0]
        }
    }

    #[test]
    fn half_of_the_stack_is_left_to_deep_nesting() {
        let size = 1 << 20;
        let thread = std::thread::Builder::new().stack_size(size);
        let levels = thread.spawn(move || {
            begin(Some(size));
            dig(0)
        });
        let levels = levels.unwrap().join().unwrap();
        assert!((16..=128).contains(&levels), "{levels} pages and more of 256 are half of them");
    }

    #[test]
    fn a_thread_that_is_no_worker_begins_where_it_asks() {
        assert!(std::thread::spawn(|| has_room(POLL_DEPTH_SURE)).join().unwrap());
    }

    #[test]
    fn a_few_levels_are_always_possible() {
        begin(Some(0));
        assert!(has_room(POLL_DEPTH_SURE - 1));
        assert!(!has_room(POLL_DEPTH_SURE));
    }
}
