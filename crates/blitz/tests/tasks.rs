//! Tasks: spawning, awaiting, cancelling, ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn runtime(workers: usize) -> blitz::Runtime {
    blitz::Runtime::builder().workers(workers).build().unwrap()
}

#[test]
fn a_task_returns_its_result() {
    let runtime = runtime(2);
    assert_eq!(runtime.block_on(async { blitz::spawn(async { 7 }).await.unwrap() }), 7);
}

#[test]
fn many_tasks_from_inside_and_outside() {
    for workers in [1, 2, 8] {
        let runtime = runtime(workers);
        let count = Arc::new(AtomicUsize::new(0));
        let spawn_all = |count: Arc<AtomicUsize>| {
            let handles: Vec<_> = (0..10_000)
                .map(|_| {
                    let count = count.clone();
                    blitz::spawn(async move { count.fetch_add(1, Relaxed) })
                })
                .collect();
            async {
                for handle in handles {
                    handle.await.unwrap();
                }
            }
        };
        let outside = count.clone();
        runtime.block_on(async { spawn_all(outside).await });
        let inside = count.clone();
        runtime.spawn(async move { spawn_all(inside).await }).join().unwrap();
        assert_eq!(count.load(Relaxed), 20_000);
    }
}
