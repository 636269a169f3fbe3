//! The end of a runtime: each future is dropped once, each output is delivered or dropped once,
//! whatever the tasks are doing at that moment and wherever the runtime is dropped.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::task::{shield, yield_now};
use blitz::{Handle, JoinHandle, Runtime};
use common::{Tally, Token, runtime, wait_for, wait_for_parked, watched};
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

const WORKERS: [usize; 4] = [1, 2, 8, 64];

/// Where a runtime is dropped.
#[derive(Clone, Copy, Debug)]
enum Place {
    Outside,
    OwnTask,
    OwnJob,
    OwnBlockingThread,
    OtherTask,
    OtherJob,
    OtherBlockingThread,
}

const PLACES: [Place; 7] = [
    Place::Outside,
    Place::OwnTask,
    Place::OwnJob,
    Place::OwnBlockingThread,
    Place::OtherTask,
    Place::OtherJob,
    Place::OtherBlockingThread,
];

/// Drops `runtime` in `place`. Returns after the drop.
///
/// If a thread of the runtime drops it, the runtime may not have ended when the drop returns.
fn drop_in(place: Place, runtime: Runtime, other: &Runtime) {
    let handle = runtime.handle();
    let (dropped, is_dropped) = std::sync::mpsc::channel();
    let end = move || {
        drop(runtime);
        dropped.send(()).unwrap();
    };
    // No branch waits for the result of a task, because the end of the runtime may cancel the task.
    match place {
        Place::Outside => end(),
        Place::OwnTask => drop(handle.spawn(async move { end() })),
        Place::OwnJob => {
            let _entered = handle.enter();
            blitz::spawn_detached(end);
        }
        Place::OwnBlockingThread => drop(handle.spawn_blocking(end)),
        Place::OtherTask => drop(other.spawn(async move { end() })),
        Place::OtherJob => other.pool().spawn_detached(end),
        Place::OtherBlockingThread => drop(other.spawn_blocking(end)),
    }
    is_dropped.recv().unwrap();
}

/// Tasks in every state. A task whose handle is kept may have finished.
struct Crowd {
    handles: Vec<JoinHandle<Token>>,
    /// Ends the shielded sections.
    sections: Vec<oneshot::Sender<()>>,
    /// Wakes tasks while the runtime ends.
    wakers: mpsc::Sender<Token>,
    /// How many sections have begun, and how many have ended.
    sections_begun: Arc<AtomicUsize>,
    sections_ended: Arc<AtomicUsize>,
}

/// How many tasks of each kind a crowd has.
const EACH: usize = 5;

impl Crowd {
    fn gather(handle: &Handle, tally: &Tally) -> Crowd {
        let (mut handles, mut spawned) = (Vec::new(), 0_usize);
        let mut spawn = |future: std::pin::Pin<Box<dyn Future<Output = Token> + Send>>| {
            // Every second task is detached.
            let task = handle.spawn(future);
            if spawned % 2 == 0 {
                handles.push(task)
            } else {
                drop(task)
            }
            spawned += 1;
        };
        let (wakers, woken) = mpsc::channel::<Token>(16);
        let woken = Arc::new(blitz::sync::Mutex::new(woken));
        let (sections_begun, sections_ended) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let mut sections = Vec::new();
        for _ in 0..EACH {
            let (held, output) = (tally.token(), tally.token());
            spawn(Box::pin(async move {
                let _held = held;
                pending::<()>().await;
                output
            }));
            let (held, output) = (tally.token(), tally.token());
            spawn(Box::pin(async move {
                let _held = held;
                for _ in 0..1_000_000 {
                    yield_now().await;
                }
                output
            }));
            let (held, output, woken) = (tally.token(), tally.token(), woken.clone());
            spawn(Box::pin(async move {
                let _held = held;
                // Yield, since the channel might always have a message for this task.
                while woken.lock().await.recv().await.is_some() {
                    blitz::task::consume_budget().await;
                }
                output
            }));
            let (held, output) = (tally.token(), tally.token());
            let (begun, ended) = (sections_begun.clone(), sections_ended.clone());
            let (go, wait) = oneshot::channel();
            sections.push(go);
            spawn(Box::pin(async move {
                let _held = held;
                shield(async {
                    begun.fetch_add(1, SeqCst);
                    wait.await.unwrap();
                    yield_now().await;
                    ended.fetch_add(1, SeqCst);
                })
                .await;
                pending::<()>().await;
                output
            }));
            // A task that ends at once. Its output is not fetched before the runtime ends.
            let output = tally.token();
            spawn(Box::pin(async move { output }));
        }
        Crowd { handles, sections, wakers, sections_begun, sections_ended }
    }
}

