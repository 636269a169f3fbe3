//! Decides when a worker sleeps and which worker a poster wakes.
//!
//! It never happens that a posted job waits while all workers that could run it sleep.
//!
//! # Who calls it
//! Workers, from `blitz-core/worker` and `sched`, each with the [`BedOwner`] of its thread:
//! `start_looking`, `start_looking_outside`, `no_work_found`, `work_found`, `wait_parked`,
//! `try_lease`, `new_task`; spares also `enter_service`, `leave_service`, `begin_relief`,
//! `relief_runs_on`, `wait_on_relief`, `end_relief`, `relieve`. A worker that computes:
//! `stand_aside`. Any poster: `new_jobs`, `new_mail`, `is_any_looking`,
//! `tell_relief`, `Bed::notify`. The watch: `lease_free_since`, `relieve`, `wake_one`,
//! `end_relief`. Wakers of the bitmap scheduler: `wake_one`. The thread that finds the heavy fence
//! refused: `become_symmetric`. The thread that starts the driver: `plug`. The pool's end: `stop`.
//!
//! # State
//! | where | bits | meaning | who sets | who clears |
//! |---|---|---|---|---|
//! | counters | sleeping, 0-15 | registered sleepers | the sleeper | its waker; the sleeper if no waker took it out of its sleep |
//! | counters | inactive, 16-31 | workers that run nothing | the worker | the worker |
//! | counters | JEC, 32-63 | even: a worker is sleepy; odd: posted since | poster even→odd | sleeper odd→even |
//! | parked | bit i | worker i may be SLEEPY or SLEEPING | worker i | worker i |
//! | bed i | core word | see `latch` | worker i | notifiers |
//! | lease | worker, 0-16 | the worker that waits in the driver, or is allowed to | that worker | that worker |
//! | lease | visits, the rest | how often a worker had the lease | the worker that leaves | never |
//! | bed i | in_driver | worker i blocks in the driver, not on its word | worker i | worker i |
//! | stopping | flag | the pool ends | `stop` | never |
//! | in_service | number | workers that may run work, resting spares not counted | `add_bed`, the spare | the spare |
//! | relief | state, 0-1; worker, 3-18 | off, at work, waiting in the driver | the relief worker | the relief worker; its notifier; the watch |
//! | relief | aside, 2; rounds, 19-31 | workers stand aside; how often they were woken | the worker that stands aside | the thread by whose step the relief worker stops working |
//! | relief processor | number plus one | where the relief worker ran last, a hint | the relief worker | never |
//! | demand i | which counters worker i reads after each fork | the pool's; always-wanting ones; attentive ones, which only send forks through their cold path | always-wanting: the thread that finds the heavy fence refused; attentive: the watch, while a worker is on relief | always-wanting: never; attentive: the relief worker that leaves, worker i, or the refusal |
//!
//! # Transitions
//! ```text
//!  running ──start_looking──▶ looking: spin, yield … announce (JEC even, remember it)
//!     ▲                          │ one more yield
//!     │ work_found: wake one     ▼
//!     │ more, then run        sleep: 1 word UNSET→SLEEPY, own parked bit
//!     │                              2 latch waited for → SLEEPING
//!     ├──── found ◀─── look ◀─ left: 3 JEC unchanged? count +1 sleeping, in one exchange
//!     │                          ▲   4 fence (heavy if a worker may hold private jobs)
//!     │                          │   5 last look at everything, stopping
//!     └──────────────────────────┴── 6 the lease, if it is free; SLEEPY→SLEEPING
//!                                    7 block, with the lease in the driver
//! ```
//! With the adaptive policy a worker whose yield lost the core announces at once, and does not
//! yield again before it sleeps.
//!
//! The driver is where workers wait for the outside world: for sockets and timers. A pool has no
//! driver until one is plugged in. A worker that comes back from the driver keeps the lease until
//! it has queued the tasks whose events arrived there. Wakers of other kinds may run user code, and
//! block. So the worker calls them after it has given up the lease and called `work_found`: a
//! worker that runs user code is not inactive.
//!
//! # Invariants
//! - **SLEEP-1** A job that was posted (pushed where others see it, then `new_jobs`) is found: by a
//!   worker awake, by a sleeper in its last look, or by a sleeper that the poster woke.
//! - **SLEEP-2** `sleeping` is the number of registered sleepers: it never goes below zero and is
//!   zero when no worker sleeps. The waker of a SLEEPING worker decrements it. A sleeper that
//!   leaves before it slept, or that a driver's event wakes, does it itself. No other thread does.
//! - **SLEEP-3** A worker that stops being inactive while work is left wakes another *before* it
//!   runs what it found; so the wake-up for one posted job is never used up by another job.
//! - **SLEEP-4** A worker that is not idle forks privately and only reads the counters relaxed.
//!   That is enough because of two heavy fences: the sleeper's in step 4, and that of a worker that
//!   leaves the idle state beside sleepers (O5).
//! - **SLEEP-5** A worker that waits for a latch is woken when the latch is set.
//! - **SLEEP-6** After `stop` every sleeper wakes, and no worker falls asleep. A thread that sees
//!   the pool stop sees what was done before `stop`.
//! - **SLEEP-7** Bit i of the parked bitmap is written by worker i only, and is set whenever worker
//!   i is counted as a sleeper that takes posted work.
//! - **SLEEP-8** A task that a worker put where others can take it, and announced by `new_task`, is
//!   found as a posted job is, although the worker only reads the counters relaxed and leaves the
//!   JEC alone. So a worker that moves tasks from one queue to another announces them again: while
//!   tasks move, no last look sees them.
//! - **SLEEP-9** A worker may keep a job private although others are idle, as long as one idle
//!   worker is awake: that worker finds the job before it sleeps, or wakes another when it stops
//!   being inactive (SLEEP-3).
//! - **SLEEP-10** If there is a driver and every worker sleeps, one of them sleeps in the driver.
//!   While a worker is on relief, only that worker sleeps there.
//! - **SLEEP-11** A worker that sleeps in the driver is woken like any other, and also by an event
//!   in the driver.
//! - **SLEEP-12** A worker that took the lease on its way to sleep still has it when it is awake,
//!   even if it did not fall asleep: another worker that found the lease taken sleeps elsewhere,
//!   and the holder has to announce that the lease is free.
//! - **SLEEP-13** A worker whose [`Demand`] was switched to other counters reads the new ones
//!   eventually. After a switch to the always-wanting counters, no other switch has an effect.
//! - **SLEEP-14** A holder of the lease sees everything that earlier holders did in the driver, and
//!   everything that was done before the driver was plugged in.
//! - **SLEEP-15** If a sleeper finds every worker in service inactive, that is true, although
//!   spares come and leave meanwhile.
//! - **SLEEP-16** A relief worker that waits in the driver is woken for every task that it is
//!   notified of after its last look.
//! - **SLEEP-17** One worker is on relief at a time, and each relief ends once: by the worker, or
//!   by the thread that sees that the worker does not come back.
//! - **SLEEP-18** A worker that stands aside for the relief worker is woken when the relief worker
//!   waits in the driver next, or when its relief ends. Only the length of a pause rests on this:
//!   each pause ends by itself soon.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | fence after the push, before reading the counters | SeqCst | O2 | poster and sleeper cannot both miss each other |
//! | O2 | fence after registering, before the last look | SeqCst or heavy | O1, light | as O1 |
//! | O3 | exchange that registers | AcqRel | announce_work | a JEC that changed since the snapshot is seen: the job posted then may be gone by the last look, and another, private job may lie behind it |
//! | O4 | parked bit | set Relaxed, because O3 and O2 come after it; cleared AcqRel; loaded Relaxed | load after O1, O5, O7, or after `relieve` has loaded the counters | if the sleeper does not see a poster's work, that poster sees the sleeper's bit, and its word SLEEPY |
//! | O5 | fence after sub_inactive, before looking for more; a heavy one before looking again | SeqCst, heavy | O1, light | SLEEP-3; a fork, or a push, behind a public job notifies no worker, and the public job may go between two loads of the first look |
//! | O6 | `stopping` store, then the exchange on each word | Release, AcqRel | load in step 5, get_sleepy | SLEEP-6 |
//! | O7 | light fence (SeqCst without asymmetric fences) after putting a task, before reading the counters | light | O2, O5 | SLEEP-8; a sleeper that skips the heavy fence of O2 saw every worker inactive, and a worker that became active since has seen the sleeper |
//! | O8 | lease freed when a driver is plugged in, then a fence, before the sleepers are woken | Release, SeqCst | O2 | SLEEP-10: a sleeper that finds no driver is seen |
//! | O9 | lease: taken, given back | AcqRel, Release | each other, O8 | SLEEP-14: one holder after the other handles what happened in the driver |
//! | O10 | in_driver, before SLEEPY→SLEEPING | Relaxed | the waker's exchange on the word | SLEEP-11: the waker that takes a worker out of SLEEPING knows where it blocks. A waker that reads a later sleep's choice is late: the sleep that it ended is over |
//! | O11 | demand store, exchange, load | Relaxed | – | SLEEP-13: it only selects counters, and all of them live as long as the worker; exchanges of one word have one order, so a switch to attentive counters never undoes a refusal; an owner that reads attentive counters reads the pool's counters next, after the same fence (SLEEP-4); section "After a refusal" of `barrier` covers an owner that reads the old pointer for a while |
//! | O12 | counters: one more inactive or parked / one more sleeper | AcqRel | each other | a sleeper that finds every worker inactive skips the heavy fence of O2: the sleeper sees what each worker put into queues before it became inactive |
//! | O13 | counters: one less inactive, sleeping or parked; the JEC | Relaxed | – | exchanges of one word have one order, and a thread that acts on a count does so after a fence (O1, O2, O5, O7); a thread that reads a count too low only looks more often |
//! | O14 | `in_service`: raised before a coming spare's exchange on the counters; lowered after a leaving spare's exchange; loaded after the sleeper's exchange | Relaxed | O12, O5 | SLEEP-15: if the spare's exchange comes first, the sleeper sees the spare counted; if the sleeper's exchange comes first, the spare sees the sleeper |
//! | O15 | relief word | Relaxed | – | SLEEP-17: exchanges of one word have one order. The tasks lie in queues of their own, and a worker that is notified has passed the driver. SLEEP-18: the futex orders a change of the word before its check |
//! | O16 | fence after the relief's end, before looking for sleepers | SeqCst | O2 | SLEEP-10: a sleeper that leaves the driver to the relief worker is seen by the thread that ends the relief |
//!
//! No fence is needed after waking. A poster that finds a worker already notified leaves its job to
//! that worker, which sees it: the worker passes O2 before it blocks again, and O5 before it runs.
//!
//! # What this does not do
//! It looks at no queue itself: the caller passes a closure for that. It does not bound latencies:
//! policies do. No protocol relies on a timeout.
//!
//! # Lineage
//! The sleep and pool documents of `docs/coverage.md` (JEC, packed counters, smart and cascade
//! wake), as corrected by this project's models, with the futex of the wake document instead of
//! mutex and condition variable. Added: the asymmetric fence, the bitmap, the cascade that looks
//! before it wakes, adaptive patience, the driver.

