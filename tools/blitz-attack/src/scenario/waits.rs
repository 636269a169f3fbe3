//! Waits that must end, and once hung.

use super::{Scenario, build, confined, runtime, wait_for};
use blitz::time::{Duration, sleep};
use blitz::{Runtime, WaitPolicy};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "descendants-blocking",
        "workers that run only descendants may wait for closures that wait for tasks",
        descendants_blocking,
    ),
    Scenario::new(
        "descendants-install",
        "a worker that runs only descendants polls the tasks that another pool waits for",
        descendants_install,
    ),
    Scenario::new(
        "paused-descendants",
        "a paused clock advances while a worker runs only descendants",
        paused_descendants,
    ),
    Scenario::new(
        "paused-end",
        "shutdown of a runtime with a paused clock ends a job that waits for a timer",
        paused_end,
    ),
];

fn descendants_blocking() {
    for workers in [1, 2, 4] {
        let runtime = confined(workers);
        for _ in 0..100 {
            let sums = runtime.pool().broadcast(|_| {
                let closure = blitz::spawn_blocking(|| blitz::spawn(async { 7 }).join().unwrap());
                closure.join().unwrap()
            });
            assert_eq!(sums, vec![7; workers]);
        }
    }
}

fn descendants_install() {
    let (here, other) = (confined(1), runtime(1));
    let back = || here.handle().spawn(async { 7 }).join().unwrap();
    for _ in 0..100 {
        assert_eq!(here.pool().install(|| other.pool().install(back)), 7);
    }
}

fn paused_descendants() {
    let builder = Runtime::builder().workers(2).wait_policy(WaitPolicy::DescendantsOnly);
    let runtime = build(builder.start_paused(true));
    for _ in 0..100 {
        runtime.block_on(async {
            let begun = AtomicBool::new(false);
            let waits = || wait_for(|| begun.load(SeqCst));
            blitz::join(waits, || {
                begun.store(true, SeqCst);
                blitz::block_on(sleep(Duration::from_secs(3_600)));
            });
        });
    }
}

fn paused_end() {
    for _ in 0..100 {
        let runtime = build(Runtime::builder().workers(2).start_paused(true));
        let (begun, begins) = mpsc::channel();
        let job = runtime.spawn_cpu(move || {
            begun.send(()).unwrap();
            blitz::block_on(sleep(Duration::from_secs(3_600)));
        });
        begins.recv().unwrap();
        drop(runtime);
        job.join().unwrap();
    }
}
