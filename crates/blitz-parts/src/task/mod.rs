//! Async tasks: one word of state, one allocation, wakers of one word.
//!
//! # Who calls it
//! `blitz-core` creates tasks and runs those in its queues; the queues of this crate carry
//! [`Runnable`]s; futures, and the objects that they wait for, hold wakers; users hold the
//! [`Join`], and [`TaskRef`]s.
//!
//! # State
//! One 64-bit word per task:
//!
//! | bits | field | meaning | who changes it |
//! |---|---|---|---|
//! | 40-63 | references | queue entry or run, join handle, each waker and `TaskRef`, the list | their holders |
//! | 32-39 | shields | an abort waits while there is one | holders of a reference |
//! | 24 | NOTIFIED | woken or aborted while RUNNING: the task does not become IDLE at the end of the poll | set by wakers and aborts, cleared by the runner |
//! | 25 | CANCELLED | to be cancelled when no shield is left | set by aborts |
//! | 26 | JOIN_INTEREST | the join handle exists | cleared by the handle unless COMPLETE |
//! | 27 | JOIN_WAKER | the handle's waker is in the header | the handle, until COMPLETE |
//! | 28 | LINKED | the task is in its list, or was when it ended | set by the runner, cleared by the closer of the list |
//! | 29 | KILLED | to be cancelled even if it has shields | set by the closer of the list |
//! | 30 | FAILED | COMPLETE without an output: cancelled or panicked | set by the runner with COMPLETE |
//! | 16-23 | life | IDLE 0, SCHEDULED 1, RUNNING 2, COMPLETE 3 | see below |
//! | 0-15 | serial | the high half of the task's serial number | set at its birth |
//!
//! | memory | owner |
//! |---|---|
//! | future, then output or failure (the outcome) | the runner; after COMPLETE the join handle |
//! | join waker: a word, the address of the task to wake or of a box with another waker | the handle while JOIN_WAKER is not set; no thread writes it while the bit is set; after COMPLETE with JOIN_WAKER the runner takes it; any holder of a reference may look at the address |
//! | place | the runner, or the holder of the queue entry |
//! | neighbours in the list | the holder of the list's lock; after the list was closed and the task taken out, the closer |
//!
//! # Transitions
//! ```text
//!  new ──▶ SCHEDULED ──run──▶ RUNNING ──ready, panicked, cancelled──▶ COMPLETE
//!            ▲    ▲              │ │ ▲                   an unwanted outcome drops just before;
//!            │    └────again──────┘ │ └──list closed──┐   the waiter is woken just after
//!            │                     └────pending────▶ IDLE ◀── the list has a reference
//!            └──wake, abort or last shield removed───┘
//! ```
//! A task runs again if it was woken meanwhile (NOTIFIED), or has yielded, which only its own
//! thread knows. The thread that makes a task SCHEDULED has the duty to queue it. A queue entry
//! that is dropped instead of run goes through the same states: RUNNING, cancelled, COMPLETE.
//!
//! # Invariants
//! - **TASK-1** At most one thread runs a task: the one that made it RUNNING. It sees everything
//!   that earlier runners did.
//! - **TASK-2** Unless the task ends, a poll begins after each wake and sees what the waker's
//!   thread wrote before; another poll begins after each poll that yields. If a wake comes while a
//!   poll is about to begin anyway, that poll need not see what the thread wrote into plain memory.
//! - **TASK-3** A task has at most one queue entry, and one exactly while it is SCHEDULED.
//! - **TASK-4** A future is dropped once, in place, before its task is COMPLETE.
//! - **TASK-5** An outcome is given to the join handle or dropped, once.
//! - **TASK-6** A task is freed once, after its last reference is gone. It is COMPLETE then, or
//!   about to be, and holds nothing that needs to be dropped.
//! - **TASK-7** A waiter whose poll of the join handle was pending is woken at the task's end,
//!   through the waker of the last poll. No waker is left in a task that is freed.
//! - **TASK-8** A task that is aborted ends, without being polled again. A task whose queue entry
//!   is dropped ends at once. The drop of the future sees everything that was done before the
//!   abort, or before the last shield was removed.
//! - **TASK-9** While a task has a shield an abort waits, and wakes have their effect. The abort is
//!   effective when the last shield goes.
//! - **TASK-10** A task that is IDLE is in a list. Once the list is closed, and the tasks that were
//!   left to other threads have been run or dropped, every task that was in the list or would join
//!   it has ended.
//! - **TASK-11** Running a task, dropping its entry and closing its list do not unwind. A panic
//!   goes to the join handle if there is one, otherwise to the scheduler.
//! - **TASK-12** The scheduler is not used after a task has ended and the call that ended it has
//!   returned.
//! - **TASK-13** From the wake of a probe until its end, each poll of the task has the probe's
//!   waker, and every clone of that waker is an ordinary waker. A probe whose wake does not make
//!   the task SCHEDULED does not begin. A probe shows the polls that began in it, and no other. A
//!   task that is cancelled instead of polled counts as polled. In all else a probe acts as a wake.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | load and exchange to RUNNING | AcqRel | O2, O3 | TASK-1, TASK-2 |
//! | O2 | exchange of a wake, of an abort, of a shield's removal | AcqRel | O1, O3 | TASK-2, even if the exchange changes nothing; if it makes the task SCHEDULED, a queue passes the task to its runner |
//! | O3 | exchange to IDLE or back to SCHEDULED | AcqRel | O1 through O2 | TASK-1 |
//! | O4 | exchange to COMPLETE | AcqRel | O5, O6 | TASK-5, TASK-7 |
//! | O5 | load that finds COMPLETE | Acquire | O4 | TASK-5 |
//! | O6 | exchange that sets JOIN_WAKER | AcqRel | O4 | TASK-7 |
//! | O7 | giving up a reference | AcqRel | O7, O8 | TASK-6 |
//! | O8 | load that finds only the caller's own reference | Acquire | O7 | TASK-6; no exchange is needed, since only the holder of a reference can make another |
//! | O9 | one reference more | Relaxed | – | made from an existing reference |
//! | O10 | fence of a wake before it finds, by a load, that a poll is to begin; fence after the exchange to RUNNING | SeqCst; after_exchange | each other | TASK-2: the wake sees RUNNING, or the poll sees what the waker's thread wrote |
//! | O11 | one shield more; taking the place of the join waker back | Relaxed; Acquire if the task has ended | – | a count that an abort finds in the same word; memory that only the handle has used since it announced it |
//! | O12 | load, exchange and store of the table | Relaxed | – | TASK-13: the queue entry that the probe's wake makes brings the table for probes to the run; O2 and O3 bring the table to the runs that follow; the lock of the notes orders probes |
//!
//! Exchanges dominate the cost of tasks. If a task is ready at once, its run begins with one
//! exchange and ends with one. If no other reference is left, because the join handle is gone
//! already, the run has none. A poll that leaves the task pending has two. A wake has one. While a
//! poll is about to begin anyway, a wake by reference has none, only a fence. So any number of
//! threads can wake the task without taking its cache line from each other.
//!
//! # What this does not do
//! It chooses no thread, no queue and no order, and wakes no worker: the scheduler does. It does
//! not free a task that waits for something that never happens; the list ends such a task when the
//! list is closed. A wake does not hand over memory that is not atomic: a thread that writes such
//! memory before it wakes a task needs its own release and acquire.
//!
//! # Lineage
//! The word is that of the tasks document (`docs/coverage.md`), with its errata: every wake is an
//! exchange, or a fence between two loads; one exchange decides between IDLE and SCHEDULED, and
//! gives up the run's reference; the abort of an idle task queues it; COMPLETE captures the join
//! handle. LINKED, KILLED and FAILED are new.

