//! The list of tasks.

use super::common::{pool, wait_for, watched};
use blitz::{Pool, TaskInfo, TaskState, task};
use std::future::{pending, poll_fn};
use std::panic::Location;
use std::sync::Mutex;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Returns the task of this id, once it waits.
fn waiting(pool: &Pool, id: task::Id) -> TaskInfo {
    let found = || pool.tasks().get(id).filter(|t| t.state() == TaskState::Waiting).cloned();
    wait_for(|| found().is_some());
    found().unwrap()
}

#[test]
fn a_task_says_where_it_was_spawned_and_what_it_is() {
    let pool = pool(2);
    let (here, task) = (Location::caller(), pool.spawn(pending::<()>()));
    let info = waiting(&pool, task.id());
    assert_eq!((info.site().file(), info.site().line()), (here.file(), here.line()));
    assert!(info.type_name().contains("Pending"), "{info}");
    assert_eq!((info.name(), info.wakers()), (None, 0));
    assert!(pool.tasks().iter().all(|task| task.idle().is_some()));
    let text = info.to_string();
    assert!(text.starts_with(&format!("task {} waits", task.id())), "{text}");
    assert!(text.ends_with(&info.site().to_string()), "{text}");
}

#[test]
fn each_way_to_spawn_records_its_caller() {
    let pool = pool(2);
    let handle = pool.handle();
    let mut set = blitz::JoinSet::new();
    let mut map = task::JoinMap::new();
    let tracker = task::TaskTracker::new();
    let line = line!();
    let tasks = [
        handle.spawn(pending::<()>()).abort_handle(),
        pool.try_spawn(pending::<()>()).unwrap().abort_handle(),
        set.spawn_on(pending::<()>(), &handle),
        task::Builder::new().name("n").spawn_on(pending::<()>(), &handle).unwrap().abort_handle(),
        pool.install(|| blitz::spawn(pending::<()>())).abort_handle(),
        pool.install(|| blitz::try_spawn(pending::<()>()).unwrap()).abort_handle(),
        tracker.spawn_on(pending::<()>(), &handle).abort_handle(),
    ];
    for (task, line) in tasks.iter().zip(line + 2..) {
        let info = waiting(&pool, task.id());
        assert_eq!((info.site().file(), info.site().line()), (file!(), line), "{info}");
        assert_eq!(info.name().is_some(), task.id() == tasks[3].id(), "{info}");
    }
    map.spawn_on("key", pending::<()>(), &handle);
    let line = line!() - 1;
    wait_for(|| pool.tasks().iter().any(|task| task.site().line() == line));
}

