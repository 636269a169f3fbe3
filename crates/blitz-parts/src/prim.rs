//! Atomics, locks, threads and time, real or modelled.
//!
//! Only this file and the files in `prim/` name loom and shuttle.
//!
//! Every part takes its atomics from here, so that `--cfg blitz_loom` or `--cfg blitz_shuttle`
//! moves the whole crate onto that checker at once. Blitz has cfg names of its own, because a
//! global `--cfg loom` would reach into every dependency. Protocols that need sequential
//! consistency say so with [`fence`], never with `SeqCst` loads and stores: loom checks fences, but
//! silently treats such loads and stores as weaker than they are.
//!
//! `blitz-core` takes its locks, threads, thread-locals and clock from here, too, and so runs under
//! shuttle as it is shipped. Items that only core needs are missing under loom, which checks parts
//! alone.
//!
//! | | loom | shuttle |
//! |---|---|---|
//! | schedules | all, within a bound on preemptions | random ones, from seeds |
//! | memory | weak: orderings and fences matter | sequentially consistent: none of them matters |
//! | models | few threads, few steps | a whole runtime |

pub use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

#[cfg(blitz_loom)]
mod weaken;

#[cfg(any(blitz_loom, blitz_shuttle))]
pub use self::checked::*;
#[cfg(blitz_loom)]
pub use self::modelled::*;
#[cfg(blitz_shuttle)]
pub use self::randomised::*;
#[cfg(not(any(blitz_loom, blitz_shuttle)))]
pub use self::real::*;
#[cfg(blitz_shuttle)]
pub use self::stand_ins::*;
#[cfg(not(blitz_loom))]
pub use self::unwatched::*;

#[cfg(blitz_shuttle)]
mod randomised;
#[cfg(blitz_shuttle)]
mod stand_ins;

