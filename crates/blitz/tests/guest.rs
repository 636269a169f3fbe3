//! A Tokio runtime beside the pool: `Builder::tokio_guest`.
#![cfg(feature = "tokio-guest")]

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::{LocalSet, Runtime};
use common::{Tally, fib, on_each_size_of, wait_for, watched};
use std::future::pending;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

fn host(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).tokio_guest().build().unwrap()
}

/// Returns the name of the current thread.
fn here() -> String {
    thread::current().name().unwrap_or("").to_owned()
}

/// Uses a timer, a task and a socket of Tokio's.
async fn use_tokio() -> u32 {
    tokio::time::sleep(SHORT).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_eq!(here(), "blitz-tokio");
        let asked = stream.read_u32().await.unwrap();
        stream.write_u32(asked + 1).await.unwrap();
    });
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_u32(6).await.unwrap();
    let answer = stream.read_u32().await.unwrap();
    server.await.unwrap();
    answer
}

/// Returns the id of the Tokio runtime whose context the current thread is in.
fn current_guest() -> Option<tokio::runtime::Id> {
    tokio::runtime::Handle::try_current().ok().map(|handle| handle.id())
}

fn guest_of(runtime: &Runtime) -> Option<tokio::runtime::Id> {
    runtime.tokio().map(|handle| handle.id())
}

#[test]
fn tasks_use_tokio() {
    on_each_size_of(
        "tasks_use_tokio",
        || Runtime::builder().tokio_guest(),
        || async {
            assert_eq!(use_tokio().await, 7);
            assert_eq!(blitz::spawn(use_tokio()).await.unwrap(), 7);
        },
    );
}

#[test]
fn every_thread_of_the_pool_is_inside_of_the_guest() {
    watched("every_thread_of_the_pool_is_inside_of_the_guest", |watch| {
        let runtime = watch.runtime(host(3));
        let guest = guest_of(&runtime);
        assert!(guest.is_some());
        assert_eq!(runtime.broadcast(|_| current_guest()), [guest; 3]);
        assert_eq!(runtime.install(current_guest), guest);
        assert_eq!(runtime.spawn_cpu(current_guest).join().unwrap(), guest);
        assert_eq!(runtime.spawn_blocking(current_guest).join().unwrap(), guest);
        assert_eq!(runtime.block_on(async { current_guest() }), guest);
        let handle = runtime.handle();
        let foreign = thread::spawn(move || handle.block_on(async { current_guest() }));
        assert_eq!(foreign.join().unwrap(), guest);
        let set = LocalSet::new();
        let local = Rc::new(());
        let inside = set.block_on(&runtime, async move {
            let task = blitz::spawn_local(async move {
                drop(local);
                tokio::time::sleep(SHORT).await;
                current_guest()
            });
            task.await.unwrap()
        });
        assert_eq!(inside, guest);
        // A thread that has entered the pool is inside the guest while it waits.
        let entered = runtime.enter();
        assert_eq!(current_guest(), None);
        assert_eq!(blitz::block_on(async { current_guest() }), guest);
        drop(entered);
        assert_eq!(current_guest(), None);
    });
}

#[test]
fn spares_are_inside_of_the_guest() {
    watched("spares_are_inside_of_the_guest", |watch| {
        let runtime = watch.runtime(host(1));
        let blocked = runtime.spawn(async {
            blitz::task::block_in_place(|| {
                let (send, receive) = mpsc::channel();
                // The pool's only worker blocks, so a spare polls this task.
                drop(blitz::spawn(async move {
                    tokio::time::sleep(SHORT).await;
                    send.send((here(), current_guest())).unwrap();
                }));
                receive.recv().unwrap()
            })
        });
        let (thread, inside) = blocked.join().unwrap();
        assert!(thread.starts_with("blitz-spare"), "{thread}");
        assert_eq!(inside, guest_of(&runtime));
    });
}

