use ::backon::{ConstantBuilder, FuturesTimerSleeper, Retryable};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Fails twice.
async fn unlucky(tries: &AtomicU32) -> Result<u32, &'static str> {
    match tries.fetch_add(1, Relaxed) {
        0 | 1 => Err("not yet"),
        n => Ok(n),
    }
}

fn delays() -> ConstantBuilder {
    ConstantBuilder::default().with_delay(Duration::from_millis(1)).with_max_times(5)
}

#[blitz::test]
async fn by_trait() {
    let tries = AtomicU32::new(0);
    let answer = (|| unlucky(&tries)).retry(delays()).sleep(blitz::time::sleep).await;
    assert_eq!(answer, Ok(2));
}

#[blitz::test(tokio)]
async fn as_a_guest() {
    let tries = AtomicU32::new(0);
    assert_eq!((|| unlucky(&tries)).retry(delays()).await, Ok(2));
}

#[blitz::test]
async fn by_feature() {
    let tries = AtomicU32::new(0);
    let answer = (|| unlucky(&tries)).retry(delays()).sleep(FuturesTimerSleeper).await;
    assert_eq!(answer, Ok(2));
}
