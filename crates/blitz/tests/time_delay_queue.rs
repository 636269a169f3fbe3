//! Queues whose values come out in time. The clock is paused, so that the moments are exact.

mod common;

use blitz::Runtime;
use blitz::sync::Mutex;
use blitz::time::delay_queue::Key;
use blitz::time::{DelayQueue, Duration, Instant, sleep, timeout};
use common::watched;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

const MS: Duration = Duration::from_millis(1);

/// Returns all remaining values, each with the milliseconds until it came.
async fn drain<T>(queue: &mut DelayQueue<T>, start: Instant) -> Vec<(T, u128)> {
    let mut seen = Vec::new();
    while let Some(expired) = queue.next().await {
        assert!(expired.deadline() <= Instant::now());
        seen.push((expired.into_inner(), start.elapsed().as_millis()));
    }
    seen
}

#[blitz::test(start_paused = true)]
async fn values_come_in_the_order_of_their_time() {
    let start = Instant::now();
    let mut queue = DelayQueue::with_capacity(4);
    queue.insert("late", 30 * MS);
    queue.insert("first of two", 10 * MS);
    queue.insert("second of two", 10 * MS);
    queue.insert_at("past", start);
    queue.insert("never", Duration::MAX);
    assert_eq!(queue.len(), 5);
    let never = queue.insert("never, too", Duration::MAX);
    assert!(queue.deadline(&never) > start + Duration::from_secs(3_600));
    for (expected, at) in [("past", 0), ("first of two", 10), ("second of two", 10), ("late", 30)] {
        assert_eq!(queue.next().await.unwrap().into_inner(), expected);
        assert_eq!(start.elapsed().as_millis(), at);
    }
    assert!(timeout(1_000 * MS, queue.next()).await.is_err());
    queue.clear();
    assert!(queue.is_empty() && queue.next().await.is_none());
}

#[blitz::test(start_paused = true)]
async fn deadlines_move_and_values_are_taken_out() {
    let start = Instant::now();
    let mut queue = DelayQueue::new();
    let keys = ["a", "b", "c", "d"].map(|name| queue.insert(name, 10 * MS));
    queue.reset(&keys[0], 40 * MS);
    queue.reset_at(&keys[3], start + 5 * MS);
    assert_eq!(queue.peek(), Some(keys[3]));
    assert_eq!(*queue.remove(&keys[1]).get_ref(), "b");
    assert!(queue.try_remove(&keys[1]).is_none());
    // The place is reused; the old key does not name the new value.
    queue.insert("e", 20 * MS);
    assert!(queue.try_remove(&keys[1]).is_none());
    let reset = catch_unwind(AssertUnwindSafe(|| queue.reset(&keys[1], MS)));
    let text = *reset.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("not in the queue any more"), "{text}");
    assert_eq!(drain(&mut queue, start).await, [("d", 5), ("c", 10), ("e", 20), ("a", 40)]);
}

#[blitz::test(start_paused = true)]
async fn a_waiting_task_is_woken_for_an_earlier_value() {
    let start = Instant::now();
    let queue = Arc::new(Mutex::new(DelayQueue::new()));
    queue.lock().await.insert("late", 100 * MS);
    let reader = blitz::spawn({
        let queue = queue.clone();
        async move {
            // The task polls the queue under the lock, and waits without the lock.
            let next = || std::future::poll_fn(|cx| queue.try_lock().unwrap().poll_expired(cx));
            let mut seen = Vec::new();
            while let Some(expired) = next().await {
                seen.push((expired.into_inner(), start.elapsed().as_millis()));
            }
            seen
        }
    });
    sleep(20 * MS).await;
    let key = queue.lock().await.insert("early", 50 * MS);
    sleep(10 * MS).await;
    queue.lock().await.reset(&key, 10 * MS);
    assert_eq!(reader.await.unwrap(), [("early", 40), ("late", 100)]);
}

