//! Tasks that never wait, because what they await is always ready, delay no other task, timer or
//! socket. There is such a task on every worker.

mod common;

use blitz::Runtime;
use blitz::sync::{Semaphore, mpsc, watch};
use common::{everything, wait_for, watched};
use futures_core::Stream;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// How often the other tasks start [`everything`] anew.
const ROUNDS: usize = 20;

/// Tells a hog when to end, and counts its rounds.
#[derive(Clone, Default)]
struct Loop {
    over: Arc<AtomicBool>,
    rounds: Arc<AtomicUsize>,
}

impl Loop {
    /// Counts a round, and returns whether the hog goes on.
    fn goes_on(&self) -> bool {
        self.rounds.fetch_add(1, SeqCst);
        !self.over.load(SeqCst)
    }
}

/// Checks that [`everything`] completes beside a hog on every worker.
fn goes_on_beside<F>(name: &'static str, hog: impl Fn(Loop) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for workers in [1, 2] {
        watched(name, |watch| {
            let runtime: Runtime = watch.workers(workers);
            let loops: Vec<Loop> = (0..workers).map(|_| Loop::default()).collect();
            let hogs: Vec<_> = loops.iter().map(|one| runtime.spawn(hog(one.clone()))).collect();
            wait_for(|| loops.iter().all(|one| one.rounds.load(SeqCst) > 0));
            for _ in 0..ROUNDS {
                runtime.spawn(everything()).join().unwrap();
            }
            let inside = runtime.spawn(async {
                for _ in 0..ROUNDS {
                    everything().await;
                }
            });
            inside.join().unwrap();
            // No hog starves behind another.
            let before: Vec<_> = loops.iter().map(|one| one.rounds.load(SeqCst)).collect();
            let mut pairs = loops.iter().zip(before);
            wait_for(|| pairs.clone().all(|(one, before)| one.rounds.load(SeqCst) > before));
            assert!(pairs.all(|(one, _)| !one.over.swap(true, SeqCst)));
            hogs.into_iter().for_each(|hog| hog.join().unwrap());
        });
    }
}

#[test]
fn others_go_on_beside_blocks_that_are_ready_at_once() {
    goes_on_beside("ready blocks", |turns: Loop| async move {
        while turns.goes_on() {
            async {}.await;
        }
    });
}

#[test]
fn others_go_on_beside_ready_channels_of_the_pool() {
    goes_on_beside("ready channels of the pool", |turns: Loop| async move {
        let (send, mut receive) = mpsc::channel(4);
        while turns.goes_on() {
            send.send(7).await.unwrap();
            assert_eq!(receive.recv().await, Some(7));
        }
    });
}

#[test]
fn others_go_on_beside_ready_unbounded_channels_of_the_pool() {
    goes_on_beside("ready unbounded channels of the pool", |turns: Loop| async move {
        let (send, mut receive) = mpsc::unbounded_channel();
        while turns.goes_on() {
            send.send(7).unwrap();
            assert_eq!(receive.recv().await, Some(7));
        }
    });
}

#[test]
fn others_go_on_beside_permits_and_values_that_are_ready() {
    goes_on_beside("ready permits and values", |turns: Loop| async move {
        let permits = Semaphore::new(1);
        let (send, mut receive) = watch::channel(0);
        while turns.goes_on() {
            let permit = permits.acquire().await.unwrap();
            send.send(1).unwrap();
            receive.changed().await.unwrap();
            drop(permit);
        }
    });
}

/// The channels of the `futures` crates know no budget.
#[test]
fn others_go_on_beside_ready_channels_of_futures() {
    goes_on_beside("ready channels of futures", |turns: Loop| async move {
        let (mut send, mut receive) = futures_channel::mpsc::channel(4);
        while turns.goes_on() {
            poll_fn(|cx| send.poll_ready(cx)).await.unwrap();
            send.start_send(7).unwrap();
            let next = poll_fn(|cx| Pin::new(&mut receive).poll_next(cx)).await;
            assert_eq!(next, Some(7));
        }
    });
}

#[test]
fn others_go_on_beside_ready_oneshot_channels_of_futures() {
    goes_on_beside("ready oneshot channels of futures", |turns: Loop| async move {
        while turns.goes_on() {
            let (send, receive) = futures_channel::oneshot::channel();
            send.send(7).unwrap();
            assert_eq!(receive.await, Ok(7));
        }
    });
}
