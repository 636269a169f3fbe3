//! Turns the watch thread on while a stuck worker could leave work behind. As long as something is
//! in use that the watch has to check, for example a LIFO slot, the watch is on, or a worker has
//! notified the watch, which is about to look.
//!
//! # Who calls it
//! A thread that leaves something to the watch: [`Watch::need`] or [`Watch::need_after_fence`]. It
//! leaves one of these:
//! - a task in its LIFO slot, where no other worker looks;
//! - the driver, in which there is no worker now;
//! - work that is left to workers that are busy, or will be;
//! - its own polls and jobs, if stalls are reported.
//!
//! The watch thread: [`Watch::next`], [`Watch::rest`]. The worker that starts this thread:
//! [`Watch::has_started`]. The thread that finds the heavy fence refused:
//! [`Watch::become_symmetric`]. The thread that ends the pool: [`Watch::stop`]. Callers:
//! `blitz-core/state/watch`, `blitz-core/team/watch`.
//!
//! # State
//! | word | meaning | who sets | who clears |
//! |---|---|---|---|
//! | `on` | the watch looks, or was notified and will look; or the pool needs no watch | the worker that needs it, by exchange; the watch | the watch, before its last look; the worker that could not start it |
//! | `stopping` | the pool ends | `stop` | never |
//! | `asymmetric` | workers pass only a compiler fence before they read `on` | – | the thread that finds the heavy fence refused |
//! | `missed` | calls of `need` since the thread could not be started; 0 if it could | the worker that could not start it | the worker that could |
//!
//! # Transitions
//! ```text
//!  worker:  slot in use ─▶ fence ─▶ on? ──yes──▶ nothing to do
//!                                    │ no
//!                                    └▶ on := true by exchange; it was false?
//!                                         unpark or start the watch
//!  watch:   on? ──no──▶ park, ask again
//!            │ yes
//!            └▶ look … nothing in use for a while ─▶ on := false ─▶ fence ─▶ look once more
//!                                                      ▲                       │ in use
//!                                                      └─────── on := true ◀───┘
//! ```
//!
//! # Invariants
//! - **WATCH-1** If something is in use when the caller of [`Watch::need`] has done the duty that
//!   the call returned, then the watch checks it. Either the watch is on, or the watch is about to
//!   rest and sees the use in its last look.
//! - **WATCH-2** Of the calls of `need` that find the watch off, exactly one has the duty to wake
//!   it.
//! - **WATCH-3** After `stop` the watch ends as soon as it is awake, and no call of `need` wakes
//!   it.
//! - **WATCH-4** A watch that could not be started is off. One in [`WATCH_MISSED`] of the later
//!   calls of `need` tries again.
//! - **WATCH-5** Once the system has refused the heavy fence the watch is not turned off any more.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | fence between the use and the load of `on`; the caller's own in `need_after_fence` | light, else SeqCst | O2 | WATCH-1: worker and watch cannot both miss each other |
//! | O2 | fence between the store of `on` and the last look | heavy, else SeqCst | O1 | as O1 |
//! | O3 | `on` exchange | Relaxed | itself | WATCH-2: exchanges of one word have one order |
//! | O4 | `on` stores, loads | Relaxed | – | it carries no data: a watch that is turned on sees what the worker did before, at the latest after O2 |
//! | O5 | `stopping` store, loads | Relaxed | – | WATCH-3: the unpark that follows carries it to a watch that parks |
//! | O6 | `missed` | Relaxed | – | it only limits attempts: one more or less does not matter |
//! | O7 | `asymmetric` store, load | Relaxed | – | WATCH-5 covers a worker that reads it late |
//!
//! # What this does not do
//! It neither parks nor starts a thread: each result tells the caller what to do. The caller
//! decides how often the watch checks, and what the watch does then.
//!
//! # Lineage
//! The store-fence-load pair of `sleep`, with the asymmetric fence of `barrier`, since the frequent
//! side runs for each task that goes into a LIFO slot.

#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::barrier;
use crate::prim::{AtomicBool, AtomicU32, Relaxed, SeqCst, Step, Turns, broken, fence};
use crate::tuning::WATCH_MISSED;

/// The state of one pool's watch.
#[derive(Debug)]
pub struct Watch {
    on: AtomicBool,
    turns: Turns,
    stopping: AtomicBool,
    asymmetric: AtomicBool,
    /// Workers relied on the asymmetric fence at first.
    began_asymmetric: bool,
    missed: AtomicU32,
}

/// What a worker that needs the watch has to do.
#[must_use = "a parked watch has to be woken"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Met,
    /// Unpark the watch, or start it and report [whether that worked](Watch::has_started).
    Wake,
}