mod birth;
mod cell;
mod join;
mod join_waker;
#[cfg(all(test, blitz_loom))]
mod model;
mod owned;
#[cfg(all(test, blitz_loom))]
mod owned_model;
mod place;
mod probe;
#[cfg(all(test, blitz_loom))]
mod probe_model;
mod reference;
#[cfg(test)]
pub(crate) mod rig;
mod runnable;
mod scheduler;
mod serial;
mod shield;
mod shown;
mod site;
mod state;
mod table;
#[cfg(all(test, not(blitz_loom)))]
mod test;
mod waker;

pub use crate::panic::Payload;
pub use cell::{new, new_local};
pub use join::{Failure, Join};
pub use owned::Owned;
pub use place::Place;
pub use probe::Probe;
pub use reference::TaskRef;
pub use runnable::{Ran, Runnable};
pub use scheduler::{LateReport, Scheduler};
pub use serial::Serial;
pub use shield::TooDeep;
pub use shown::{Shown, ShownOwner, ShownTask};
pub use state::{Glance, Life};
pub use waker::{is_own, only_queues, task_of};

use crate::prim::{self, AtomicU32, Witness};
use crate::stock;
use birth::Birth;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::task::RawWakerVTable;
use join_waker::JoinPlace;
use site::Site;
use state::State;
use table::Table;

