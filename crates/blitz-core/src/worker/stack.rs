//! Measures how much stack a thread has left, and decides what it may begin while it waits.
//!
//! A waiting thread runs other jobs and tasks on top of the frame that waits, and each of these may
//! wait in turn. How much stack a level costs depends on the program. So there is no fixed depth:
//! before a wait begins anything, it checks how much of the stack is free.
//!
//! | free | what a wait begins |
//! |---|---|
//! | a half | anything that the wait may run |
//! | three eighths | if there is nothing else, the oldest own job: the wait may be for that job |
//! | a quarter | tasks, jobs from outside |
//! | an eighth | mail: jobs for this worker alone; the drops of tasks that are cancelled |
//! | less | own newer jobs and descendants of what it waits for, which nest as the program does |
//!
//! Each row includes all rows below it. Work that a wait does not begin is left to other threads,
//! or to this thread once it uses less stack. If there is nothing else, the thread parks until its
//! wait is over. Everything that one wait begins lies on top of the same frame, so a wait checks
//! once.
//!
//! The bounds come from the system. If the system does not know them, a worker's stack has the size
//! in its pool's settings, counted from where the worker began. If there is no such setting, and on
//! any other thread, the stack has [`STACK_ASSUMED`] bytes, counted from the outermost frame that
//! asked. A thread outside the bounds that the system reported runs on the stack of some library,
//! whose size is unknown: there a wait begins only its own jobs, descendants and mail.

#![forbid(unsafe_code)]

use blitz_parts::prim::thread_local;
use blitz_parts::stack;
use blitz_parts::tuning::{
    STACK_ASSUMED, STACK_LEFT_BY_MAIL, STACK_LEFT_BY_NEEDED, STACK_LEFT_BY_OLDER,
    STACK_LEFT_BY_STRANGERS,
};
use std::cell::Cell;

/// The work for which there is room on top of the caller's frame. Each value includes all before
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Room {
    /// Own newer jobs, and descendants of the awaited job.
    Own,
    /// Jobs that only this worker may run.
    Mail,
    /// Work that the wait may need: tasks, jobs from outside.
    Needed,
    /// Older jobs of the own deque, if there is nothing else.
    Older,
    /// Jobs that are unrelated to the wait.
    Strangers,
}

#[derive(Clone, Copy)]
struct Bounds {
    lowest: usize,
    end: usize,
    /// Whether the bounds are assumed, because the system does not know them.
    assumed: bool,
}

thread_local! {
    /// The bounds of this thread's stack, once they are known.
    static BOUNDS: Cell<Option<Bounds>> = const { Cell::new(None) };
}

/// Notes that the current thread becomes a worker, with a stack of `size` bytes if that is known.
pub(crate) fn begin(size: Option<usize>) {
    if size.is_some() && BOUNDS.with(Cell::get).is_none() {
        BOUNDS.with(|known| known.set(Some(Bounds::of_current_thread(size))));
    }
}

/// The work for which there is room on top of the caller.
pub(crate) fn room() -> Room {
    let here = stack::pointer();
    match BOUNDS.with(Cell::get) {
        Some(bounds) if here <= bounds.end => bounds.room_at(here),
        known => room_in_new_bounds(known, here),
    }
}

/// Works like `room`, for a thread that asks for the first time, or is above its bounds.
#[cold]
fn room_in_new_bounds(known: Option<Bounds>, here: usize) -> Room {
    let bounds = known.unwrap_or_else(|| Bounds::of_current_thread(None)).stretched_to(here);
    BOUNDS.with(|known| known.set(Some(bounds)));
    bounds.room_at(here)
}

/// Calls `f` as if the stack always had `room`, however deep `f` goes.
#[cfg(all(test, blitz_shuttle))]
pub(crate) fn with_room<R>(room: Room, f: impl FnOnce() -> R) -> R {
    /// So large that no frame matters.
    const EIGHTH: usize = 1 << 30;
    let eighths = match room {
        Room::Own => 0,
        Room::Mail => STACK_LEFT_BY_MAIL,
        Room::Needed => STACK_LEFT_BY_NEEDED,
        Room::Older => STACK_LEFT_BY_OLDER,
        Room::Strangers => STACK_LEFT_BY_STRANGERS,
    };
    let lowest = stack::pointer() - eighths * EIGHTH - EIGHTH / 2;
    let bounds = Bounds { lowest, end: lowest + 8 * EIGHTH, assumed: true };
    let before = BOUNDS.with(|known| known.replace(Some(bounds)));
    let result = f();
    BOUNDS.with(|known| known.set(before));
    result
}

