//! Timeouts, around futures of every kind.

mod common;

use blitz::sync::{Notify, Semaphore, mpsc, oneshot};
use blitz::time::{Duration, Instant, sleep, timeout, timeout_at};
use common::{Tally, watched};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn ready_futures_are_in_time() {
    watched("ready_futures_are_in_time", |watch| {
        watch.workers(1).block_on(async {
            assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
            assert_eq!(timeout_at(Instant::now() - MS, async { 2 }).await, Ok(2));
            assert_eq!(timeout(HOUR, async { 3 }).await, Ok(3));
            assert_eq!(timeout(Duration::MAX, sleep(MS)).await, Ok(()));
        });
    });
}

#[test]
fn late_futures_are_dropped() {
    watched("late_futures_are_dropped", |watch| {
        watch.workers(2).block_on(async {
            let tally = Tally::default();
            let token = tally.token();
            let start = Instant::now();
            let late = timeout(3 * MS, async move {
                pending::<()>().await;
                drop(token);
            });
            assert!(late.await.is_err());
            assert!(start.elapsed() >= 3 * MS);
            assert!(tally.is_even());
        });
    });
}

#[blitz::test(start_paused = true)]
async fn channels_and_locks_in_time_and_late() {
    let (send, mut receive) = mpsc::channel::<u32>(1);
    assert!(timeout(MS, receive.recv()).await.is_err());
    send.send(7).await.unwrap();
    assert!(timeout(MS, send.send(8)).await.is_err(), "the channel is full");
    assert_eq!(timeout(MS, receive.recv()).await, Ok(Some(7)));

    let (send, receive) = oneshot::channel();
    let late = blitz::spawn(async move {
        sleep(5 * MS).await;
        send.send(()).unwrap();
    });
    assert!(timeout(10 * MS, receive).await.unwrap().is_ok());
    late.await.unwrap();

    let semaphore = Arc::new(Semaphore::new(1));
    let permit = semaphore.acquire().await.unwrap();
    assert!(timeout(MS, semaphore.acquire()).await.is_err());
    drop(permit);
    assert!(timeout(MS, semaphore.acquire()).await.is_ok());

    let notify = Notify::new();
    assert!(timeout(MS, notify.notified()).await.is_err());
}

#[blitz::test(start_paused = true)]
async fn the_shortest_of_nested_timeouts_counts() {
    let start = Instant::now();
    let inner = timeout(HOUR, timeout(5 * MS, timeout(2 * HOUR, pending::<()>())));
    assert!(matches!(inner.await, Ok(Err(_))));
    assert_eq!(start.elapsed(), 5 * MS);
}

/// A timeout also ends a future that spends all of its task's budget in each poll.
#[blitz::test]
async fn a_future_that_never_waits_is_late_too() {
    let busy = async {
        loop {
            blitz::task::consume_budget().await;
        }
    };
    assert!(timeout(3 * MS, busy).await.is_err());
}

#[test]
fn the_time_begins_when_the_timeout_is_made() {
    watched("the_time_begins_when_the_timeout_is_made", |watch| {
        watch.workers(1).block_on(async {
            let late = timeout(2 * MS, pending::<()>());
            sleep(4 * MS).await;
            let mut late = pin!(late);
            // The timer is overdue, so the timeout waits only for the driver.
            assert!(late.as_mut().await.is_err());
        });
    });
}

/// Timeouts that are cancelled leave nothing behind, whichever thread cancels them.
#[test]
fn a_million_timeouts_made_and_cancelled() {
    watched("a_million_timeouts_made_and_cancelled", |watch| {
        let runtime = watch.workers(2);
        let tasks: Vec<_> = (0..4)
            .map(|n| {
                runtime.spawn(async move {
                    for round in 0..250_000u64 {
                        let mut late = pin!(timeout(HOUR * (n + 1) + MS * 7, pending::<()>()));
                        poll_fn(|cx| {
                            assert!(late.as_mut().poll(cx).is_pending());
                            Poll::Ready(())
                        })
                        .await;
                        if round % 4_096 == 0 {
                            blitz::task::yield_now().await;
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.join().unwrap();
        }
    });
}
