//! Tracks which task the current thread polls, and its remaining budget.

use super::ambient::{self, AmbientGuard};
use blitz_parts::prim::thread_local;
use blitz_parts::task::{self, Header, TaskRef};
use blitz_parts::tuning::BUDGET_PER_POLL;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::task::Waker;

thread_local! {
    static POLLED: Polled = const {
        Polled {
            task: Cell::new(Current::NONE),
            budget: Cell::new(Budget::UNLIMITED),
            depth: Cell::new(0),
            asides: Cell::new(0),
            aside: Cell::new(0),
            begun: Cell::new(0),
            entered: Cell::new(false),
            ambient: Cell::new(false),
        }
    };
}

struct Polled {
    task: Cell<Current>,
    budget: Cell<Budget>,
    /// How many polls of tasks are on this thread's stack.
    depth: Cell<u32>,
    /// How many asides are on this thread's stack: see [`Aside`].
    asides: Cell<u32>,
    /// The number of the newest aside, counted over the thread's life; zero if there is none.
    aside: Cell<u64>,
    /// How many asides this thread has begun.
    begun: Cell<u64>,
    /// Whether the thread has entered a pool, in this aside.
    entered: Cell<bool>,
    /// Whether the thread is a worker of a pool that keeps another runtime's context.
    ambient: Cell<bool>,
}

/// The task that is polled, if any, and whether it has yielded. One word, since every poll saves
/// and restores it.
#[derive(Clone, Copy)]
struct Current(*mut Header);

impl Current {
    const NONE: Current = Current(ptr::null_mut());
    /// Headers are aligned, so their addresses are even and the lowest bit is free.
    const YIELDED: usize = 1;

    #[inline]
    fn task(self) -> Option<NonNull<Header>> {
        NonNull::new(self.0.map_addr(|address| address & !Current::YIELDED))
    }

    #[inline]
    fn has_yielded(self) -> bool {
        self.0.addr() & Current::YIELDED != 0
    }

    #[inline]
    fn yielded(self) -> Current {
        Current(self.0.map_addr(|address| address | Current::YIELDED))
    }
}

/// How many more operations may succeed at once in this poll. One word, since every poll saves and
/// restores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(u32);

impl Budget {
    /// No limit: for code outside tasks and outside `block_on`, and for code in `unconstrained`.
    pub(crate) const UNLIMITED: Budget = Budget(u32::MAX);
    /// The budget of every new poll.
    pub(crate) const FULL: Budget = Budget(BUDGET_PER_POLL);

    /// Nothing is left.
    const SPENT: Budget = Budget(0);

    #[inline]
    fn less_one(self) -> Budget {
        if self == Budget::UNLIMITED { self } else { Budget(self.0.saturating_sub(1)) }
    }
}

/// A poll of a task, on this thread, until dropped.
pub(crate) struct Polling {
    before: (Current, Budget),
}

impl Polling {
    /// Notes that the current thread polls `task` from now on. The task must live until the
    /// returned value is dropped.
    #[inline]
    pub(crate) fn begin(task: NonNull<Header>) -> Polling {
        POLLED.with(|polled| {
            polled.depth.set(polled.depth.get() + 1);
            let task = polled.task.replace(Current(task.as_ptr()));
            Polling { before: (task, polled.budget.replace(Budget::FULL)) }
        })
    }
}

impl Drop for Polling {
    #[inline]
    fn drop(&mut self) {
        POLLED.with(|polled| {
            polled.depth.set(polled.depth.get() - 1);
            polled.task.set(self.before.0);
            polled.budget.set(self.before.1);
        });
    }
}

/// Hides what is current in the frames below until this is dropped.
///
/// Meanwhile the thread runs work that is unrelated to these frames: their current pool, task and
/// local set do not apply to it. Every job begins under an aside, or in the main loop, where
/// nothing is current. The only exception is a half of a `join` that its own frame takes back.
pub(crate) struct Aside {
    before: (Current, Budget),
    aside: u64,
    entered: bool,
    /// Dropped before the other values are restored.
    ambient: Option<AmbientGuard>,
}

impl Aside {
    pub(crate) fn begin() -> Aside {
        POLLED.with(|polled| {
            let number = polled.begun.get() + 1;
            polled.begun.set(number);
            polled.asides.set(polled.asides.get() + 1);
            Aside {
                before: (
                    polled.task.replace(Current::NONE),
                    polled.budget.replace(Budget::UNLIMITED),
                ),
                aside: polled.aside.replace(number),
                entered: polled.entered.replace(false),
                ambient: polled.ambient.get().then(ambient::enter_own).flatten(),
            }
        })
    }
}

impl Aside {
    /// The task that was current where the aside began.
    pub(crate) fn task(&self) -> Option<TaskRef> {
        // SAFETY: the poll of this task is further down on this thread's stack, so its worker has a
        // reference.
        self.before.0.task().map(|header| unsafe { TaskRef::from_header(header) })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.ambient.take());
        POLLED.with(|polled| {
            polled.asides.set(polled.asides.get() - 1);
            polled.task.set(self.before.0);
            polled.budget.set(self.before.1);
            polled.aside.set(self.aside);
            polled.entered.set(self.entered);
        });
    }
}