#[test]
fn handlers_and_drops_of_tasks_are_inside_of_the_guest() {
    struct Dropped(Arc<Mutex<Vec<Option<tokio::runtime::Id>>>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(current_guest());
        }
    }
    watched("handlers_and_drops_of_tasks_are_inside_of_the_guest", |watch| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (at_start, at_exit) = (seen.clone(), seen.clone());
        // A spare would call the handlers, too.
        let builder = Runtime::builder()
            .workers(1)
            .spares(0)
            .tokio_guest()
            .start_handler(move |_| at_start.lock().unwrap().push(current_guest()))
            .exit_handler(move |_| at_exit.lock().unwrap().push(current_guest()));
        let runtime = watch.runtime(builder.build().unwrap());
        let guest = guest_of(&runtime);
        let token = Dropped(seen.clone());
        drop(runtime.spawn(async move {
            let _token = token;
            pending::<()>().await;
        }));
        common::wait_for_parked(&runtime.handle(), 1);
        drop(runtime);
        assert_eq!(*seen.lock().unwrap(), [guest; 3]);
    });
}

#[test]
fn an_adopted_thread_is_inside_while_it_visits_its_pool() {
    watched("an_adopted_thread_is_inside_while_it_visits_its_pool", |watch| {
        let builder = Runtime::builder().workers(1).use_current_thread().tokio_guest();
        let runtime = watch.runtime(builder.build().unwrap());
        let guest = guest_of(&runtime);
        assert_eq!(current_guest(), None);
        assert_eq!(runtime.install(current_guest), guest);
        assert_eq!(runtime.block_on(runtime.spawn(async { current_guest() })).unwrap(), guest);
        assert_eq!(current_guest(), None);
        assert_eq!(runtime.block_on(runtime.spawn(use_tokio())).unwrap(), 7);
        drop(runtime);
        assert_eq!(current_guest(), None);
    });
}

#[test]
fn threads_of_a_spawner_are_inside() {
    watched("threads_of_a_spawner_are_inside", |watch| {
        let builder = Runtime::builder()
            .workers(2)
            .tokio_guest()
            .spawn_handler(|worker| thread::Builder::new().spawn(|| worker.run()).map(drop));
        let runtime = watch.runtime(builder.build().unwrap());
        assert_eq!(runtime.broadcast(|_| current_guest()), [guest_of(&runtime); 2]);
    });
}

#[test]
fn one_task_uses_both_runtimes() {
    on_each_size_of(
        "one_task_uses_both_runtimes",
        || Runtime::builder().tokio_guest(),
        || async {
            let (mut here, mut there) = common::tcp_pair().await;
            tokio::time::sleep(SHORT).await;
            here.write_u32(7).await.unwrap();
            blitz::time::sleep(SHORT).await;
            assert_eq!(there.read_u32().await.unwrap(), 7);
            // A task of Tokio's uses a socket of Blitz, and a task of Blitz uses Tokio's listener.
            let reader = tokio::spawn(async move { there.read_u32().await });
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let accepts = blitz::spawn(async move { listener.accept().await.map(drop) });
            let connected = blitz::net::TcpStream::connect(address).await;
            connected.unwrap();
            accepts.await.unwrap().unwrap();
            here.write_u32(8).await.unwrap();
            assert_eq!(reader.await.unwrap().unwrap(), 8);
            // The timeout of each runtime ends a wait of the other runtime.
            let late = tokio::time::timeout(SHORT, blitz::time::sleep(Duration::MAX)).await;
            assert!(late.is_err());
            let late = blitz::time::timeout(SHORT, tokio::time::sleep(Duration::MAX)).await;
            assert!(late.is_err());
        },
    );
}