mod bed;
mod counters;
mod demand;
mod driver;
#[cfg(all(test, blitz_loom))]
mod driver_model;
#[cfg(all(test, blitz_loom))]
mod model;
mod on_relief;
mod policy;
mod relief;
#[cfg(all(test, blitz_loom))]
mod service_model;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use bed::{Bed, BedOwner, SleepStats};
pub use counters::{Counters, Counts, WORKERS_MAX};
pub use demand::Demand;
pub use driver::{Awaited, Driver, DriverLease, DriverWait, downcast, downcast_arc};
pub use policy::{SleepPolicy, loses_core};

use crate::barrier;
use crate::latch::JobLatch;
use crate::prim::{
    AcqRel, Acquire, AtomicBool, AtomicU64, AtomicUsize, MODELLED, Relaxed, Release, SeqCst, Step,
    broken, fence, relax, spin_loop,
};
use crate::slots::Slots;
use crate::tuning;
use crossbeam_utils::CachePadded;
use driver::DriverSlot;
use relief::Relief;
use std::sync::Arc;

/// The state that all workers of a pool share to sleep and to be woken.
#[derive(Debug)]
pub struct Sleep {
    counters: Arc<CachePadded<Counters>>,
    beds: Slots<CachePadded<Bed>>,
    parked: Slots<AtomicU64>,
    slot: Arc<DriverSlot>,
    stopping: AtomicBool,
    policy: SleepPolicy,
    /// Whether workers fork privately at the start. In models this stays so for ever.
    asymmetric: bool,
    /// Whether workers use ordinary fences, now or from the start.
    symmetric: AtomicBool,
    searchers_max: usize,
    /// How many workers may run work: those that rest as spares are not counted.
    in_service: AtomicUsize,
    relief: Relief,
}

