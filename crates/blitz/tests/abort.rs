//! Ending tasks and jobs from outside, in every state that they can be in.

mod common;

use blitz::sync::oneshot;
use blitz::task::yield_now;
use blitz::{JoinError, Runtime};
use common::{Tally, Watch, wait_for, wait_for_parked, watched};
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

const WORKERS: [usize; 3] = [1, 2, 8];

/// Returns a watched runtime of one worker.
///
/// While a task or job blocks that worker, no other thread polls or runs anything.
fn without_spares(watch: &Watch) -> Runtime {
    watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap())
}

fn is_cancelled<T>(result: Result<T, JoinError>) -> bool {
    result.is_err_and(|error| error.is_cancelled())
}

#[test]
fn a_task_that_waits_is_dropped() {
    watched("a_task_that_waits_is_dropped", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let tally = Tally::default();
            let token = tally.token();
            let task = runtime.spawn(async move {
                let _token = token;
                pending::<()>().await;
            });
            wait_for_parked(&runtime.handle(), 1);
            assert!(!task.is_finished());
            task.abort();
            assert!(is_cancelled(task.join()));
            assert!(tally.is_even(), "the future is dropped before the handle is notified");
            assert_eq!(runtime.metrics().tasks.waiting, 0);
        }
    });
}

#[test]
fn a_task_that_was_never_polled_is_dropped_without_a_poll() {
    watched("a_task_that_was_never_polled", |watch| {
        let runtime = without_spares(watch);
        let (go, wait) = mpsc::channel::<()>();
        let (started, is_started) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            started.send(()).unwrap();
            wait.recv().unwrap();
        });
        is_started.recv().unwrap();
        let polled = Arc::new(AtomicBool::new(false));
        let tally = Tally::default();
        let (flag, token) = (polled.clone(), tally.token());
        let task = runtime.spawn(async move {
            flag.store(true, SeqCst);
            drop(token);
        });
        task.abort();
        task.abort();
        go.send(()).unwrap();
        blocks.join().unwrap();
        assert!(is_cancelled(task.join()));
        assert!(tally.is_even() && !polled.load(SeqCst));
    });
}

#[test]
fn a_task_that_is_being_polled_ends_with_the_poll() {
    watched("a_task_that_is_being_polled", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let (started, is_started) = mpsc::channel();
            let (go, wait) = mpsc::channel::<()>();
            let tally = Tally::default();
            let (during, after) = (tally.token(), tally.token());
            let task = runtime.spawn(async move {
                started.send(()).unwrap();
                wait.recv().unwrap();
                drop(during);
                yield_now().await;
                std::mem::forget(after);
            });
            is_started.recv().unwrap();
            task.abort();
            assert!(!task.is_finished());
            go.send(()).unwrap();
            assert!(is_cancelled(task.join()));
            assert!(
                tally.is_even(),
                "{} of 2 dropped: the poll goes on, and the code after its await does not run",
                tally.dropped()
            );
        }
    });
}

#[test]
fn a_poll_that_returns_the_result_wins_over_an_abort_during_it() {
    watched("a_poll_that_returns_the_result", |watch| {
        let runtime = watch.workers(1);
        let (send, receive) = mpsc::channel::<blitz::AbortHandle>();
        let task = runtime.spawn(async move {
            receive.recv().unwrap().abort();
            7
        });
        send.send(task.abort_handle()).unwrap();
        assert_eq!(task.join().unwrap(), 7);
    });
}

#[test]
fn a_finished_task_stays_as_it_is() {
    watched("a_finished_task_stays_as_it_is", |watch| {
        let runtime = watch.workers(2);
        let task = runtime.spawn(async { 7 });
        let abort = task.abort_handle();
        wait_for(|| task.is_finished());
        assert!(abort.is_finished());
        assert_eq!(abort.id(), task.id());
        task.abort();
        abort.abort();
        assert_eq!(task.join().unwrap(), 7);
        abort.abort();
        assert!(abort.is_finished(), "the abort handle needs no join handle");
    });
}