#[test]
fn aborts_cross_the_border() {
    watched("aborts_cross_the_border", |watch| {
        let runtime = watch.runtime(host(2));
        let tally = Tally::default();
        runtime.block_on(async {
            // A Blitz task waits for a Tokio task, which is aborted.
            let token = tally.token();
            let inner = tokio::spawn(async move {
                let _token = token;
                pending::<()>().await;
            });
            let stop = inner.abort_handle();
            let waits = blitz::spawn(inner);
            stop.abort();
            assert!(waits.await.unwrap().unwrap_err().is_cancelled());
            assert_eq!(tally.dropped(), 1);
            // A Tokio task waits for a Blitz task, which is aborted.
            let token = tally.token();
            let inner = blitz::spawn(async move {
                let _token = token;
                tokio::time::sleep(Duration::MAX).await;
            });
            let stop = inner.abort_handle();
            let waits = tokio::spawn(inner);
            stop.abort();
            assert!(waits.await.unwrap().unwrap_err().is_cancelled());
            assert_eq!(tally.dropped(), 2);
            // The abort of a task of Blitz does not end a task of Tokio.
            let (send, receive) = blitz::sync::oneshot::channel();
            let inner = tokio::spawn(receive);
            let waits = blitz::spawn(pending::<()>());
            waits.abort();
            assert!(waits.await.unwrap_err().is_cancelled());
            send.send(7).unwrap();
            assert_eq!(inner.await.unwrap(), Ok(7));
        });
    });
}

#[test]
fn panics_stay_with_their_tasks() {
    watched("panics_stay_with_their_tasks", |watch| {
        let runtime = watch.runtime(host(1));
        runtime.block_on(async {
            let of_tokio = blitz::spawn(tokio::spawn(async { panic!("in the guest") }));
            assert!(of_tokio.await.unwrap().unwrap_err().is_panic());
            let of_blitz = tokio::spawn(blitz::spawn(async { panic!("in the pool") }));
            assert!(of_blitz.await.unwrap().unwrap_err().is_panic());
            let forked = tokio::spawn(async { blitz::join(|| panic!("in a fork"), || ()) });
            assert!(forked.await.unwrap_err().is_panic());
            assert_eq!(use_tokio().await, 7);
        });
        let in_block_on = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async { panic!("in block_on") });
        }));
        assert!(in_block_on.is_err());
        assert_eq!(current_guest(), None);
        assert_eq!(runtime.block_on(use_tokio()), 7);
    });
}

#[test]
fn without_a_guest_tokio_panics_and_the_pool_goes_on() {
    watched("without_a_guest_tokio_panics_and_the_pool_goes_on", |watch| {
        let runtime = watch.workers(1);
        let error = runtime.spawn(async { tokio::time::sleep(SHORT).await }).join().unwrap_err();
        let text = error.into_panic().downcast::<&str>().map_or_else(
            |payload| *payload.downcast::<String>().unwrap(),
            |text| (*text).to_owned(),
        );
        assert!(text.contains("there is no reactor running"), "{text}");
        assert!(runtime.tokio().is_none());
        assert_eq!(runtime.spawn(async { 7 }).join().unwrap(), 7);
    });
}

#[test]
fn runtimes_with_and_without_a_guest_live_side_by_side() {
    watched("runtimes_with_and_without_a_guest_live_side_by_side", |watch| {
        let (one, other) = (Arc::new(watch.runtime(host(2))), Arc::new(watch.runtime(host(2))));
        let plain = watch.workers(2);
        let (one_guest, other_guest) = (guest_of(&one), guest_of(&other));
        assert_ne!(one_guest, other_guest);
        assert_eq!(plain.broadcast(|_| current_guest()), [None; 2]);
        // A task of one runtime blocks on a future in the other runtime. The future is inside the
        // guest of the other runtime. After the future, the task is inside its own guest again.
        let (outer, inner) = (one.clone(), other.clone());
        let seen = one.spawn(async move {
            assert_eq!(current_guest(), guest_of(&outer));
            let inside = inner.block_on(async {
                let before = current_guest();
                tokio::time::sleep(SHORT).await;
                (before, current_guest())
            });
            (inside, current_guest())
        });
        assert_eq!(seen.join().unwrap(), ((other_guest, other_guest), one_guest));
        assert_eq!(plain.block_on(one.spawn(use_tokio())).unwrap(), 7);
    });
}

