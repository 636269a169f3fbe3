//! The current pool, and the operations of a handle whose pool is ending or gone.

mod common;

use blitz::Handle;
use common::{Tally, pool, runtime, wait_for, watched};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

/// Returns the number of workers of the current pool; `None` if no pool is current.
///
/// The number tells the pools of a test apart.
fn current() -> Option<usize> {
    Handle::try_current().ok().map(|_| blitz::current_num_workers())
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let (one, two, three) = (runtime(1).handle(), runtime(2).handle(), runtime(3).handle());
    let first = one.enter();
    let second = two.enter();
    let third = three.enter();
    assert_eq!(current(), Some(3));
    drop(second);
    assert_eq!(current(), Some(3));
    drop(third);
    assert_eq!(current(), Some(1));
    let again = two.enter();
    drop(first);
    assert_eq!(current(), Some(2));
    drop(again);
    assert_eq!(current(), None);
}

#[test]
fn an_entered_pool_replaces_the_workers_own_but_not_in_other_work() {
    let (outer, inner) = (runtime(2), runtime(3));
    let (outer_handle, inner_handle) = (outer.handle(), inner.handle());
    outer.block_on(async {
        let task = blitz::spawn(async move {
            assert_eq!(current(), Some(2));
            let entered = inner_handle.enter();
            assert_eq!(current(), Some(3));
            let spawned = blitz::spawn(async { current() });
            assert_eq!(blitz::block_on(spawned).unwrap(), Some(3));
            drop(entered);
            // A waiting worker runs other work of its own pool; that work sees only its own pool.
            let entered = inner_handle.enter();
            let own = outer_handle.spawn(async { current() });
            assert_eq!(blitz::block_on(own).unwrap(), Some(2));
            drop(entered);
            current()
        });
        assert_eq!(task.await.unwrap(), Some(2));
    });
}

#[test]
fn operations_of_a_pool_run_on_it_whatever_is_entered() {
    let (outer, inner) = (pool(2), runtime(3).handle());
    outer.install(|| {
        let _entered = inner.enter();
        assert_eq!(outer.install(current), Some(2));
        assert_eq!(outer.scope(|_| blitz::current_worker_index().map(|_| ())), Some(()));
        let mut workers = 0;
        outer.scope(|s| s.spawn(|_| workers = blitz::current_num_workers()));
        outer.scope_fifo(|s| s.spawn_fifo(|_| workers += blitz::current_num_workers()));
        assert_eq!(workers, 4);
    });
}

#[test]
fn tasks_after_the_end_are_cancelled_at_once() {
    watched("tasks_after_the_end", |_| {
        for workers in [1, 2, 8] {
            let handle = runtime(workers).handle();
            let tally = Tally::default();
            let token = tally.token();
            let late = handle.spawn(async move { drop(token) });
            assert!(late.is_finished());
            assert!(tally.is_even(), "the future is dropped");
            assert!(late.join().unwrap_err().is_cancelled());
            assert!(handle.try_spawn(async {}).unwrap().join().unwrap_err().is_cancelled());
            let inside = handle.block_on(async { blitz::spawn(async {}).await });
            assert!(inside.unwrap_err().is_cancelled());
            assert_eq!(handle.metrics().tasks.completed, 0);
        }
    });
}

#[test]
fn jobs_after_the_end_are_cancelled_at_once() {
    watched("jobs_after_the_end", |_| {
        let handle = runtime(2).handle();
        let tally = Tally::default();
        let token = || tally.token();
        assert!(handle.spawn_blocking(|| 7).join().unwrap_err().is_cancelled());
        let _entered = handle.enter();
        let (a, b, c, d, e) = (token(), token(), token(), token(), token());
        let cpu = blitz::spawn_cpu(move || drop(a));
        assert!(cpu.is_finished() && cpu.join().unwrap_err().is_cancelled());
        let awaited = blitz::spawn_cpu(move || drop(b));
        assert!(blitz::block_on(awaited).unwrap_err().is_cancelled());
        blitz::spawn_detached(move || drop(c));
        blitz::spawn_detached_fifo(move || drop(d));
        blitz::spawn_broadcast(move |_| assert!(std::ptr::addr_of!(e).is_null()));
        assert!(tally.is_even());
        assert_eq!(tally.made(), 5);
    });
}

