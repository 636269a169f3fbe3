//! Every constant of the runtime, with its reason. Small under the model checker.

use crate::prim::MODELLED;
use core::time::Duration;

/// Slots of a fresh deque. 256 pointers are two pages' worth of nesting before the first growth;
/// two under the model checker, so that a third push grows the buffer.
pub const DEQUE_SLOTS: usize = if MODELLED { 2 } else { 256 };

/// Idle rounds in which a worker yields before it announces that it gets sleepy (seed 000/001).
pub const ROUNDS_UNTIL_SLEEPY: u32 = 32;

/// Rounds between the announcement and the attempt to sleep (seed 000/001: one more yield); none under
/// the model checker, where it would only multiply the interleavings.
pub const ROUNDS_AFTER_SLEEPY: u32 = if MODELLED { 0 } else { 1 };

/// Spin rounds of the low-latency policy (seed 002).
pub const LOW_LATENCY_SPINS: u32 = 64;

/// Round at which the low-latency policy sleeps (seed 002).
pub const LOW_LATENCY_ROUNDS: u32 = 256;

/// Spins of an owner that waits for a thief forcing exposure before it yields its core. The thief
/// is inside a barrier of 1-14 us, or was preempted there.
pub const FORCE_WAIT_SPINS: u32 = 64;

/// How long a foreign thread spins for its result before it blocks: a sleep and wake-up would dominate
/// jobs shorter than this. Longer would keep a core busy that a worker just woken needs: the kernel then
/// queues it behind its waker.
pub const FOREIGN_PATIENCE: Duration = Duration::from_micros(10);

/// Spins of a foreign thread between two looks at the clock.
pub const FOREIGN_SPINS: u32 = 32;

/// Fewest yields of an adaptive idle worker: about 5 us, no more than the sleep that follows costs, in
/// which a job that comes soon after the last is still picked up without a wake-up.
pub const PATIENCE_MIN: u32 = 8;

/// Yields of a worker that waits for descendants only, before it parks: as patient as a worker that
/// looks for anything.
pub const DESCENDANT_YIELDS: u32 = 32;

/// How far a waiter follows the chain of thieves. Each hop is a few cache misses; chains longer than
/// this are rarer than a successful ordinary steal.
pub const LEAPFROG_HOPS: usize = 8;

/// A sleep shorter than this was a mistake: going to sleep and being woken costs both sides together
/// about as much as yielding for that long.
pub const SLEEP_SHORT: Duration = Duration::from_micros(50);