/// A worker may wait in the context of another runtime, and run other tasks.
///
/// These tasks belong to the worker's pool, and run in the context of the pool's own guest.
#[test]
fn what_runs_on_top_of_a_wait_is_in_the_pools_own_guest() {
    watched("what_runs_on_top_of_a_wait_is_in_the_pools_own_guest", |watch| {
        // There is only one worker, so that the second task runs on top of the first one.
        let (one, other) = (Arc::new(watch.runtime(host(1))), watch.runtime(host(1)));
        let guest = guest_of(&one);
        let handle = one.handle();
        let seen = one.spawn(async move {
            let (send, receive) = blitz::sync::oneshot::channel();
            drop(handle.spawn(async move { send.send(current_guest()).unwrap() }));
            other.block_on(receive).unwrap()
        });
        assert_eq!(seen.join().unwrap(), guest);
        // The same holds while the task keeps an `EnterGuard` of a third runtime.
        let third = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (handle, strange) = (one.handle(), third.handle().clone());
        let seen = one.spawn(async move {
            let entered = strange.enter();
            let inside = current_guest();
            let task = handle.spawn(async { current_guest() });
            let on_top = task.join().unwrap();
            drop(entered);
            (inside == Some(strange.id()), on_top, current_guest())
        });
        assert_eq!(seen.join().unwrap(), (true, guest, guest));
    });
}

#[test]
fn a_forgotten_guard_of_the_users_ends_no_worker() {
    watched("a_forgotten_guard_of_the_users_ends_no_worker", |watch| {
        let runtime = watch.runtime(host(1));
        let handle: &'static tokio::runtime::Handle = Box::leak(Box::new(runtime.tokio().unwrap()));
        runtime.install(|| std::mem::forget(handle.enter()));
        assert_eq!(runtime.spawn(use_tokio()).join().unwrap(), 7);
        drop(runtime);
    });
}

#[test]
fn the_guests_threads_are_in_the_pool() {
    watched("the_guests_threads_are_in_the_pool", |watch| {
        let runtime = watch.runtime(host(3));
        let tokio = runtime.tokio().unwrap();
        let forked = tokio.spawn(async {
            assert_eq!(here(), "blitz-tokio");
            assert_eq!(blitz::Handle::current().num_workers(), 3);
            assert_eq!(blitz::current_num_workers(), 3);
            let on_worker = blitz::spawn(async { here() }).await.unwrap();
            assert!(on_worker.starts_with("blitz-") && on_worker != "blitz-tokio", "{on_worker}");
            blitz::time::sleep(SHORT).await;
            fib(12)
        });
        assert_eq!(runtime.block_on(forked).unwrap(), 144);
        let blocking = tokio.spawn_blocking(|| (blitz::current_num_workers(), fib(12)));
        assert_eq!(runtime.block_on(blocking).unwrap(), (3, 144));
        assert!(runtime.metrics().total().pushes > 0);
    });
}

#[test]
fn ten_thousand_tasks_of_the_guest_are_dropped_at_the_end() {
    watched("ten_thousand_tasks_of_the_guest_are_dropped_at_the_end", |watch| {
        let runtime = watch.runtime(host(2));
        let (tally, running) = (Tally::default(), Arc::new(AtomicUsize::new(0)));
        runtime.block_on(async {
            for at in 0..10_000 {
                let (token, running) = (tally.token(), running.clone());
                drop(tokio::spawn(async move {
                    let _token = token;
                    running.fetch_add(1, SeqCst);
                    match at % 3 {
                        0 => pending().await,
                        1 => tokio::time::sleep(Duration::MAX).await,
                        _ => blitz::time::sleep(Duration::MAX).await,
                    }
                }));
            }
        });
        wait_for(|| running.load(SeqCst) == 10_000);
        assert_eq!(runtime.shutdown_within(Duration::from_secs(200)), Ok(()));
        assert!(tally.is_even(), "{} of {}", tally.dropped(), tally.made());
    });
}

#[test]
fn the_guest_ends_after_the_tasks_that_may_use_it() {
    struct UsesTokio(Arc<AtomicBool>);
    impl Drop for UsesTokio {
        fn drop(&mut self) {
            // The drop of a client may do this, to close its connection.
            let ran = tokio::runtime::Handle::try_current().is_ok_and(|handle| {
                handle.block_on(async { tokio::spawn(async { 7 }).await.is_ok_and(|n| n == 7) })
            });
            self.0.store(ran, SeqCst);
        }
    }
    watched("the_guest_ends_after_the_tasks_that_may_use_it", |watch| {
        let runtime = watch.runtime(host(2));
        let works = Arc::new(AtomicBool::new(false));
        let uses = UsesTokio(works.clone());
        drop(runtime.spawn(async move {
            let _uses = uses;
            pending::<()>().await;
        }));
        common::wait_for_parked(&runtime.handle(), 1);
        drop(runtime);
        assert!(works.load(SeqCst));
    });
}

