//! Hyper's `Timer` trait, implemented with Blitz's timers.

#![forbid(unsafe_code)]

use blitz::time::{self, Instant};
use hyper::rt::{Sleep, Timer};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Blitz's timers for hyper, which limits the time of headers and sends pings of HTTP/2.
///
/// ```
/// use hyper::rt::Timer;
/// use std::time::Duration;
///
/// # blitz::block_on(async {
/// let timer = blitz_hyper::BlitzTimer::new();
/// let start = timer.now();
/// timer.sleep(Duration::from_millis(2)).await;
/// assert!(timer.now() - start >= Duration::from_millis(2));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BlitzTimer;

impl BlitzTimer {
    /// Creates a timer; all timers are the same.
    #[must_use]
    pub fn new() -> BlitzTimer {
        BlitzTimer
    }
}

impl Timer for BlitzTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(BlitzSleep { sleep: time::sleep(duration) })
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(BlitzSleep { sleep: time::sleep_until(Instant::from_std(deadline)) })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: std::time::Instant) {
        match sleep.as_mut().downcast_mut_pin::<BlitzSleep>() {
            Some(ours) => ours.project().sleep.reset(Instant::from_std(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }

    /// Reads the clock of the runtime, which tests may pause.
    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }
}

pin_project! {
    struct BlitzSleep {
        #[pin]
        sleep: time::Sleep,
    }
}

impl Future for BlitzSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(cx)
    }
}

impl Sleep for BlitzSleep {}

#[cfg(test)]
mod tests {
    use super::BlitzTimer;
    use hyper::rt::Timer;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_sleep_can_be_shortened() {
        let timer = BlitzTimer::new();
        blitz::block_on(async {
            let mut sleep = timer.sleep(LONG);
            timer.reset(&mut sleep, timer.now());
            sleep.await;
        });
    }

    #[test]
    fn a_foreign_sleep_is_replaced() {
        struct Never;
        impl std::future::Future for Never {
            type Output = ();
            fn poll(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<()> {
                std::task::Poll::Pending
            }
        }
        impl hyper::rt::Sleep for Never {}
        let timer = BlitzTimer::new();
        blitz::block_on(async {
            let mut sleep: std::pin::Pin<Box<dyn hyper::rt::Sleep>> = Box::pin(Never);
            timer.reset(&mut sleep, timer.now());
            sleep.await;
        });
    }
}