/// Evidence that a worker is counted as inactive, for [`Sleep::work_found`] or `leave_service`.
#[must_use]
#[derive(Debug)]
pub struct Idle {
    rounds: u32,
    sleepy_at: u32,
    snapshot: u32,
    searches: bool,
    /// The worker does not wait for a latch.
    outside: bool,
    /// The worker does not yield on its way to sleep.
    straight: bool,
}

impl Idle {
    fn relax(&self) {
        if !self.straight {
            relax();
        }
    }

    /// Makes the worker sleep without further yields, because a yield has cost it a time slice.
    /// While the worker waits for a core it finds no work, but posters leave work to it.
    fn hurry(&mut self) {
        self.sleepy_at = self.rounds;
        self.straight = true;
    }

    /// Whether the worker has announced that it is sleepy: then it looks in the most thorough way.
    pub fn is_sleepy(&self) -> bool {
        self.rounds > self.sleepy_at
    }

    /// Whether it is time to poll the driver: in the first round, and from time to time later.
    pub fn is_driver_turn(&self) -> bool {
        self.rounds % tuning::ROUNDS_PER_DRIVER_POLL == 0
    }

    /// Whether the worker should search the queues of all others: not if half of the workers did so
    /// when it began to look, unless it is about to sleep. A sleepy worker has to search, because
    /// it must take the work that its last look finds.
    pub fn may_search(&self) -> bool {
        self.searches || self.is_sleepy()
    }
}

