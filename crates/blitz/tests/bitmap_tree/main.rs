//! The additional promises of the signal scheduler: an idle tree is empty and balanced, runnable
//! tasks get workers, wakes coalesce, no wake is lost, slots are given back, and dumps show tasks
//! and tree.

#[path = "../common/mod.rs"]
mod common;
mod dump;
mod ends;
mod idle;
mod leaves;
mod wakes;

use blitz::{Dump, Runtime, Scheduler, SignalMetrics};
use common::{Watch, jitter, wait_for, wait_for_parked};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

const WORKERS: [usize; 4] = [1, 2, 8, 64];

/// Returns how many rounds to run: fewer without optimisation.
const fn rounds(optimised: usize) -> usize {
    if cfg!(debug_assertions) { optimised.div_ceil(10) } else { optimised }
}

fn signal_runtime(watch: &Watch, workers: usize) -> Runtime {
    let builder = Runtime::builder().workers(workers).scheduler(Scheduler::Signal);
    watch.runtime(builder.build().unwrap())
}

fn signals(runtime: &Runtime) -> SignalMetrics {
    runtime.metrics().tasks.signal.unwrap()
}

/// Returns whether the pool is idle, as far as a dump can tell.
fn is_idle(dump: &Dump) -> bool {
    let tree = dump.signal.as_ref().unwrap();
    let is_empty = tree.roots.iter().chain(&tree.leaves).all(|&word| word == 0);
    // The relief worker waits in the driver, and is not a sleeper of the tree.
    let asleep = dump.workers.iter().filter(|worker| worker.word == "SLEEPING").count();
    let is_balanced = tree.permits == 0 && tree.sleepers == asleep;
    is_empty && is_balanced && dump.all_sleep && dump.queued == 0
}

/// Returns once the pool is idle, and each permit that was given has been taken.
fn wait_until_idle(runtime: &Runtime) {
    wait_for(|| {
        let metrics = signals(runtime);
        is_idle(&runtime.pool().dump()) && metrics.permits_given == metrics.permits_taken
    });
}

/// Returns once the pool is idle, and no task is left.
fn wait_until_empty(runtime: &Runtime) {
    wait_until_idle(runtime);
    wait_for(|| runtime.pool().dump().tasks.is_empty());
    let metrics = runtime.metrics().tasks;
    assert_eq!(metrics.completed + metrics.cancelled, metrics.spawned);
    let signal = metrics.signal.unwrap();
    assert_eq!(signal.signals, signal.taken_own + signal.taken_elsewhere);
}

/// Counts its rings, and how many of them its listening task has seen.
#[derive(Default)]
struct Bell {
    rung: AtomicU64,
    heard: AtomicU64,
    polls: AtomicUsize,
    silent: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    fn ring(&self) {
        self.rung.fetch_add(1, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_heard(&self) -> bool {
        self.heard.load(SeqCst) == self.rung.load(SeqCst)
    }

    fn be_silent(&self) {
        self.silent.store(true, SeqCst);
        self.wake();
    }
}

/// Listens to a bell until the bell is silent.
struct Listens(Arc<Bell>);

impl Future for Listens {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let bell = &self.0;
        let mut waker = bell.waker.lock().unwrap();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        drop(waker);
        bell.polls.fetch_add(1, SeqCst);
        bell.heard.store(bell.rung.load(SeqCst), SeqCst);
        if bell.silent.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Makes `count` bells, each with a task that waits for it.
fn bells(runtime: &Runtime, count: usize) -> Vec<Arc<Bell>> {
    let bells: Vec<Arc<Bell>> = (0..count).map(|_| Arc::default()).collect();
    bells.iter().for_each(|bell| drop(runtime.spawn(Listens(bell.clone()))));
    wait_for_parked(&runtime.handle(), count as u64);
    bells
}

/// Rings the bells at random, from four threads.
fn storm(bells: &[Arc<Bell>], rings: usize) {
    std::thread::scope(|s| {
        for thread in 1..=4u64 {
            s.spawn(move || {
                let mut noise = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                for _ in 0..rings {
                    jitter(&mut noise);
                    bells[usize::try_from(noise >> 33).unwrap() % bells.len()].ring();
                }
            });
        }
    });
}
