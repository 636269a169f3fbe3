//! Workers that wait for a latch and still take injected jobs. A poster notifies all of them.
//!
//! # Who calls it
//! A waiting worker that the sleep protocol does not wake for posted work: [`Guests::add`] before
//! it parks, [`Guests::remove`] after its wait. A thread that has injected a job, or has put a task
//! where all workers look: [`Guests::notify_of_job`], [`Guests::notify_of_task`]. A call that waits
//! for jobs: [`Injected::new`]. A scope whose job goes through the injector: [`Injected::set`].
//! Callers: `blitz-core/team`, `blitz-core/worker/wait`, `blitz-core/ops`,
//! `blitz-core/task/packet`.
//!
//! # State
//! | where | meaning | who writes |
//! |---|---|---|
//! | `list` | the guests, behind a lock; a worker is there once per nested wait | guests |
//! | `jobs` | how many guests there are | guests |
//! | `tasks` | how many of them take tasks, too | guests |
//! | [`Injected`] | an awaited job may be among the injected ones | the thread that injects it |
//!
//! # Transitions
//! ```text
//!  guest:   into the list, counts +1 ─▶ … ─▶ fence (SLEEP O2) ─▶ last look ─▶ park …
//!           ─▶ out, counts -1
//!  poster:  [Injected set] ─▶ job in ─▶ fence (SLEEP O1) ─▶ counts 0? ──no──▶ notify all in list
//! ```
//!
//! # Invariants
//! - **GUESTS-1** A guest that parks after its last look is notified of a job that this look
//!   missed.
//! - **GUESTS-2** A guest that takes tasks is notified of a task in the same way. Other guests are
//!   not notified of tasks.
//! - **GUESTS-3** If a job that a guest waits for is injected while the guest parks, the guest is
//!   notified, and then sees that [`Injected`] is set.
//! - **GUESTS-4** While there is no guest a poster takes no lock.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | counts up, before the guest's fence | Relaxed | O2 | GUESTS-1: because of the fences of `sleep`, poster and guest cannot both miss each other |
//! | O2 | counts loaded, after the poster's fence | Relaxed | O1 | the same |
//! | O3 | `list` | its lock | itself | a poster that sees the count finds the guest if it takes the lock after the guest; if it takes the lock before the guest, the guest sees the job |
//! | O4 | counts down | Relaxed | – | a poster that still sees the old count only notifies for nothing |
//! | O5 | `Injected` store, load | Relaxed | – | GUESTS-3: a guest that parks sees the store because of the fences, or because of the notification; a guest that does not park looks again |
//!
//! # What this does not do
//! It has no fence of its own: the poster has passed the fence in `new_jobs`, or that of a signal
//! (BITMAP O4), and the guest has passed the fence in `wait_parked`. It notifies every guest that
//! takes such work, not just one, because a guest may leave a job alone. It does not choose jobs.
//!
//! # Lineage
//! Ours. The sleep protocol wakes as many workers as there are jobs. A guest does not count as one
//! of these workers, because it may leave a job alone.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::prim::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Relaxed, Step, broken};
use std::sync::PoisonError;

/// The guests of one pool.
#[derive(Debug)]
pub struct Guests {
    list: Mutex<Vec<Guest>>,
    jobs: AtomicUsize,
    tasks: AtomicUsize,
}

/// A worker that waits and takes injected jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The worker's index.
    pub worker: usize,
    /// Whether the worker takes tasks, too.
    pub tasks: bool,
}

impl Guests {
    /// Creates an empty list.
    ///
    /// ```
    /// use blitz_parts::guests::{Guest, Guests};
    /// let guests = Guests::new();
    /// guests.notify_of_job(|_| unreachable!("there is none"));
    /// let guest = Guest { worker: 3, tasks: false };
    /// guests.add(guest);
    /// let mut told = Vec::new();
    /// guests.notify_of_job(|worker| told.push(worker));
    /// assert_eq!(told, [3]);
    /// guests.remove(guest);
    /// ```
    pub fn new() -> Guests {
        Guests {
            list: Mutex::new(Vec::new()),
            jobs: AtomicUsize::new(0),
            tasks: AtomicUsize::new(0),
        }
    }

    /// Registers a worker that begins to wait. Before the worker parks, it must pass a fence and
    /// then look at the injector.
    pub fn add(&self, guest: Guest) {
        self.lock().push(guest);
        if !broken(Step::GuestsCountJobs) {
            self.jobs.fetch_add(1, Relaxed); // O1
        }
        if guest.tasks && !broken(Step::GuestsCountTasks) {
            self.tasks.fetch_add(1, Relaxed); // O1
        }
    }

    /// Removes a guest whose wait is over.
    pub fn remove(&self, guest: Guest) {
        let mut list = self.lock();
        // A worker may be listed twice, once per nested wait. Remove one entry only.
        if let Some(at) = list.iter().position(|&place| place == guest) {
            list.swap_remove(at);
        }
        drop(list);
        self.jobs.fetch_sub(1, Relaxed); // O4
        self.tasks.fetch_sub(usize::from(guest.tasks), Relaxed); // O4
    }

    /// Calls `notify` with the index of each guest. The caller has injected a job and has passed a
    /// fence since.
    #[inline]
    pub fn notify_of_job(&self, notify: impl FnMut(usize)) {
        if self.jobs.load(Relaxed) > 0 {
            self.notify_chosen(|_| true, notify); // O2
        }
    }

    /// Calls `notify` with the index of each guest that takes tasks. The caller has put a task
    /// where all workers look, and has passed a fence since.
    #[inline]
    pub fn notify_of_task(&self, notify: impl FnMut(usize)) {
        if self.tasks.load(Relaxed) > 0 {
            self.notify_chosen(|guest| guest.tasks, notify); // O2
        }
    }

    #[cold]
    fn notify_chosen(&self, chosen: impl Fn(&Guest) -> bool, notify: impl FnMut(usize)) {
        let list = self.lock();
        list.iter().filter(|guest| chosen(guest)).map(|guest| guest.worker).for_each(notify);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Guest>> {
        // No user code runs under the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner) // O3
    }
}

impl Default for Guests {
    fn default() -> Guests {
        Guests::new()
    }
}

/// Whether an awaited job may be among the injected ones. Once set, it stays set.
#[derive(Debug)]
pub struct Injected(AtomicBool);

impl Injected {
    /// Creates the flag, set or not.
    pub fn new(set: bool) -> Injected {
        Injected(AtomicBool::new(set))
    }

    /// Notes that an awaited job is about to be injected.
    pub fn set(&self) {
        self.0.store(true, Relaxed); // O5
    }

    /// Whether an awaited job was injected, or will be soon.
    pub fn get(&self) -> bool {
        self.0.load(Relaxed) // O5
    }
}