impl Sleep {
    /// Creates the state of a pool without workers. `asymmetric`: workers fork privately (SLEEP-4).
    /// `cores`: how many threads can run at once; more searching workers only disturb the others.
    pub fn new(policy: SleepPolicy, asymmetric: bool, cores: usize) -> Sleep {
        Sleep {
            counters: Arc::new(CachePadded::new(Counters::new())),
            beds: Slots::new(),
            parked: Slots::new(),
            slot: Arc::new(DriverSlot::new()),
            stopping: AtomicBool::new(false),
            policy,
            asymmetric,
            symmetric: AtomicBool::new(!asymmetric),
            searchers_max: cores,
            in_service: AtomicUsize::new(0),
            relief: Relief::new(),
        }
    }

    /// Makes workers use ordinary fences from now on: the system refuses the heavy one (BARRIER-4).
    pub fn become_symmetric(&self) {
        self.symmetric.store(true, Relaxed);
    }

    #[inline]
    fn is_asymmetric(&self) -> bool {
        if MODELLED { self.asymmetric } else { !self.symmetric.load(Relaxed) }
    }

    /// Adds the bed of a worker that is in service. Callers take turns, and no worker is at work
    /// yet.
    pub fn add_bed(&self) -> &Bed {
        self.in_service.fetch_add(1, Relaxed);
        self.add(true)
    }

    /// Adds the bed of a worker that is not in service before it [enters](Self::enter_service).
    /// Callers take turns.
    pub fn add_spare_bed(&self) -> &Bed {
        self.add(false)
    }

    fn add(&self, serves: bool) -> &Bed {
        let index = self.beds.len();
        while self.parked.len() * 64 <= index {
            self.parked.add(AtomicU64::new(0));
        }
        let (counters, lease) = (self.counters.clone(), self.slot.clone());
        let bed = Bed::new(index, counters, lease, self.policy.sleepy_at, serves);
        self.beds.add(CachePadded::new(bed)).1
    }

    /// The bed of worker `index`, if there is one.
    pub fn bed(&self, index: usize) -> Option<&Bed> {
        self.beds.get(index).map(|bed| &**bed)
    }

    /// The shared counters.
    pub fn counters(&self) -> &Arc<CachePadded<Counters>> {
        &self.counters
    }

