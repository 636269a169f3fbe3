//! `LocalSet`: futures that cannot be sent, woken from everywhere, dropped where they belong.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::{JoinSet, LocalSet, Runtime, spawn_local};
use common::watched;
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// A value that is not `Send`. Its drop checks the current thread, and is counted.
struct Here {
    thread: ThreadId,
    drops: Arc<AtomicUsize>,
    stay: Rc<()>,
}

impl Here {
    fn new(drops: &Arc<AtomicUsize>) -> Here {
        Here { thread: thread::current().id(), drops: drops.clone(), stay: Rc::new(()) }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        assert_eq!(thread::current().id(), self.thread);
        assert_eq!(Rc::strong_count(&self.stay), 1);
        self.drops.fetch_add(1, SeqCst);
    }
}

#[test]
fn local_tasks_share_what_cannot_be_sent() {
    let sum = Rc::new(Cell::new(0));
    let set = LocalSet::new();
    blitz::block_on(set.run_until(async {
        let handles: Vec<_> = (0..100)
            .map(|n| {
                let sum = sum.clone();
                spawn_local(async move {
                    blitz::task::yield_now().await;
                    sum.set(sum.get() + n);
                    Rc::new(n)
                })
            })
            .collect();
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(*handle.await.unwrap(), n);
        }
    }));
    assert_eq!(sum.get(), 4_950);
}

#[test]
fn a_set_is_ready_when_its_last_task_is() {
    watched("a_set_is_ready_when_its_last_task_is", |_| {
        let order = Rc::new(RefCell::new(Vec::new()));
        let set = LocalSet::new();
        let inner = order.clone();
        drop(set.spawn_local(async move {
            let again = inner.clone();
            drop(spawn_local(async move {
                blitz::task::yield_now().await;
                again.borrow_mut().push("inner");
            }));
            inner.borrow_mut().push("outer");
        }));
        assert_eq!(format!("{set:?}"), "LocalSet { len: 1, .. }");
        runtime(1).block_on(set);
        assert_eq!(*order.borrow(), ["outer", "inner"]);
        runtime(1).block_on(LocalSet::default());
    });
}

#[test]
fn remaining_tasks_go_on_when_the_set_is_awaited_again() {
    watched("remaining_tasks_go_on_when_the_set_is_awaited_again", |_| {
        let runtime = runtime(2);
        let set = LocalSet::new();
        let (open, gate) = oneshot::channel::<()>();
        let waits = set.spawn_local(async move { gate.await.unwrap() });
        assert_eq!(set.block_on(&runtime, async { 7 }), 7);
        assert!(!waits.is_finished());
        // This send wakes the local task while the set is not awaited.
        open.send(()).unwrap();
        set.block_on(runtime.pool(), waits).unwrap();
        assert_eq!(set.block_on(runtime.handle(), async { blitz::current_num_workers() }), 2);
        let handle = runtime.handle();
        assert_eq!(set.block_on(&handle, async { 7 }), 7);
    });
}

#[test]
fn other_threads_wake_local_tasks() {
    watched("other_threads_wake_local_tasks", |_| {
        let runtime = runtime(4);
        let set = LocalSet::new();
        let here = thread::current().id();
        let total = set.block_on(&runtime, async {
            let handles: Vec<_> = (0..50)
                .map(|n| {
                    let stays = Rc::new(n);
                    let (send, mut receive) = mpsc::channel(1);
                    drop(blitz::spawn(async move {
                        for _ in 0..100 {
                            send.send(1).await.unwrap();
                        }
                    }));
                    spawn_local(async move {
                        let mut count = 0;
                        while let Some(one) = receive.recv().await {
                            assert_eq!(thread::current().id(), here);
                            count += one;
                        }
                        count + *stays
                    })
                })
                .collect();
            let mut total = 0;
            for handle in handles {
                total += handle.await.unwrap();
            }
            total
        });
        assert_eq!(total, 50 * 100 + 49 * 50 / 2);
    });
}

