use ::deadpool::Runtime;
use ::deadpool::managed::{Manager, Metrics, Pool, PoolError, RecycleResult, Timeouts};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Manages connections that are only numbers.
#[derive(Default)]
struct Numbers(AtomicU32);

impl Manager for Numbers {
    type Type = u32;
    type Error = Infallible;

    async fn create(&self) -> Result<u32, Infallible> {
        Ok(self.0.fetch_add(1, Relaxed))
    }

    async fn recycle(&self, _: &mut u32, _: &Metrics) -> RecycleResult<Infallible> {
        Ok(())
    }
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let pool = Pool::<Numbers>::builder(Numbers::default()).max_size(2).build().unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let pool = pool.clone();
            blitz::spawn(async move {
                let connection = pool.get().await.unwrap();
                blitz::task::yield_now().await;
                *connection
            })
        })
        .collect();
    for task in tasks {
        assert!(task.await.unwrap() < 2);
    }
}

/// Waits for the only connection of a pool for too long.
async fn wait_in_vain(runtime: Runtime) {
    let builder = Pool::<Numbers>::builder(Numbers::default()).max_size(1);
    let pool = builder.runtime(runtime).build().unwrap();
    let kept = pool.get().await.unwrap();
    let limits = Timeouts { wait: Some(Duration::from_millis(1)), ..Timeouts::default() };
    let late = pool.timeout_get(&limits).await;
    assert!(matches!(late, Err(PoolError::Timeout(_))));
    drop(kept);
    assert_eq!(*pool.timeout_get(&limits).await.unwrap(), 0);
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    wait_in_vain(Runtime::Smol2).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    wait_in_vain(Runtime::Tokio1).await;
}
