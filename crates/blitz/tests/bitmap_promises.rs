//! Two promises of the signal scheduler: tasks of a stuck worker run, and one task wakes at most
//! one worker.

mod common;

use blitz::{Pool, Scheduler};
use common::{wait_for, watched};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).scheduler(Scheduler::Signal).build().unwrap()
}

/// Tasks that wake each other, so that their part of the tree is never empty.
#[derive(Clone, Default)]
struct Crowd {
    wakers: Arc<Mutex<Vec<Waker>>>,
    polls: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Crowd {
    /// Spawns `tasks` tasks into the pool of the current worker.
    fn start(&self, tasks: usize) {
        for _ in 0..tasks {
            let crowd = self.clone();
            let mut is_known = false;
            drop(blitz::spawn(poll_fn(move |context| {
                crowd.polls.fetch_add(1, SeqCst);
                let mut wakers = crowd.wakers.lock().unwrap();
                let others = wakers.iter().filter(|waker| !waker.will_wake(context.waker()));
                others.for_each(Waker::wake_by_ref);
                if !std::mem::replace(&mut is_known, true) {
                    wakers.push(context.waker().clone());
                }
                if crowd.stop.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            })));
        }
    }
}

#[test]
fn tasks_in_the_part_of_a_stuck_worker_run_although_all_other_workers_are_busy() {
    watched("the part of a stuck worker", |watch| {
        // A spare would poll tasks in the place of the stuck worker.
        let builder = Pool::builder().workers(2).spares(0).scheduler(Scheduler::Signal);
        let pool = watch.pool(builder.build().unwrap());
        let (release, is_released) = mpsc::channel::<()>();
        let (tell, is_stuck) = mpsc::channel();
        let stuck = pool.spawn(async move {
            tell.send(()).unwrap();
            is_released.recv().unwrap_err();
        });
        is_stuck.recv().unwrap();
        let crowd = Crowd::default();
        let starter = crowd.clone();
        pool.spawn(async move { starter.start(6) }).join().unwrap();
        wait_for(|| crowd.polls.load(SeqCst) > 1_000);
        // There are so many tasks that each worker's part of the tree has some of them.
        let tasks: Vec<_> = (0..200).map(|n| pool.spawn(async move { n })).collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
        crowd.stop.store(true, SeqCst);
        drop(release);
        stuck.join().unwrap();
    });
}

#[test]
fn one_task_wakes_one_worker() {
    watched("one task wakes one worker", |watch| {
        const TASKS: u64 = 100;
        let pool = watch.pool(pool(4));
        for _ in 0..TASKS {
            wait_for(|| pool.dump().all_sleep);
            pool.spawn(async {}).join().unwrap();
        }
        let woken: u64 = pool.metrics().workers.iter().map(|worker| worker.wakes_received).sum();
        assert!(woken <= TASKS, "{woken} wake-ups for {TASKS} tasks, one after the other");
    });
}