#[test]
fn every_future_and_every_output_is_dropped_once() {
    watched("every_future_and_every_output_is_dropped_once", |watch| {
        let other = watch.workers(2);
        for workers in WORKERS {
            for place in PLACES {
                let tally = Tally::default();
                let runtime = watch.workers(workers);
                let handle = runtime.handle();
                let crowd = Crowd::gather(&handle, &tally);
                let Crowd { handles, sections, wakers, .. } = crowd;
                wait_for(|| crowd.sections_begun.load(SeqCst) == EACH);
                let aborted = handle.spawn(pending::<()>());
                aborted.abort();
                // The task spawned last is in a queue, is polled for the first time, or has ended.
                let queued = tally.token();
                drop(handle.spawn(async move { drop(queued) }));
                let (sender, noise) = (wakers.clone(), tally.clone());
                let waking =
                    std::thread::spawn(
                        move || while sender.blocking_send(noise.token()).is_ok() {},
                    );
                let releasing = std::thread::spawn(move || {
                    sections.into_iter().for_each(|go| go.send(()).unwrap());
                });
                drop_in(place, runtime, &other);
                releasing.join().unwrap();
                // The waking thread ends when the receiver is gone, because sending fails then.
                waking.join().unwrap();
                assert!(aborted.join().unwrap_err().is_cancelled());
                for task in handles {
                    match task.join() {
                        Ok(output) => drop(output),
                        Err(error) => assert!(error.is_cancelled(), "{place:?}: {error}"),
                    }
                }
                drop(wakers);
                wait_for(|| tally.is_even());
                let ended = crowd.sections_ended.load(SeqCst);
                assert_eq!(ended, EACH, "{place:?}, {workers} workers");
                assert!(tally.made() > 9 * EACH);
            }
        }
    });
}

#[test]
fn a_drop_outside_has_ended_everything_when_it_returns() {
    watched("a_drop_outside_has_ended_everything", |watch| {
        let other = watch.workers(2);
        for workers in WORKERS {
            for place in [Place::Outside, Place::OtherJob, Place::OtherBlockingThread] {
                let tally = Tally::default();
                let runtime = runtime(workers);
                let handle = runtime.handle();
                for n in 0..20 {
                    let token = tally.token();
                    drop(runtime.spawn(async move {
                        let _token = token;
                        if n % 2 == 0 {
                            pending::<()>().await;
                        }
                        loop {
                            yield_now().await;
                        }
                    }));
                }
                wait_for_parked(&handle, 10);
                drop_in(place, runtime, &other);
                assert!(tally.is_even(), "{place:?}, {workers} workers");
                let metrics = handle.metrics().tasks;
                assert_eq!((metrics.spawned, metrics.waiting), (20, 0));
                assert_eq!((metrics.completed, metrics.cancelled), (0, 20), "{metrics}");
                let in_queues =
                    metrics.queue_depth + metrics.worker_queue_depths.iter().sum::<u64>();
                assert_eq!(in_queues, 0);
            }
        }
    });
}

/// Calls a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Parks `count` tasks with guards, drops the runtime, checks that no task waits.
fn end_with<G: Send + 'static>(runtime: Runtime, count: u64, mut guard: impl FnMut(u64) -> G) {
    let handle = runtime.handle();
    for n in 0..count {
        let guard = guard(n);
        drop(runtime.spawn(async move {
            let _guard = guard;
            pending::<()>().await;
        }));
    }
    wait_for_parked(&handle, count);
    drop(runtime);
    assert_eq!(handle.metrics().tasks.waiting, 0);
}

