//! Latches: set once, probed many times. The setter never touches a latch that may be freed.
//!
//! # Who calls it
//! [`CoreLatch`] is a worker's own word, used by `sleep`. A worker waits for a [`JobLatch`], a
//! foreign thread for a [`OnceLatch`]; a [`CountLatch`] sets either of them after N decrements.
//! Callers: `blitz-core/ops`, `blitz-core/team`, `blitz-core/task`, `blitz-core/worker`.
//!
//! # State
//! | latch | value | meaning | who sets | who clears |
//! |---|---|---|---|---|
//! | core | UNSET 0 | the worker is awake | its worker, leaving sleep | – |
//! | core | SLEEPY 1 | the worker is about to sleep | its worker | its worker, a notifier |
//! | core | SLEEPING 2 | the worker blocks on this word | its worker | a notifier |
//! | core | SET 3 | the worker has been notified | a notifier | its worker |
//! | job | UNSET 0 | not finished, owner awake | owner, when it wakes or by `reset` | – |
//! | job | SLEEPING 1 | not finished, owner sleeps for it | owner | owner, setter |
//! | job | SET 2 | finished | setter | owner, by `reset`, to use the latch again |
//! | job | runner bits | which worker runs the job, and in which of its runs | runner | setter |
//! | once | UNSET 0 / WAITING 1 / SET 2 | as for a job latch, but the waiter blocks on the latch's own word | setter; WAITING: the waiter | – |
//!
//! # Transitions
//! ```text
//!  core   UNSET ──get_sleepy──▶ SLEEPY ──fall_asleep──▶ SLEEPING
//!           ▲ ▲                   │ notify                 │ notify: waker decrements, futex
//!           │ └──── wake_up ──────┴─────────▶ SET ◀────────┘
//!           └───────── wake_up (swap) ─────────┘
//!         any state ──set──▶ SET, with the duty of `notify`
//!  job    UNSET ◀──────▶ SLEEPING ──set──▶ SET (then notify the owner)
//!           └──────────────set──────────────▲
//! ```
//!
//! # Invariants
//! - **LATCH-1** What the setter wrote before `set` is visible to a thread that saw SET.
//! - **LATCH-2** After the exchange to SET the setter touches only what outlives the latch: the
//!   owner's [`Bed`](crate::sleep::Bed), or a reference-counted word.
//! - **LATCH-3** A thread that blocks for a latch is woken by its setter.
//! - **LATCH-4** A count latch is set by exactly one decrement, the last, and LATCH-1 then holds
//!   for all decrementers.
//! - **LATCH-5** Exactly one notifier takes the word out of SLEEPING. Only that notifier has the
//!   duty to wake the worker and to decrement the sleepers. However a worker leaves its sleep, its
//!   word is UNSET afterwards.
//! - **LATCH-6** What a worker did before it became SLEEPY is visible to a thread that sees it
//!   SLEEPY or SLEEPING. So a thread that finds all workers asleep, and then finds no work, knows
//!   that there is none.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | exchange to SET | AcqRel | O2 | LATCH-1 |
//! | O2 | probe | Acquire | O1 | LATCH-1 |
//! | O3 | exchanges on the core word | AcqRel | each other | the sleeper sees what its notifier posted |
//! | O4 | `fetch_sub` of the count | AcqRel | itself | LATCH-4 |
//! | O5 | runner bits | Relaxed | – | a hint: a thread that follows it compares the number of the run with the worker's `trail` |
//! | O6 | exchange UNSET to WAITING on a once latch | Relaxed | – | a setter that finds WAITING reads no data of the waiter, and the waiter leaves through O2 |
//! | O7 | exchange UNSET to SLEEPING on a job latch, and back | AcqRel; Relaxed if it fails | O1 | a setter that finds SLEEPING sees the worker's word SLEEPY; a worker that finds SET probes (O2) |
//! | O8 | exchange UNSET to SLEEPY / load by an observer | Release / Acquire | each other | LATCH-6 |
//! | O9 | load that ends a sleep | Relaxed | – | the worker then acquires by `wake_up` (O3), and passes `sleep`'s fences before it relies on other workers |
//!
//! [`OnceLatch::wait`] spins and yields before it blocks, if that has paid off so far
//! (`park/habit`). This only affects speed, so it is left out under the model checker.
//!
//! # What this does not do
//! It does not count sleepers, nor choose which to wake: `sleep` does.
//!
//! # Lineage
//! The four states are the CoreLatch of the sleep document (`docs/coverage.md`), made into the
//! futex word and resettable.

mod core_latch;
mod count;
mod job_latch;
#[cfg(all(test, blitz_loom))]
mod model;
mod once;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use core_latch::{CoreLatch, Notice};
pub use count::CountLatch;
pub use job_latch::{JobLatch, Runner};
pub use once::OnceLatch;

/// Something that a finished job sets.
pub trait Latch {
    /// Sets the latch.
    ///
    /// # Safety
    /// 1. `this` points to a live latch when the call begins. It may be freed while the call runs,
    ///    as soon as the latch is set (LATCH-2): that is why this is not a method.
    unsafe fn set(this: *const Self);
}
