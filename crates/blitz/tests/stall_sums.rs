//! Tasks that run parallel sums back to back, inside `async fn`, delay no other task, timer or
//! socket. This is the promise of the pool: parallel code may be called right where it is needed.

mod common;

use blitz::prelude::*;
use blitz::{JoinHandle, Runtime};
use common::{everything, wait_for, watched};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// How often the other tasks start [`everything`] anew.
const ROUNDS: usize = 20;

/// How many numbers a sum adds up.
const NUMBERS: usize = 1 << 15;

/// Adds numbers up by `join`, with leaves of 1,024 numbers.
fn by_joins(numbers: &[u64]) -> u64 {
    if numbers.len() <= 1_024 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = blitz::join(|| by_joins(left), || by_joins(right));
    left + right
}

/// Adds numbers up by a parallel iterator.
fn by_iterator(numbers: &[u64]) -> u64 {
    numbers.par_iter().sum()
}

/// Tasks that add numbers up without a pause until they are told to stop.
struct Sums {
    over: Arc<AtomicBool>,
    done: Vec<Arc<AtomicUsize>>,
    handles: Vec<JoinHandle<()>>,
}

impl Sums {
    fn start(runtime: &Runtime, count: usize, sum: fn(&[u64]) -> u64) -> Sums {
        let numbers: Arc<[u64]> = (0..NUMBERS as u64).collect();
        let expected = numbers.iter().sum::<u64>();
        let over = Arc::new(AtomicBool::new(false));
        let done: Vec<Arc<AtomicUsize>> = (0..count).map(|_| Arc::default()).collect();
        let start = |done: &Arc<AtomicUsize>| {
            let (over, done, numbers) = (over.clone(), done.clone(), numbers.clone());
            runtime.spawn(async move {
                while !over.load(SeqCst) {
                    assert_eq!(sum(&numbers), expected);
                    done.fetch_add(1, SeqCst);
                    // Without a pause: this future is ready at once.
                    std::future::ready(()).await;
                }
            })
        };
        let handles = done.iter().map(start).collect();
        Sums { over, done, handles }
    }

    /// Returns how many sums the tasks have computed.
    fn total(&self) -> usize {
        self.done.iter().map(|done| done.load(SeqCst)).sum()
    }

    /// Returns once `count` tasks have computed a sum.
    fn wait_for_tasks(&self, count: usize) {
        let has_begun = |done: &&Arc<AtomicUsize>| done.load(SeqCst) > 0;
        wait_for(|| self.done.iter().filter(has_begun).count() >= count);
    }

    fn stop(self) {
        self.over.store(true, SeqCst);
        self.handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

fn goes_on_beside_sums(name: &'static str, sum: fn(&[u64]) -> u64) {
    for (workers, count) in [(1, 1), (1, 8), (2, 1), (2, 8)] {
        watched(name, |watch| {
            let runtime = watch.workers(workers);
            let sums = Sums::start(&runtime, count, sum);
            // These tasks never wait, so each occupies a worker. Of eight tasks most are still
            // queued now, and spares begin them one by one.
            sums.wait_for_tasks(workers.min(count));
            for round in 0..ROUNDS {
                // Tasks from outside, one at a time and several at once.
                let all: Vec<_> = (0..=round % 3).map(|_| runtime.spawn(everything())).collect();
                all.into_iter().for_each(|one| one.join().unwrap());
            }
            // A task inside of the pool, which stays there for all of its rounds.
            let inside = runtime.spawn(async {
                for _ in 0..ROUNDS {
                    everything().await;
                }
            });
            inside.join().unwrap();
            // The sums go on, too.
            let before = sums.total();
            wait_for(|| sums.total() > before);
            sums.stop();
        });
    }
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_sums_by_joins() {
    goes_on_beside_sums("sums by joins", by_joins);
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_sums_by_parallel_iterators() {
    goes_on_beside_sums("sums by parallel iterators", by_iterator);
}