#[test]
fn a_result_that_can_be_sent_may_be_awaited_elsewhere() {
    watched("a_result_that_can_be_sent_may_be_awaited_elsewhere", |_| {
        let runtime = runtime(2);
        let set = LocalSet::new();
        let stays = Rc::new(7);
        let local = set.spawn_local(async move {
            blitz::task::yield_now().await;
            *stays
        });
        let elsewhere = runtime.spawn(async move { local.await.unwrap() + 1 });
        assert_eq!(set.block_on(&runtime, elsewhere).unwrap(), 8);
    });
}

#[test]
fn aborts_come_from_everywhere_and_futures_are_dropped_here() {
    watched("aborts_come_from_everywhere_and_futures_are_dropped_here", |_| {
        let runtime = runtime(2);
        let drops = Arc::new(AtomicUsize::new(0));
        let set = LocalSet::new();
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let guard = Here::new(&drops);
                set.spawn_local(async move {
                    pending::<()>().await;
                    drop(guard);
                })
            })
            .collect();
        set.block_on(&runtime, blitz::task::yield_now());
        let aborts: Vec<_> = handles.iter().map(blitz::JoinHandle::abort_handle).collect();
        thread::spawn(move || aborts.iter().for_each(blitz::AbortHandle::abort)).join().unwrap();
        assert_eq!(drops.load(SeqCst), 0);
        set.block_on(&runtime, async {
            for handle in handles {
                assert!(handle.await.unwrap_err().is_cancelled());
            }
        });
        assert_eq!(drops.load(SeqCst), 20);
    });
}

#[test]
fn a_dropped_set_drops_every_future_once() {
    watched("a_dropped_set_drops_every_future_once", |_| {
        let drops = Arc::new(AtomicUsize::new(0));
        let set = LocalSet::new();
        let mut handles = Vec::new();
        for n in 0..30 {
            let guard = Here::new(&drops);
            handles.push(set.spawn_local(async move {
                // Some wait, some are runnable, some have ended, and some were never polled.
                match n % 3 {
                    0 => pending().await,
                    1 => loop {
                        blitz::task::yield_now().await;
                    },
                    _ => drop(guard),
                }
            }));
        }
        blitz::block_on(set.run_until(blitz::task::yield_now()));
        let guard = Here::new(&drops);
        let unpolled = set.spawn_local(async move { drop(guard) });
        let shielded = Here::new(&drops);
        handles.push(set.spawn_local(blitz::task::shield(async move {
            pending::<()>().await;
            drop(shielded);
        })));
        drop(set);
        assert_eq!(drops.load(SeqCst), 32);
        for (n, handle) in handles.into_iter().enumerate() {
            let cancelled = blitz::block_on(handle).is_err_and(|error| error.is_cancelled());
            assert_eq!(cancelled, n == 30 || n % 3 < 2, "{n}");
        }
        assert!(blitz::block_on(unpolled).unwrap_err().is_cancelled());
    });
}

#[test]
fn wakes_and_aborts_race_with_the_end_of_the_set() {
    watched("wakes_and_aborts_race_with_the_end_of_the_set", |_| {
        let drops = Arc::new(AtomicUsize::new(0));
        for round in 0..500 {
            let set = LocalSet::new();
            let (sends, aborts): (Vec<_>, Vec<_>) = (0..8)
                .map(|_| {
                    let guard = Here::new(&drops);
                    let (send, receive) = oneshot::channel::<()>();
                    let task = set.spawn_local(async move {
                        let _ = receive.await;
                        drop(guard);
                    });
                    (send, task.abort_handle())
                })
                .unzip();
            blitz::block_on(set.run_until(blitz::task::yield_now()));
            let wakes = thread::spawn(move || {
                for send in sends {
                    let _ = send.send(());
                }
            });
            let ends = thread::spawn(move || aborts.iter().for_each(blitz::AbortHandle::abort));
            if round % 2 == 0 {
                blitz::block_on(set.run_until(blitz::task::yield_now()));
            }
            drop(set);
            assert_eq!(drops.load(SeqCst), (round + 1) * 8);
            wakes.join().unwrap();
            ends.join().unwrap();
        }
    });
}