#[test]
fn drop_handlers_may_spawn() {
    watched("drop_handlers_may_spawn", |_| {
        for workers in WORKERS {
            let tally = Tally::default();
            let cancelled = Arc::new(AtomicUsize::new(0));
            let runtime = runtime(workers);
            let handle = runtime.handle();
            end_with(runtime, 20, |_| {
                let (handle, tally, cancelled) = (handle.clone(), tally.clone(), cancelled.clone());
                OnDrop(move || {
                    let (a, b) = (tally.token(), tally.token());
                    let late = blitz::spawn(async move { drop(a) });
                    let also = handle.spawn(async move { drop(b) });
                    for task in [late, also] {
                        if task.is_finished() {
                            let error = blitz::block_on(task).unwrap_err();
                            cancelled.fetch_add(usize::from(error.is_cancelled()), SeqCst);
                        }
                    }
                })
            });
            assert!(tally.is_even());
            assert_eq!(cancelled.load(SeqCst), 40, "late tasks are cancelled at once");
        }
    });
}

#[test]
fn drop_handlers_may_wake_abort_and_drop_handles_of_others() {
    watched("drop_handlers_may_wake_abort_and_drop", |_| {
        for workers in WORKERS {
            let tally = Tally::default();
            let runtime = runtime(workers);
            // The tasks form a circle. When a task is dropped, it wakes all tasks, aborts the next
            // task and drops the handle of the next task.
            let links: Vec<Arc<Mutex<Option<JoinHandle<()>>>>> =
                (0..50).map(|_| Arc::default()).collect();
            let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
            for n in 0..50 {
                let (next, wakers) = (links[(n + 1) % 50].clone(), wakers.clone());
                let (token, at_end) = (tally.token(), wakers.clone());
                let guard = OnDrop(move || {
                    at_end.lock().unwrap().iter().for_each(Waker::wake_by_ref);
                    if let Some(task) = next.lock().unwrap().take() {
                        task.abort();
                    }
                });
                let task = runtime.spawn(async move {
                    let _held = (guard, token);
                    std::future::poll_fn(|cx| {
                        wakers.lock().unwrap().push(cx.waker().clone());
                        std::task::Poll::<()>::Pending
                    })
                    .await;
                });
                *links[n].lock().unwrap() = Some(task);
            }
            wait_for_parked(&runtime.handle(), 50);
            drop(runtime);
            assert!(tally.is_even());
            assert!(links.iter().all(|link| link.lock().unwrap().is_none()));
            wakers.lock().unwrap().drain(..).for_each(Waker::wake);
        }
    });
}

#[test]
fn drop_handlers_may_wait_for_other_tasks() {
    watched("drop_handlers_may_wait_for_other_tasks", |_| {
        for workers in WORKERS {
            let done = Arc::new(AtomicUsize::new(0));
            let runtime = runtime(workers);
            let handle = runtime.handle();
            for n in 0..10 {
                // In half of the pairs the task that waits is spawned first. So whether the oldest
                // or the newest tasks are cancelled first, some of these tasks wait for a task that
                // is still there.
                let (send, receive) = oneshot::channel::<JoinHandle<()>>();
                let done = done.clone();
                let waits = async move {
                    let mut other = receive.await.ok();
                    let _guard = OnDrop(move || {
                        let cancelled = blitz::block_on(other.take().unwrap()).unwrap_err();
                        done.fetch_add(usize::from(cancelled.is_cancelled()), SeqCst);
                    });
                    pending::<()>().await;
                };
                if n % 2 == 0 {
                    drop(handle.spawn(waits));
                    send.send(handle.spawn(pending())).unwrap();
                } else {
                    send.send(handle.spawn(pending())).unwrap();
                    drop(handle.spawn(waits));
                }
            }
            wait_for_parked(&handle, 20);
            drop(runtime);
            assert_eq!(done.load(SeqCst), 10);
        }
    });
}

#[test]
fn drop_handlers_that_panic_are_reported_and_the_others_run() {
    watched("drop_handlers_that_panic", |_| {
        for workers in WORKERS {
            let (heard, tally) = (Arc::new(AtomicUsize::new(0)), Tally::default());
            let counter = heard.clone();
            let pool = blitz::Pool::builder().workers(workers).panic_handler(move |payload| {
                assert_eq!(*payload.downcast::<&str>().unwrap(), "dropped");
                counter.fetch_add(1, SeqCst);
            });
            let runtime = pool.build().unwrap();
            end_with(runtime, 20, |_| (OnDrop(|| panic!("dropped")), tally.token()));
            assert!(tally.is_even());
            assert_eq!(heard.load(SeqCst), 20);
        }
    });
}