#[cfg(not(any(blitz_loom, blitz_shuttle)))]
mod real {
    pub use core::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::alloc::{alloc, dealloc};
    pub use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, mpsc};
    pub use std::thread::{self, yield_now};
    pub use std::thread_local;
    pub use std::time::Instant;

    use std::time::Duration;

    /// True while the model checker runs the program.
    pub const MODELLED: bool = false;

    /// Whether threads may keep memory for themselves instead of freeing it. False under tools that
    /// look for uses of freed memory.
    pub const STOCKED: bool = cfg!(not(blitz_asan));

    /// Tells the processor that this thread spins.
    #[inline]
    pub fn spin_loop() {
        core::hint::spin_loop();
    }

    /// Lets other threads have the core, between two idle rounds.
    #[inline]
    pub fn relax() {
        yield_now();
    }

    /// Tells the processor that the memory at this address will be used soon; any address is
    /// allowed.
    #[inline(always)]
    pub fn prefetch<T>(at: *const T) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// Forbids the compiler, and only the compiler, to move accesses across this point.
    #[inline]
    pub fn compiler_fence() {
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    }

    /// Whether a canary has broken `step` on purpose; never in a shipped build.
    #[inline(always)]
    pub const fn broken(_step: super::Step) -> bool {
        false
    }

    /// Returns the choice of a random schedule; `None` in a shipped build. It is for decisions that
    /// change only which worker runs a task, and when.
    #[inline(always)]
    pub const fn any_choice() -> Option<bool> {
        None
    }

    /// Whether a model has failed and its thread unwinds; never in a shipped build.
    #[inline(always)]
    pub const fn model_has_failed() -> bool {
        false
    }

    /// Blocks the thread until it is unparked or the time is over.
    #[expect(clippy::disallowed_methods, reason = "its caller only checks from time to time")]
    pub fn park_for(time: Duration) {
        thread::park_timeout(time);
    }

    /// The time since some moment of this process.
    pub fn since_start() -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    /// Stores a value in an atomic that is about to be freed, so that the model checker finds late
    /// uses.
    #[inline(always)]
    pub fn poison(_atomic: &mut AtomicU64, _value: u64) {}

    /// Declares a static that its first user makes. Under a checker each execution has its own.
    macro_rules! lazy_static {
        ($(#[$what:meta])* static ref $name:ident: $of:ty = $new:expr;) => {
            $(#[$what])*
            static $name: std::sync::LazyLock<$of> = std::sync::LazyLock::new(|| $new);
        };
    }
    pub(crate) use lazy_static;
}

#[cfg(not(blitz_loom))]
mod unwatched {
    /// Marks uses of plain memory that threads hand to each other, since the model checker sees
    /// atomics only. Empty in a shipped build.
    #[derive(Debug, Default)]
    pub struct Witness(());

    impl Witness {
        /// The memory is read, maybe by several threads at once.
        #[inline(always)]
        pub fn read(&self) {}

        /// The memory is written, or taken: no other thread uses it.
        #[inline(always)]
        pub fn write(&self) {}
    }

    /// Makes every access of the atomic beside it a separate step for the model checker. Empty in a
    /// shipped build.
    #[derive(Debug, Default)]
    pub struct Turns(());

    impl Turns {
        /// The access that follows is a step.
        #[inline(always)]
        pub fn take(&self) {}
    }
}

#[cfg(any(blitz_loom, blitz_shuttle))]
mod checked {
    use std::alloc::Layout;
    use std::cell::RefCell;

    /// True while a checker runs the program.
    pub const MODELLED: bool = true;

    /// False, so that the checker sees each allocation, and each use after a free.
    pub const STOCKED: bool = false;

    /// Yields: a busy wait makes no progress in a model unless another thread runs.
    pub fn spin_loop() {
        super::yield_now();
    }

    /// Does nothing: the processor's cache is not modelled.
    pub fn prefetch<T>(_at: *const T) {}

    /// Does nothing: checkers do not model compiler fences. `barrier` models the asymmetric pair.
    pub fn compiler_fence() {}

    std::thread_local! {
        // Checkers run all threads of a model on one OS thread, so a thread-local belongs to one
        // model.
        static BROKEN: RefCell<Vec<super::Step>> = const { RefCell::new(Vec::new()) };
        static HEAP: RefCell<Heap> = RefCell::default();
    }

    /// The allocations of the model. Freed memory stays allocated until the next execution begins.
    /// So a late use finds a poisoned atomic, not another object's memory.
    #[derive(Default)]
    struct Heap {
        live: Vec<(usize, Layout)>,
        freed: Vec<(usize, Layout)>,
    }

    impl Heap {
        fn clear(&mut self) {
            for (address, layout) in self.live.drain(..).chain(self.freed.drain(..)) {
                // SAFETY: the memory was allocated with this layout, and its execution is over.
                unsafe { std::alloc::dealloc(address as *mut u8, layout) };
            }
        }
    }

    impl Drop for Heap {
        fn drop(&mut self) {
            self.clear();
        }
    }

    /// Allocates like [`std::alloc::alloc`], and notes the allocation.
    ///
    /// # Safety
    /// 1. The layout is not empty.
    pub unsafe fn alloc(layout: Layout) -> *mut u8 {
        // SAFETY: obligation 1.
        let memory = unsafe { std::alloc::alloc(layout) };
        HEAP.with_borrow_mut(|heap| heap.live.push((memory as usize, layout)));
        memory
    }

    /// Frees memory that [`alloc`] returned. Fails the model if the memory was freed before.
    ///
    /// # Safety
    /// 1. [`alloc`] returned the memory for this layout.
    pub unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        let entry = (memory as usize, layout);
        let freed = HEAP.with_borrow_mut(|heap| {
            let place = heap.live.iter().position(|live| *live == entry);
            place.map(|place| heap.live.swap_remove(place)).map(|entry| heap.freed.push(entry))
        });
        assert!(freed.is_some(), "memory is freed twice");
    }

    /// Calls `model` as one execution. Fails if the execution leaks memory.
    pub(super) fn execute(model: impl Fn()) {
        HEAP.with_borrow_mut(Heap::clear);
        model();
        let left = HEAP.with_borrow(|heap| heap.live.len());
        assert_eq!(left, 0, "allocations that were not freed");
    }

    /// Whether a canary has broken `step` on purpose.
    pub fn broken(step: super::Step) -> bool {
        BROKEN.with_borrow(|steps| steps.contains(&step))
    }

    /// Whether a model has failed and its thread unwinds. Destructors then do nothing: they might
    /// fail in turn, and that would end the process.
    pub fn model_has_failed() -> bool {
        std::thread::panicking()
    }

    /// Calls `run` with `steps` broken, and returns its result or its panic.
    pub(super) fn with_broken<R>(
        steps: &[super::Step],
        run: impl FnOnce() -> R,
    ) -> std::thread::Result<R> {
        BROKEN.set(steps.to_vec());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        BROKEN.take();
        outcome
    }
}

