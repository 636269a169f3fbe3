//! `block_on` is legal everywhere: it neither panics nor hangs, whatever thread, task or job calls
//! it.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::task::yield_now;
use blitz::{Handle, Pool, Runtime, WaitPolicy};
use common::{Tally, wait_for_parked, watched};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// Returns runtimes with few and many workers, and with each wait policy.
fn runtimes() -> impl Iterator<Item = Runtime> {
    let policies = [WaitPolicy::StealAnything, WaitPolicy::DescendantsOnly];
    policies.into_iter().flat_map(|policy| {
        [1, 2, 8].into_iter().map(move |workers| {
            Runtime::builder().workers(workers).wait_policy(policy).build().unwrap()
        })
    })
}

/// Returns 7, once the pool has polled a task, run a job and woken the caller.
fn seven() -> u32 {
    blitz::block_on(async {
        let task = blitz::spawn(async {
            yield_now().await;
            3
        });
        let job = blitz::spawn_cpu(|| 4);
        task.await.unwrap() + job.await.unwrap()
    })
}

#[test]
fn on_foreign_threads_workers_and_blocking_threads() {
    watched("on_foreign_threads_workers_and_blocking_threads", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            assert_eq!(runtime.block_on(async { seven() }), 7);
            assert_eq!(runtime.pool().install(seven), 7);
            assert_eq!(runtime.spawn_cpu(seven).join().unwrap(), 7);
            assert_eq!(runtime.spawn(async { seven() }).join().unwrap(), 7);
            assert_eq!(runtime.spawn_blocking(seven).join().unwrap(), 7);
            let handle = runtime.handle();
            let foreign = std::thread::spawn(move || handle.block_on(async { seven() }));
            assert_eq!(foreign.join().unwrap(), 7);
        }
    });
}

#[test]
fn inside_of_join_scope_and_broadcast() {
    watched("inside_of_join_scope_and_broadcast", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let fork = || {
                let (a, b) = blitz::join(seven, || blitz::join(seven, seven));
                let sum = AtomicUsize::new(0);
                blitz::scope(|s| {
                    for _ in 0..4 {
                        s.spawn(|_| {
                            sum.fetch_add(seven() as usize, SeqCst);
                        });
                    }
                });
                let all = blitz::broadcast(|_| seven());
                assert!(all.iter().all(|&n| n == 7));
                a + b.0 + b.1 + sum.into_inner() as u32
            };
            assert_eq!(runtime.pool().install(fork), 49);
            assert_eq!(runtime.spawn(async move { fork() }).join().unwrap(), 49);
        }
    });
}

#[test]
fn inside_of_itself() {
    watched("inside_of_itself", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let nested = || {
                blitz::block_on(async {
                    let inner = blitz::block_on(async {
                        yield_now().await;
                        blitz::block_on(async { seven() })
                    });
                    yield_now().await;
                    inner
                })
            };
            assert_eq!(runtime.block_on(async { nested() }), 7);
            assert_eq!(runtime.spawn(async move { nested() }).join().unwrap(), 7);
            assert_eq!(runtime.pool().install(nested), 7);
        }
    });
}

/// Waits for a task that waits for a task, and so on.
fn nest(depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    1 + blitz::block_on(blitz::spawn(async move { nest(depth - 1) })).unwrap()
}

#[test]
fn a_few_levels_of_tasks() {
    watched("a_few_levels_of_tasks", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            assert_eq!(runtime.spawn(async { nest(6) }).join().unwrap(), 6);
            assert_eq!(runtime.block_on(async { nest(6) }), 6);
        }
    });
}

#[test]
fn many_levels_of_tasks_in_deep_nesting() {
    watched("many_levels_of_tasks_in_deep_nesting", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            assert_eq!(runtime.spawn(async { nest(150) }).join().unwrap(), 150);
        }
        // So many levels may not fit onto one small stack: a worker that has little stack left
        // leaves the next task to another worker.
        let pool = Pool::builder().workers(8).stack_size(512 << 10);
        let runtime = watch.runtime(pool.build().unwrap());
        assert_eq!(runtime.spawn(async { nest(150) }).join().unwrap(), 150);
    });
}