impl Bounds {
    fn of_current_thread(size: Option<usize>) -> Bounds {
        match stack::bounds() {
            Some(bounds) => Bounds { lowest: bounds.start, end: bounds.end, assumed: false },
            None => Bounds::assumed(stack::pointer(), size.unwrap_or(STACK_ASSUMED)),
        }
    }

    /// The bounds of a stack of `size` bytes that begins at `end`.
    fn assumed(end: usize, size: usize) -> Bounds {
        Bounds { lowest: end.saturating_sub(size), end, assumed: true }
    }

    /// Extends the bounds, if the stack turns out to begin above the assumed end.
    fn stretched_to(self, here: usize) -> Bounds {
        if self.assumed && here > self.end {
            Bounds::assumed(here, self.end - self.lowest)
        } else {
            self
        }
    }

    fn room_at(self, here: usize) -> Room {
        if self.assumed && here < self.lowest {
            return Room::Own;
        }
        if !(self.lowest..=self.end).contains(&here) {
            return Room::Mail;
        }
        let (free, size) = (here - self.lowest, self.end - self.lowest);
        let leaves = |eighths: usize| free >= size / 8 * eighths;
        if leaves(STACK_LEFT_BY_STRANGERS) {
            Room::Strangers
        } else if leaves(STACK_LEFT_BY_OLDER) {
            Room::Older
        } else if leaves(STACK_LEFT_BY_NEEDED) {
            Room::Needed
        } else if leaves(STACK_LEFT_BY_MAIL) {
            Room::Mail
        } else {
            Room::Own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS, Bounds, Cell, Room, room};
    use blitz_parts::prim::thread;

    const SIZE: usize = 1 << 20;

    /// Uses a page per level; returns for how many levels there was at least the room `least`.
    fn dig(level: u32, least: Room) -> u32 {
        let mut page = [level; 1024];
        std::hint::black_box(&mut page);
        if room() >= least && level < 10_000 { dig(level + 1, least) } else { page[0] }
    }

    #[test]
    fn parts_of_the_stack_are_left_to_deep_nesting() {
        for (least, eighths) in
            [(Room::Strangers, 4), (Room::Older, 5), (Room::Needed, 6), (Room::Mail, 7)]
        {
            let thread = thread::Builder::new().stack_size(SIZE);
            let dug = thread.spawn(move || {
                let levels = dig(0, least);
                (levels, BOUNDS.with(Cell::get).unwrap())
            });
            let (levels, bounds) = dug.unwrap().join().unwrap();
            // The system may give a larger stack than was asked for.
            let pages = (bounds.end - bounds.lowest) / 4096 * eighths / 8;
            let levels = levels as usize;
            assert!((pages / 4..=pages).contains(&levels), "{levels} pages of {pages}: {least:?}");
        }
    }

    #[test]
    fn rooms_by_free_stack() {
        for assumed in [false, true] {
            let bounds = Bounds { lowest: SIZE, end: 2 * SIZE, assumed };
            let at = |free: usize| bounds.room_at(SIZE + free);
            assert_eq!(at(SIZE), Room::Strangers);
            assert_eq!(at(SIZE / 2), Room::Strangers);
            assert_eq!(at(SIZE / 2 - 1), Room::Older);
            assert_eq!(at(SIZE / 8 * 3 - 1), Room::Needed);
            assert_eq!(at(SIZE / 4 - 1), Room::Mail);
            assert_eq!(at(SIZE / 8 - 1), Room::Own);
        }
    }

    #[test]
    fn on_a_stack_of_unknown_size_there_is_room_for_mail_and_own_jobs() {
        let bounds = Bounds { lowest: SIZE, end: 2 * SIZE, assumed: false };
        assert_eq!(bounds.room_at(SIZE - 1), Room::Mail);
        assert_eq!(bounds.room_at(2 * SIZE + 1), Room::Mail);
    }

    #[test]
    fn a_stack_of_assumed_size_begins_at_the_outermost_frame_that_asks() {
        let bounds = Bounds::assumed(4 * SIZE, SIZE);
        assert_eq!(bounds.room_at(3 * SIZE - 1), Room::Own);
        let stretched = bounds.stretched_to(5 * SIZE);
        assert_eq!((stretched.lowest, stretched.end), (4 * SIZE, 5 * SIZE));
        assert_eq!(stretched.stretched_to(4 * SIZE + 1).end, 5 * SIZE);
        assert_eq!(stretched.room_at(5 * SIZE), Room::Strangers);
    }
}