/// The first field of every task; its address is the task's identity.
#[repr(C)]
pub struct Header {
    state: State,
    vtable: Table,
    /// When something happened last, in the units of the scheduler. The holder of the task's
    /// [`Runnable`] writes it, and any thread may read it.
    stamp: AtomicU32,
    /// Where the scheduler keeps the task, and so which list the task is in. Only the runner and
    /// the holder of the task's [`Runnable`] use this field.
    place: UnsafeCell<Option<Place>>,
    /// The low half of the task's serial number; the state word has the high half.
    serial: u32,
    site: Site,
    /// The list's lock guards this field. Once the closer of the list has taken the task out, the
    /// field belongs to the closer.
    neighbours: UnsafeCell<MaybeUninit<owned::Neighbours>>,
    /// Belongs to the join handle until JOIN_WAKER is set, then to no thread, and to the runner
    /// after COMPLETE.
    join_waker: JoinPlace,
    uses: Uses,
}

/// Witnesses, for the model checker, of plain memory that threads hand to each other.
#[derive(Default)]
struct Uses {
    /// The witness of the future, then of its outcome.
    stage: Witness,
    /// The witness of the place for the join handle's waker.
    join_waker: Witness,
}

/// The functions that differ between kinds of tasks.
struct Vtable {
    /// Polls a task that is SCHEDULED, with the queue entry's reference. The task gets a waker of
    /// the table that is passed.
    run: unsafe fn(NonNull<Header>, &'static RawWakerVTable) -> Ran,
    /// Drops the future of a task that is RUNNING and ends it, with the run's reference.
    cancel: unsafe fn(NonNull<Header>),
    /// Hands a task that is SCHEDULED to its scheduler, with the queue entry's reference.
    schedule: unsafe fn(NonNull<Header>),
    /// The name of the future's type.
    type_name: fn() -> &'static str,
    /// What the scheduler promises about `schedule`: see [`Scheduler::ONLY_QUEUES`].
    only_queues: bool,
    /// The kind of the whole allocation.
    memory: stock::Kind,
    /// The offset of the output or the failure from the header.
    stage: usize,
    /// The table that replaces this one while the task is probed; `None` in that other table.
    probed: Option<&'static Vtable>,
}

impl Header {
    #[inline]
    fn new(vtable: &'static Vtable, birth: Birth) -> Header {
        let (high, serial) = birth.serial.halves();
        Header {
            state: State::new(high),
            vtable: Table::new(vtable),
            stamp: AtomicU32::new(0),
            place: UnsafeCell::new(None),
            serial,
            site: birth.site,
            neighbours: UnsafeCell::new(MaybeUninit::uninit()),
            join_waker: JoinPlace::default(),
            uses: Uses::default(),
        }
    }

    /// The task's serial number.
    #[inline]
    fn serial(&self) -> Serial {
        Serial::of_halves(self.state.load().serial(), self.serial)
    }

    /// Returns the part of a task's allocation at `offset` bytes from the header.
    #[inline]
    fn part<T>(this: NonNull<Header>, offset: usize) -> *mut T {
        this.cast::<u8>().as_ptr().wrapping_add(offset).cast()
    }

    /// Hands the task to its scheduler.
    ///
    /// # Safety
    /// 1. The task is SCHEDULED, and the caller has the duty to queue it, with one reference for
    ///    it.
    unsafe fn schedule(this: NonNull<Header>) {
        // SAFETY: the reference keeps the task alive.
        let schedule = unsafe { this.as_ref() }.vtable.get().schedule;
        // SAFETY: obligation 1 is passed on.
        unsafe { schedule(this) };
    }

    /// Gives up one reference, and frees the task if it was the last.
    ///
    /// # Safety
    /// 1. The caller owns the reference and does not use the task afterwards.
    unsafe fn release(this: NonNull<Header>) {
        if prim::model_has_failed() {
            return;
        }
        // SAFETY: the reference keeps the task alive until it is given up.
        let last = unsafe { &(*this.as_ptr()).state }.release();
        if last {
            // SAFETY: that was the last reference.
            unsafe { Header::free(this) };
        }
    }

    /// Frees the allocation.
    ///
    /// # Safety
    /// 1. No thread has a reference any more.
    unsafe fn free(this: NonNull<Header>) {
        // SAFETY: no other thread has the task (obligation 1). A complete task has neither future
        // nor waker, and its outcome was taken or dropped, so there is nothing to drop.
        let header = unsafe { &mut *this.as_ptr() };
        let memory = &header.vtable.get().memory;
        header.state.poison();
        // SAFETY: `new` allocated the task as this kind.
        unsafe { stock::dealloc(this.cast(), memory) };
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}