#[test]
fn more_waiting_tasks_than_fit_onto_the_stack() {
    watched("more_waiting_tasks_than_fit_onto_the_stack", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let (go, _) = blitz::sync::broadcast::channel::<()>(1);
            let waiting = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..2_000)
                .map(|n: u64| {
                    let (mut wait, waiting) = (go.subscribe(), waiting.clone());
                    runtime.spawn(async move {
                        waiting.fetch_add(1, SeqCst);
                        blitz::block_on(wait.recv()).unwrap();
                        n
                    })
                })
                .collect();
            common::wait_for(|| waiting.load(SeqCst) > 0);
            go.send(()).unwrap();
            let sum: u64 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
            assert_eq!(sum, 1_999_000);
        }
    });
}

#[test]
fn across_two_pools_and_back() {
    watched("across_two_pools_and_back", |watch| {
        for (there, back) in [(1, 1), (1, 2), (2, 2), (8, 8)] {
            let a = watch.workers(there);
            let b = watch.workers(back);
            let (a, b) = (a.handle(), b.handle());
            // Waits for a task of `there`, which waits for a task of `here`, and so on.
            fn cross(here: &Handle, there: &Handle, depth: u32) -> u32 {
                if depth == 0 {
                    return seven();
                }
                let (from, to) = (there.clone(), here.clone());
                blitz::block_on(there.spawn(async move { cross(&from, &to, depth - 1) })).unwrap()
            }
            let (from, to) = (a.clone(), b.clone());
            assert_eq!(a.spawn(async move { cross(&from, &to, 5) }).join().unwrap(), 7);
            // Now all workers of both pools wait like this at once.
            let tasks: Vec<_> = (0..16)
                .map(|n| {
                    let (from, to) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
                    let (from, to) = (from.clone(), to.clone());
                    from.clone().spawn(async move { cross(&from, &to, 2) })
                })
                .collect();
            assert!(tasks.into_iter().all(|task| task.join().unwrap() == 7));
        }
    });
}

#[test]
fn a_job_of_another_pool_may_wait_for_a_task_of_the_caller() {
    watched("a_job_of_another_pool_may_wait", |watch| {
        let a = watch.workers(1);
        let b = watch.pool(common::pool(1));
        let handle = a.handle();
        let inside = a.spawn(async move {
            b.install(|| handle.block_on(async { blitz::spawn(async { 7 }).await.unwrap() }))
        });
        assert_eq!(inside.join().unwrap(), 7);
    });
}

#[test]
fn a_blocking_closure_may_wait_for_a_task_of_the_worker_that_joins_it() {
    watched("a_blocking_closure_may_wait", |watch| {
        let runtime = watch.workers(1);
        let joined = runtime.spawn(async { blitz::spawn_blocking(seven).join().unwrap() });
        assert_eq!(joined.join().unwrap(), 7);
        assert_eq!(
            runtime.spawn_cpu(|| blitz::spawn_blocking(seven).join().unwrap()).join().unwrap(),
            7
        );
    });
}

#[test]
fn wake_ups_from_foreign_threads_arrive() {
    watched("wake_ups_from_foreign_threads_arrive", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let (requests, mut inbox) = mpsc::unbounded_channel::<oneshot::Sender<usize>>();
            let answering = std::thread::spawn(move || {
                let mut answered = 0;
                while let Some(reply) = inbox.blocking_recv() {
                    reply.send(answered).unwrap();
                    answered += 1;
                }
                answered
            });
            let asks = requests.clone();
            let ask = move |times: usize| {
                for _ in 0..times {
                    let (reply, answer) = oneshot::channel();
                    asks.send(reply).unwrap();
                    blitz::block_on(answer).unwrap();
                }
            };
            let inside = ask.clone();
            runtime.spawn(async move { inside(500) }).join().unwrap();
            let inside = ask.clone();
            runtime.pool().join(|| ask(250), || inside(250));
            ask(500);
            drop((requests, ask, inside));
            assert_eq!(answering.join().unwrap(), 1_500);
        }
    });
}