/// What the watch thread does next.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Look at the workers.
    Look,
    /// Park until unparked, and call `next` again.
    Park,
    /// End: the pool has ended the watch.
    End,
}

impl Watch {
    /// A watch that is off. `needed`: there is another worker or a spare that could take over from
    /// a stuck one. `asymmetric`: workers rely on the asymmetric fence.
    ///
    /// ```
    /// use blitz_parts::watch::{Need, Next, Watch};
    /// let watch = Watch::new(true, false);
    /// assert_eq!(watch.next(), Next::Park);
    /// assert_eq!(watch.need(), Need::Wake);
    /// assert_eq!((watch.need(), watch.next()), (Need::Met, Next::Look));
    /// assert!(watch.rest(|| false));
    /// assert_eq!(watch.next(), Next::Park);
    /// ```
    pub fn new(needed: bool, asymmetric: bool) -> Watch {
        Watch {
            on: AtomicBool::new(!needed),
            turns: Turns::default(),
            stopping: AtomicBool::new(false),
            asymmetric: AtomicBool::new(asymmetric),
            began_asymmetric: asymmetric,
            missed: AtomicU32::new(0),
        }
    }

    /// Asks for the watch: the caller has just put something where the watch looks.
    #[inline]
    pub fn need(&self) -> Need {
        // O7
        if self.asymmetric.load(Relaxed) {
            barrier::light(); // O1
        } else if !broken(Step::WatchNeedFence) {
            fence(SeqCst); // O1
        }
        self.need_after_fence()
    }

    /// As [`need`](Self::need), for a caller that has passed a SeqCst fence after the use.
    #[inline]
    pub fn need_after_fence(&self) -> Need {
        self.turns.take();
        if self.on.load(Relaxed) { Need::Met } else { self.turn_on() }
    }

    #[cold]
    fn turn_on(&self) -> Need {
        // O6
        if self.missed.load(Relaxed) > 0 && self.missed.fetch_add(1, Relaxed) % WATCH_MISSED != 0 {
            return Need::Met;
        }
        if self.is_stopping() {
            return Need::Met;
        }
        self.turns.take();
        let was_on = if broken(Step::WatchNeedExchange) {
            let was_on = self.on.load(Relaxed);
            self.turns.take();
            self.on.store(true, Relaxed);
            was_on
        } else {
            self.on.swap(true, Relaxed) // O3
        };
        if was_on { Need::Met } else { Need::Wake }
    }

    /// Reports whether the start of the watch worked, which was the duty of [`Need::Wake`]. If it
    /// did not, there is no watch until a later attempt.
    pub fn has_started(&self, started: bool) {
        self.missed.store(u32::from(!started), Relaxed); // O6
        if !started {
            self.turns.take();
            self.on.store(false, Relaxed); // O4
        }
    }

    /// Makes workers use an ordinary fence from now on, because the system refuses the heavy one.
    /// The watch is turned on and stays on, for workers that do not know that yet (WATCH-5).
    pub fn become_symmetric(&self) -> Need {
        self.asymmetric.store(false, Relaxed); // O7
        self.need()
    }

    /// What the watch thread does now.
    pub fn next(&self) -> Next {
        if self.is_stopping() {
            Next::End
        } else if self.is_on() {
            Next::Look
        } else {
            Next::Park
        }
    }

    /// Turns off the watch after it has found nothing in use for a while, unless `in_use` finds
    /// something now. Returns whether it is off.
    pub fn rest(&self, in_use: impl FnOnce() -> bool) -> bool {
        self.turns.take();
        self.on.store(false, Relaxed); // O4
        // A heavy fence that was refused proves nothing about workers that rely on it.
        let fenced = broken(Step::WatchRestFence) || barrier::heavy() || !self.began_asymmetric; // O2
        self.rest_if(fenced, in_use)
    }

    fn rest_if(&self, fenced: bool, in_use: impl FnOnce() -> bool) -> bool {
        let stays = !fenced || !broken(Step::WatchRestLooks) && in_use();
        if stays {
            self.turns.take();
            self.on.store(true, Relaxed); // O4
        }
        !stays
    }

    /// Ends the watch with its pool. The caller then unparks the watch, if there is one.
    pub fn stop(&self) {
        self.stopping.store(true, Relaxed); // O5
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed) // O5
    }

    /// Whether the watch is on, or the pool needs none.
    pub fn is_on(&self) -> bool {
        self.turns.take();
        self.on.load(Relaxed) // O4
    }
}