#[test]
fn scopes_and_joins_run_elsewhere_after_the_end() {
    watched("scopes_and_joins_run_elsewhere", |_| {
        let handle = runtime(2).handle();
        let _entered = handle.enter();
        assert_eq!(blitz::join(|| 1, || 2), (1, 2));
        let sum = AtomicUsize::new(0);
        let add = |n| {
            sum.fetch_add(n, SeqCst);
        };
        blitz::scope(|s| s.spawn(|_| add(1)));
        blitz::in_place_scope(|s| s.spawn(|_| add(2)));
        blitz::scope_fifo(|s| s.spawn_fifo(|_| add(4)));
        blitz::in_place_scope_fifo(|s| s.spawn_fifo(|_| add(8)));
        assert_eq!(sum.load(SeqCst), 15);
        assert!(!blitz::broadcast(|_| ()).is_empty());
    });
}

#[test]
fn a_handle_used_while_the_pool_ends_loses_nothing() {
    watched("a_handle_used_while_the_pool_ends", |_| {
        let tally = Tally::default();
        for round in 0..300 {
            let runtime = runtime(1 + round % 3);
            let started = Arc::new(AtomicUsize::new(0));
            let spawners: Vec<_> = (0..3)
                .map(|_| {
                    let (handle, tally) = (runtime.handle(), tally.clone());
                    let started = started.clone();
                    std::thread::spawn(move || {
                        started.fetch_add(1, SeqCst);
                        let mut refused = 0;
                        while refused < 2 {
                            let (a, b, c) = (tally.token(), tally.token(), tally.token());
                            let task = handle.spawn(async move { drop(a) });
                            let blocking = handle.spawn_blocking(move || drop(b));
                            let entered = handle.enter();
                            let cpu = blitz::spawn_cpu(move || drop(c));
                            assert_eq!(blitz::join(|| 1, || 2), (1, 2));
                            drop(entered);
                            let results = [task.join(), blocking.join(), cpu.join()];
                            let failed = |result: &Result<(), blitz::JoinError>| match result {
                                Ok(()) => false,
                                Err(error) => error.is_cancelled(),
                            };
                            refused += usize::from(results.iter().all(failed));
                        }
                    })
                })
                .collect();
            wait_for(|| started.load(SeqCst) == 3);
            drop(runtime);
            spawners.into_iter().for_each(|thread| thread.join().unwrap());
        }
        assert!(tally.is_even(), "{} of {} dropped", tally.dropped(), tally.made());
    });
}

