//! Tasks that have keys, and tasks that are counted.

mod common;

use blitz::sync::oneshot;
use blitz::task::{JoinMap, TaskTracker};
use common::{on_each_size, watched};
use std::collections::HashMap;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};

#[test]
fn results_come_with_their_keys() {
    on_each_size("join map", || async {
        let mut map = JoinMap::new();
        for n in 0..200_u32 {
            map.spawn(n.to_string(), async move { n * 2 });
        }
        map.spawn_cpu("cpu".to_owned(), || 1);
        map.spawn_blocking("blocking".to_owned(), || 2);
        assert_eq!((map.len(), map.keys().count()), (202, 202));
        assert!(map.contains_key("7") && !map.contains_key("200"));
        let mut seen = HashMap::new();
        while let Some((key, result)) = map.join_next().await {
            assert!(seen.insert(key, result.unwrap()).is_none());
        }
        assert_eq!((seen.len(), seen["199"], seen["cpu"], seen["blocking"]), (202, 398, 1, 2));
        assert!(map.is_empty() && map.try_join_next().is_none());
    });
}

#[test]
fn a_second_task_replaces_the_first_of_its_key() {
    on_each_size("replaced", || async {
        let mut map = JoinMap::new();
        let (gone, is_gone) = oneshot::channel::<()>();
        map.spawn("key", async move {
            let _gone = gone;
            pending::<u32>().await
        });
        map.spawn("key", async { 2 });
        assert!(is_gone.await.is_err(), "the first task is aborted");
        assert_eq!(map.len(), 1);
        let (key, result) = map.join_next().await.unwrap();
        assert_eq!((key, result.unwrap()), ("key", 2));
        assert!(map.join_next().await.is_none(), "the first task's result is not returned");
        // The result of a task that ended before it was replaced is not returned either.
        map.spawn("key", async { 1 });
        blitz::task::yield_now().await;
        map.spawn("key", async { 2 });
        assert_eq!(map.join_next().await.unwrap().1.unwrap(), 2);
        assert!(map.join_next().await.is_none());
    });
}

#[test]
fn tasks_are_aborted_by_key_and_panics_stay_with_their_keys() {
    on_each_size("aborts by key", || async {
        let mut map = JoinMap::new();
        for n in 0..10 {
            map.spawn(n, pending::<()>());
        }
        map.spawn(10, async { panic!("the tenth") });
        map.abort_matching(|n| n % 2 == 1);
        assert!(map.abort(&0) && !map.abort(&11));
        let mut ended = Vec::new();
        for _ in 0..7 {
            let (key, result) = map.join_next().await.unwrap();
            assert_eq!(result.unwrap_err().is_panic(), key == 10);
            ended.push(key);
        }
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 3, 5, 7, 9, 10]);
        map.shutdown().await;
        assert!(map.is_empty());
    });
}

#[test]
fn a_map_aborts_its_tasks_unless_they_are_detached() {
    on_each_size("end of a map", || async {
        let mut map = JoinMap::new();
        let (gone, is_gone) = oneshot::channel::<()>();
        map.spawn(1, async move {
            let _gone = gone;
            pending::<()>().await
        });
        drop(map);
        assert!(is_gone.await.is_err());
        let mut map = JoinMap::new();
        let ((go, may_go), (done, is_done)) = (oneshot::channel::<()>(), oneshot::channel());
        map.spawn(1, async move {
            may_go.await.unwrap();
            done.send(7).unwrap();
        });
        map.detach_all();
        assert!(map.is_empty() && map.join_next().await.is_none());
        drop(map);
        go.send(()).unwrap();
        assert_eq!(is_done.await, Ok(7));
    });
}

#[test]
fn a_shutdown_waits_for_replaced_tasks_that_still_run() {
    on_each_size("shutdown of replaced tasks", || async {
        let mut map = JoinMap::new();
        let ((begun, has_begun), (go, wait)) = (oneshot::channel(), mpsc::channel::<()>());
        let (over, is_over) = mpsc::channel();
        map.spawn_blocking("key", move || {
            begun.send(()).unwrap();
            // An abort does not end a closure that has begun.
            wait.recv().unwrap();
            over.send(()).unwrap();
        });
        has_begun.await.unwrap();
        map.spawn("key", async {});
        map.join_next().await.unwrap().1.unwrap();
        let mut shutdown = Box::pin(map.shutdown());
        assert!(shutdown.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        go.send(()).unwrap();
        shutdown.await;
        assert_eq!(is_over.try_recv(), Ok(()));
        assert!(map.is_empty() && map.join_next().await.is_none());
    });
}

#[test]
fn a_wait_is_over_when_no_task_is_left_and_the_tracker_is_closed() {
    on_each_size("tracker", || async {
        let tracker = TaskTracker::new();
        for n in 0..100 {
            tracker.spawn(async move { n });
        }
        tracker.spawn_blocking(|| 1);
        tracker.spawn_cpu(|| 1);
        let waits: Vec<_> = (0..3)
            .map(|_| {
                let tracker = tracker.clone();
                blitz::spawn(async move { tracker.wait().await })
            })
            .collect();
        let held = tracker.token();
        assert!(tracker.close() && !tracker.close() && tracker.is_closed());
        // New tasks may still come.
        tracker.spawn(async {});
        assert!(TaskTracker::ptr_eq(held.task_tracker(), &tracker));
        let other = held.clone();
        drop(held);
        assert!(!waits.iter().any(|wait| wait.is_finished()), "one token is left");
        drop(other);
        for wait in waits {
            wait.await.unwrap();
        }
        assert!(tracker.is_empty());
        tracker.wait().await;
        assert!(tracker.reopen() && !tracker.reopen());
        let mut open = pin!(tracker.wait());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(open.as_mut().poll(&mut cx).is_pending(), "the tracker is open");
        // The tracker is closed for a moment, which is enough.
        tracker.close();
        tracker.reopen();
        assert!(open.as_mut().poll(&mut cx).is_ready());
    });
}

#[test]
fn a_task_counts_until_its_future_is_dropped() {
    on_each_size("counted", || async {
        let tracker = TaskTracker::new();
        let aborted = tracker.spawn(pending::<()>());
        let panicked = tracker.spawn(async { panic!("unlucky") });
        let blocked = tracker.spawn_blocking(|| panic!("unlucky"));
        assert!(panicked.await.unwrap_err().is_panic());
        assert!(blocked.await.unwrap_err().is_panic());
        assert_eq!(tracker.len(), 1);
        aborted.abort();
        tracker.close();
        tracker.wait().await;
        let future = tracker.track_future(async {});
        assert_eq!(tracker.len(), 1);
        drop(future);
        assert_eq!(format!("{tracker:?}"), "TaskTracker { len: 0, is_closed: true }");
    });
}

#[test]
fn tasks_that_a_runtime_cancels_are_not_counted_any_more() {
    watched("end of a tracked runtime", |watch| {
        let runtime = watch.workers(2);
        let tracker = TaskTracker::new();
        for _ in 0..50 {
            tracker.spawn_on(pending::<()>(), &runtime.handle());
        }
        tracker.close();
        drop(runtime);
        assert!(tracker.is_empty());
        blitz::block_on(tracker.wait());
    });
}