#[cfg(blitz_loom)]
mod checker {
    pub(super) use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
}

#[cfg(blitz_loom)]
mod modelled {
    use super::checked::{execute, with_broken};
    pub use super::weaken::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    use super::weaken::{executions_max, is_on_trial, note_reached};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;
    pub use loom::{lazy_static, thread};
    pub use std::time::Instant;

    /// Does nothing between two idle rounds. After a yield, loom runs the thread again only when
    /// all others are stuck. So a worker that yields here would never fall asleep while others run.
    pub fn relax() {}

    /// Stands beside plain memory that threads hand to each other; the checker fails a model in
    /// which a write is not ordered with every other access.
    #[derive(Debug, Default)]
    pub struct Witness(loom::cell::UnsafeCell<()>);

    // SAFETY: the cell is empty, and the checker notices a thread that uses it at the wrong time.
    unsafe impl Sync for Witness {}

    impl Witness {
        /// The memory is read, maybe by several threads at once.
        pub fn read(&self) {
            self.0.with(|_| ());
        }

        /// The memory is written, or taken: no other thread uses it.
        pub fn write(&self) {
            self.0.with_mut(|_| ());
        }
    }

    /// Makes every access of the atomic beside it a separate step. Loom remembers only the last
    /// access of each object to choose the orders of threads that it tries. A load before an
    /// exchange hides loads of other threads, and then loom misses orders. Exchanges of this extra
    /// word hide nothing, and since they are relaxed they order nothing else.
    #[derive(Debug, Default)]
    pub struct Turns(AtomicUsize);

    impl Turns {
        /// The access that follows is a step.
        pub fn take(&self) {
            self.0.fetch_add(1, super::Relaxed);
        }
    }

