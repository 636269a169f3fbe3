use ::aws_smithy_async::future::timeout::Timeout;
use ::aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep};
use blitz_adapters::aws::BlitzSleep;
use std::future::pending;
use std::time::Duration;

#[blitz::test(start_paused = true)]
async fn by_trait() {
    let timers = SharedAsyncSleep::new(BlitzSleep);
    let start = blitz::time::Instant::now();
    let hour = Duration::from_secs(3_600);
    let late = Timeout::new(pending::<()>(), timers.sleep(hour)).await;
    assert!(late.is_err() && start.elapsed() == hour);
    assert_eq!(Timeout::new(async { 7 }, timers.sleep(hour)).await.ok(), Some(7));
}
