//! Names of Tokio's API: each does what a user of Tokio expects.

mod common;

use blitz::runtime::{Builder, EnterGuard, Handle, Runtime};
use blitz::sync::mpsc;
use blitz::task::{self, coop};
use blitz::{LocalSet, Scheduler, spawn_local};
use common::{wait_for_parked, watched};
use std::cell::Cell;
use std::future::pending;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::thread;

#[test]
fn a_builder_of_tokios_kind_builds_a_runtime() -> io::Result<()> {
    let runtime: Runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .thread_stack_size(1 << 20)
        .enable_all()
        .enable_io()
        .enable_time()
        .global_queue_interval(31)
        .event_interval(61)
        .thread_name_fn(|| "visits".to_owned())
        .build()?;
    let handle: Handle = runtime.handle();
    assert_eq!(handle.num_workers(), 3);
    let name = runtime.spawn(async { thread::current().name().map(str::to_owned) });
    assert_eq!(name.join().unwrap().as_deref(), Some("visits"));
    let guard: EnterGuard<'_> = handle.enter();
    assert_eq!(Handle::current().num_workers(), 3);
    drop(guard);
    Ok(())
}

#[test]
fn a_runtime_of_the_current_thread_polls_its_tasks_there() {
    watched("a_runtime_of_the_current_thread_polls_its_tasks_there", |watch| {
        let runtime = watch.runtime(Builder::new_current_thread().enable_all().build().unwrap());
        let here = thread::current().id();
        assert_eq!(runtime.num_workers(), 1);
        let seen = runtime.block_on(async {
            blitz::time::sleep(std::time::Duration::from_millis(1)).await;
            blitz::spawn(async { thread::current().id() }).await.unwrap()
        });
        assert_eq!(seen, here);
    });
}

#[test]
fn handlers_of_threads_are_called_once_for_each_worker() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (start, stop) = (calls.clone(), calls.clone());
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(move || start.lock().unwrap().push("start"))
        .on_thread_stop(move || stop.lock().unwrap().push("stop"))
        .build()
        .unwrap();
    drop(runtime);
    let mut calls = calls.lock().unwrap().clone();
    calls.sort_unstable();
    assert_eq!(calls, ["start", "start", "stop", "stop"]);
}

#[test]
fn an_error_of_the_builder_becomes_an_io_error() {
    fn build() -> io::Result<Runtime> {
        Ok(Builder::new_multi_thread().worker_threads(1 << 20).build()?)
    }
    let error = build().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("65535"), "{error}");
}

/// A task may read from a channel that is never empty, and so never wait.
///
/// Such a task lets other tasks go first only if it wraps the receive in `cooperative`. Without
/// `cooperative` it would keep the only worker of this test for ever.
#[test]
fn a_cooperative_future_lets_others_go_first() {
    watched("a_cooperative_future_lets_others_go_first", |watch| {
        let runtime = watch.workers(1);
        let done = Arc::new(AtomicBool::new(false));
        let (send, mut receive) = mpsc::unbounded_channel();
        let (again, is_done) = (send.clone(), done.clone());
        send.send(0_u64).unwrap();
        let greedy = runtime.spawn(async move {
            while !is_done.load(SeqCst) {
                let n = coop::cooperative(receive.recv()).await.unwrap();
                again.send(n + 1).unwrap();
            }
        });
        let other = runtime.spawn(async move { done.store(true, SeqCst) });
        other.join().unwrap();
        greedy.join().unwrap();
    });
}

#[blitz::test]
async fn a_budget_comes_to_an_end_and_is_renewed() {
    let polls = blitz::spawn(async {
        let mut spent = 0_u32;
        std::future::poll_fn(|_| {
            while coop::has_budget_remaining() && spent < 1_000_000 {
                spent += 1;
                let mut one = std::pin::pin!(coop::consume_budget());
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(std::future::Future::poll(one.as_mut(), &mut cx).is_ready());
            }
            std::task::Poll::Ready(())
        })
        .await;
        let ended = !coop::has_budget_remaining();
        blitz::task::yield_now().await;
        (ended, coop::has_budget_remaining(), spent)
    });
    let (ended, renewed, spent) = polls.await.unwrap();
    assert!(ended && renewed && spent > 0, "{spent}");
    assert!(coop::unconstrained(async { coop::has_budget_remaining() }).await);
}

#[test]
fn a_set_that_was_entered_takes_local_tasks() {
    watched("a_set_that_was_entered_takes_local_tasks", |watch| {
        let runtime = watch.workers(1);
        let (outer, inner) = (LocalSet::new(), LocalSet::new());
        let count = Rc::new(Cell::new(0));
        let add = |by: u32| {
            let count = count.clone();
            async move { count.set(count.get() + by) }
        };
        let outside = outer.enter();
        let first = spawn_local(add(1));
        let inside = inner.enter();
        let second = spawn_local(add(10));
        drop(inside);
        let third = spawn_local(add(100));
        drop(outside);
        runtime.block_on(outer);
        assert_eq!(count.get(), 101);
        runtime.block_on(inner);
        assert_eq!(count.get(), 111);
        for task in [first, second, third] {
            task.join().unwrap();
        }
        assert!(std::panic::catch_unwind(|| spawn_local(async {})).is_err());
    });
}