    /// The parked bits of workers `64 * word ..`, for dumps.
    pub fn parked_word(&self, word: usize) -> u64 {
        self.parked.get(word).map_or(0, |bits| bits.load(Relaxed))
    }

    /// Whether every worker is registered as a sleeper and none was notified.
    ///
    /// Then no worker runs anything until a wake-up comes from outside.
    pub fn all_sleep(&self) -> bool {
        let waits = usize::from(self.relief.waits());
        if self.counters.load().sleeping() + waits < self.in_service() {
            return false;
        }
        let relief = self.on_relief().filter(|_| waits > 0);
        let sleeps = |bed: &Bed| bed.core().is_sleepy_or_sleeping() || relief == Some(bed.index());
        self.beds.iter().all(|bed| !bed.serves() || sleeps(bed))
    }

    /// Whether the pool ends.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }

    /// Takes a spare worker into service. It looks for work first.
    pub fn enter_service(&self, bed: BedOwner<'_>) -> Idle {
        if !broken(Step::SleepEntersFirst) {
            self.in_service.fetch_add(1, Relaxed); // O14
        }
        bed.set_serves(true);
        let idle = self.start_looking(bed);
        if broken(Step::SleepEntersFirst) {
            self.in_service.fetch_add(1, Relaxed);
        }
        idle
    }

    /// Ends the service of a worker that looks for work. The worker has no work that others might
    /// want. As in [`work_found`](Self::work_found), it wakes another if `more` work is left.
    /// Returns how many it woke.
    pub fn leave_service(&self, bed: BedOwner<'_>, idle: Idle, more: impl Fn() -> bool) -> usize {
        drop(idle);
        bed.set_serves(false);
        if broken(Step::SleepLeavesLast) {
            self.in_service.fetch_sub(1, Relaxed);
        }
        let woken = self.cascade(more);
        if !broken(Step::SleepLeavesLast) {
            self.in_service.fetch_sub(1, Relaxed); // O14
        }
        woken
    }

    /// How many workers may run work.
    pub fn in_service(&self) -> usize {
        self.in_service.load(Relaxed)
    }

    /// Registers a worker that has run out of work.
    pub fn start_looking(&self, bed: BedOwner<'_>) -> Idle {
        let before = self.counters.add_inactive();
        let searches = 2 * before.awake_but_idle() < self.in_service();
        let sleepy_at = self.patience(bed, before);
        Idle { rounds: 0, sleepy_at, snapshot: 0, searches, outside: false, straight: false }
    }

    /// As `start_looking`, for a worker that does not wait for a latch. With the adaptive policy,
    /// if its recent work came from the driver, the lease is free and no worker is on relief, the
    /// worker goes straight to the driver: an event wakes it as soon as a poll would have shown the
    /// event. Meanwhile other threads have the core, perhaps the one that will cause the event.
    pub fn start_looking_outside(&self, bed: BedOwner<'_>) -> Idle {
        let mut idle = self.start_looking(bed);
        idle.outside = true;
        self.go_straight(bed, &mut idle);
        idle
    }

    fn go_straight(&self, bed: BedOwner<'_>, idle: &mut Idle) {
        let pays = self.policy.is_adaptive() && bed.driver_pays();
        let is_free = self.slot.visits_if_free().is_some() && self.relief.worker().is_none();
        idle.straight = idle.outside && pays && is_free;
        if idle.straight {
            idle.sleepy_at = 0;
        }
    }

    /// Returns in which round a worker gets sleepy if it starts to search beside `others`.
    fn patience(&self, bed: BedOwner<'_>, others: Counts) -> u32 {
        if others.awake_but_idle() < self.searchers_max {
            bed.patience()
        } else {
            self.policy.patience_min
        }
    }

    /// Ends a worker's search because it found work or has another reason to stop. If others sleep
    /// and `more` work is left, wakes one of them (SLEEP-3). Returns how many it woke.
    pub fn work_found(&self, bed: BedOwner<'_>, idle: Idle, more: impl Fn() -> bool) -> usize {
        if idle.rounds > 0 {
            bed.found_while_awake(self.policy.sleepy_at);
        }
        self.cascade(more)
    }