/// Spawns a task that waits for a value that comes in an hour.
///
/// Then `empty` empties the queue, and the task has to see at once that the queue is empty.
async fn is_woken_when_emptied(empty: impl FnOnce(&mut DelayQueue<u8>, &Key)) {
    let queue = Arc::new(std::sync::Mutex::new(DelayQueue::new()));
    let key = queue.lock().unwrap().insert(0, Duration::from_secs(3_600));
    let shared = queue.clone();
    let waits = blitz::spawn(poll_fn(move |cx| shared.lock().unwrap().poll_expired(cx)));
    // The clock moves only while the task waits.
    sleep(MS).await;
    empty(&mut queue.lock().unwrap(), &key);
    let seen = timeout(MS, waits).await.expect("the task is not woken").unwrap();
    assert!(seen.is_none());
}

#[blitz::test(start_paused = true)]
async fn a_waiting_task_is_woken_when_the_last_value_is_removed() {
    is_woken_when_emptied(|queue, key| assert_eq!(queue.remove(key).into_inner(), 0)).await;
}

#[blitz::test(start_paused = true)]
async fn a_waiting_task_is_woken_when_the_queue_is_cleared() {
    is_woken_when_emptied(|queue, _| queue.clear()).await;
}

#[blitz::test(start_paused = true)]
async fn a_queue_is_empty_after_clear_though_the_waker_panics() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as the test wants it");
        }
    }

    let mut queue = DelayQueue::new();
    queue.insert(Arc::new(()), MS);
    let waker = Waker::from(Arc::new(Panics));
    assert!(queue.poll_expired(&mut Context::from_waker(&waker)).is_pending());
    catch_unwind(AssertUnwindSafe(|| queue.clear())).unwrap_err();
    assert!(queue.is_empty() && queue.peek().is_none());
    assert!(queue.next().await.is_none());
}

#[blitz::test(start_paused = true)]
async fn a_wait_that_is_dropped_loses_nothing() {
    let start = Instant::now();
    let mut queue = DelayQueue::new();
    queue.insert(1, 10 * MS);
    for _ in 0..3 {
        assert!(timeout(2 * MS, queue.next()).await.is_err());
    }
    assert_eq!(drain(&mut queue, start).await, [(1, 10)]);
}

#[blitz::test(start_paused = true)]
async fn many_values_come_in_the_order_of_a_btree_map() {
    let start = Instant::now();
    let (mut queue, mut model) = (DelayQueue::new(), BTreeMap::new());
    let mut keys = Vec::new();
    let mut seed = 7_u64;
    let mut any = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for number in 0..2_000_u64 {
        let at = any(500);
        keys.push((queue.insert_at(number, start + at as u32 * MS), at));
        model.insert((at, number), number);
    }
    for turn in 0..500_u64 {
        let number = any(2_000) as usize;
        let (key, at) = &mut keys[number];
        let value = number as u64;
        let Some(order) = model.iter().find(|(_, own)| **own == value).map(|(order, _)| *order)
        else {
            assert!(queue.try_remove(key).is_none());
            continue;
        };
        model.remove(&order);
        if turn % 2 == 0 {
            assert_eq!(queue.remove(key).into_inner(), value);
        } else {
            *at = any(500);
            queue.reset_at(key, start + *at as u32 * MS);
            model.insert((*at, 2_000 + turn), value);
        }
    }
    let expected: Vec<_> = model.into_iter().map(|((at, _), value)| (value, at.into())).collect();
    assert_eq!(drain(&mut queue, start).await, expected);
}

#[test]
fn a_queue_that_is_always_ready_lets_others_go_first() {
    watched("a_queue_that_is_always_ready", |watch| {
        // A spare would poll the other task while the queue's task keeps the worker.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let queue = runtime.spawn(async {
            let mut queue = DelayQueue::new();
            let (done, mut is_done) = blitz::sync::oneshot::channel();
            let other = blitz::spawn(async move { done.send(()) });
            let mut turns = 0_u64;
            // There is only one worker, and this task gives the worker up only in `next`.
            while is_done.try_recv().is_err() {
                queue.insert((), Duration::ZERO);
                queue.next().await.unwrap();
                turns += 1;
            }
            other.await.unwrap().unwrap();
            turns
        });
        assert!(queue.join().unwrap() > 0);
    });
}
