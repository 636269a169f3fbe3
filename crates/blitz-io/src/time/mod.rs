//! Waiting for time to pass: sleeping, timeouts, ticks.
//!
//! ```
//! use blitz::time::{Duration, Instant, sleep, timeout};
//!
//! # blitz::block_on(async {
//! let start = Instant::now();
//! sleep(Duration::from_millis(5)).await;
//! assert!(start.elapsed() >= Duration::from_millis(5));
//!
//! let never = std::future::pending::<()>();
//! assert!(timeout(Duration::from_millis(5), never).await.is_err());
//! # });
//! ```
//!
//! Timers of all workers are looked after by whichever worker is idle, so a worker that computes
//! delays its own tasks, but not the others'. A sleep that is dropped is forgotten at once.
//!
//! Sleeps belong to the runtime that is current when they are first polled, else to the global one.
//! If that runtime ends, they go on in the one that is current then; if there is none but the one
//! that has ended, the poll panics.
//!
//! # How precise
//! - No sleep, timeout or tick is early: its moment has come when it ends.
//! - A timer that is alone fires at its moment, which is counted in microseconds. One whose moment
//!   comes soon after others have fired waits until the slack has passed since then: 40 us, or what
//!   [`Builder::timer_slack`](blitz_core::PoolBuilder::timer_slack) says. So idle workers get up at
//!   most once per slack for timers, however many there are.
//! - The system and the load add to that: the time until the kernel runs the worker that got up,
//!   some ten microseconds on an idle machine, and the time until a worker polls the task, behind
//!   the tasks that were queued before. If all workers compute or block, a spare thread fires
//!   timers, some milliseconds late.
//! - Timers fire in the order of their moments. Timers of one microsecond and one worker fire in
//!   the order in which they were first polled.
//!
//! On Linux a timer descriptor wakes the worker. If the system refuses one, because a filter of
//! system calls forbids it or no descriptor is left, the timeout of `epoll_wait` wakes it, and
//! timers are late by up to a millisecond more. `IoMetrics::system_timer` of `blitz-io` says which
//! it is. On other systems the timeout of their event queue wakes the worker.
//!
//! # Tests
//! A test can stop the clock of its runtime, and then time passes only when [`advance`] says so, or
//! when all tasks wait: then the clock moves to the next timer at once. So a test that sleeps for
//! an hour takes no time, and what it sees is the same each time. Stop it from the beginning, as
//! below: the test itself is then one of the tasks that have to wait, which it is not if it calls
//! [`pause`] on a thread that is no worker.
//!
//! Only the runtime's own tasks and its closures that may block hold the clock. A peer outside of
//! it, a child process or a signal does not: a timeout for one of them passes at once. [`resume`]
//! the clock first.
//!
//! ```
//! # fn main() {}
//! use blitz::time::{Duration, Instant, sleep};
//!
//! #[blitz::test(start_paused = true)]
//! async fn an_hour_passes_at_once() {
//!     let start = Instant::now();
//!     sleep(Duration::from_secs(3_600)).await;
//!     assert_eq!(start.elapsed(), Duration::from_secs(3_600));
//! }
//! ```

pub mod delay_queue;
mod instant;
mod interval;
mod now;
mod pause;
mod sleep;
mod timeout;

#[doc(inline)]
pub use delay_queue::DelayQueue;
pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use pause::{advance, pause, resume};
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};

/// Alias for Tokio's path `time::error::Elapsed`: see [`Elapsed`].
pub mod error {
    pub use super::timeout::Elapsed;
}
