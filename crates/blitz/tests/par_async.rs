//! Parallel loops that async code awaits: by `spawn_cpu`, and as streams.

mod common;

use blitz::par::CancelToken;
use blitz::prelude::*;
use common::watched;
use std::future::poll_fn;
use std::hint::black_box;
use std::pin::Pin;
use std::task::Poll;

#[test]
fn awaiting_a_loop_waits_without_blocking() {
    watched("awaiting_a_loop_waits_without_blocking", |watch| {
        let runtime = watch.workers(2);
        runtime.block_on(async {
            let (open, gate) = std::sync::mpsc::channel();
            let mut sum = blitz::spawn_cpu(move || {
                gate.recv().unwrap();
                (0..1_000_u64).into_par_iter().sum::<u64>()
            });
            // The loop cannot end before this poll has returned.
            poll_fn(|cx| {
                assert!(Pin::new(&mut sum).poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            open.send(()).unwrap();
            assert_eq!(sum.await.unwrap(), 499_500);
        });
    });
}

#[test]
fn a_panic_of_the_loop_is_the_handles_error() {
    watched("a_panic_of_the_loop_is_the_handles_error", |watch| {
        let runtime = watch.workers(2);
        let error = runtime.block_on(async {
            let check = |n: u32| assert_ne!(n, 777, "not that one");
            let result = blitz::spawn_cpu(move || (0..1_000).into_par_iter().for_each(check));
            result.await.unwrap_err()
        });
        let payload = error.into_panic();
        assert!(payload.downcast_ref::<String>().unwrap().contains("not that one"));
        // The pool goes on.
        assert_eq!(runtime.install(|| (0..10).into_par_iter().sum::<u32>()), 45);
    });
}

#[test]
fn a_dropped_handle_lets_the_loop_run_on_until_its_token_says_so() {
    watched("a_dropped_handle_lets_the_loop_run_on_until_its_token_says_so", |watch| {
        let runtime = watch.workers(2);
        let (token, (done, is_done)) = (CancelToken::new(), blitz::sync::oneshot::channel());
        runtime.block_on(async {
            let stop = token.clone();
            drop(blitz::spawn_cpu(move || {
                // Without the token the loop would take centuries.
                let seen = (0..u64::MAX).into_par_iter().cancel_on(&stop).map(black_box).count();
                done.send(seen).unwrap();
            }));
            blitz::task::yield_now().await;
            token.cancel();
            assert!(is_done.await.unwrap() < usize::MAX);
        });
    });
}

#[cfg(feature = "stream")]
mod stream {
    use super::*;
    use futures_core::{FusedStream as _, Stream};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::{Context, Waker};

    async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
        poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
    }

    async fn all<S: Stream + Unpin>(mut stream: S) -> Vec<S::Item> {
        let mut results = Vec::new();
        while let Some(result) = next(&mut stream).await {
            results.push(result);
        }
        results
    }

    #[test]
    fn results_come_in_order_whatever_the_window() {
        watched("results_come_in_order_whatever_the_window", |watch| {
            for workers in [1, 2, 8] {
                let runtime = watch.workers(workers);
                for count in [0, 1, 2, 999, 10_000] {
                    let expected: Vec<u64> = (0..count).map(|n| n * n).collect();
                    for window in [0, 1, 7, 1_000, usize::MAX] {
                        let squares = || blitz::par::stream(0..count, |n| n * n);
                        let results =
                            runtime.block_on(async { all(squares().window(window)).await });
                        assert_eq!(results, expected, "{workers} workers, windows of {window}");
                    }
                    let squares = blitz::par::stream(0..count, |n| n * n);
                    assert_eq!(runtime.block_on(all(squares)), expected);
                }
            }
        });
    }

    #[test]
    fn a_slow_consumer_holds_two_windows_and_no_worker() {
        watched("a_slow_consumer_holds_two_windows_and_no_worker", |watch| {
            let runtime = watch.workers(1);
            let calls = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&calls);
            runtime.block_on(async move {
                let mut numbers = blitz::par::stream(0.., move |n: usize| {
                    count.fetch_add(1, SeqCst);
                    n
                });
                numbers = numbers.window(10);
                for read in 0..100 {
                    assert_eq!(next(&mut numbers).await, Some(read));
                    // The only worker is free: it runs this job and all jobs before it.
                    blitz::spawn_cpu(|| ()).await.unwrap();
                    let called = calls.load(SeqCst);
                    assert!(called <= (read / 10 + 2) * 10, "{called} calls, {read} read");
                }
            });
        });
    }

    #[test]
    fn a_panic_comes_after_the_results_before_its_window_and_ends_the_stream() {
        watched("a_panic_comes_after_the_results_before_its_window_and_ends_the_stream", |watch| {
            let runtime = watch.workers(2);
            let dropped = Arc::new(());
            let held = Arc::clone(&dropped);
            runtime.block_on(async move {
                let mut results = blitz::par::stream(0..100, move |n| {
                    assert_ne!(n, 25, "no {}", Arc::strong_count(&held) > 0);
                    n
                });
                results = results.window(10);
                for n in 0..20 {
                    assert_eq!(next(&mut results).await, Some(n));
                }
                let panicked = poll_fn(|cx| {
                    let poll = || Pin::new(&mut results).poll_next(cx);
                    match catch_unwind(AssertUnwindSafe(poll)) {
                        Ok(Poll::Pending) => Poll::Pending,
                        Ok(Poll::Ready(result)) => panic!("there is a result: {result:?}"),
                        Err(payload) => Poll::Ready(payload),
                    }
                });
                let payload = panicked.await;
                assert!(payload.downcast_ref::<String>().unwrap().contains("no true"));
                assert!(results.is_terminated());
                assert_eq!(next(&mut results).await, None);
            });
            assert_eq!(Arc::strong_count(&dropped), 1, "nothing is leaked");
        });
    }

    #[test]
    fn a_panic_of_the_items_reaches_the_consumer() {
        watched("a_panic_of_the_items_reaches_the_consumer", |watch| {
            let runtime = watch.workers(2);
            let items = (0..).inspect(|n| assert_ne!(*n, 3, "no more items"));
            let read = || runtime.block_on(all(blitz::par::stream(items, |n: u32| n)));
            let payload = catch_unwind(AssertUnwindSafe(read)).unwrap_err();
            assert!(payload.downcast_ref::<String>().unwrap().contains("no more items"));
        });
    }

    #[test]
    fn a_stream_dropped_half_way_drops_its_items_and_results() {
        watched("a_stream_dropped_half_way_drops_its_items_and_results", |watch| {
            let runtime = watch.workers(2);
            let alive = Arc::new(());
            let items: Vec<Arc<()>> = (0..1_000).map(|_| Arc::clone(&alive)).collect();
            runtime.block_on(async move {
                let mut results = blitz::par::stream(items, |item| item).window(10);
                drop(next(&mut results).await);
                drop(results);
                // A window may still be in progress; it ends by itself, and the runtime waits for
                // it.
            });
            drop(runtime);
            assert_eq!(Arc::strong_count(&alive), 1);
        });
    }

    #[test]
    fn a_task_that_is_aborted_drops_its_stream() {
        watched("a_task_that_is_aborted_drops_its_stream", |watch| {
            let runtime = watch.workers(2);
            let alive = Arc::new(());
            let held = Arc::clone(&alive);
            runtime.block_on(async move {
                let (first, is_first) = blitz::sync::oneshot::channel();
                let task = blitz::spawn(async move {
                    let mut first = Some(first);
                    let mut results = blitz::par::stream(0.., move |n: u64| {
                        let _held = &held;
                        n
                    });
                    while next(&mut results).await.is_some() {
                        first.take().into_iter().for_each(|first| first.send(()).unwrap());
                    }
                });
                is_first.await.unwrap();
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            });
            drop(runtime);
            assert_eq!(Arc::strong_count(&alive), 1);
        });
    }

    #[test]
    fn a_stream_begins_with_its_first_poll_and_has_a_size_hint() {
        watched("a_stream_begins_with_its_first_poll_and_has_a_size_hint", |watch| {
            let runtime = watch.workers(2);
            let mut results = blitz::par::stream(0..5, |n| n);
            assert_eq!(results.size_hint(), (0, None));
            runtime.block_on(async {
                assert_eq!(next(&mut results).await, Some(0));
                assert_eq!(results.size_hint(), (4, Some(4)));
                assert!(!results.is_terminated());
            });
            // Results that are ready need no pool.
            let mut cx = Context::from_waker(Waker::noop());
            for n in 1..5 {
                assert_eq!(Pin::new(&mut results).poll_next(&mut cx), Poll::Ready(Some(n)));
            }
            assert_eq!(Pin::new(&mut results).poll_next(&mut cx), Poll::Ready(None));
            assert!(results.is_terminated() && format!("{results:?}").contains("ready: 0"));
        });
    }
}
