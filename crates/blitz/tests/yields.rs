//! Tasks that yield. The worker notes a yield without a wake, so these tests check that no note
//! gets lost.

mod common;

use blitz::task::{LocalSet, YieldNow, yield_now};
use common::watched;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a future that yields once, and finds it pending.
fn yields(context: &mut Context<'_>) -> YieldNow {
    let mut yielding = yield_now();
    assert!(Pin::new(&mut yielding).poll(context).is_pending());
    yielding
}

/// A waker between a task and a future inside it.
///
/// The task polls the future only if this waker was woken.
struct Between {
    woken: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Between {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, SeqCst);
        self.task.lock().unwrap().wake_by_ref();
    }
}

#[test]
fn a_yield_behind_another_waker_wakes_that_waker() {
    watched("a yield behind another waker wakes that waker", |watch| {
        let runtime = watch.workers(1);
        let task = runtime.spawn(async {
            let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
            let between =
                Arc::new(Between { woken: AtomicBool::new(true), task: Mutex::new(waker) });
            let mut inner = Box::pin(async {
                for _ in 0..10 {
                    yield_now().await;
                }
                7
            });
            poll_fn(move |_| {
                if !between.woken.swap(false, SeqCst) {
                    return Poll::Pending;
                }
                let waker = between.clone().into();
                inner.as_mut().poll(&mut Context::from_waker(&waker))
            })
            .await
        });
        assert_eq!(runtime.block_on(task).unwrap(), 7);
    });
}

#[test]
fn a_yield_is_not_lost_to_polls_inside_of_the_poll() {
    watched("a yield is not lost to polls inside of the poll", |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle().clone();
        let mut polls = 0;
        let task = runtime.spawn(poll_fn(move |context| {
            polls += 1;
            if polls > 1 {
                return Poll::Ready(polls);
            }
            drop(yields(context));
            // The only worker polls the two tasks below now, on top of the poll that has yielded.
            handle.block_on(async {
                let often = || async {
                    for _ in 0..3 {
                        yield_now().await;
                    }
                };
                let (a, b) = (blitz::spawn(often()), blitz::spawn(often()));
                a.await.unwrap();
                b.await.unwrap();
            });
            Poll::Pending
        }));
        assert_eq!(runtime.block_on(task).unwrap(), 2);
    });
}

#[test]
fn a_yield_with_the_waker_of_another_task_wakes_that_task() {
    watched("a yield with the waker of another task wakes that task", |watch| {
        let runtime = watch.workers(1);
        let (left, polls) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
        let waits = runtime.spawn({
            let (left, polls) = (left.clone(), polls.clone());
            poll_fn(move |context| {
                *left.lock().unwrap() = Some(context.waker().clone());
                match polls.fetch_add(1, SeqCst) {
                    0 => Poll::Pending,
                    _ => Poll::Ready(()),
                }
            })
        });
        let other = async move {
            while polls.load(SeqCst) == 0 {
                yield_now().await;
            }
            let waker = left.lock().unwrap().take().unwrap();
            drop(yields(&mut Context::from_waker(&waker)));
        };
        runtime.block_on(runtime.spawn(other)).unwrap();
        runtime.block_on(waits).unwrap();
    });
}

#[test]
fn a_poll_that_yields_and_ends_is_the_last() {
    watched("a poll that yields and ends is the last", |watch| {
        let runtime = watch.workers(1);
        for _ in 0..100 {
            let polls = Arc::new(AtomicUsize::new(0));
            let task = runtime.spawn({
                let polls = polls.clone();
                poll_fn(move |context| {
                    polls.fetch_add(1, SeqCst);
                    drop(yields(context));
                    Poll::Ready(())
                })
            });
            runtime.block_on(task).unwrap();
            // The next task reuses the memory of the last one, and must not count as having
            // yielded.
            let later = Arc::new(AtomicUsize::new(0));
            let waits = runtime.spawn({
                let later = later.clone();
                poll_fn(move |_| {
                    later.fetch_add(1, SeqCst);
                    Poll::<()>::Pending
                })
            });
            // Meanwhile the worker would poll a task again that had yielded.
            let others = async move {
                while later.load(SeqCst) == 0 {
                    yield_now().await;
                }
                for _ in 0..3 {
                    yield_now().await;
                }
                later.load(SeqCst)
            };
            assert_eq!(runtime.block_on(runtime.spawn(others)).unwrap(), 1);
            waits.abort();
            assert!(runtime.block_on(waits).unwrap_err().is_cancelled());
            assert_eq!(polls.load(SeqCst), 1);
        }
    });
}

#[test]
fn an_aborted_task_that_yields_is_not_polled_again() {
    watched("an aborted task that yields is not polled again", |watch| {
        let runtime = watch.workers(1);
        let polls = Arc::new(AtomicUsize::new(0));
        let abort = Arc::new(Mutex::new(None::<blitz::AbortHandle>));
        let task = {
            // The lock is held until it contains the abort handle.
            let mut handle = abort.lock().unwrap();
            let task = runtime.spawn({
                let (polls, abort) = (polls.clone(), abort.clone());
                poll_fn(move |context| {
                    polls.fetch_add(1, SeqCst);
                    abort.lock().unwrap().as_ref().unwrap().abort();
                    drop(yields(context));
                    Poll::<()>::Pending
                })
            });
            *handle = Some(task.abort_handle());
            task
        };
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(polls.load(SeqCst), 1);
    });
}

#[test]
fn local_tasks_yield_in_turn() {
    watched("local tasks yield in turn", |watch| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let local = LocalSet::new();
        let tasks: Vec<_> = (0..3)
            .map(|task| {
                let order = order.clone();
                local.spawn_local(async move {
                    for _ in 0..3 {
                        order.lock().unwrap().push(task);
                        yield_now().await;
                    }
                })
            })
            .collect();
        watch.workers(1).block_on(local.run_until(async {
            for task in tasks {
                task.await.unwrap();
            }
        }));
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    });
}