#[test]
fn a_worker_says_when_it_parks_and_when_it_is_back() {
    watched("a_worker_says_when_it_parks_and_when_it_is_back", |watch| {
        let (told, events) = std_mpsc::channel();
        let (park, unpark) = (told.clone(), told.clone());
        // A spare would poll some of the tasks if the worker has no processor for long.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .spares(0)
            .on_thread_park(move || park.send("park").unwrap())
            .on_thread_unpark(move || unpark.send("unpark").unwrap())
            .build()
            .unwrap();
        let runtime = watch.runtime(runtime);
        for _ in 0..100 {
            assert_eq!(events.recv(), Ok("park"));
            let told = told.clone();
            runtime.spawn(async move { told.send("task").unwrap() });
            assert_eq!((events.recv(), events.recv()), (Ok("unpark"), Ok("task")));
        }
        drop(runtime);
        let rest: Vec<_> = events.try_iter().collect();
        assert!(rest == ["park", "unpark"] || rest.is_empty(), "{rest:?}");
    });
}

#[test]
fn park_handlers_may_spawn_and_their_panics_are_reported() {
    watched("park_handlers_may_spawn_and_their_panics_are_reported", |watch| {
        let (ran, runs) = std_mpsc::channel();
        let (panicked, panics) = std_mpsc::channel();
        let spawned = AtomicBool::new(false);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_park(move || {
                if !spawned.swap(true, SeqCst) {
                    let ran = ran.clone();
                    blitz::spawn(async move { ran.send(()).unwrap() });
                    panic!("in the handler");
                }
            })
            .panic_handler(move |payload| {
                panicked.send(*payload.downcast::<&str>().unwrap()).unwrap();
            })
            .build()
            .unwrap();
        let runtime = watch.runtime(runtime);
        assert_eq!(panics.recv(), Ok("in the handler"));
        runs.recv().unwrap();
        assert_eq!(runtime.block_on(async { 7 }), 7, "the worker works on");
    });
}

#[blitz::test(start_paused = true)]
async fn a_paused_clock_moves_on_beside_park_handlers() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .start_paused(true)
        .on_thread_park(|| {})
        .build()
        .unwrap();
    let hour = std::time::Duration::from_secs(3_600);
    let passed = runtime.spawn(async move {
        let start = blitz::time::Instant::now();
        blitz::time::sleep(hour).await;
        start.elapsed()
    });
    assert_eq!(passed.await.unwrap(), hour);
    runtime.shutdown_background();
}

#[test]
fn tasks_have_names() {
    watched("tasks_have_names", |watch| {
        let runtime = watch.workers(2);
        let named = || task::Builder::new().name("named");
        let name = || task::name().as_deref().map(str::to_owned);
        runtime.block_on(async {
            assert_eq!(name(), None);
            let nested = named().spawn(async move {
                task::yield_now().await;
                let inner = blitz::spawn(async move { name() }).await.unwrap();
                (name(), inner)
            });
            let expected = Some("named".to_owned());
            assert_eq!(nested.unwrap().await.unwrap(), (expected.clone(), None));
            assert_eq!(named().spawn_blocking(name).unwrap().await.unwrap(), expected);
            let plain = task::Builder::new().spawn(async move { name() }).unwrap();
            assert_eq!(plain.await.unwrap(), None);
            let local = LocalSet::new();
            let task = named().spawn_local_on(async move { name() }, &local).unwrap();
            assert_eq!(local.run_until(task).await.unwrap(), expected);
            let inside = local.run_until(async move {
                named().spawn_local(async move { name() }).unwrap().await.unwrap()
            });
            assert_eq!(inside.await, expected);
        });
        let on = named().spawn_on(async move { name() }, &runtime.handle()).unwrap();
        assert_eq!(on.join().unwrap().as_deref(), Some("named"));
        let on = named().spawn_blocking_on(name, &runtime.handle()).unwrap();
        assert_eq!(on.join().unwrap().as_deref(), Some("named"));
    });
}

#[test]
fn dumps_show_the_names_of_tasks_that_wait() {
    watched("dumps_show_the_names_of_tasks_that_wait", |watch| {
        for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
            let builder = Runtime::builder().workers(2).scheduler(scheduler);
            let runtime = watch.runtime(builder.build().unwrap());
            let handle = runtime.handle();
            let named = task::Builder::new().name("a \"journal\"");
            let named = named.spawn_on(pending::<()>(), &handle).unwrap();
            let plain = task::Builder::new().spawn_on(pending::<()>(), &handle).unwrap();
            wait_for_parked(&handle, 2);
            let dump = handle.dump();
            let shown = |id| dump.tasks.iter().find(|task| task.id == Some(id)).unwrap();
            assert_eq!(shown(named.id()).name.as_deref(), Some("a \"journal\""));
            assert_eq!(shown(plain.id()).name, None);
            let text = dump.to_string();
            assert!(text.contains(&format!("task {} \"a \\\"journal\\\"\"", named.id())), "{text}");
            let json = dump.to_json();
            let entry = |task: &blitz::JoinHandle<()>, name| {
                format!("{{\"id\":\"{}\",\"name\":{name},", task.id())
            };
            assert!(json.contains(&entry(&named, "\"a \\\"journal\\\"\"")), "{json}");
            assert!(json.contains(&entry(&plain, "null")), "{json}");

            // An aborted task leaves no name behind.
            named.abort();
            plain.abort();
            assert!(named.join().unwrap_err().is_cancelled());
            assert!(plain.join().unwrap_err().is_cancelled());
            let names = || handle.dump().tasks.into_iter().filter_map(|task| task.name).count();
            assert_eq!(names(), 0);
        }
    });
}
