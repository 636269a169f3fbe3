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
//! Any idle worker fires the timers of all workers, so a worker that computes delays only its own
//! tasks. Dropping a sleep removes its timer at once.
//!
//! A sleep belongs to the runtime that is current when the sleep is first polled, else to the
//! global one. If that runtime ends, the sleep goes on in the runtime that is current in its next
//! poll. If there is no other runtime, that poll panics.
//!
//! # How precise
//! - No sleep, timeout or tick ends early.
//! - A lone timer fires at its deadline, rounded up to a microsecond. A timer that is due soon
//!   after others have fired waits until the slack has passed since then: 40 us, or the value of
//!   [`Builder::timer_slack`](blitz_core::PoolBuilder::timer_slack). So idle workers wake for
//!   timers at most once per slack, however many timers there are.
//! - The system and the load add to that: the time until the kernel runs the woken worker, some ten
//!   microseconds on an idle machine, and the time until a worker polls the task, after the tasks
//!   that were queued before. If all workers compute or block, a spare thread fires timers, some
//!   milliseconds late.
//! - Timers of one worker fire in the order of their deadlines. Those that are due in the same
//!   microsecond fire in the order in which they were first polled. If timers of several workers
//!   are due at once, they fire worker by worker.
//!
//! On Linux a timer descriptor wakes the worker. If the system refuses one, because a filter of
//! system calls forbids it or no descriptor is left, the timeout of `epoll_wait` wakes the worker,
//! and timers are up to a millisecond later. `IoMetrics::system_timer` of `blitz-io` tells which is
//! in use. On other systems the timeout of their event queue wakes the worker.
//!
//! # Tests
//! A test can pause the clock of its runtime. Then time passes only by [`advance`], or when all
//! tasks wait: in that case the clock jumps to the next timer. So a test that sleeps for an hour
//! takes no time, and its results are the same each time. Pause the clock from the beginning, as
//! below: then the test itself counts as one of the tasks that have to wait. A test that calls
//! [`pause`] on a thread that is not a worker does not count.
//!
//! Only the runtime's own tasks and blocking closures keep the clock from jumping. A peer outside
//! the runtime, a child process or a signal does not: a timeout around a wait for one of these
//! passes at once. So [`resume`] the clock before such a wait.
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
