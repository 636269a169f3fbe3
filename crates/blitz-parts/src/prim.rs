//! Atomics, fences and threads: the only shipped file that names loom.
//!
//! Every part takes its atomics from here, so that `--cfg blitz_loom` swaps the whole house onto the
//! model checker at once. The cfg name is ours because a global `--cfg loom` would reach into every
//! dependency. Protocols that need sequential consistency say so with [`fence`], never with
//! `SeqCst` accesses: loom checks the former and silently weakens the latter.

pub use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

#[cfg(blitz_loom)]
pub use self::modelled::*;
#[cfg(not(blitz_loom))]
pub use self::real::*;

#[cfg(not(blitz_loom))]
mod real {
    pub use core::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use std::alloc::{alloc, dealloc};
    pub use std::sync::{Mutex, MutexGuard};
    pub use std::thread::yield_now;

    /// True while the model checker runs the program.
    pub const MODELLED: bool = false;

    /// Tells the processor that this thread is in a short busy wait.
    #[inline]
    pub fn spin_loop() {
        core::hint::spin_loop();
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
}

#[cfg(blitz_loom)]
mod modelled {
    pub use loom::alloc::{alloc, dealloc};
    pub use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;
    pub use loom::{lazy_static, thread};

    /// True while the model checker runs the program.
    pub const MODELLED: bool = true;

    /// A busy wait makes no progress in a model unless another thread runs.
    pub fn spin_loop() {
        loom::thread::yield_now();
    }

    /// Loom knows no compiler fence; the asymmetric pair is modelled in `barrier`.
    pub fn compiler_fence() {}

    std::thread_local! {
        // Loom runs all threads of a model on one OS thread, so a thread-local holds for one model.
        static BROKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    /// Whether a canary has broken `step` on purpose.
    pub fn broken(step: super::Step) -> bool {
        BROKEN.with(|b| b.get() >> step as u32 & 1 != 0)
    }

    /// Calls `run` with `steps` broken and returns what it returned, or its panic.
    fn with_broken<R>(steps: &[super::Step], run: impl FnOnce() -> R) -> std::thread::Result<R> {
        let mask = steps.iter().fold(0, |mask, &step| mask | 1 << step as u32);
        BROKEN.with(|b| b.set(mask));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        BROKEN.with(|b| b.set(0));
        outcome
    }

    /// What a run of the checker has to reach to count as a check.
    pub struct Explored {
        /// How many interleavings were executed.
        pub executions: usize,
    }

    /// Runs `model` in every interleaving with at most `preemptions` preemptions (`None`: all).
    pub fn explore(
        preemptions: Option<usize>,
        model: impl Fn() + Sync + Send + 'static,
    ) -> Explored {
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = count.clone();
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.max_branches = 50_000;
        builder.check(move || {
            counted.fetch_add(1, super::Relaxed);
            model();
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
        assert!(seen >= minimum, "only {seen} executions, at least {minimum} expected");
    }

    /// As [`check`], with `step` left out: what the model shows does not rest on it.
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
        let outcome = with_broken(steps, || explore(preemptions, model));
        assert!(outcome.is_err(), "the model still passes with {steps:?} broken");
    }
}

/// A step of a protocol that a canary can leave out, to show that its model would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// `barrier`: the light half of the asymmetric fence.
    BarrierLight,
    /// `deque`: the release store that makes a pushed item count.
    DequePushRelease,
    /// `deque`: the release store of a grown buffer's address.
    DequeGrowRelease,
    /// `deque`: a thief can force although an earlier, vain attempt left the guard raised.
    DequeForceAgain,
    /// `deque`: the owner's fence between lowering the split and reading the top.
    DequePopFence,
    /// `deque`: the thief's fence between reading the top and reading the split.
    DequeStealFence,
    /// `deque`: the release store that publishes private slots.
    DequePublishRelease,
    /// `deque`: the heavy half of the asymmetric fence when a thief forces exposure.
    DequeForceFence,
    /// `deque`: the owner waits for a forcing thief before it touches the split.
    DequeForceWait,
    /// `inject`: the release half of the push.
    InjectPushRelease,
    /// `latch`: the acquire half of the probe.
    LatchProbeAcquire,
    /// `latch`: the setter wakes a thread that blocks on the latch.
    LatchSetWake,
    /// `latch`: the last decrement of a count latch acquires the others.
    CountAcquire,
    /// `latch`: a worker's word goes back to UNSET on every way out of sleep.
    WordReset,
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
    /// `sleep`: the latch is marked after the worker's own word.
    SleepLatchAfterWord,
    /// `sleep`: a worker that leaves the idle state wakes another before it runs what it found.
    SleepCascade,
    /// `sleep`: the plain fence before a worker that found work looks for more.
    SleepCascadeFence,
    /// `sleep`: its second look, after a heavy fence, where jobs may be private.
    SleepCascadeAgain,
    /// `sleep`: stopping wakes every worker.
    SleepStopWakes,
    /// `job`: the closure has run and its result is written before the latch is set.
    JobResultFirst,
    /// `futex`: a waiter looks at the word again under the bucket's lock.
    FutexRecheck,
    /// `parker`: the thread leaves by an exchange, which acquires an `unpark` that came meanwhile.
    ParkLeaveSwap,
    /// `parker`: `unpark` wakes a thread that blocks.
    ParkWake,
    /// `ring`: the release store that makes a pushed task count.
    RingPushRelease,
    /// `ring`: the release half of every exchange of the head.
    RingHeadRelease,
    /// `ring`: a thief stays out while another is inside.
    RingOneThief,
    /// `ring`: a thief whose release fails tries again.
    RingNeverAbandon,
    /// `ring`: the slots that a thief still copies are not free.
    RingSlotsOfThief,
    /// `ring`: a length is read head first.
    RingLenHeadFirst,
    /// `lifo`: the release half of the store or exchange that fills the slot.
    LifoPutRelease,
    /// `lifo`: a task in the slot is evicted by an exchange.
    LifoEvictExchange,
    /// `lifo`: a task is taken by an exchange.
    LifoTakeExchange,
    /// `queue`: the length is written while the lock is held.
    QueueCountLocked,
    /// `queue`: whether the queue is closed is looked at while the lock is held.
    QueueClosedLocked,
}
