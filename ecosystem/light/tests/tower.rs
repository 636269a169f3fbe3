use ::tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};
use std::future::pending;
use std::time::Duration;

/// Doubles a number.
async fn double(n: u32) -> Result<u32, BoxError> {
    blitz::task::yield_now().await;
    Ok(2 * n)
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let limited = ServiceBuilder::new().concurrency_limit(2).service(service_fn(double));
    let asked: Vec<_> = (0..10)
        .map(|n| {
            let limited = limited.clone();
            blitz::spawn(async move { limited.oneshot(n).await.unwrap() })
        })
        .collect();
    for (n, task) in asked.into_iter().enumerate() {
        assert_eq!(task.await.unwrap() as usize, 2 * n);
    }
    let never = service_fn(|_: u32| pending::<Result<u32, BoxError>>());
    let mut shed = ServiceBuilder::new().load_shed().concurrency_limit(1).service(never);
    let _busy = shed.ready().await.unwrap().call(1);
    assert!(shed.ready().await.unwrap().call(2).await.is_err());
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let all = ServiceBuilder::new()
        .buffer(4)
        .rate_limit(1_000, Duration::from_secs(1))
        .timeout(Duration::from_secs(60))
        .service(service_fn(double));
    assert_eq!(blitz::spawn(all.oneshot(21)).await.unwrap().unwrap(), 42);
    let never = service_fn(|_: u32| pending::<Result<u32, BoxError>>());
    let late = ServiceBuilder::new().timeout(Duration::from_millis(1)).service(never);
    assert!(late.oneshot(1).await.is_err());
}