#[test]
fn spawning_while_thread_locals_are_destroyed_is_safe() {
    struct Late(Option<(Handle, mpsc::Sender<(u32, bool)>)>);
    impl Drop for Late {
        fn drop(&mut self) {
            let Some((handle, send)) = self.0.take() else { return };
            let entered = handle.enter();
            let is_over =
                Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed());
            // If the thread's locals are gone, `enter` has no effect, and `blitz::spawn` uses the
            // global pool.
            let task = blitz::spawn(async { 1 });
            let on_pool = handle.spawn(async { 2 });
            let sum = blitz::block_on(async { task.await.unwrap() + on_pool.await.unwrap() });
            drop(entered);
            let job = handle.spawn_blocking(|| 4).join().unwrap();
            send.send((sum + job, is_over)).unwrap();
        }
    }
    thread_local! {
        static LATE: std::cell::RefCell<Late> = const { std::cell::RefCell::new(Late(None)) };
    }
    watched("spawning_while_thread_locals_are_destroyed", |watch| {
        let runtime = watch.workers(2);
        let (send, receive) = mpsc::channel();
        // The first use of a local decides when it is destroyed.
        let use_locals = |handle: &Handle| {
            drop(handle.enter());
            blitz::block_on(async {});
        };
        for is_first in [true, false] {
            let (handle, late) = (runtime.handle(), (runtime.handle(), send.clone()));
            let thread = std::thread::spawn(move || {
                if is_first {
                    LATE.with(|local| local.replace(Late(Some(late))));
                    use_locals(&handle);
                } else {
                    use_locals(&handle);
                    LATE.with(|local| local.replace(Late(Some(late))));
                }
            });
            thread.join().unwrap();
        }
        // Do the same on a worker thread and on a blocking thread. Both end with their runtime. The
        // blocking thread enters its pool before it runs the closure, so Blitz's locals are older
        // than the test's local.
        let other = watch.workers(1);
        let (handle, late) = (runtime.handle(), (runtime.handle(), send.clone()));
        let on_worker = async move {
            LATE.with(|local| drop(local.replace(Late(Some(late)))));
            use_locals(&handle);
        };
        other.spawn(on_worker).join().unwrap();
        let late = (runtime.handle(), send);
        let blocking = move || LATE.with(|local| drop(local.replace(Late(Some(late)))));
        other.spawn_blocking(blocking).join().unwrap();
        drop(other);
        let (sums, over): (Vec<_>, Vec<_>) = receive.iter().unzip();
        assert_eq!(sums, [7; 4]);
        // The two plain threads used the locals in opposite orders. So on exactly one of them
        // Blitz's local was gone before the test's local. That holds if the system destroys the
        // newest local first, as Linux does, and if it destroys the oldest first.
        assert_ne!(over[0], over[1]);
    });
}

/// Asks for the current pool when its thread ends.
struct Asks(std::sync::mpsc::Sender<Result<(), blitz::TryCurrentError>>);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.send(Handle::try_current().map(drop)).unwrap();
    }
}

#[test]
fn without_a_pool_the_error_says_what_to_do() {
    thread_local! {
        static LAST: std::cell::RefCell<Option<Asks>> = const { std::cell::RefCell::new(None) };
    }
    let error = std::thread::spawn(Handle::try_current).join().unwrap().unwrap_err();
    assert!(error.is_missing_context() && !error.is_thread_local_destroyed());
    assert!(error.to_string().contains("Handle::enter"), "{error}");
    assert_eq!(format!("{error:?}"), format!("TryCurrentError({error})"));
    // Ask while a thread ends. The system decides which of the thread's locals is dropped first.
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        LAST.set(Some(Asks(send)));
        assert!(Handle::try_current().is_err());
    })
    .join()
    .unwrap();
    let error = receive.recv().unwrap().unwrap_err();
    assert!(error.is_missing_context() || error.is_thread_local_destroyed(), "{error}");
}

#[test]
fn a_job_on_top_of_a_waiting_caller_may_drop_the_pool() {
    watched("dropped_on_top", |_| {
        let (a, b) = (pool(1), pool(1));
        let handle = a.handle();
        let (begun, wait) = mpsc::channel();
        b.install(|| {
            blitz::spawn_detached(move || {
                begun.send(()).unwrap();
                drop(a);
            });
            handle.install(move || wait.recv().unwrap());
        });
    });
}

/// Calls `wait` on a worker of a pool, with the handle of another pool and a message to wait for.
/// While the worker waits, it runs a job that sends the message and drops the other pool.
fn drop_on_top(name: &'static str, wait: impl FnOnce(Handle, mpsc::Receiver<()>) + Send) {
    watched(name, |_| {
        let (a, b) = (pool(1), pool(1));
        let handle = a.handle();
        let (begun, begins) = mpsc::channel();
        b.install(|| {
            blitz::spawn_detached(move || {
                begun.send(()).unwrap();
                drop(a);
            });
            wait(handle, begins);
        });
    });
}

#[test]
fn a_job_on_top_of_a_broadcast_may_drop_the_pool() {
    drop_on_top("broadcast_on_handle", |handle, begins| {
        let begins = Mutex::new(begins);
        handle.broadcast(|_| begins.lock().unwrap().recv().unwrap());
    });
    drop_on_top("broadcast_entered", |handle, begins| {
        let begins = Mutex::new(begins);
        let _entered = handle.enter();
        blitz::broadcast(|_| begins.lock().unwrap().recv().unwrap());
    });
}