#[test]
fn a_runtime_may_end_in_the_drop_handler_of_one_of_its_tasks() {
    watched("a_runtime_may_end_in_a_drop_handler", |_| {
        for workers in WORKERS {
            let tally = Tally::default();
            let runtime = runtime(workers);
            let handle = runtime.handle();
            let own = Arc::new(Mutex::new(Some(runtime)));
            let token = tally.token();
            let holds = own.clone();
            let task = handle.spawn(async move {
                let _held = (OnDrop(move || drop(holds.lock().unwrap().take())), token);
                pending::<()>().await;
            });
            drop(own);
            wait_for_parked(&handle, 1);
            task.abort();
            assert!(task.join().unwrap_err().is_cancelled());
            wait_for(|| tally.is_even());
            wait_for(|| handle.spawn(async {}).join().is_err_and(|error| error.is_cancelled()));
        }
    });
}

#[test]
fn wakers_outlive_their_runtime() {
    struct Spawns(Handle, AtomicUsize);
    impl Wake for Spawns {
        fn wake(self: Arc<Self>) {
            drop(self.0.spawn(async {}));
            self.1.fetch_add(1, SeqCst);
        }
    }
    watched("wakers_outlive_their_runtime", |_| {
        for workers in WORKERS {
            let runtime = runtime(workers);
            let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
            for _ in 0..20 {
                let kept = kept.clone();
                drop(runtime.spawn(std::future::poll_fn(move |cx| {
                    kept.lock().unwrap().extend([cx.waker().clone(), cx.waker().clone()]);
                    std::task::Poll::<()>::Pending
                })));
            }
            // `awaited` is polled with a waker that spawns a task when it is called.
            let spawns = Arc::new(Spawns(runtime.handle(), AtomicUsize::new(0)));
            let mut awaited = runtime.spawn(pending::<()>());
            let waker = Waker::from(spawns.clone());
            let mut context = std::task::Context::from_waker(&waker);
            assert!(std::pin::Pin::new(&mut awaited).poll(&mut context).is_pending());
            wait_for_parked(&runtime.handle(), 21);
            let early = kept.lock().unwrap().split_off(20);
            let stop = Arc::new(AtomicBool::new(false));
            let done = stop.clone();
            let waking = std::thread::spawn(move || {
                while !done.load(SeqCst) {
                    early.iter().for_each(Waker::wake_by_ref);
                }
            });
            drop(runtime);
            stop.store(true, SeqCst);
            waking.join().unwrap();
            assert_eq!(spawns.1.load(SeqCst), 1);
            assert!(awaited.join().unwrap_err().is_cancelled());
            kept.lock().unwrap().drain(..).for_each(Waker::wake);
        }
    });
}

#[test]
fn tasks_are_cancelled_although_closures_wait_for_them() {
    watched("closures_that_wait_for_tasks", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let (send, mut receive) = mpsc::channel::<u32>(1);
            let (last, is_last) = oneshot::channel();
            drop(runtime.spawn(async move {
                send.send(7).await.unwrap();
                last.send(()).unwrap();
                pending::<()>().await;
                drop(send);
            }));
            // One closure ends when the task drops its sender, the other when `never` is cancelled.
            let consumer = runtime.spawn_blocking(move || {
                std::iter::from_fn(|| receive.blocking_recv()).sum::<u32>()
            });
            let never = runtime.spawn(pending::<()>());
            let waits = runtime.spawn_cpu(move || never.join().unwrap_err().is_cancelled());
            runtime.block_on(is_last).unwrap();
            drop(runtime);
            assert_eq!(consumer.join().unwrap(), 7);
            assert!(waits.join().unwrap());
        }
    });
}

#[test]
fn a_poll_that_blocks_until_another_task_ends_does_not_keep_the_runtime() {
    watched("a_poll_that_blocks_until_another_task_ends", |watch| {
        // There are at least two workers. One is stuck, and another one can cancel the task for
        // which the stuck worker waits.
        for workers in [2, 3, 8].repeat(10) {
            let runtime = watch.workers(workers);
            let (begun, begins) = std::sync::mpsc::channel();
            let stuck = runtime.spawn(async move {
                let (keep, kept) = std::sync::mpsc::channel::<()>();
                // `other` is in the LIFO slot of this worker, or another worker has polled it.
                let other = blitz::spawn(async move {
                    let _keep = keep;
                    pending::<()>().await;
                });
                begun.send(()).unwrap();
                assert!(kept.recv().is_err(), "no task sends a message");
                drop(other);
            });
            begins.recv().unwrap();
            drop(runtime);
            assert!(stuck.is_finished());
        }
    });
}