#[test]
fn futures_may_use_the_set_while_it_drops_them() {
    watched("futures_may_use_the_set_while_it_drops_them", |_| {
        /// Spawns, wakes and blocks when it is dropped.
        struct Busy {
            drops: Arc<AtomicUsize>,
            wakes: Option<oneshot::Sender<()>>,
        }
        impl Drop for Busy {
            fn drop(&mut self) {
                let guard = Here::new(&self.drops);
                let late = spawn_local(async move { drop(guard) });
                assert!(late.is_finished());
                assert!(blitz::block_on(late).unwrap_err().is_cancelled());
                if let Some(wakes) = self.wakes.take() {
                    let _ = wakes.send(());
                }
            }
        }

        let drops = Arc::new(AtomicUsize::new(0));
        let set = LocalSet::new();
        for _ in 0..10 {
            let (wakes, waits) = oneshot::channel();
            let busy = Busy { drops: drops.clone(), wakes: Some(wakes) };
            let guard = Here::new(&drops);
            drop(set.spawn_local(async move {
                let _ = waits.await;
                drop(guard);
            }));
            drop(set.spawn_local(async move {
                pending::<()>().await;
                drop(busy);
            }));
        }
        blitz::block_on(set.run_until(blitz::task::yield_now()));
        drop(set);
        assert_eq!(drops.load(SeqCst), 20);
    });
}

#[test]
fn a_busy_set_lets_others_go_first() {
    watched("a_busy_set_lets_others_go_first", |_| {
        // A task that never waits must not starve the future that ends the run, …
        let set = LocalSet::new();
        let polls = Rc::new(Cell::new(0));
        let counted = polls.clone();
        drop(set.spawn_local(async move {
            loop {
                counted.set(counted.get() + 1);
                blitz::task::yield_now().await;
            }
        }));
        blitz::block_on(set.run_until(async {
            for _ in 0..10 {
                blitz::task::yield_now().await;
            }
        }));
        assert!((10..10_000).contains(&polls.get()), "{} polls", polls.get());
        // … or the tasks of another set.
        let other = LocalSet::new();
        let polls_before = polls.get();
        let outcome = other.spawn_local(async move {
            for _ in 0..10 {
                blitz::task::yield_now().await;
            }
            polls.get()
        });
        let busy = other.spawn_local(set);
        let polls = blitz::block_on(other.run_until(outcome)).unwrap();
        assert!((polls_before + 1..polls_before + 10_000).contains(&polls), "{polls} polls");
        busy.abort();
    });
}

#[test]
fn a_task_that_yields_does_not_keep_others_waiting() {
    watched("a_task_that_yields_does_not_keep_others_waiting", |_| {
        let runtime = runtime(1);
        let set = LocalSet::new();
        drop(set.spawn_local(async {
            loop {
                blitz::task::yield_now().await;
            }
        }));
        let (send, receive) = oneshot::channel();
        let woken = set.spawn_local(async move { receive.await.unwrap() });
        set.block_on(&runtime, async {
            blitz::task::yield_now().await;
            blitz::spawn(async { send.send(7).unwrap() }).await.unwrap();
            assert_eq!(woken.await.unwrap(), 7);
        });
    });
}

#[test]
fn a_ready_task_is_made_to_yield_by_its_budget() {
    watched("a_ready_task_is_made_to_yield_by_its_budget", |_| {
        let set = LocalSet::new();
        drop(set.spawn_local(async {
            loop {
                blitz::task::consume_budget().await;
            }
        }));
        let other = set.spawn_local(async { 7 });
        assert_eq!(blitz::block_on(set.run_until(other)).unwrap(), 7);
    });
}

