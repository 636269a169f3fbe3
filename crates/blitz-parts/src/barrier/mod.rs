//! An asymmetric fence pair: the frequent side pays nothing, the rare side pays for both.
//!
//! # Who calls it
//! `light`: the owner of a deque, several times per fork; a worker that announces a task (`sleep`);
//! any thread that asks for the watch (`watch`). `heavy`: a worker that is about to sleep, or that
//! has found work and looks for more; a thief that makes a stuck worker's private jobs public; a
//! thread that counts private jobs; the watch before it rests. `after_exchange`: all users of
//! `bitmap`; a worker that begins to poll a task (`task`); thieves of a large ring, and the owner
//! that leaves that ring (`deque`). [`Reliance`]: the team, for a sleeper between its heavy fence
//! and its last look.
//!
//! # State
//! Whether the pair is available: decided once per process, and taken back at most once
//! (BARRIER-4). Per pool ([`Reliance`]): `relied_on` says whether workers rely on it. It is cleared
//! at most once, by a sleeper that finds the barrier refused.
//!
//! # Invariants
//! - **BARRIER-1** If thread A does `x = 1; light(); read y` and thread B does
//!   `y = 1; heavy(); read x`, at least one of the two reads sees the other's write.
//! - **BARRIER-2** Where the system lacks the means, `available()` is false and no thread relies on
//!   BARRIER-1: deques then publish every job and use two ordinary fences.
//! - **BARRIER-3** If two threads each exchange a word of their own, call `after_exchange` and read
//!   the other's word, at least one of them sees the other's exchange.
//! - **BARRIER-4** The system may refuse the barrier later, for example by a seccomp filter that
//!   was installed meanwhile. Then `heavy` returns false, BARRIER-1 does not hold for that call,
//!   and `available()` is false from then on.
//! - **BARRIER-5** If the pair was refused before a call of [`Reliance::notice_refusal`], the light
//!   sides of the pool have been notified when that call returns, and its caller sees the
//!   notification. A notified light side and a caller of `heavy` cannot both miss each other,
//!   although `heavy` was refused.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | `light` | compiler fence | O2 | the kernel runs a full barrier on every thread for O2 |
//! | O2 | `heavy` | `fence(SeqCst)`, then membarrier if it is available | O1 | BARRIER-1 |
//! | O3 | `after_exchange` | `fence(SeqCst)`; a compiler fence on x86-64 | O3, any `fence(SeqCst)` | BARRIER-3: on x86-64 each locked instruction drains the store buffer |
//! | O4 | `relied_on` store after notifying, load | Release, Acquire | each other | BARRIER-5: a thread that finds it cleared sees the notification of the light sides |
//! | O5 | notification of the light sides, and their load of it | Relaxed | – | BARRIER-5: a light side that reads the notification passes its ordinary fence later than the caller of `heavy` passed that of O2 |
//!
//! Under the model checker both halves are `fence(SeqCst)`, the weakest thing loom knows that gives
//! BARRIER-1.
//!
//! # After a refusal
//! The light side is a compiler fence. Code that has run already cannot get a real fence
//! afterwards. So `heavy` tries no substitute for the barrier, and a refused caller acts as if it
//! had not called `heavy`:
//!
//! - A thief leaves private forks alone. Only their owner takes them, so the owner needs no fence.
//! - A sleeper notifies the light sides (`blitz-core/team`): from then on owners publish every fork
//!   and use ordinary fences, as on systems without the barrier. An owner that has not seen the
//!   notification yet may put a task or a fork where the sleeper misses it. No work is lost then:
//!   the owner is awake and runs the work itself. If the owner is stuck in a poll, a worker that
//!   the watch wakes runs the work: after a refusal the watch is never turned off, and sees every
//!   store eventually.
//! - A fork that was private before stays private until its owner forks again, or takes the fork
//!   back. Until then no thief can run it. This is the cost of a filter that is installed after the
//!   pool started.
//!
//! The fallbacks of other projects do not work here. `mprotect` on a resident page (folly, HotSpot)
//! relies on an interrupt of every processor that runs a thread of the process. ARM processors
//! invalidate each other's translations without an interrupt, and so do x86-64 processors with
//! INVLPGB under Linux 6.15 and later. Signals (liburcu) need a signal number that the program does
//! not use, and interrupt its system calls. A walk over all processors by `sched_setaffinity`
//! misses the processors that the caller may not use. Each of these fallbacks needs a system call,
//! which the same filter may forbid.
//!
//! # What this does not do
//! It orders nothing between two `light` sides.
//!
//! # Lineage
//! Linux `membarrier(2)`, PRIVATE_EXPEDITED. It costs 1-14 us if other threads run, so no path that
//! runs often uses it.

