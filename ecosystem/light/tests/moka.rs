use ::moka::future::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[blitz::test(workers = 2)]
async fn as_is() {
    let (cache, made) = (Cache::new(100), Arc::new(AtomicU32::new(0)));
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (cache, made) = (cache.clone(), made.clone());
            blitz::spawn(async move {
                let make = async {
                    blitz::task::yield_now().await;
                    made.fetch_add(1, SeqCst) + 7
                };
                cache.get_with("key", make).await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), 7);
    }
    assert_eq!(made.load(SeqCst), 1);
}