#[test]
fn wakers_are_counted_and_states_are_listed() {
    static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
    let pool = Pool::builder().workers(1).spares(0).build().unwrap();
    let task = pool.spawn(poll_fn(|cx| {
        let mut wakers = WAKERS.lock().unwrap();
        if wakers.is_empty() {
            wakers.extend([cx.waker().clone(), cx.waker().clone()]);
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
    assert_eq!(waiting(&pool, task.id()).wakers(), 2);
    let abort = task.abort_handle();
    assert_eq!(waiting(&pool, task.id()).wakers(), 3, "an abort handle counts as a waker");
    drop(abort);
    // The only worker is busy and there is no spare, so the task stays runnable.
    let (go, gone) = mpsc::channel::<()>();
    let (began, begun) = mpsc::channel();
    pool.spawn_detached(move || {
        began.send(()).unwrap();
        gone.recv().unwrap();
    });
    begun.recv().unwrap();
    let waker = WAKERS.lock().unwrap().pop().unwrap();
    waker.wake();
    let list = pool.tasks();
    let info = list.get(task.id()).unwrap();
    assert_eq!((info.state(), info.wakers(), info.idle()), (TaskState::Runnable, 1, None));
    assert!(info.to_string().contains("is runnable"), "{info}");
    go.send(()).unwrap();
    task.join().unwrap();
    WAKERS.lock().unwrap().clear();
    assert!(pool.tasks().is_empty());
}

#[test]
fn json_has_the_fields_of_the_schema() {
    let pool = pool(1);
    let name = "<script>\"&";
    let named = task::Builder::new().name(name).spawn_on(pending::<()>(), &pool.handle()).unwrap();
    let plain = pool.spawn(pending::<()>());
    waiting(&pool, named.id());
    waiting(&pool, plain.id());
    let json: serde_json::Value = serde_json::from_str(&pool.tasks().to_json()).unwrap();
    let find = |id: task::Id| {
        let tasks = json.as_array().unwrap();
        tasks.iter().find(|task| task["id"] == id.to_string()).unwrap()
    };
    let (named, plain) = (find(named.id()), find(plain.id()));
    assert_eq!((&named["name"], plain.get("name")), (&name.into(), None));
    for task in [named, plain] {
        assert!(task["id"].as_str().unwrap().starts_with("0x"));
        assert!(task["type"].is_string() && task["site"].as_str().unwrap().contains("tasks.rs:"));
        assert_eq!((&task["state"], &task["wakers"]), (&"waiting".into(), &0.into()));
        task["idle_ms"].as_str().unwrap().parse::<u64>().unwrap();
        assert!(task["waits"].as_array().unwrap().is_empty());
    }
}

#[test]
fn ten_thousand_tasks_are_listed_while_they_come_and_go() {
    watched("ten_thousand_tasks_are_listed_while_they_come_and_go", |watch| {
        const TASKS: usize = 10_000;
        let pool = watch.pool(pool(2));
        let stay: Vec<_> = (0..TASKS).map(|_| pool.spawn(pending::<()>())).collect();
        wait_for(|| pool.tasks().len() == TASKS);
        let churn = |seconds: usize| {
            let pool = pool.clone();
            pool.clone().spawn(async move {
                for _ in 0..seconds {
                    let tasks: Vec<_> = (0..100).map(|_| pool.spawn(pending::<()>())).collect();
                    task::yield_now().await;
                    tasks.iter().for_each(blitz::JoinHandle::abort);
                    task::yield_now().await;
                }
            })
        };
        let mut churns: Vec<_> = (0..2).map(|_| churn(50)).collect();
        while !churns.iter().all(blitz::JoinHandle::is_finished) {
            let list = pool.tasks();
            let ids: std::collections::HashSet<_> = list.iter().map(TaskInfo::id).collect();
            assert_eq!(ids.len(), list.len(), "each task once");
            assert!(stay.iter().all(|task| ids.contains(&task.id())), "no task is missed");
        }
        churns.drain(..).for_each(|churn| churn.join().unwrap());
    });
}

#[test]
fn a_trace_and_a_dump_name_the_site() {
    let pool = pool(1);
    let task = pool.spawn(async {
        let slow = std::time::Instant::now();
        while slow.elapsed().as_micros() < 50 {}
        pending::<()>().await;
    });
    let site = waiting(&pool, task.id()).site().to_string();
    assert!(pool.dump().to_string().contains(&format!("from {site}")));
    let json: serde_json::Value = serde_json::from_str(&pool.dump().to_json()).unwrap();
    assert_eq!(json["tasks"][0]["site"], site);
    assert_eq!(json["tasks"][0]["id"], task.id().to_string());
    let trace = pool.trace(super::ALL);
    let polls: Vec<_> = trace.tracks.iter().flat_map(|track| &track.slices).collect();
    let located = polls.iter().filter(|poll| poll.site.is_some());
    // Whether a poll is recorded depends on how long polls take.
    assert!(located.clone().all(|poll| poll.site.unwrap().to_string() == site));
    let json = trace.to_chrome_json();
    assert_eq!(located.count() > 0, json.contains(&site));
}

#[test]
fn the_longest_polls_of_a_type_show_in_its_99th_percentile() {
    watched("the_longest_polls_of_a_type_show_in_its_99th_percentile", |watch| {
        async fn spins(length: Duration) {
            let begin = std::time::Instant::now();
            while begin.elapsed() < length {
                std::hint::spin_loop();
            }
        }
        // With a handler of slow polls each poll is timed.
        let builder = Pool::builder().workers(1).slow_poll_handler(Duration::MAX, |_, _| ());
        let pool = watch.pool(builder.build().unwrap());
        let length = Duration::from_millis(3);
        pool.spawn(spins(length)).join().unwrap();
        let p99 = || {
            let types = pool.metrics().types;
            types.iter().find(|row| row.name.contains("spins")).map(|row| row.p99)
        };
        // The worker counts a poll after the task has ended.
        wait_for(|| p99().is_some_and(|p99| !p99.is_zero()));
        let p99 = p99().unwrap();
        assert!(p99 > length && p99.as_nanos().is_power_of_two(), "{p99:?}");
    });
}
