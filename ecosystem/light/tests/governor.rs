use ::governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

#[blitz::test]
async fn as_is() {
    let begin = Instant::now();
    // governor runs its timers on threads of its own.
    let limiter = RateLimiter::direct(Quota::per_second(NonZeroU32::new(1_000).unwrap()));
    for _ in 0..1_010 {
        limiter.until_ready().await;
    }
    // A thousand permits come at once, and each of the others needs a millisecond. The limiter has
    // another clock, so allow for a difference.
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(9), "1,010 permits after {took:?}");
}