#[test]
fn tasks_left_in_the_guest_are_reported_in_time() {
    watched("tasks_left_in_the_guest_are_reported_in_time", |watch| {
        let runtime = watch.runtime(host(1));
        let (handle, tokio) = (runtime.handle(), runtime.tokio().unwrap());
        let (go, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel::<()>();
        drop(tokio.spawn(async move {
            begun.send(()).unwrap();
            let _ = wait.recv();
        }));
        begins.recv().unwrap();
        assert_eq!(handle.unfinished().guest, 0);
        // The pool's own part ends first; then only the guest is left.
        let ending = thread::spawn(move || drop(runtime));
        wait_for(|| handle.unfinished().guest == 1);
        let left = handle.unfinished();
        assert!(left.to_string().contains("1 task of the Tokio guest"), "{left}");
        assert!(!left.is_empty());
        drop(go);
        ending.join().unwrap();
        assert!(handle.unfinished().is_empty());
    });
}

#[test]
fn a_shutdown_waits_for_the_guest_no_longer_than_its_limit() {
    watched("a_shutdown_waits_for_the_guest_no_longer_than_its_limit", |watch| {
        let runtime = watch.runtime(host(1));
        let (handle, tokio) = (runtime.handle(), runtime.tokio().unwrap());
        let (go, wait) = mpsc::channel::<()>();
        let blocks = tokio.spawn_blocking(move || wait.recv());
        assert!(runtime.shutdown_within(SHORT).is_err());
        drop(go);
        wait_for(|| handle.unfinished().is_empty());
        drop(blocks);
    });
}

#[test]
fn a_pool_may_be_dropped_on_a_thread_of_its_guest() {
    watched("a_pool_may_be_dropped_on_a_thread_of_its_guest", |watch| {
        for adopts in [false, true] {
            let builder = Runtime::builder().workers(2).tokio_guest();
            let builder = if adopts { builder.use_current_thread() } else { builder };
            let runtime = watch.runtime(builder.build().unwrap());
            let (handle, tokio) = (runtime.handle(), runtime.tokio().unwrap());
            let tally = Tally::default();
            let token = tally.token();
            drop(runtime.spawn(async move {
                let _token = token;
                pending::<()>().await;
            }));
            let (done, is_done) = mpsc::channel();
            drop(tokio.spawn(async move {
                drop(runtime);
                done.send(here()).unwrap();
            }));
            assert_eq!(is_done.recv().unwrap(), "blitz-tokio");
            wait_for(|| handle.unfinished().is_empty());
            assert!(tally.is_even());
        }
    });
}

#[test]
fn a_pool_may_be_dropped_inside_of_another_tokio_runtime() {
    watched("a_pool_may_be_dropped_inside_of_another_tokio_runtime", |watch| {
        let strange = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let runtime = watch.runtime(host(1));
        assert_eq!(runtime.spawn(use_tokio()).join().unwrap(), 7);
        // Tokio panics if one of its own runtimes is dropped inside of `block_on`. The guest is
        // such a runtime.
        strange.block_on(async move { drop(runtime) });
    });
}

#[test]
fn a_pool_may_be_dropped_on_its_own_threads() {
    watched("a_pool_may_be_dropped_on_its_own_threads", |watch| {
        for on_worker in [true, false] {
            let runtime = watch.runtime(host(2));
            let handle = runtime.handle();
            let drops = move || drop(runtime);
            if on_worker {
                handle.spawn_detached(drops);
            } else {
                drop(handle.spawn_blocking(drops));
            }
            wait_for(|| handle.unfinished().is_empty());
        }
        let runtime = Runtime::builder().workers(1).tokio_guest().detach_on_drop().build().unwrap();
        let handle = runtime.handle();
        drop(runtime);
        wait_for(|| handle.unfinished().is_empty());
    });
}

#[test]
fn a_handle_outlives_the_guest() {
    watched("a_handle_outlives_the_guest", |watch| {
        let runtime = watch.runtime(host(1));
        let (handle, tokio) = (runtime.handle(), runtime.tokio().unwrap());
        drop(runtime);
        assert!(handle.spawn(async {}).join().unwrap_err().is_cancelled());
        let late = tokio.spawn(async {});
        assert!(blitz::block_on(late).unwrap_err().is_cancelled());
        assert_eq!(handle.block_on(async { 7 }), 7);
    });
}

#[test]
fn threads_of_the_guest_can_be_chosen() {
    let runtime = Runtime::builder().workers(1).tokio_guest_threads(3).build().unwrap();
    assert_eq!(runtime.tokio().unwrap().metrics().num_workers(), 3);
    let error = Runtime::builder().workers(1).tokio_guest_threads(0).build().unwrap_err();
    assert!(error.is_invalid_config(), "{error}");
    assert!(error.to_string().contains("tokio_guest_threads"), "{error}");
}

#[test]
fn a_pool_that_cannot_be_built_leaves_no_guest() {
    watched("a_pool_that_cannot_be_built_leaves_no_guest", |_| {
        // The team owns the handler, and each thread of the guest owns the team. So `token` is the
        // last reference only once all threads of the guest have ended.
        let token = Arc::new(());
        let in_handler = token.clone();
        let error = Runtime::builder()
            .workers(2)
            .tokio_guest()
            .exit_handler(move |_| drop(in_handler.clone()))
            .spawn_handler(|worker| match worker.index() {
                0 => thread::Builder::new().spawn(|| worker.run()).map(drop),
                _ => Err(std::io::Error::other("no more threads")),
            })
            .build()
            .unwrap_err();
        assert!(error.is_thread_spawn(), "{error}");
        wait_for(|| Arc::strong_count(&token) == 1);
    });
}

#[test]
fn refused_connections_and_taken_ports_are_errors() {
    watched("refused_connections_and_taken_ports_are_errors", |watch| {
        let runtime = watch.runtime(host(1));
        // This socket keeps other sockets away from its port, and does not listen.
        let silent = tokio::net::TcpSocket::new_v4().unwrap();
        silent.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = silent.local_addr().unwrap();
        let refused =
            runtime.spawn(tokio::net::TcpStream::connect(address)).join().unwrap().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{refused}");
        let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = held.local_addr().unwrap();
        let bound = runtime.spawn(tokio::net::TcpListener::bind(taken)).join().unwrap().map(drop);
        assert_eq!(bound.unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[blitz::test(tokio)]
async fn a_test_may_have_a_guest() {
    assert_eq!(use_tokio().await, 7);
    assert_eq!(blitz::spawn(use_tokio()).await.unwrap(), 7);
    let tokio = blitz::Handle::current().tokio().unwrap();
    assert_eq!(tokio.metrics().num_workers(), 1);
}

#[blitz::main(workers = 2, tokio = 1 + 1)]
async fn program() -> usize {
    assert_eq!(blitz::spawn(use_tokio()).await.unwrap(), 7);
    tokio::runtime::Handle::current().metrics().num_workers()
}

#[test]
fn a_program_may_have_a_guest() {
    assert_eq!(program(), 2);
}

/// The guest's clock is the system's: only Blitz's clock is paused.
#[blitz::test(tokio, start_paused = true)]
async fn the_guests_clock_goes_on_while_the_pools_stands() {
    let (real, paused) = (std::time::Instant::now(), blitz::time::Instant::now());
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(real.elapsed() >= Duration::from_millis(5));
    assert_eq!(paused.elapsed(), Duration::ZERO);
    // The clock of an idle pool jumps to the pool's next timer. Timers of the guest do not keep it
    // from jumping.
    blitz::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(paused.elapsed(), Duration::from_secs(3_600));
    assert_eq!(blitz::spawn(use_tokio()).await.unwrap(), 7);
}
