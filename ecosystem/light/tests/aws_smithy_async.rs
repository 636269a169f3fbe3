use ::aws_smithy_async::future::timeout::Timeout;
use ::aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
use std::future::pending;
use std::time::Duration;

/// Timers for the clients of AWS: `sdk_config::Builder::sleep_impl` takes
/// `SharedAsyncSleep::new(BlitzSleep)`. Their requests need a custom HTTP client, or a guest.
#[derive(Clone, Copy, Debug)]
struct BlitzSleep;

impl AsyncSleep for BlitzSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(blitz::time::sleep(duration))
    }
}

#[blitz::test(start_paused = true)]
async fn by_trait() {
    let timers = SharedAsyncSleep::new(BlitzSleep);
    let start = blitz::time::Instant::now();
    let hour = Duration::from_secs(3_600);
    let late = Timeout::new(pending::<()>(), timers.sleep(hour)).await;
    assert!(late.is_err() && start.elapsed() == hour);
    assert_eq!(Timeout::new(async { 7 }, timers.sleep(hour)).await.ok(), Some(7));
}