#[test]
fn late_and_repeated_wake_ups_do_no_harm() {
    watched("late_and_repeated_wake_ups", |watch| {
        let runtime = watch.workers(2);
        let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let wait = |kept: &Arc<Mutex<Vec<Waker>>>, rounds: u32| {
            let mut left = rounds;
            blitz::block_on(std::future::poll_fn(move |cx| {
                kept.lock().unwrap().push(cx.waker().clone());
                left -= 1;
                match left {
                    0 => std::task::Poll::Ready(rounds),
                    _ => {
                        cx.waker().wake_by_ref();
                        std::task::Poll::Pending
                    }
                }
            }))
        };
        let keep = kept.clone();
        assert_eq!(runtime.spawn(async move { wait(&keep, 10) }).join().unwrap(), 10);
        assert_eq!(wait(&kept, 10), 10);
        // The futures are gone, their wakers are not.
        let wakers = std::mem::take(&mut *kept.lock().unwrap());
        assert_eq!(wakers.len(), 20);
        wakers.iter().for_each(Waker::wake_by_ref);
        assert_eq!(wait(&kept, 3), 3);
        drop(runtime);
        wakers.into_iter().for_each(Waker::wake);
        assert_eq!(wait(&kept, 3), 3);
    });
}

#[test]
fn a_panic_passes_through_and_the_worker_works_on() {
    watched("a_panic_passes_through", |watch| {
        let runtime = watch.workers(1);
        let panics = || blitz::block_on(async { panic!("inside") });
        let error = runtime.spawn(async move { panics() }).join().unwrap_err();
        assert_eq!(error.to_string(), "the task panicked: inside");
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(std::panic::catch_unwind(|| runtime.pool().install(panics)).is_err());
        assert_eq!(runtime.spawn(async { seven() }).join().unwrap(), 7);
        assert_eq!(runtime.block_on(async { seven() }), 7);
    });
}

#[test]
fn the_end_of_a_runtime_cancels_the_awaited_task() {
    watched("the_end_of_a_runtime_cancels_the_awaited_task", |watch| {
        for runtime in runtimes() {
            let runtime = watch.runtime(runtime);
            let (tally, cancelled) = (Tally::default(), Arc::new(AtomicUsize::new(0)));
            let wait = |token: common::Token, cancelled: &AtomicUsize| {
                let never = blitz::spawn(async move {
                    let _token = token;
                    pending::<()>().await;
                });
                if blitz::block_on(never).is_err_and(|error| error.is_cancelled()) {
                    cancelled.fetch_add(1, SeqCst);
                }
            };
            for n in 0..4 {
                let (token, count) = (tally.token(), cancelled.clone());
                let wait = move || wait(token, &count);
                match n {
                    0 => drop(runtime.spawn_cpu(wait)),
                    1 => drop(runtime.spawn_blocking(wait)),
                    2 => runtime.pool().spawn_detached(wait),
                    _ => drop(runtime.spawn(async move { wait() })),
                }
            }
            wait_for_parked(&runtime.handle(), 4);
            drop(runtime);
            assert!(tally.is_even());
            assert_eq!((tally.made(), cancelled.load(SeqCst)), (4, 4));
        }
    });
}

/// A future that only yields must not keep the tasks of its pool waiting.
///
/// That also holds if there is no other worker.
#[test]
fn a_future_that_yields_lets_tasks_go_first() {
    watched("a_future_that_yields_lets_tasks_go_first", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).use_current_thread().build().unwrap());
        let polled = pool.block_on(async {
            let polled = Arc::new(AtomicUsize::new(0));
            let count = polled.clone();
            let task = blitz::spawn(async move {
                for _ in 0..10 {
                    count.fetch_add(1, SeqCst);
                    yield_now().await;
                }
            });
            while polled.load(SeqCst) < 10 {
                yield_now().await;
            }
            task.await.unwrap();
            polled
        });
        assert_eq!(polled.load(SeqCst), 10);
    });
}
