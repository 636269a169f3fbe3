use ::governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

#[blitz::test]
async fn as_is() {
    // governor runs its timers on threads of its own.
    let limiter = RateLimiter::direct(Quota::per_second(NonZeroU32::new(1_000).unwrap()));
    for _ in 0..1_010 {
        limiter.until_ready().await;
    }
}