    fn cascade(&self, more: impl Fn() -> bool) -> usize {
        let before = self.counters.sub_inactive();
        // Another worker is still searching: it will find the rest, or wake a sleeper itself.
        if before.sleeping() == 0 || before.awake_but_idle() > 1 || broken(Step::SleepCascade) {
            return 0;
        }
        if !broken(Step::SleepCascadeFence) {
            fence(SeqCst); // O5
        }
        if more() || self.more_in_private(before, more) { self.wake_any(1) } else { 0 }
    }

    /// Whether there is more work than the first look showed. A worker with a public job pushes
    /// further jobs behind it with a light fence, and notifies no worker. If this worker took the
    /// public job, or saw that it was taken, the pusher relies on this worker to see the jobs
    /// behind. So this worker looks again once the public job is gone, after a fence that pairs
    /// with the light fence.
    fn more_in_private(&self, before: Counts, more: impl Fn() -> bool) -> bool {
        let private = self.is_asymmetric() && before.inactive() < self.in_service(); // O14
        if !private || broken(Step::SleepCascadeAgain) {
            return false;
        }
        barrier::heavy(); // O5
        more()
    }

    /// One idle round: spin, yield, announce or sleep, by policy. `look` returns whether there is
    /// any work that the worker could take, or another reason not to sleep. It must look
    /// everywhere. A worker that slept in the driver, or was about to, returns with the lease:
    /// others may sleep elsewhere because of it.
    pub fn no_work_found(
        &self,
        bed: BedOwner<'_>,
        idle: &mut Idle,
        latch: Option<&JobLatch>,
        look: impl FnOnce() -> bool,
    ) -> Option<DriverLease<'_>> {
        let round = idle.rounds;
        idle.rounds += 1;
        // A worker that goes straight to the driver gets sleepy without spinning.
        if round < self.policy.spins.min(idle.sleepy_at) {
            spin_loop();
        } else if round < idle.sleepy_at {
            if loses_core(relax) && self.policy.is_adaptive() {
                idle.hurry();
            }
        } else if round == idle.sleepy_at {
            idle.snapshot = self.counters.announce_sleepy().jec();
            idle.relax();
        } else if round <= idle.sleepy_at + tuning::ROUNDS_AFTER_SLEEPY {
            idle.relax();
        } else {
            return self.sleep(bed, idle, latch, look);
        }
        None
    }

    fn sleep(
        &self,
        bed: BedOwner<'_>,
        idle: &mut Idle,
        latch: Option<&JobLatch>,
        look: impl FnOnce() -> bool,
    ) -> Option<DriverLease<'_>> {
        // If the worker does not fall asleep, its next round only announces: work may come soon.
        idle.rounds = idle.sleepy_at;
        let parked = self.parked_bit(bed.index());
        let mark_first = broken(Step::SleepLatchAfterWord);
        if mark_first && !latch.is_none_or(JobLatch::mark_sleeping) {
            return None;
        }
        let mut lease = None;
        // Steps 1 and 2. The word comes first, because the setter notifies it once it sees the
        // latch marked.
        if bed.core().get_sleepy() {
            if !broken(Step::SleepBitFirst) {
                parked.0.fetch_or(parked.1, Relaxed); // O4
            }
            if mark_first || latch.is_none_or(JobLatch::mark_sleeping) {
                lease = self.sleep_registered(bed, idle, look);
            }
            parked.0.fetch_and(!parked.1, AcqRel);
        }
        self.leave(bed, latch);
        lease
    }

    /// Steps 3 to 7.
    fn sleep_registered(
        &self,
        bed: BedOwner<'_>,
        idle: &mut Idle,
        look: impl FnOnce() -> bool,
    ) -> Option<DriverLease<'_>> {
        let registered = loop {
            let seen = self.counters.load();
            if seen.jec() != idle.snapshot && !broken(Step::SleepJecRecheck) {
                bed.caught_by_jec();
                return None;
            }
            if self.counters.try_add_sleeping(seen) {
                break seen; // O3
            }
        };
        if !broken(Step::SleepLookFence) {
            // If every worker is inactive then each has passed through an exchange on the counters
            // since its last push, and a worker that becomes active will see this registration.
            if self.is_asymmetric() && registered.inactive() < self.in_service() {
                barrier::heavy(); // O2, O14
            } else {
                fence(SeqCst); // O2
            }
        }
        if broken(Step::SleepBitFirst) {
            let (word, bit) = self.parked_bit(bed.index());
            word.fetch_or(bit, AcqRel);
        }
        let sees_work = look();
        if sees_work {
            // The job could not be taken a moment ago, so its owner is running it. Each attempt to
            // sleep costs the owner more time than this worker could save: be patient again.
            idle.rounds = 0;
        }
        let stay = sees_work || self.is_stopping();
        let lease = if stay { None } else { self.take_lease(bed.index()) };
        if !broken(Step::SleepDriverFirst) {
            bed.choose(lease.is_some()); // O10
        }
        if stay || !bed.core().fall_asleep() {
            // No waker saw the worker SLEEPING, so none decrements for it (SLEEP-2).
            if !broken(Step::SleepWakerDecrements) {
                self.counters.sub_sleeping();
            }
            return lease;
        }
        if broken(Step::SleepDriverFirst) {
            bed.choose(lease.is_some());
        }
        let slept = bed.park();
        bed.set_patience(self.policy.patience_after(bed.patience(), slept));
        idle.rounds = 0;
        idle.sleepy_at = self.patience(bed, registered);
        self.go_straight(bed, idle);
        lease
    }

    /// Plugs in `driver`: from now on one of the sleepers waits in it. Returns false if there was a
    /// driver already.
    pub fn plug(&self, driver: Arc<dyn Driver>) -> bool {
        let first = self.slot.plug(driver);
        if first {
            if !broken(Step::SleepPlugFence) {
                fence(SeqCst); // O8
            }
            // If all workers sleep, one has to move to the driver. Notify all: a worker that takes
            // no posted work has no parked bit.
            self.beds.iter().for_each(|bed| {
                bed.notify();
            });
        }
        first
    }

    /// The pool's driver, once there is one.
    #[inline]
    pub fn driver(&self) -> Option<&Arc<dyn Driver>> {
        self.slot.driver()
    }

    /// Takes the lease, if there is a driver, no worker has it, and no other worker is on relief.
    ///
    /// Until the pool ends, workers with seats leave the driver to the relief worker.
    fn take_lease(&self, index: usize) -> Option<DriverLease<'_>> {
        let relief = self.relief.worker(); // O16
        let is_left = relief.is_none_or(|on_relief| on_relief == index) || self.is_stopping();
        if is_left { self.slot.try_take(index) } else { None }
    }

    /// Takes the lease for a worker that is awake, if it is free and there is a driver.
    pub fn try_lease(&self, bed: BedOwner<'_>) -> Option<DriverLease<'_>> {
        self.take_lease(bed.index())
    }

    /// Whether there is a driver, and no worker has the lease.
    pub fn lease_is_free(&self) -> bool {
        self.lease_free_since().is_some()
    }

    /// The number of visits to the driver, if there is a driver and no worker has the lease. If two
    /// calls return the same number, no worker had the lease in between.
    pub fn lease_free_since(&self) -> Option<usize> {
        self.slot.visits_if_free()
    }

    /// Wakes a sleeper, because the worker that left the driver does not return, or does not get to
    /// its tasks. A woken worker that finds no work sleeps in the driver. Returns how many it woke.
    pub fn relieve(&self) -> usize {
        let woken = if self.counters.load().sleeping() > 0 { self.wake_any(1) } else { return 0 };
        let of_parked = || usize::from(self.beds.iter().any(|bed| bed.notify()));
        if woken > 0 { woken } else { of_parked() }
    }

    fn leave(&self, bed: BedOwner<'_>, latch: Option<&JobLatch>) {
        bed.core().wake_up();
        if let Some(latch) = latch {
            latch.unmark();
        }
    }

    /// Blocks until `latch` is set, the worker is notified or, in the driver, an event comes. Does
    /// not search for work meanwhile.
    ///
    /// The worker takes only work that its wait allows. A worker counted as inactive must not call
    /// this. `more` returns whether there is work that others could take. Returns how many workers
    /// it woke, and the lease if the worker was in the driver or about to be.
    pub fn wait_parked(
        &self,
        bed: BedOwner<'_>,
        latch: &JobLatch,
        look: impl FnOnce() -> bool,
        more: impl Fn() -> bool,
    ) -> (usize, Option<DriverLease<'_>>) {
        let (mut woken, mut lease) = (0, None);
        if bed.core().get_sleepy() && latch.mark_sleeping() {
            self.counters.add_parked();
            if !broken(Step::SleepLookFence) {
                fence(SeqCst); // O2
            }
            let stay = look() || self.is_stopping();
            lease = if stay { None } else { self.take_lease(bed.index()) };
            bed.choose(lease.is_some()); // O10
            if stay || !bed.core().fall_asleep() {
                self.counters.sub_parked();
            } else {
                bed.park();
                // Between the waker's decrement and that of this worker, the counters showed this
                // worker as searching; a poster may have relied on that.
                woken = self.cascade(more);
            }
        }
        self.leave(bed, Some(latch));
        (woken, lease)
    }

    /// Notifies sleepers of `count` jobs that were just posted. `was_empty`: their queue was empty
    /// before. Returns how many workers it woke.
    pub fn new_jobs(&self, count: usize, was_empty: bool) -> usize {
        if !broken(Step::SleepPostFence) {
            fence(SeqCst); // O1
        }
        let seen = self.counters.announce_work();
        let sleeping = seen.sleeping();
        if sleeping == 0 {
            return 0;
        }
        let wanted = if was_empty {
            // Workers that look for work take the first ones without a notification.
            count.saturating_sub(seen.awake_but_idle())
        } else {
            count
        };
        self.wake_any(wanted.min(sleeping))
    }

    /// Wakes a sleeper for a task that the calling worker has just put where others can take it,
    /// unless a worker looks for work already (SLEEP-8). Returns how many workers it woke.
    ///
    /// The jobs event counter does not change. It exists for private jobs behind a public one,
    /// which were never announced. Tasks that others can take are never private: a last look sees
    /// them, and each was announced.
    #[inline]
    pub fn new_task(&self) -> usize {
        if self.is_asymmetric() {
            barrier::light(); // O7
        } else if !broken(Step::SleepPostFence) {
            fence(SeqCst); // O7
        }
        let seen = self.counters.peek();
        if seen.sleeping() == 0 || seen.awake_but_idle() > 0 || broken(Step::SleepTaskWakes) {
            return 0;
        }
        self.wake_any(1)
    }

    /// Whether a worker is awake and looks for work. Then work that was just put where it looks
    /// needs no wake-up (as in `new_task`). Call it after a fence, or after an exchange that acts
    /// as one.
    #[inline]
    pub fn is_any_looking(&self) -> bool {
        self.counters.peek().awake_but_idle() > 0
    }

    /// Wakes a sleeper, even if a worker looks for work. Returns how many it woke.
    pub fn wake_one(&self) -> usize {
        self.wake_any(1)
    }

    /// Notifies up to `count` parked workers, lowest index first. Returns how many.
    ///
    /// The worker in the driver comes last, because then another worker would have to take its
    /// place there.
    fn wake_any(&self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        let mut woken = 0;
        let mut notify = |index| {
            woken += usize::from(self.bed(index).is_some_and(Bed::notify));
            woken == count
        };
        let holder = self.slot.holder();
        let mut in_driver = None;
        for (row, word) in self.parked.iter().enumerate() {
            let mut bits = word.load(Relaxed); // O4
            while bits != 0 {
                let index = row * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if holder == Some(index) {
                    in_driver = holder;
                } else if notify(index) {
                    return woken;
                }
            }
        }
        in_driver.map(notify);
        woken
    }

    fn parked_bit(&self, index: usize) -> (&AtomicU64, u64) {
        match self.parked.get(index / 64) {
            Some(word) => (word, 1 << (index % 64)),
            None => unreachable!("add_bed made a word for every bed"),
        }
    }

    /// Wakes the worker of `bed` for something that was just posted to it alone.
    pub fn new_mail(&self, bed: &Bed) {
        if !broken(Step::SleepPostFence) {
            fence(SeqCst); // O1
        }
        bed.notify();
    }

    /// Ends the pool: no worker sleeps any more (SLEEP-6).
    pub fn stop(&self) {
        self.stopping.store(true, Release); // O6
        if broken(Step::SleepStopWakes) {
            return;
        }
        for bed in self.beds.iter() {
            bed.set();
        }
        fence(SeqCst); // O6
        self.tell_relief();
    }
}
