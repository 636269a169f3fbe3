//! Timers for the clients of AWS. Their requests need a custom HTTP client, or a guest.

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use std::time::Duration;

/// Timers of the current pool. `sdk_config::Builder::sleep_impl` takes
/// `SharedAsyncSleep::new(BlitzSleep)`.
///
/// ```
/// use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep};
/// use blitz_adapters::aws::BlitzSleep;
/// use std::time::Duration;
///
/// # blitz::block_on(async {
/// let timers = SharedAsyncSleep::new(BlitzSleep);
/// timers.sleep(Duration::from_millis(1)).await;
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BlitzSleep;

impl AsyncSleep for BlitzSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(blitz::time::sleep(duration))
    }
}