#[test]
fn a_task_may_abort_itself_and_goes_on_until_it_waits() {
    watched("a_task_may_abort_itself", |watch| {
        let runtime = watch.workers(1);
        let (send, receive) = oneshot::channel::<blitz::AbortHandle>();
        let steps = Arc::new(AtomicUsize::new(0));
        let count = steps.clone();
        let task = runtime.spawn(async move {
            receive.await.unwrap().abort();
            count.fetch_add(1, SeqCst);
            yield_now().await;
            count.fetch_add(1, SeqCst);
        });
        send.send(task.abort_handle()).unwrap();
        assert!(is_cancelled(task.join()));
        assert_eq!(steps.load(SeqCst), 1);
    });
}

#[test]
fn an_abort_wakes_the_awaiting_task() {
    watched("an_abort_wakes_the_awaiting_task", |watch| {
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let inner = runtime.spawn(pending::<()>());
            let abort = inner.abort_handle();
            let outer = runtime.spawn(async move { is_cancelled(inner.await) });
            wait_for_parked(&runtime.handle(), 2);
            abort.abort();
            assert!(outer.join().unwrap());
        }
    });
}

#[test]
fn tasks_that_own_each_others_handles_end_in_any_order() {
    watched("tasks_that_own_each_others_handles", |watch| {
        /// Aborts its task when it is dropped.
        struct AbortOnDrop(blitz::JoinHandle<()>);
        impl Drop for AbortOnDrop {
            fn drop(&mut self) {
                self.0.abort();
            }
        }
        for workers in WORKERS {
            let runtime = watch.workers(workers);
            let tally = Tally::default();
            let mut chain = runtime.spawn(pending::<()>());
            for _ in 0..1_000 {
                let (next, token) = (AbortOnDrop(chain), tally.token());
                chain = runtime.spawn(async move {
                    let _held = (next, token);
                    pending::<()>().await;
                });
            }
            wait_for_parked(&runtime.handle(), 1_001);
            chain.abort();
            wait_for(|| tally.is_even() && runtime.metrics().tasks.waiting == 0);
            assert!(is_cancelled(chain.join()));
        }
    });
}

#[test]
fn a_job_that_is_aborted_before_it_begins_never_runs() {
    watched("a_job_that_has_not_begun", |watch| {
        let runtime = without_spares(watch);
        let (go, wait) = mpsc::channel::<()>();
        let (started, is_started) = mpsc::channel();
        let blocks = runtime.spawn_cpu(move || {
            started.send(()).unwrap();
            wait.recv().unwrap();
            7
        });
        is_started.recv().unwrap();
        let tally = Tally::default();
        let token = tally.token();
        let queued = runtime.spawn_cpu(move || std::mem::forget(token));
        let abort = queued.abort_handle();
        abort.abort();
        blocks.abort();
        assert!(queued.is_finished() && abort.is_finished() && tally.is_even());
        assert!(is_cancelled(queued.join()));
        go.send(()).unwrap();
        assert_eq!(blocks.join().unwrap(), 7, "a closure that has begun runs to its end");
    });
}

#[test]
fn a_closure_that_waits_for_a_thread_can_be_aborted() {
    watched("a_closure_that_waits_for_a_thread", |watch| {
        let builder = blitz::Runtime::builder().workers(1).max_blocking_threads(1);
        let runtime = watch.runtime(builder.build().unwrap());
        let (go, wait) = mpsc::channel::<()>();
        let first = runtime.spawn_blocking(move || wait.recv().unwrap());
        let second = runtime.spawn_blocking(|| ());
        second.abort();
        assert!(is_cancelled(runtime.block_on(second)));
        go.send(()).unwrap();
        first.join().unwrap();
        runtime.spawn_blocking(|| ()).join().unwrap();
    });
}