#[test]
fn jobs_run_to_their_end_and_may_use_the_pool() {
    watched("jobs_run_to_their_end", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let job = runtime.spawn_blocking(move || {
                wait.recv().unwrap();
                let forked = blitz::join(|| 1, || blitz::spawn_cpu(|| 2).join().unwrap());
                let late = blitz::spawn(async { 3 }).join();
                (forked, late.is_err_and(|error| error.is_cancelled()))
            });
            let parked = runtime.spawn(pending::<()>());
            let dropping = std::thread::spawn(move || drop(runtime));
            assert!(parked.join().unwrap_err().is_cancelled(), "tasks do not wait for jobs");
            assert!(!dropping.is_finished());
            go.send(()).unwrap();
            dropping.join().unwrap();
            assert_eq!(job.join().unwrap(), ((1, 2), true));
        }
    });
}

#[test]
fn shutdown_with_and_without_patience() {
    watched("shutdown_with_and_without_patience", |_| {
        let tally = Tally::default();
        let parked = |runtime: &Runtime| {
            let token = tally.token();
            drop(runtime.spawn(async move {
                let _token = token;
                pending::<()>().await;
            }));
        };
        let patient = runtime(2);
        parked(&patient);
        assert!(patient.shutdown_within(std::time::Duration::MAX).is_ok());
        assert!(tally.is_even());
        let background = runtime(2);
        parked(&background);
        background.shutdown_background();
        wait_for(|| tally.is_even());
        let stuck = runtime(1);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let job = stuck.spawn_cpu(move || wait.recv().unwrap());
        assert!(stuck.shutdown_within(std::time::Duration::ZERO).is_err());
        go.send(()).unwrap();
        job.join().unwrap();
    });
}

#[test]
fn an_adopted_thread_ends_its_tasks_too() {
    watched("an_adopted_thread_ends_its_tasks_too", |_| {
        for workers in [1, 2] {
            let tally = Tally::default();
            let token = tally.token();
            let pool = blitz::Pool::builder().workers(workers).use_current_thread();
            let runtime = pool.build().unwrap();
            assert_eq!(runtime.block_on(async { blitz::spawn(async { 7 }).await.unwrap() }), 7);
            drop(runtime.spawn(async move {
                let _token = token;
                pending::<()>().await;
            }));
            let sum = runtime.spawn_cpu(|| blitz::block_on(blitz::spawn(async { 7 })).unwrap());
            assert_eq!(sum.join().unwrap(), 7);
            drop(runtime);
            assert!(tally.is_even());
        }
    });
}

#[test]
fn a_chain_of_tasks_ends_without_filling_the_stack() {
    watched("a_chain_of_tasks", |_| {
        /// Parks tasks, each of which wakes the next when it is dropped.
        ///
        /// Dropping the returned sender wakes the first.
        fn chain(runtime: &Runtime, tally: &Tally) -> Option<oneshot::Sender<()>> {
            let mut next: Option<oneshot::Sender<()>> = None;
            for _ in 0..20_000 {
                let (send, receive) = oneshot::channel();
                let (token, held) = (tally.token(), next.replace(send));
                drop(runtime.spawn(async move {
                    let _held = (token, held);
                    let _ = receive.await;
                    pending::<()>().await;
                }));
            }
            wait_for_parked(&runtime.handle(), 20_000);
            next
        }
        let tally = Tally::default();
        let dropped = runtime(4);
        let first = chain(&dropped, &tally);
        drop((dropped, first));
        assert!(tally.is_even());
        // Worker 0 is a thread that ends without leaving the pool; the pool still works.
        let build = || {
            let pool = blitz::Pool::builder().workers(4).use_current_thread();
            pool.build().unwrap()
        };
        let orphan = std::thread::spawn(build).join().unwrap();
        let first = chain(&orphan, &tally);
        drop((orphan, first));
        wait_for(|| tally.is_even());
        assert_eq!(tally.made(), 40_000);
    });
}