#[test]
fn spawn_local_outside_of_a_set_says_what_to_do() {
    let text = |outcome: thread::Result<()>| *outcome.unwrap_err().downcast::<&str>().unwrap();
    let outside = text(catch_unwind(|| drop(spawn_local(async {}))));
    assert!(outside.contains("outside of a LocalSet"), "{outside}");
    // A set is not current on another thread, in a task of a pool, or after its run has ended.
    let set = LocalSet::new();
    let runtime = runtime(1);
    let inside = set.block_on(&runtime, async {
        let elsewhere = blitz::spawn(async { drop(spawn_local(async {})) }).await;
        drop(spawn_local(async {}));
        elsewhere
    });
    assert!(inside.unwrap_err().is_panic());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(spawn_local(async {})))).is_err());
}

#[test]
fn tasks_of_the_pool_do_not_see_the_set_of_the_worker_they_run_on() {
    watched("tasks_of_the_pool_do_not_see_the_set_of_the_worker_they_run_on", |_| {
        let runtime = runtime(1);
        // The only worker drives a set, and polls the pool's tasks when the set waits.
        let inside = runtime.spawn_cpu(|| {
            let set = LocalSet::new();
            blitz::block_on(set.run_until(async {
                let local = spawn_local(async { blitz::current_worker_index() });
                assert_eq!(local.await.unwrap(), Some(0));
                blitz::spawn(async { drop(spawn_local(async {})) }).await
            }))
        });
        assert!(inside.join().unwrap().unwrap_err().is_panic());
    });
}

#[test]
fn a_local_task_may_block_on_another() {
    watched("a_local_task_may_block_on_another", |_| {
        for depth in [1, 40] {
            let set = LocalSet::new();
            fn nested(depth: usize) -> usize {
                if depth == 0 {
                    return 0;
                }
                1 + spawn_local(async move { nested(depth - 1) }).join().unwrap()
            }
            assert_eq!(blitz::block_on(set.run_until(async move { nested(depth) })), depth);
        }
    });
}

#[test]
fn many_local_tasks_may_block_at_once() {
    watched("many_local_tasks_may_block_at_once", |_| {
        let runtime = runtime(2);
        let set = LocalSet::new();
        let sum = Rc::new(Cell::new(0));
        for n in 0..1_000 {
            let sum = sum.clone();
            drop(set.spawn_local(async move {
                let n = blitz::block_on(blitz::spawn(async move {
                    blitz::task::yield_now().await;
                    n
                }));
                sum.set(sum.get() + n.unwrap());
            }));
        }
        runtime.block_on(set);
        assert_eq!(sum.get(), 499_500);
    });
}