use crate::prim::{self, Acquire, AtomicBool, Relaxed, Release};

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

#[cfg(all(target_os = "linux", not(any(blitz_loom, blitz_shuttle))))]
mod linux;
#[cfg(all(target_os = "linux", not(any(blitz_loom, blitz_shuttle))))]
use linux as system;
#[cfg(any(not(target_os = "linux"), blitz_loom, blitz_shuttle))]
mod portable;
#[cfg(any(not(target_os = "linux"), blitz_loom, blitz_shuttle))]
use portable as system;

/// Whether `light` and `heavy` pair up on this system (BARRIER-2).
pub fn available() -> bool {
    system::available()
}

/// The free half: call it between a store and a load whose order a [`heavy`] caller relies on.
#[inline(always)]
#[cfg_attr(blitz_loom, track_caller)]
pub fn light() {
    // O1
    if prim::MODELLED {
        if !prim::broken(prim::Step::BarrierLight) {
            prim::fence(prim::SeqCst);
        }
    } else {
        prim::compiler_fence();
    }
}

/// Orders an exchange that this thread has just done before its loads that follow, as
/// `fence(SeqCst)` does. On processors where an exchange is such a fence itself (BARRIER-3), this
/// is only a compiler fence.
#[inline(always)]
#[cfg_attr(blitz_loom, track_caller)]
pub fn after_exchange() {
    if cfg!(target_arch = "x86_64") && !prim::MODELLED {
        prim::compiler_fence(); // O3
    } else if !prim::broken(prim::Step::BarrierAfterExchange) {
        prim::fence(prim::SeqCst); // O3
    }
}

/// The expensive half: if it returns true, every thread of the process has passed a full barrier.
/// If it returns false only the calling thread has (BARRIER-4).
#[cold]
#[cfg_attr(blitz_loom, track_caller)]
pub fn heavy() -> bool {
    prim::fence(prim::SeqCst); // O2
    system::heavy()
}

/// Whether the workers of one pool rely on the pair.
#[derive(Debug)]
pub struct Reliance {
    relied_on: AtomicBool,
}

impl Reliance {
    /// Creates the state of one pool. If `relied_on` is false, its workers never rely on the pair.
    pub fn new(relied_on: bool) -> Reliance {
        Reliance { relied_on: AtomicBool::new(relied_on) }
    }

    /// Whether the workers relied on the pair at some recent moment.
    pub fn is_on(&self) -> bool {
        self.relied_on.load(Relaxed)
    }

    /// Calls `tell` if the workers still rely on the pair, but the pair was refused. `tell` makes
    /// the light sides use ordinary fences. Several threads may call this function at the same
    /// time, and then several may call `tell`. When this function returns to any of them after a
    /// refusal, a call of `tell` has ended.
    #[inline]
    pub fn notice_refusal(&self, tell: impl FnOnce()) {
        self.notice(available, tell);
    }

    #[inline]
    fn notice(&self, available: impl FnOnce() -> bool, tell: impl FnOnce()) {
        // O4
        if self.relied_on.load(Acquire) && !available() {
            tell();
            let order =
                if prim::broken(prim::Step::BarrierToldRelease) { Relaxed } else { Release };
            self.relied_on.store(false, order); // O4
        }
    }
}