#[test]
fn a_job_on_top_of_a_scope_may_drop_the_pool() {
    drop_on_top("in_place_scope_on_handle", |handle, begins| {
        handle.in_place_scope(|s| s.spawn(move |_| begins.recv().unwrap()));
    });
    drop_on_top("in_place_scope_fifo_on_handle", |handle, begins| {
        handle.in_place_scope_fifo(|s| s.spawn_fifo(move |_| begins.recv().unwrap()));
    });
    drop_on_top("in_place_scope_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::in_place_scope(|s| s.spawn(move |_| begins.recv().unwrap()));
    });
    drop_on_top("in_place_scope_fifo_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::in_place_scope_fifo(|s| s.spawn_fifo(move |_| begins.recv().unwrap()));
    });
    drop_on_top("scope_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::scope(|s| s.spawn(move |_| begins.recv().unwrap()));
    });
    drop_on_top("scope_fifo_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::scope_fifo(|s| s.spawn_fifo(move |_| begins.recv().unwrap()));
    });
}

#[test]
fn a_job_on_top_of_an_install_in_an_entered_pool_may_drop_the_pool() {
    drop_on_top("install_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::install(move || begins.recv().unwrap());
    });
    drop_on_top("analyze_entered", |handle, begins| {
        let _entered = handle.enter();
        blitz::analyze(move || begins.recv().unwrap());
    });
}

#[test]
fn jobs_of_another_thread_run_while_the_lent_thread_is_away() {
    watched("lent_and_away", |_| {
        // The thread that builds a paused runtime is lent to it as its first worker, here the only
        // one. It is away: below it waits for messages, outside of the runtime's operations.
        let runtime = blitz::Runtime::builder().workers(1).start_paused(true).build().unwrap();
        let handle = runtime.handle();
        let (send, receive) = mpsc::channel();
        let again = send.clone();
        std::thread::spawn(move || {
            handle.spawn_detached(move || send.send(1).unwrap());
            handle.spawn_broadcast(move |_| again.send(2).unwrap());
        });
        let mut seen: Vec<i32> = receive.iter().take(2).collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn jobs_of_a_scope_elsewhere_run_while_the_lent_thread_is_away() {
    /// Calls `blocks` on another thread, while the only worker's thread, which is lent, is away.
    fn beside_lent(blocks: impl FnOnce(&Handle) -> i32 + Send + 'static) {
        let runtime = blitz::Runtime::builder().workers(1).start_paused(true).build().unwrap();
        let handle = runtime.handle();
        assert_eq!(std::thread::spawn(move || blocks(&handle)).join().unwrap(), 7);
    }
    watched("scope_beside_lent", |_| {
        beside_lent(|handle| {
            let (send, receive) = mpsc::channel();
            handle.in_place_scope(|s| {
                s.spawn(move |_| send.send(7).unwrap());
                receive.recv().unwrap()
            })
        });
        beside_lent(|handle| {
            let (send, receive) = mpsc::channel();
            handle.in_place_scope_fifo(|s| {
                s.spawn_fifo(move |_| send.send(7).unwrap());
                receive.recv().unwrap()
            })
        });
        beside_lent(|handle| {
            let (send, receive) = mpsc::channel();
            handle.in_place_scope(|s| {
                s.spawn_broadcast(move |_, _| send.send(7).unwrap());
                receive.recv().unwrap()
            })
        });
    });
}

#[test]
fn a_panic_in_the_drop_of_a_refused_job_reaches_no_caller() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("as the test wants it");
        }
    }
    let heard = Arc::new(AtomicUsize::new(0));
    let hears = heard.clone();
    let pool = blitz::Pool::builder()
        .workers(1)
        .panic_handler(move |_| {
            hears.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let handle = pool.handle();
    drop(pool);
    let bomb = Bomb;
    handle.spawn_broadcast(move |_| {
        let _ = &bomb;
    });
    assert_eq!(heard.load(SeqCst), 1);
}
