use ::openraft::AsyncRuntime;
use ::openraft_rt::testing::Suite;
use ::openraft_rt_tokio::TokioRuntime;
use blitz_adapters::openraft::BlitzRuntime;
use std::time::Duration;

/// Spawns a task that sleeps, with timers and tasks of `R`.
async fn sleep<R: AsyncRuntime>() {
    let task = R::spawn(async {
        R::sleep(Duration::from_millis(1)).await;
        42
    });
    assert!(matches!(R::timeout(Duration::from_secs(60), task).await, Ok(Ok(42))));
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    sleep::<BlitzRuntime>().await;
    // The suite builds runtimes of its own. It looks at timers, so their clock is paused.
    blitz::spawn_blocking(Suite::<BlitzRuntime<true>>::test_all).await.unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    sleep::<TokioRuntime>().await;
}