/// Counts how often it is woken.
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn every_run_is_woken_and_dropped_runs_are_forgotten() {
    let set = LocalSet::new();
    let (open, gate) = oneshot::channel::<()>();
    let waits = set.spawn_local(async move { gate.await.unwrap() });
    let counts: Vec<_> = (0..3).map(|_| Arc::new(Wakes(AtomicUsize::new(0)))).collect();
    let wakers: Vec<_> = counts.iter().cloned().map(Waker::from).collect();
    let mut first = Box::pin(set.run_until(pending::<()>()));
    let mut second = Box::pin(set.run_until(pending::<()>()));
    let mut third = Box::pin(set.run_until(waits));
    assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
    assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
    assert!(third.as_mut().poll(&mut Context::from_waker(&wakers[2])).is_pending());
    drop(second);
    open.send(()).unwrap();
    let woken: Vec<_> = counts.iter().map(|count| count.0.load(SeqCst)).collect();
    assert_eq!(woken, [1, 0, 1]);
    drop(wakers);
    assert_eq!(Arc::strong_count(&counts[1]), 1, "the waker of a dropped run is dropped");
    // Each run polls all tasks of the set.
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(counts[2].0.load(SeqCst), 2, "the end of the task wakes its waiter");
    assert!(third.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn panics_go_to_the_handle_or_to_the_pool() {
    watched("panics_go_to_the_handle_or_to_the_pool", |_| {
        let (send, receive) = std::sync::mpsc::channel();
        let pool = blitz::Pool::builder()
            .workers(1)
            .panic_handler(move |payload| send.send(*payload.downcast::<&str>().unwrap()).unwrap());
        let runtime = pool.build().unwrap();
        let set = LocalSet::new();
        let heard = set.spawn_local(async { panic!("heard") });
        drop(set.spawn_local(async { panic!("detached") }));
        let unread = set.spawn_local(async { panic!("unread") });
        let fine = set.spawn_local(async { 7 });
        set.block_on(&runtime, async {
            assert!(heard.await.unwrap_err().is_panic());
            assert_eq!(fine.await.unwrap(), 7);
        });
        assert_eq!(receive.try_recv(), Ok("detached"));
        assert!(receive.try_recv().is_err());
        drop(unread);
        assert_eq!(receive.try_recv(), Ok("unread"));
    });
}

#[test]
fn local_tasks_have_ids_and_shields() {
    watched("local_tasks_have_ids_and_shields", |_| {
        let set = LocalSet::new();
        blitz::block_on(set.run_until(async {
            assert_eq!(blitz::task::try_id(), None);
            let handle = spawn_local(async { blitz::task::id() });
            let id = handle.id();
            assert_eq!(handle.await.unwrap(), id);

            let (open, gate) = oneshot::channel::<()>();
            let done = Rc::new(Cell::new(false));
            let commit = done.clone();
            let shielded = spawn_local(async move {
                blitz::task::shield(async move {
                    gate.await.unwrap();
                    commit.set(true);
                })
                .await;
                pending::<()>().await;
            });
            blitz::task::yield_now().await;
            shielded.abort();
            blitz::task::yield_now().await;
            assert!(!shielded.is_finished());
            open.send(()).unwrap();
            assert!(shielded.await.unwrap_err().is_cancelled());
            assert!(done.get());
        }));
    });
}

#[test]
fn a_join_set_holds_local_tasks() {
    watched("a_join_set_holds_local_tasks", |_| {
        let runtime = runtime(2);
        let local = LocalSet::new();
        let mut set = JoinSet::new();
        set.spawn_local_on(async { Rc::new(1) }, &local);
        local.block_on(&runtime, async {
            set.spawn_local(async { Rc::new(2) });
            set.spawn_local(pending()).abort();
            let (mut sum, mut cancelled) = (0, 0);
            while let Some(joined) = set.join_next().await {
                match joined {
                    Ok(number) => sum += *number,
                    Err(error) => cancelled += i32::from(error.is_cancelled()),
                }
            }
            assert_eq!((sum, cancelled), (3, 1));
        });
    });
}

#[test]
fn parallel_code_runs_inside_of_local_tasks() {
    watched("parallel_code_runs_inside_of_local_tasks", |_| {
        let runtime = runtime(2);
        let set = LocalSet::new();
        let fib = set.block_on(&runtime, async {
            let stays = Rc::new(());
            let fib = spawn_local(async move {
                let fib = common::fib(15);
                drop(stays);
                fib
            });
            fib.await.unwrap()
        });
        assert_eq!(fib, 610);
    });
}

#[test]
fn a_set_may_outlive_its_runs_in_a_thread_local() {
    thread_local! {
        static SET: RefCell<Option<LocalSet>> = const { RefCell::new(None) };
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = drops.clone();
    let thread = thread::spawn(move || {
        let set = LocalSet::new();
        let guard = Here::new(&counted);
        drop(set.spawn_local(async move {
            pending::<()>().await;
            drop(guard);
        }));
        blitz::block_on(set.run_until(blitz::task::yield_now()));
        SET.replace(Some(set));
    });
    thread.join().unwrap();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_run_may_be_dropped_at_any_time() {
    let set = LocalSet::new();
    let drops = Arc::new(AtomicUsize::new(0));
    let guard = Here::new(&drops);
    let run = set.run_until(async move {
        pending::<()>().await;
        drop(guard);
    });
    drop(set.spawn_local(async {}));
    {
        let mut run = pin!(run);
        assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(drops.load(SeqCst), 0);
    }
    assert_eq!(drops.load(SeqCst), 1);
}
