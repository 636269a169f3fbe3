//! Sections of a task that neither an abort nor the end of the runtime interrupts.

mod common;

use blitz::sync::oneshot;
use blitz::task::{shield, yield_now};
use common::{Tally, forget, wait_for, wait_for_parked, watched};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::Poll;

/// Wraps `future` in `depth` shields.
fn nested<'a>(
    depth: usize,
    future: impl Future<Output = ()> + Send + 'a,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    let mut all: Pin<Box<dyn Future<Output = ()> + Send + 'a>> = Box::pin(future);
    for _ in 0..depth {
        all = Box::pin(shield(all));
    }
    all
}

/// Polls a future once, and returns the result.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

#[test]
fn an_abort_waits_for_the_end_of_the_shield() {
    watched("an_abort_waits_for_the_end_of_the_shield", |watch| {
        for (workers, depth) in [(1, 1), (2, 1), (8, 1), (1, 3), (2, 255)] {
            let runtime = watch.workers(workers);
            let (go, wait) = oneshot::channel();
            let steps = Arc::new(AtomicUsize::new(0));
            let count = steps.clone();
            let task = runtime.spawn(async move {
                let section = nested(depth, async {
                    wait.await.unwrap();
                    yield_now().await;
                    count.fetch_add(1, SeqCst);
                });
                section.await;
                count.fetch_add(10, SeqCst);
                yield_now().await;
                count.fetch_add(100, SeqCst);
            });
            wait_for_parked(&runtime.handle(), 1);
            task.abort();
            task.abort();
            assert!(!task.is_finished());
            go.send(()).unwrap();
            assert!(task.join().unwrap_err().is_cancelled());
            assert_eq!(steps.load(SeqCst), 11, "the task runs to the next wait after the shield");
        }
    });
}

#[test]
fn an_abort_before_the_shield_keeps_the_section_from_beginning() {
    watched("an_abort_before_the_shield", |watch| {
        let runtime = watch.workers(1);
        let (go, wait) = oneshot::channel::<()>();
        let tally = Tally::default();
        let token = tally.token();
        let task = runtime.spawn(async move {
            wait.await.unwrap();
            shield(async { std::mem::forget(token) }).await;
        });
        wait_for_parked(&runtime.handle(), 1);
        task.abort();
        // The message may or may not reach the task. The section does not begin in either case.
        let _ = go.send(());
        assert!(task.join().unwrap_err().is_cancelled());
        assert!(tally.is_even());
    });
}

#[test]
fn a_result_that_follows_the_shield_at_once_is_not_lost() {
    watched("a_result_that_follows_the_shield", |watch| {
        let runtime = watch.workers(2);
        let (go, wait) = oneshot::channel();
        let task = runtime.spawn(shield(async move { wait.await.unwrap() }));
        wait_for_parked(&runtime.handle(), 1);
        task.abort();
        go.send(7).unwrap();
        assert_eq!(task.join().unwrap(), 7, "there was no wait at which to cancel it");
    });
}

#[test]
fn inner_shields_end_before_outer_ones() {
    watched("inner_shields_end_before_outer_ones", |watch| {
        let runtime = watch.workers(1);
        let (go, wait) = oneshot::channel();
        let (last, wait_last) = oneshot::channel();
        let task = runtime.spawn(async move {
            shield(async move {
                shield(async { wait.await.unwrap() }).await;
                wait_last.await.unwrap();
                7
            })
            .await
        });
        wait_for_parked(&runtime.handle(), 1);
        task.abort();
        go.send(()).unwrap();
        wait_for(|| runtime.metrics().tasks.polled >= 2);
        assert!(!task.is_finished(), "the outer shield still holds");
        last.send(()).unwrap();
        assert_eq!(task.join().unwrap(), 7);
    });
}

#[test]
fn one_shield_too_many_is_a_panic_of_the_task() {
    watched("one_shield_too_many", |watch| {
        let runtime = watch.workers(1);
        runtime.spawn(nested(255, yield_now())).join().unwrap();
        let error = runtime.spawn(nested(256, yield_now())).join().unwrap_err();
        assert!(error.to_string().contains("255"), "{error}");
        // Outside a task there is nothing to shield from, and nothing to count.
        runtime.block_on(nested(300, yield_now()));
        assert_eq!(runtime.spawn(async { 7 }).join().unwrap(), 7);
    });
}

#[test]
fn a_shield_that_is_dropped_or_whose_future_panics_has_ended() {
    watched("a_shield_that_is_dropped", |watch| {
        let runtime = watch.workers(1);
        let (started, is_started) = mpsc::channel();
        let task = runtime.spawn(async move {
            {
                let mut section = pin!(shield(pending::<()>()));
                assert!(poll_once(section.as_mut()).await.is_pending());
            }
            started.send(()).unwrap();
            pending::<()>().await;
        });
        is_started.recv().unwrap();
        task.abort();
        assert!(task.join().unwrap_err().is_cancelled());
        let panics = runtime.spawn(async {
            let inner = std::panic::AssertUnwindSafe(shield(async { panic!("inside") }));
            inner.0.await;
        });
        assert!(panics.join().unwrap_err().is_panic());
        // The drop would wait for a shield that has not ended.
        drop(runtime);
    });
}

