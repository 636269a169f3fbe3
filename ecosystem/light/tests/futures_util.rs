use ::futures_util::future::{join_all, select};
use ::futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::pin;
use std::time::Duration;

#[blitz::test(workers = 2)]
async fn as_is() {
    let all = join_all((0..10_u32).map(|n| blitz::spawn(async move { n }))).await;
    assert_eq!(all.into_iter().map(Result::unwrap).sum::<u32>(), 45);
    let mut some: FuturesUnordered<_> =
        (0..10_u32).map(|n| blitz::spawn(async move { n })).collect();
    let mut sum = 0;
    while let Some(n) = some.next().await {
        sum += n.unwrap();
    }
    assert_eq!(sum, 45);
    let never = pin!(std::future::pending::<()>());
    select(never, pin!(blitz::time::sleep(Duration::from_millis(1)))).await;
}