/// The number of the newest aside on this thread's stack. Values that belong to another aside are
/// not current here.
pub(crate) fn aside() -> u64 {
    POLLED.try_with(|polled| polled.aside.get()).unwrap_or(0)
}

/// Whether no task is current. This must hold where a job begins.
pub(crate) fn is_outside_of_tasks() -> bool {
    POLLED.try_with(|polled| polled.task.get().task().is_none()).unwrap_or(true)
}

/// Nesting level: how many polls of tasks and asides are on this thread's stack. Two live frames at
/// one level belong to the same work.
pub(crate) fn layer() -> u32 {
    POLLED.try_with(|polled| polled.depth.get() + polled.asides.get()).unwrap_or(0)
}

/// A place on the stack of a thread, to compare with other places of live frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Another number for each live thread.
    thread: usize,
    layer: u32,
}

impl Frame {
    /// The place of the caller. On a thread whose locals are gone, the places are all the same.
    #[inline]
    pub(crate) fn here() -> Frame {
        let of = |polled: &Polled| Frame {
            thread: ptr::from_ref(polled).addr(),
            layer: polled.depth.get() + polled.asides.get(),
        };
        POLLED.try_with(of).unwrap_or(Frame { thread: 0, layer: 0 })
    }

    /// The frame outside of an aside or a poll that has just begun here.
    pub(crate) fn outside(self) -> Frame {
        Frame { layer: self.layer.saturating_sub(1), ..self }
    }

    /// Whether this frame cannot go on before the wait at `wait` is over: the wait is in the same
    /// work, or on top of it.
    ///
    /// Work that runs on top of a wait has a greater layer than the wait.
    pub(crate) fn is_blocked_by(self, wait: Frame) -> bool {
        self.thread == wait.thread && self.thread != 0 && self.layer <= wait.layer
    }

    /// A number that many threads share.
    pub(crate) fn part(self) -> usize {
        self.thread >> 12
    }
}

/// Returns the task that the current thread polls. `block_on`'s own future is not a task.
pub(crate) fn task() -> Option<TaskRef> {
    let header = POLLED.try_with(|polled| polled.task.get()).ok().and_then(Current::task)?;
    // SAFETY: the worker that polls holds a reference until `Polling` is dropped.
    Some(unsafe { TaskRef::from_header(header) })
}

/// Notes that the current task is to be polled again, after others. Returns false and does nothing
/// if `waker` does not belong to that task: then the caller must wake that waker.
#[inline]
pub(crate) fn yield_task(waker: &Waker) -> bool {
    let note = |polled: &Polled| {
        let current = polled.task.get();
        let is_own = current.task().is_some_and(|task| task::is_own(waker, task));
        if is_own {
            polled.task.set(current.yielded());
        }
        is_own
    };
    POLLED.try_with(note).unwrap_or(false)
}

/// Whether the task that the current thread polls has yielded in this poll.
#[inline]
pub(crate) fn has_yielded() -> bool {
    POLLED.with(|polled| polled.task.get().has_yielded())
}

/// How many polls of tasks are on this thread's stack.
#[inline]
pub(crate) fn depth() -> u32 {
    POLLED.try_with(|polled| polled.depth.get()).unwrap_or(0)
}

/// Whether the current thread has entered a pool: see `team/entered`.
#[inline]
pub(crate) fn is_entered() -> bool {
    POLLED.with(|polled| polled.entered.get())
}

/// Notes whether the current thread has entered a pool.
pub(crate) fn set_entered(entered: bool) {
    POLLED.with(|polled| polled.entered.set(entered));
}

/// Notes whether the current thread is a worker of a pool that keeps another runtime's context.
pub(crate) fn set_ambient(ambient: bool) {
    let _ = POLLED.try_with(|polled| polled.ambient.set(ambient));
}

/// Replaces the budget while `f` runs.
pub(crate) fn with_budget<R>(budget: Budget, f: impl FnOnce() -> R) -> R {
    struct Restore(Budget);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = POLLED.try_with(|polled| polled.budget.set(self.0));
        }
    }
    let before = POLLED.try_with(|polled| polled.budget.replace(budget));
    let _restore = before.map(Restore);
    f()
}

/// Whether an operation may succeed at once.
#[inline]
pub(crate) fn has_budget() -> bool {
    POLLED.with(|polled| polled.budget.get() != Budget::SPENT)
}

/// Notes that an operation has succeeded at once.
#[inline]
pub(crate) fn spend() {
    POLLED.with(|polled| polled.budget.set(polled.budget.get().less_one()));
}

/// Calls `f` in another context, as `block_on` does: without a task, with its own budget.
pub(crate) fn outside_of_tasks<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Current);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = POLLED.try_with(|polled| polled.task.set(self.0));
        }
    }
    let before = POLLED.try_with(|polled| polled.task.replace(Current::NONE));
    let _restore = before.map(Restore);
    with_budget(Budget::FULL, f)
}