#[test]
fn a_shield_moves_with_its_future() {
    watched("a_shield_moves_with_its_future", |watch| {
        let runtime = watch.workers(2);
        let (go, wait) = oneshot::channel();
        let mut section = Box::pin(shield(async move { wait.await.unwrap() }));
        let first = runtime.spawn(async move {
            assert!(poll_once(section.as_mut()).await.is_pending());
            Some(section)
        });
        let section = first.join().unwrap();
        let second = runtime.spawn(section.unwrap());
        wait_for_parked(&runtime.handle(), 1);
        second.abort();
        go.send(7).unwrap();
        assert_eq!(second.join().unwrap(), 7, "the shield protects the second task now");
    });
}

#[test]
fn the_end_of_the_runtime_waits_for_shields_and_cancels_the_rest() {
    watched("the_end_of_the_runtime_waits_for_shields", |watch| {
        for workers in [1, 2, 8, 64] {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let tally = Tally::default();
            let ends: Vec<_> = (0..4)
                .map(|_| {
                    let (go, wait) = oneshot::channel::<()>();
                    let (section, rest) = (tally.token(), tally.token());
                    let task = runtime.spawn(async move {
                        let _rest = rest;
                        shield(async {
                            // Tasks that a section needs go on until all sections are done.
                            blitz::spawn(wait).await.unwrap().unwrap();
                            drop(section);
                        })
                        .await;
                        pending::<()>().await;
                    });
                    (go, task)
                })
                .collect();
            // Each section waits for a task of its own.
            wait_for_parked(&handle, 8);
            let parked = runtime.spawn(pending::<()>());
            let dropping = std::thread::spawn(move || drop(runtime));
            for (done, (go, task)) in ends.into_iter().enumerate() {
                assert!(!dropping.is_finished());
                assert!(!parked.is_finished(), "no task ends before the last section");
                assert!(tally.dropped() <= 2 * done);
                go.send(()).unwrap();
                drop(task);
            }
            dropping.join().unwrap();
            assert!(parked.join().unwrap_err().is_cancelled());
            assert!(tally.is_even());
        }
    });
}

#[test]
fn a_section_at_the_end_of_the_runtime_is_finished_or_never_begins() {
    watched("a_section_begun_while_the_runtime_ends", |watch| {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for workers in [1, 2, 8] {
            for round in 0..100 {
                let runtime = watch.workers(workers);
                let tasks: Vec<_> = (0..8)
                    .map(|task| {
                        let (begun, ended) = (begun.clone(), ended.clone());
                        runtime.spawn(async move {
                            for _ in 0..(task * round) % 7 {
                                yield_now().await;
                            }
                            shield(async {
                                begun.fetch_add(1, SeqCst);
                                for _ in 0..5 {
                                    yield_now().await;
                                }
                                ended.fetch_add(1, SeqCst);
                            })
                            .await;
                        })
                    })
                    .collect();
                if round % 2 == 0 {
                    wait_for(|| runtime.metrics().tasks.polled > round % 8);
                }
                drop(runtime);
                assert!(tasks.iter().all(|task| task.is_finished()));
                assert_eq!(begun.load(SeqCst), ended.load(SeqCst));
            }
        }
    });
}

/// Begins a section that never ends, in the current task.
async fn begin() -> Pin<Box<impl Future<Output = ()> + Send>> {
    let mut section = Box::pin(shield(pending()));
    assert!(poll_once(section.as_mut()).await.is_pending());
    section
}

#[test]
fn a_forgotten_shield_ends_with_its_task() {
    watched("a_forgotten_shield_ends_with_its_task", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            for depth in 1..4 {
                let forgets = runtime.spawn(async move {
                    for _ in 0..depth {
                        forget(begin().await);
                    }
                });
                forgets.join().unwrap();
            }
            let tally = Tally::default();
            let token = tally.token();
            let panics = runtime.spawn(async move {
                let _token = token;
                forget(begin().await);
                panic!("expected");
            });
            assert!(panics.join().unwrap_err().is_panic());
            // The drop would wait for a shield that has not ended.
            drop(runtime);
            assert!(tally.is_even());
        }
    });
}

#[test]
fn a_forgotten_shield_ends_with_its_task_while_the_runtime_ends() {
    watched("a_forgotten_shield_ends_while_the_runtime_ends", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            let (go, wait) = oneshot::channel();
            let task = runtime.spawn(async move {
                forget(begin().await);
                wait.await.unwrap()
            });
            let other = runtime.spawn(pending::<()>());
            let handle = runtime.handle();
            wait_for_parked(&handle, 2);
            let dropping = std::thread::spawn(move || drop(runtime));
            // Wait until the pool handle's hold is gone, and only the section's hold is left.
            wait_for(|| handle.dump().alive == 1);
            assert!(!dropping.is_finished() && !other.is_finished());
            go.send(7).unwrap();
            assert_eq!(task.join().unwrap(), 7);
            dropping.join().unwrap();
            assert!(other.join().unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn the_hold_of_a_section_that_outlives_its_task_is_given_back_once() {
    watched("a_section_that_outlives_its_task", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let section = runtime.spawn(begin()).join().unwrap();
            drop(runtime);
            assert_eq!((handle.dump().alive, handle.dump().task_holds), (0, 0));
            drop(section);
            assert_eq!((handle.dump().alive, handle.dump().task_holds), (0, 0));
        }
    });
}
