//! Ends of runtimes in unusual places.

use super::{Scenario, build, runtime, wait_for};
use blitz::Runtime;
use blitz::time::{Duration, Instant, sleep};
use std::future::Future;
use std::sync::mpsc;
use std::task::Poll;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "adopted-elsewhere",
        "a pool that is dropped on another thread runs its jobs and frees the adopted thread",
        adopted_elsewhere,
    ),
    Scenario::new(
        "adopted-inside",
        "a pool that is dropped inside its own operation lets its closures finish",
        adopted_inside,
    ),
    Scenario::new(
        "adopted-detached",
        "a pool whose drop does not wait serves its closures after the adopted thread has left it",
        adopted_detached,
    ),
    Scenario::new(
        "paused-elsewhere",
        "a runtime with a paused clock works on a thread other than its builder's",
        paused_elsewhere,
    ),
    Scenario::new(
        "paused-callers",
        "the drop of a runtime with a paused clock waits for its tasks while threads call it",
        paused_callers,
    ),
    Scenario::new(
        "forgotten-shield",
        "a forgotten shield does not keep its runtime alive for ever",
        forgotten_shield,
    ),
    Scenario::new(
        "drop-by-worker",
        "a worker that waits for the end of another pool sleeps",
        drop_by_worker,
    ),
];

fn adopt(workers: usize) -> blitz::Pool {
    blitz::Pool::builder().workers(workers).use_current_thread().build().unwrap()
}

fn assert_free() {
    assert_eq!(blitz::current_worker_index(), None);
    assert!(blitz::Handle::try_current().is_err());
}

fn adopted_elsewhere() {
    for workers in [1, 2] {
        let pool = adopt(workers);
        let (send, receive) = mpsc::channel();
        for n in 0..10 {
            let send = send.clone();
            blitz::spawn_detached(move || send.send(n).unwrap());
        }
        std::thread::spawn(move || drop(pool)).join().unwrap();
        assert_eq!(receive.try_iter().sum::<i32>(), 45);
        assert_free();
    }
}

fn adopted_inside() {
    for workers in [1, 2] {
        let pool = adopt(workers);
        let (go, wait) = mpsc::channel::<()>();
        let closure = pool.spawn_blocking(move || {
            wait.recv().unwrap();
            blitz::spawn_cpu(|| 7).join().unwrap()
        });
        blitz::join(move || drop(pool), || ());
        assert_free();
        go.send(()).unwrap();
        assert_eq!(closure.join().unwrap(), 7);
    }
}

fn adopted_detached() {
    for workers in [1, 2] {
        let builder = blitz::Pool::builder().workers(workers).use_current_thread();
        let pool = builder.detach_on_drop().build().unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let closure = pool.spawn_blocking(move || {
            wait.recv().unwrap();
            blitz::join(|| 3, || 4)
        });
        drop(pool);
        assert_free();
        go.send(()).unwrap();
        assert_eq!(closure.join().unwrap(), (3, 4));
    }
}

fn paused_elsewhere() {
    const HOUR: Duration = Duration::from_secs(3_600);
    for workers in [1, 2] {
        let runtime = build(Runtime::builder().workers(workers).start_paused(true));
        let used = std::thread::spawn(move || {
            let task = runtime.spawn(async {
                let start = Instant::now();
                sleep(HOUR).await;
                start.elapsed()
            });
            let hour = runtime.block_on(task).unwrap();
            drop(runtime);
            hour
        });
        assert_eq!(used.join().unwrap(), HOUR);
        assert_free();
    }
}

fn paused_callers() {
    for _ in 0..300 {
        let runtime = Runtime::builder().workers(1).start_paused(true).build().unwrap();
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let handle = runtime.handle();
                std::thread::spawn(move || {
                    for _ in 0..20 {
                        // The task has completed, or shutdown has cancelled it.
                        drop(handle.spawn(async {}).join());
                    }
                })
            })
            .collect();
        let token = std::sync::Arc::new(());
        for _ in 0..4 {
            let token = token.clone();
            drop(runtime.spawn(async move { drop(token) }));
        }
        drop(runtime);
        assert_eq!(std::sync::Arc::strong_count(&token), 1, "a task outlives its runtime");
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    }
}

fn forgotten_shield() {
    let runtime = runtime(2);
    let task = runtime.spawn(async {
        let mut shield = Box::pin(blitz::task::shield(std::future::pending::<()>()));
        std::future::poll_fn(|cx| {
            assert!(shield.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        std::mem::forget(shield);
    });
    task.join().unwrap();
    drop(runtime);
}

fn drop_by_worker() {
    let (own, other) = (runtime(1), runtime(2));
    let (go, wait) = mpsc::channel();
    let job = other.spawn_cpu(move || wait.recv().unwrap());
    let dropping = own.spawn_cpu(move || drop(other));
    let handle = own.handle();
    wait_for(|| handle.dump().workers[0].word == "SLEEPING");
    assert!(!dropping.is_finished());
    go.send(7).unwrap();
    dropping.join().unwrap();
    assert_eq!(job.join().unwrap(), 7);
}