    /// The time since some moment of this process.
    pub fn since_start() -> std::time::Duration {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    /// Stores a value in an atomic that is about to be freed, so that late uses are found. The
    /// checker fails a model in which this is not ordered with every other access.
    pub fn poison(atomic: &mut AtomicU64, value: u64) {
        atomic.with_mut(|atomic| *atomic = value);
    }

    /// How much the checker has explored.
    pub struct Explored {
        /// How many interleavings were executed.
        pub executions: usize,
    }

    /// Runs `model` in every interleaving with at most `preemptions` preemptions (`None`: all).
    /// `model` must join the threads that it starts.
    pub fn explore(
        preemptions: Option<usize>,
        model: impl Fn() + Sync + Send + 'static,
    ) -> Explored {
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.max_branches = 50_000;
        builder.max_permutations = executions_max();
        builder.check(move || {
            counted.fetch_add(1, super::Relaxed);
            execute(&model);
        });
        Explored { executions: count.load(super::Relaxed) }
    }

    /// Explores `model` and asserts that at least `minimum` interleavings were executed: a model
    /// that explores nothing proves nothing.
    pub fn check(
        minimum: usize,
        preemptions: Option<usize>,
        model: impl Fn() + Sync + Send + 'static,
    ) {
        let seen = explore(preemptions, model).executions;
        println!("{seen} executions");
        let enough = seen >= minimum || is_on_trial();
        assert!(enough, "only {seen} executions, at least {minimum} expected");
        note_reached();
    }

    /// Checks `model` as [`check`] does, with `step` left out: the model does not rely on it.
    pub fn check_without(
        step: super::Step,
        minimum: usize,
        preemptions: Option<usize>,
        model: impl Fn() + Sync + Send + 'static,
    ) {
        if let Err(panic) = with_broken(&[step], || check(minimum, preemptions, model)) {
            std::panic::resume_unwind(panic);
        }
    }

    /// Explores `model` with `steps` broken and asserts that the checker finds a failure.
    pub fn canary(
        steps: &[super::Step],
        preemptions: Option<usize>,
        model: impl Fn() + Sync + Send + 'static,
    ) {
        if is_on_trial() {
            return;
        }
        let outcome = with_broken(steps, || explore(preemptions, model));
        assert!(outcome.is_err(), "the model still passes with {steps:?} broken");
    }
}

/// A step of a protocol that a canary can leave out, to show that the model notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// `barrier`: the light half of the asymmetric fence.
    BarrierLight,
    /// `barrier`: the fence between an exchange and the loads that follow it.
    BarrierAfterExchange,
    /// `barrier`: the store after the notification of a refusal releases.
    BarrierToldRelease,
    /// `deque`: the release store that makes a fork the newest.
    DequeForkRelease,
    /// `deque`: the release store that makes an older fork the newest again.
    DequeTakeBackRelease,
    /// `deque`: the release store of a grown buffer's address.
    DequeGrowRelease,
    /// `deque`: the fence between counting a thief as a reader and its second look at which ring is
    /// in use.
    DequeReaderFence,
    /// `deque`: a thief that has read a slot of a large ring counts itself out by a release.
    DequeReaderRelease,
    /// `deque`: the fence between leaving a large ring and looking for thieves in it.
    DequeShrinkFence,
    /// `deque`: an owner that sees a forcing thief gone sees what the thief did.
    DequeForceAcquire,
    /// `deque`: the owner's fence between lowering the end and reading the top.
    DequePopFence,
    /// `deque`: the thief's fence between reading the top and reading the end.
    DequeStealFence,
    /// `deque`: the release store that publishes slots.
    DequePublishRelease,
    /// `deque`: the release store that says which fork is the newest public one.
    DequePublishedRelease,
    /// `deque`: the heavy half of the asymmetric fence when a thief forces exposure.
    DequeForceFence,
    /// `deque`: the owner waits for a forcing thief before it touches what is public.
    DequeForceWait,
    /// `inject`: the release half of the push.
    InjectPushRelease,
    /// `latch`: the acquire half of the probe.
    LatchProbeAcquire,
    /// `latch`: the setter wakes a thread that blocks on the latch.
    LatchSetWake,
    /// `latch`: the last decrement of a count latch acquires the other decrements.
    CountAcquire,
    /// `latch`: a worker's word goes back to UNSET on every way out of sleep.
    WordReset,
    /// `sleep`: a thief that makes jobs public by force announces them.
    SleepForceTells,
    /// `sleep`: the fence between posting work and reading the counters.
    SleepPostFence,
    /// `sleep`: the fence between registering as a sleeper and the last look.
    SleepLookFence,
    /// `sleep`: a sleeper whose jobs event counter changed since its snapshot looks again.
    SleepJecRecheck,
    /// `sleep`: the parked bit is set before the fence of the last look.
    SleepBitFirst,
    /// `sleep`: posters also notify workers that are only SLEEPY.
    SleepNotifySleepy,
    /// `sleep`: only the waker of a SLEEPING worker decrements the sleepers.
    SleepWakerDecrements,
    /// `sleep`: a worker marks its job latch only after its own word is SLEEPY.
    SleepLatchAfterWord,
    /// `sleep`: a worker that leaves the idle state wakes another before it runs what it found.
    SleepCascade,
    /// `sleep`: the plain fence before a worker that found work looks for more.
    SleepCascadeFence,
    /// `sleep`: where jobs may be private, a worker that found work looks twice (heavy fence).
    SleepCascadeAgain,
    /// `sleep`: a worker that put a task where others can take it wakes one of them if no worker
    /// looks.
    SleepTaskWakes,
    /// `sleep`: stopping wakes every worker.
    SleepStopWakes,
    /// `sleep`: a sleeper announces that it blocks in the driver before it is SLEEPING.
    SleepDriverFirst,
    /// `sleep`: the fence between plugging a driver in and looking for sleepers.
    SleepPlugFence,
    /// `seats`: a worker takes its notes in one exchange.
    SeatsAttendExchange,
    /// `seats`: a worker's seat is given away in one exchange.
    SeatsLoseOnce,
    /// `seats`: a free seat is taken in one exchange.
    SeatsFillOnce,
    /// `seats`: a surplus thread leaves in one exchange.
    SeatsLeaveOnce,
    /// `blitz-core`: the watch gives the seat of a blocked worker to a spare.
    WatchGivesSeats,
    /// `blitz-core`: a poster turns the watch on if no worker is woken for its work.
    WatchHearsOfWork,
    /// `blitz-core`: a worker reads the pool's counters again once no worker is on relief.
    AttentionEnds,
    /// `sleep`: a spare is counted as in service before it is counted as looking for work.
    SleepEntersFirst,
    /// `sleep`: a worker that leaves the service is counted in it as long as it counts as inactive.
    SleepLeavesLast,
    /// `sleep`: the fence between the relief worker's word and its last look.
    SleepReliefFence,
    /// `sleep`: the fence between the end of a relief and the look for sleepers.
    SleepReliefEndFence,
    /// `sleep`: a relief worker that stops working wakes the workers that stand aside.
    SleepAsideWoken,
    /// `sleep`: the relief worker is notified of tasks.
    SleepReliefTold,
    /// `job`: the closure has run and its result is written before the latch is set.
    JobResultFirst,
    /// `futex`: a waiter looks at the word again under the bucket's lock.
    FutexRecheck,
    /// `parker`: the thread leaves by an exchange, which acquires an `unpark` that came meanwhile.
    ParkLeaveSwap,
    /// `parker`: `unpark` wakes a thread that blocks.
    ParkWake,
    /// `ring`: the release store that makes a pushed task visible.
    RingPushRelease,
    /// `ring`: the release half of every exchange of the head.
    RingHeadRelease,
    /// `ring`: a thief stays out while another is inside.
    RingOneThief,
    /// `ring`: a thief whose release fails tries again.
    RingNeverAbandon,
    /// `ring`: the slots that a thief still copies are not free.
    RingSlotsOfThief,
    /// `ring`: the owner acquires the head before it writes a slot that a thief has read.
    RingRoomAcquire,
    /// `ring`: a thread that computes the length reads the head before the tail.
    RingLenHeadFirst,
    /// `lifo`: the release half of the store or exchange that fills the slot.
    LifoPutRelease,
    /// `lifo`: a task in the slot is evicted by an exchange.
    LifoEvictExchange,
    /// `lifo`: a task is taken by an exchange.
    LifoTakeExchange,
    /// `recorder`: the fence before the words of an event.
    RecorderEventFence,
    /// `recorder`: the release store of the head.
    RecorderHeadRelease,
    /// `recorder`: the fence between a reader's copies and its second look.
    RecorderReadFence,
    /// `recorder`: a reader looks at the head again, after its copies.
    RecorderSecondLook,
    /// `recorder`: the fence before the words of an event in a shared lane.
    RecorderSharedFence,
    /// `recorder`: the release store of a sequence.
    RecorderSequenceRelease,
    /// `recorder`: other threads leave a slot alone while a thread writes it.
    RecorderSlotTaken,
    /// `queue`: the length is written while the lock is held.
    QueueCountLocked,
    /// `queue`: the check whether the queue is closed is made while the lock is held.
    QueueClosedLocked,
    /// `readiness`: a task that is about to wait looks at the word again under the lock.
    ReadinessLookLocked,
    /// `readiness`: an event is in the word before wakers are taken.
    ReadinessSetFirst,
    /// `readiness`: an event releases what the system had by then.
    ReadinessSetRelease,
    /// `readiness`: a clear compares the tick that it has seen with the newest.
    ReadinessTick,
    /// `readiness`: the end is in the word before wakers are taken.
    ReadinessEndFirst,
    /// `task`: a run begins by acquiring.
    TaskStartAcquire,
    /// `task`: a run begins with an exchange while there are other references to the task.
    TaskStartExchange,
    /// `task`: the exchange to IDLE releases.
    TaskRestRelease,
    /// `task`: a task that was woken during its poll does not go idle.
    TaskRestNotified,
    /// `task`: a task whose cancellation is due does not go idle.
    TaskRestCancels,
    /// `task`: a task is in its list before it is idle.
    TaskLinkFirst,
    /// `task`: a task does not join a closed list.
    TaskLinkLooks,
    /// `task`: a task is out of its list before it is complete.
    TaskUnlinkFirst,
    /// `task`: the closer of a list marks the tasks that it cannot end.
    TaskKillMarks,
    /// `task`: the outcome is written before the task is complete.
    TaskCompleteRelease,
    /// `task`: the exchange that completes a task looks for the join handle once more.
    TaskCompleteUnwanted,
    /// `task`: a task that ends wakes its waiter.
    TaskCompleteWakes,
    /// `task`: a wake is an exchange even if the task is in a queue already.
    TaskWakeExchanges,
    /// `task`: the fence of a wake that finds the task in a queue, before it looks once more.
    TaskWakeFence,
    /// `task`: the fence between the beginning of a run and its poll.
    TaskStartFence,
    /// `task`: a task that was aborted but is shielded is woken.
    TaskWakeShielded,
    /// `task`: the abort of an idle task puts it into a queue.
    TaskAbortSchedules,
    /// `task`: the last shield's removal puts an idle, aborted task into a queue.
    TaskUnshieldSchedules,
    /// `task`: a thread that sees that a task has ended acquires its outcome.
    TaskJoinAcquire,
    /// `task`: the join handle's waker is written before it is announced.
    TaskJoinWakerRelease,
    /// `task`: a waker is announced by an exchange that fails if the task has ended.
    TaskJoinSeesEnd,
    /// `task`: a waker is replaced only after it was taken back.
    TaskJoinTakesBack,
    /// `task`: giving up a reference releases.
    TaskReleaseRelease,
    /// `task`: the holder that finds itself the last acquires.
    TaskFreeAcquire,
    /// `task`: a probe that ends forgets its notes before it restores the table.
    TaskProbeForgetsFirst,
    /// `task`: a probe begins only if its own wake puts the task into a queue.
    TaskProbeOwnWake,
    /// `task`: the end of a poll counts for the probe in which the poll began.
    TaskProbeNumbers,
    /// `task`: a probe notes only the stacks of polls that began in it.
    TaskProbePollBegins,
    /// `task`: the cancellation of a probed task counts as a poll.
    TaskProbeCancelled,
    /// `core/worker`: a fork is kept private only while a worker that looks for work is awake.
    RuntimeKeepsFromAwake,
    /// `core/sched`: a task that yields behind another task is announced.
    RuntimeYieldTells,
    /// `core/worker`: a worker that runs something else before its own tasks announces them.
    RuntimeFairTells,
    /// `core/sched`: a worker that takes further tasks from a word of the tree announces them.
    RuntimeBehindTells,
    /// `core/worker`: an unlimited wait announces, at its end, a task that yielded in it.
    RuntimeWaitTells,
    /// `core/worker`: a limited wait announces, at its end, a task that yielded in it.
    RuntimeHelpTells,
    /// `core/worker`: a worker that waits and polls no tasks hands its tasks to the others.
    RuntimeGivesAway,
    /// `core/team`: a worker that waits and looks for no work is notified of jobs from outside.
    RuntimeGuestTold,
    /// `core/team`: a worker that waits, looks for no work and polls tasks is notified of tasks.
    RuntimeTaskGuestTold,
    /// `core/sched`: a sleeper for which there is a permit is woken for a signalled task.
    RuntimeSignalTells,
    /// `core/worker`: a worker counts as a sleeper of the signal tree before it looks for the last
    /// time.
    RuntimeSleeperFirst,
    /// `core/worker`: a worker with mail does not sleep.
    WorkerSeesMail,
    /// `core/driver`: a worker calls the wakers that a dispatch has kept.
    DriverCallsKept,
    /// `core/driver`: a worker that leaves the driver notifies the watch.
    DriverLeaveTells,
    /// `core/driver`: the last worker that goes to sleep notifies the driver.
    DriverIdleTold,
    /// `core/worker`: a worker that waits while the pool ends polls the driver.
    DriverPolledAtEnd,
    /// `core/task`: a worker that polled a task of a closed pool looks for sections that were
    /// forgotten.
    SectionsWorkersLook,
    /// `core/shutdown`: the drop of a pool looks for sections that were forgotten.
    SectionsDropLooks,
    /// `core/task`: tasks are not cancelled during a shielded section.
    ShieldHoldsTasks,
    /// `core/adoption`: an adopted thread looks under the lock whether the pool's handle is gone.
    AdoptionLooksLocked,
    /// `core/adoption`: an adopted thread that leaves an operation hands its tasks to the others.
    AdoptionGivesAway,
    /// `core/adoption`: a thread that waits for a pool replaces a lent thread that is away.
    AdoptionReplacesLent,
    /// `core/adoption`: a lent thread that leaves an operation makes room for a thread that waits.
    AdoptionMakesRoom,
    /// `core/team`: the end of a team sets the latch of a worker of another team that waits for it.
    EndAwaitedTold,
    /// `core/ops`: a scope notes that a job comes from outside before it posts the job.
    ScopeInjectedFirst,
    /// `core/blocking`: a thread is started unless there is an idle thread for each waiting
    /// closure.
    BlockingCountsIdle,
    /// `core/blocking`: the end of a pool wakes the threads that wait for closures.
    BlockingStopTells,
    /// `core/task/local`: a task that comes into the inbox of a set wakes the driver of the set.
    LocalPostWakes,
    /// `alarm`: the fence between lowering the earliest tick and reading until when the driver
    /// blocks.
    AlarmAddFence,
    /// `alarm`: the fence between announcing until when the driver blocks and looking again.
    AlarmSetFence,
    /// `alarm`: the driver looks at the earliest ticks again after its announcement.
    AlarmLookAgain,
    /// `wheel`: giving the lock back releases.
    WheelUnlockRelease,
    /// `wheel`: a timer is handed to its owner by a release.
    WheelFireRelease,
    /// `wheel`: the owner looks again under the lock whether its timer waits.
    WheelLookAgain,
    /// `wheel`: a slot that is being cleared comes before those of lower levels.
    WheelClearFirst,
    /// `bitmap`: setting a task's bit releases, clearing it acquires.
    SignalSetRelease,
    /// `bitmap`: the fence between setting a signal bit and reading the leaf.
    SignalSetFence,
    /// `bitmap`: the fence between setting a leaf bit and reading the root.
    SignalLeafFence,
    /// `bitmap`: every setter looks at the root.
    SignalRootSet,
    /// `bitmap`: the fence between setting a root bit and reading the sleepers.
    SignalRootFence,
    /// `bitmap`: the fence between clearing a leaf bit and looking below.
    SignalClearFence,
    /// `bitmap`: a scanner that has cleared a leaf bit looks below.
    SignalClearLooks,
    /// `bitmap`: the fence between clearing a root bit and looking below.
    SignalRootClearFence,
    /// `bitmap`: a scanner that has cleared a root bit looks below.
    SignalRootClearLooks,
    /// `bitmap`: a scanner that has set a summary bit again announces it.
    SignalAgainTells,
    /// `bitmap`: there are no more permits than sleepers.
    SignalPermitCap,
    /// `bitmap`: a sleeper that wakes takes a permit.
    SignalPermitTaken,
    /// `bitmap`: the fence between being counted as a sleeper and the last look.
    SignalSleeperFence,
    /// `bitmap`: the fence between `get_up` and looking.
    SignalUpFence,
    /// `bitmap`: the fence between closing and the last look.
    SignalCloseFence,
    /// `bitmap`: giving a slot back releases.
    SignalGiveBackRelease,
    /// `life`: a hold is refused once the count is zero.
    LifeHoldLooks,
    /// `life`: giving a hold up releases.
    LifeReleaseRelease,
    /// `life`: only the first zero of the count is reported.
    LifeStopsOnce,
    /// `life`: a section has a hold of the pool before it has a hold of the tasks.
    LifeWorkFirst,
    /// `life`: a section gives up its hold of the tasks before its hold of the pool.
    LifeTasksFirst,
    /// `life`: a participant that leaves releases.
    LifeLeaveRelease,
    /// `life`: the fence between closing and looking for tasks that have ended.
    LifeCloseFence,
    /// `life`: the fence between the end of a task and looking whether the pool closes.
    LifeSeesFence,
    /// `life`: a latecomer is counted before it queues its task.
    LifeLateFirst,
    /// `life`: a latecomer counts itself out by a release.
    LifeLateRelease,
    /// `watch`: the fence between putting something into use and reading whether the watch is on.
    WatchNeedFence,
    /// `watch`: a worker turns the watch on by an exchange.
    WatchNeedExchange,
    /// `watch`: the fence between turning the watch off and its last look.
    WatchRestFence,
    /// `watch`: a watch that was turned off looks once more.
    WatchRestLooks,
    /// `trail`: a run inside another one has a number of its own.
    TrailInnerNumber,
    /// `trail`: a run that begins waits for nothing, whatever the run outside it waits for.
    TrailBeginClears,
    /// `trail`: the number of a run is stored by a release.
    TrailBeginRelease,
    /// `trail`: the wait outside a run is restored by a release.
    TrailEndRelease,
    /// `trail`: what a run waits for is stored by a release.
    TrailWaitRelease,
    /// `trail`: what a run waited for before is restored by a release.
    TrailEndWaitRelease,
    /// `trail`: a follower looks at the run again after it has read what the run waits for.
    TrailNextLooksAgain,
    /// `trail`: a follower checks whether a run has begun since the follower's first look.
    TrailNextCounts,
    /// `mail`: the fence between posting a job and looking whether the worker is gone.
    MailPostFence,
    /// `mail`: a sender looks whether the worker is gone.
    MailPostLooks,
    /// `mail`: the fence between noting that the worker is gone and taking its mail.
    MailDisownFence,
    /// `guests`: a guest is counted before its last look.
    GuestsCountJobs,
    /// `guests`: a guest that takes tasks is counted before its last look.
    GuestsCountTasks,
}
