//! Pauses the clock, for tests.

#![forbid(unsafe_code)]

use super::Duration;
use crate::driver;
use crate::timers::Timers;

/// Pauses the clock of the current runtime.
///
/// From now on time passes only by [`advance`], or when the runtime is idle: no worker has anything
/// to do, no closure of `spawn_blocking` runs, and no file is read or written. When the runtime is
/// idle, the clock jumps to the end of the next sleep. A call of `pause` does nothing if the clock
/// is paused already.
///
/// Other code does not keep the clock from jumping, for example a future in `block_on` on a thread
/// that is not a worker, a child process, or a peer of a socket in another process. If nothing else
/// runs, a `timeout` around a wait for such code elapses at once. A runtime built with
/// `Builder::start_paused` makes the thread that builds it a worker. So a `block_on` on that thread
/// keeps the clock from jumping, with the exceptions that `start_paused` lists. While the runtime
/// ends, it counts as idle even if something still runs.
///
/// ```
/// # let runtime = blitz::Runtime::builder().start_paused(true).build().unwrap();
/// # runtime.block_on(async {
/// use blitz::time::{self, Duration, Instant};
///
/// time::pause();
/// let start = Instant::now();
/// time::sleep(Duration::from_secs(86_400)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(86_400));
/// # });
/// ```
///
/// # Panics
/// If the system refuses a resource that timers need, or if the runtime has ended and never used
/// timers, sockets or files.
#[track_caller]
pub fn pause() {
    with_timers(|timers| {
        timers.clock().stop();
        timers.clock_has_changed();
    });
}

/// Lets the clock of the current runtime go on from where it stands. Does nothing if the clock is
/// not paused.
///
/// ```
/// # let runtime = blitz::Runtime::builder().start_paused(true).build().unwrap();
/// # runtime.block_on(async {
/// use blitz::time::{self, Duration, Instant};
///
/// let start = Instant::now();
/// time::resume();
/// time::sleep(Duration::from_millis(2)).await;
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// # });
/// ```
///
/// # Panics
/// Panics as [`pause`] does.
#[track_caller]
pub fn resume() {
    with_timers(|timers| {
        timers.clock().start();
        timers.clock_has_changed();
    });
}

/// Advances the paused clock of the current runtime by `duration`.
///
/// It wakes the tasks whose sleeps end by then, and yields once. It does not wait for those tasks.
///
/// ```
/// # let runtime = blitz::Runtime::builder().start_paused(true).build().unwrap();
/// # runtime.block_on(async {
/// use blitz::time::{self, Duration, Instant};
///
/// let start = Instant::now();
/// time::advance(Duration::from_secs(5)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(5));
/// # });
/// ```
///
/// # Panics
/// If the clock is not paused, or if [`pause`] would panic.
pub async fn advance(duration: Duration) {
    with_timers(|timers| {
        assert!(
            timers.clock().advance(duration),
            "only a paused clock can be advanced: call time::pause first, or use start_paused = true"
        );
        timers.clock_has_changed();
    });
    blitz_core::task::yield_now().await;
}

#[track_caller]
fn with_timers(f: impl FnOnce(&Timers)) {
    if let Err(error) = driver::with_current(|driver, _| f(driver.timers())) {
        panic!("the runtime has no clock: {error}");
    }
}
