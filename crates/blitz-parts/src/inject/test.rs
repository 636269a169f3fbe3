//! The injector on real threads.

use super::Injector;
use crate::job::{HeapJob, Work};
use std::sync::{Arc, Mutex};

fn job(closure: impl FnOnce() + Send + 'static) -> Work {
    // SAFETY: the closure borrows nothing, may be sent, and does not unwind.
    unsafe { HeapJob::into_work(closure) }
}

#[test]
fn inject_2_a_batch_lists_the_oldest_first() {
    let injector = Injector::default();
    let order = Arc::new(Mutex::new(Vec::new()));
    for round in 0..2 {
        for index in 0..10 {
            let order = order.clone();
            let was_empty = injector.push(job(move || order.lock().unwrap().push(index)));
            assert_eq!(was_empty, index == 0, "round {round}");
        }
        assert!(!injector.is_empty());
        injector.take_all().for_each(|work| work.run(None));
        assert!(injector.is_empty());
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), (0..10).collect::<Vec<_>>());
    }
    assert_eq!(injector.take_all().count(), 0);
}

#[test]
fn inject_1_pushers_and_takers_run_every_job_once() {
    const PUSHERS: usize = 3;
    const EACH: usize = 20_000;
    let injector = Injector::new();
    let ran = Arc::new(Mutex::new(vec![0u8; PUSHERS * EACH]));
    let (firsts, batches) = std::thread::scope(|scope| {
        let injector = &injector;
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|pusher| {
                let ran = ran.clone();
                scope.spawn(move || {
                    (pusher * EACH..(pusher + 1) * EACH)
                        .filter(|&index| {
                            let ran = ran.clone();
                            injector.push(job(move || ran.lock().unwrap()[index] += 1))
                        })
                        .count()
                })
            })
            .collect();
        let takers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(move || {
                    let mut batches = 0;
                    for _ in 0..5_000 {
                        let taken = injector.take_all().map(|work| work.run(None)).count();
                        batches += usize::from(taken > 0);
                        std::thread::yield_now();
                    }
                    batches
                })
            })
            .collect();
        let firsts: usize = pushers.into_iter().map(|pusher| pusher.join().unwrap()).sum();
        let batches: usize = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
        (firsts, batches)
    });
    let last = injector.take_all().map(|work| work.run(None)).count();
    assert!(ran.lock().unwrap().iter().all(|&times| times == 1));
    assert_eq!(firsts, batches + usize::from(last > 0), "INJECT-4");
}
