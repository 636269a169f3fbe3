//! What the end of a pool waits for, and how.

mod common;

use blitz::sync::oneshot;
use common::{Dir, fib, forget, pool, runtime, wait_for, wait_for_parked, watched};
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

/// Returns once worker `index` of the pool sleeps.
fn wait_until_asleep(handle: &blitz::Handle, index: usize) {
    wait_for(|| handle.dump().workers[index].word == "SLEEPING");
}

#[test]
fn a_worker_that_drops_another_pool_sleeps_meanwhile() {
    watched("a_worker_that_drops_another_pool_sleeps", |_| {
        for policy in [blitz::WaitPolicy::StealAnything, blitz::WaitPolicy::DescendantsOnly] {
            let own = blitz::Pool::builder().workers(1).wait_policy(policy).build().unwrap();
            let other = pool(2);
            let (go, wait) = mpsc::channel();
            let job = other.spawn_cpu(move || wait.recv().unwrap());
            let dropping = own.spawn_cpu(move || drop(other));
            wait_until_asleep(&own.handle(), 0);
            assert!(!dropping.is_finished());
            go.send(7).unwrap();
            dropping.join().unwrap();
            assert_eq!(job.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_worker_that_drops_another_pool_works_for_its_own_meanwhile() {
    watched("a_worker_that_drops_another_pool_works", |watch| {
        for _ in 0..20 {
            let own = watch.workers(1);
            let other = runtime(2);
            let (go, wait) = mpsc::channel::<()>();
            let handle = own.handle();
            let job = other.spawn_cpu(move || {
                wait.recv().unwrap();
                let job = handle.spawn_cpu(|| fib(10)).join().unwrap();
                let forked = handle.spawn_cpu(|| blitz::join(|| 1, || 2)).join().unwrap();
                let late = async {
                    blitz::time::sleep(Duration::from_millis(1)).await;
                    blitz::spawn(async { 7 }).await.unwrap()
                };
                (job, forked, handle.spawn(late).join().unwrap())
            });
            let (dropped, is_dropped) = oneshot::channel();
            // The inner job is spawned before the drop. It stays in the deque while the frame that
            // drops the pool waits.
            let before = own.spawn_cpu(move || {
                let before = blitz::spawn_cpu(|| 3);
                drop(other);
                dropped.send(()).unwrap();
                before.join().unwrap()
            });
            wait_until_asleep(&own.handle(), 0);
            go.send(()).unwrap();
            assert_eq!(job.join().unwrap(), (55, (1, 2), 7));
            own.block_on(is_dropped).unwrap();
            assert_eq!(before.join().unwrap(), 3);
        }
    });
}

#[test]
fn a_task_that_drops_another_pool_lets_its_worker_sleep() {
    watched("a_task_that_drops_another_pool", |watch| {
        let own = watch.workers(2);
        let others: Vec<_> = (0..8).map(|_| pool(1)).collect();
        let waits: Vec<_> = others
            .into_iter()
            .map(|other| {
                let (go, wait) = mpsc::channel::<()>();
                drop(other.spawn_cpu(move || wait.recv().unwrap()));
                (go, own.spawn(async move { drop(other) }))
            })
            .collect();
        wait_for(|| own.pool().dump().all_sleep);
        // The waits lie on top of each other, on the stacks of two workers. Each wait can return
        // only after the waits above it.
        for (go, _) in &waits {
            go.send(()).unwrap();
        }
        waits.into_iter().for_each(|(_, dropping)| dropping.join().unwrap());
    });
}

#[test]
fn the_thread_that_built_a_pool_sleeps_while_it_drops_it() {
    watched("the_thread_that_built_a_pool_sleeps", |_| {
        for workers in [1, 2] {
            let (sends, handles) = mpsc::channel();
            let (go, wait) = mpsc::channel::<()>();
            let dropping = std::thread::spawn(move || {
                let builder = blitz::Pool::builder().workers(workers).use_current_thread();
                let pool = builder.build().unwrap();
                let closure = pool.spawn_blocking(move || {
                    wait.recv().unwrap();
                    blitz::spawn_cpu(|| 7).join().unwrap()
                });
                sends.send(pool.handle()).unwrap();
                drop(pool);
                assert_eq!(blitz::current_worker_index(), None);
                closure.join().unwrap()
            });
            let handle = handles.recv().unwrap();
            wait_until_asleep(&handle, 0);
            go.send(()).unwrap();
            assert_eq!(dropping.join().unwrap(), 7);
        }
    });
}

#[test]
fn a_shutdown_with_a_limit_says_which_shields_are_left() {
    watched("which_shields_are_left", |watch| {
        let runtime = watch.workers(2);
        let handle = runtime.handle();
        let (go, wait) = oneshot::channel();
        let task = runtime.spawn(async move {
            let mut section = Box::pin(blitz::task::shield(pending::<()>()));
            let begins = poll_fn(|cx| Poll::Ready(section.as_mut().poll(cx)));
            assert!(begins.await.is_pending());
            forget(section);
            wait.await.unwrap()
        });
        wait_for_parked(&handle, 1);
        // As long as the task lives, its forgotten shield counts as a shield in use.
        let left = runtime.shutdown_within(Duration::from_millis(1)).unwrap_err();
        assert_eq!((left.shielded, left.blocking), (1, 0), "{left}");
        assert!(left.to_string().contains("1 shielded section"), "{left}");
        // The pool cancels its tasks in a job of its own. `left` may have counted this job.
        wait_for(|| handle.unfinished().jobs == 0);
        assert_eq!(handle.unfinished().shielded, 1);
        go.send(7).unwrap();
        assert_eq!(task.join().unwrap(), 7);
        wait_for(|| handle.dump().stopping);
    });
}

#[test]
fn a_shutdown_with_a_limit_says_which_closures_and_jobs_are_left() {
    watched("which_closures_are_left", |watch| {
        let dir = Dir::new();
        let pipe = dir.at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let builder = blitz::Runtime::builder().backend(blitz::Backend::Readiness);
        let runtime = watch.runtime(builder.workers(2).spares(0).build().unwrap());
        let handle = runtime.handle();
        let reading = runtime.spawn(blitz::fs::read(pipe.clone()));
        let (go, wait) = mpsc::channel::<()>();
        let job = runtime.spawn_cpu(move || wait.recv().unwrap());
        wait_for(|| handle.unfinished().blocking == 1);
        let left = runtime.shutdown_within(Duration::from_millis(1)).unwrap_err();
        assert_eq!((left.blocking, left.shielded), (1, 0), "{left}");
        // Besides the test's job, the pool's own job that cancels the tasks may not have run yet.
        assert!(left.jobs >= 1, "{left}");
        assert!(left.to_string().contains("1 closure of spawn_blocking, "), "{left}");
        // `shutdown_within` drops the pool on another thread. While that thread closes the pool,
        // the pool's handle may be counted as a worker for a moment.
        wait_for(|| handle.unfinished().workers == 2);
        assert!(reading.join().unwrap_err().is_cancelled(), "tasks do not wait for closures");
        go.send(()).unwrap();
        job.join().unwrap();
        wait_for(|| handle.unfinished().jobs == 0);
        assert_eq!(handle.unfinished().blocking, 1);
        // A writer opens the pipe, which ends the read.
        drop(std::fs::OpenOptions::new().write(true).open(&pipe).unwrap());
        wait_for(|| handle.unfinished().is_empty());
        assert!(handle.dump().stopping);
    });
}

#[test]
fn a_shutdown_that_has_ended_everything_says_so() {
    watched("a_shutdown_that_has_ended_everything", |watch| {
        let builder = blitz::Runtime::builder().workers(2).spares(0);
        let runtime = watch.runtime(builder.build().unwrap());
        let handle = runtime.handle();
        drop(runtime.spawn(pending::<()>()));
        drop(runtime.spawn_blocking(|| blitz::spawn_cpu(|| 7).join().unwrap()));
        assert_eq!(handle.unfinished().workers, 2);
        runtime.shutdown_within(Duration::MAX).unwrap();
        assert!(handle.unfinished().is_empty(), "{}", handle.unfinished());
    });
}

#[test]
fn a_shutdown_with_a_limit_waits_for_a_pool_that_detaches_on_drop() {
    watched("a_shutdown_of_a_detached_pool", |watch| {
        let detached = || {
            let builder = blitz::Runtime::builder().workers(2).spares(0).detach_on_drop();
            watch.runtime(builder.build().unwrap())
        };
        let runtime = detached();
        let handle = runtime.handle();
        let (go, wait) = mpsc::channel::<()>();
        let closure = runtime.spawn_blocking(move || wait.recv());
        let left = runtime.shutdown_within(Duration::from_millis(1)).unwrap_err();
        assert_eq!(left.blocking, 1, "{left}");
        go.send(()).unwrap();
        closure.join().unwrap().unwrap();
        wait_for(|| handle.unfinished().is_empty());

        let runtime = detached();
        let handle = runtime.handle();
        drop(runtime.spawn(pending::<()>()));
        runtime.shutdown_within(Duration::MAX).unwrap();
        assert!(handle.unfinished().is_empty(), "{}", handle.unfinished());
    });
}

#[test]
fn a_shutdown_with_a_limit_on_a_thread_of_the_pool_does_not_wait_for_itself() {
    watched("a_shutdown_on_an_own_thread", |watch| {
        let shut_down = |runtime: blitz::Runtime| {
            let ran = Arc::new(AtomicBool::new(false));
            let runs = ran.clone();
            runtime.spawn_detached(move || runs.store(true, SeqCst));
            (runtime.shutdown_within(Duration::MAX).unwrap_err(), ran)
        };
        let ends = |handle: blitz::Handle, ran: Arc<AtomicBool>| {
            wait_for(|| handle.unfinished().is_empty());
            assert!(ran.load(SeqCst), "jobs still run");
        };
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        let (left, ran) = handle.spawn_cpu(move || shut_down(runtime)).join().unwrap();
        assert_eq!((left.workers, left.blocking), (1, 0), "{left}");
        ends(handle, ran);

        let runtime = watch.workers(2);
        let handle = runtime.handle();
        let (left, ran) = handle.spawn_blocking(move || shut_down(runtime)).join().unwrap();
        assert_eq!((left.workers, left.blocking), (2, 1), "{left}");
        ends(handle, ran);

        let builder = blitz::Runtime::builder().workers(1).use_current_thread();
        let runtime = watch.runtime(builder.build().unwrap());
        let handle = runtime.handle();
        let (left, ran) = handle.block_on(async move { shut_down(runtime) });
        assert_eq!((left.workers, left.blocking), (1, 0), "{left}");
        ends(handle, ran);
    });
}

#[test]
fn a_job_that_enters_its_ending_pool_still_spawns_there() {
    watched("a_job_that_enters_its_ending_pool", |_| {
        for workers in [1, 2] {
            let pool = pool(workers);
            let (handle, inner) = (pool.handle(), pool.handle());
            let (send, receive) = mpsc::channel();
            let job = handle.spawn_cpu(move || {
                // If a worker of the pool drops it, the drop does not wait for the pool's end.
                drop(pool);
                let of_handle = inner.spawn_cpu(|| 1).join().unwrap();
                inner.block_on(async {
                    let job = blitz::spawn_cpu(|| 2).await.unwrap();
                    let closure = blitz::spawn_blocking(|| 3).await.unwrap();
                    let (fifo, each) = (send.clone(), send.clone());
                    blitz::spawn_detached(move || send.send(4).unwrap());
                    blitz::spawn_detached_fifo(move || fifo.send(5).unwrap());
                    blitz::spawn_broadcast(move |_| each.send(6).unwrap());
                    of_handle + job + closure
                })
            });
            assert_eq!(job.join().unwrap(), 6);
            let sum: usize = receive.iter().sum();
            assert_eq!(sum, 9 + 6 * workers);
        }
    });
}

#[test]
fn jobs_of_exit_handlers_do_not_end_the_wait_for_other_threads() {
    watched("jobs_of_exit_handlers_do_not_end_the_wait_for_other_threads", |_| {
        for _ in 0..50 {
            let (ran, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (jobs, leaving) = (ran.clone(), left.clone());
            let spawn = |worker: blitz::ThreadBuilder| {
                // The pool cannot join these threads. It counts them instead, and waits until all
                // of them have left.
                drop(std::thread::spawn(|| worker.run()));
                Ok(())
            };
            let on_exit = move |index| {
                if index == 0 {
                    // Each job is in turn the last thing that keeps the pool running.
                    for _ in 0..8 {
                        let jobs = jobs.clone();
                        blitz::spawn_detached(move || _ = jobs.fetch_add(1, SeqCst));
                    }
                } else {
                    wait_for(|| jobs.load(SeqCst) == 8);
                    (0..100).for_each(|_| std::thread::yield_now());
                }
                leaving.fetch_add(1, SeqCst);
            };
            let builder =
                blitz::Pool::builder().workers(3).spawn_handler(spawn).exit_handler(on_exit);
            drop(builder.build().unwrap());
            assert_eq!((ran.load(SeqCst), left.load(SeqCst)), (8, 3));
        }
    });
}

#[test]
fn a_pool_ends_although_a_task_waits_in_a_join_for_a_half_that_waits_for_a_drop() {
    watched("an end beside a join", |watch| {
        let runtime = watch.workers(2);
        let handle = runtime.handle();
        let (keep, ends) = mpsc::channel::<()>();
        drop(runtime.spawn(async move {
            let _keep = keep;
            pending::<()>().await
        }));
        wait_for(|| handle.metrics().tasks.waiting >= 1);
        let (begun, has_begun) = mpsc::channel();
        drop(runtime.spawn(async move {
            let (stolen, ends) = (AtomicBool::new(false), Mutex::new(ends));
            blitz::join(
                || wait_for(|| stolen.load(SeqCst)),
                || {
                    stolen.store(true, SeqCst);
                    begun.send(()).unwrap();
                    assert!(ends.lock().unwrap().recv().is_err());
                },
            );
        }));
        has_begun.recv().unwrap();
        wait_for(|| handle.dump().sleeping == 1);
        drop(runtime);
    });
}

/// Waits, when it is dropped, until the other end of the channel is dropped.
struct WaitsForEnd(Mutex<mpsc::Receiver<()>>);

impl Drop for WaitsForEnd {
    fn drop(&mut self) {
        assert!(self.0.lock().unwrap().recv().is_err());
    }
}

#[test]
fn an_idle_pool_ends_although_drops_of_tasks_wait_for_each_other() {
    watched("drops that wait for drops", |watch| {
        for (tasks, backwards) in [(2, false), (2, true), (9, false), (9, true)] {
            let runtime = watch.workers(1);
            let handle = runtime.handle();
            // The drop of task n waits for the drop of task n + 1. The drop of the last task waits
            // for nothing.
            let (mut keeps, mut waits) = (vec![None], Vec::new());
            for _ in 1..tasks {
                let (keep, ends) = mpsc::channel::<()>();
                keeps.push(Some(keep));
                waits.push(Some(WaitsForEnd(Mutex::new(ends))));
            }
            waits.push(None);
            let mut futures: Vec<_> = keeps
                .into_iter()
                .zip(waits)
                .map(|held| async move {
                    let _held = held;
                    pending::<()>().await
                })
                .collect();
            if backwards {
                futures.reverse();
            }
            for (number, future) in futures.into_iter().enumerate() {
                drop(runtime.spawn(future));
                wait_for(|| handle.metrics().tasks.waiting > number as u64);
            }
            drop(runtime);
        }
    });
}

#[test]
fn a_pool_without_spares_ends_although_its_worker_waits_for_the_drop_of_a_task() {
    watched("a drop without spares", |watch| {
        let runtime = blitz::Runtime::builder().workers(1).spares(0).build().unwrap();
        let runtime = watch.runtime(runtime);
        let handle = runtime.handle();
        let (keep, ends) = mpsc::channel::<()>();
        drop(runtime.spawn(async move {
            let _keep = keep;
            pending::<()>().await
        }));
        wait_for(|| handle.metrics().tasks.waiting >= 1);
        let (begun, has_begun) = mpsc::channel();
        drop(runtime.spawn(async move {
            begun.send(()).unwrap();
            assert!(ends.recv().is_err());
        }));
        has_begun.recv().unwrap();
        drop(runtime);
    });
}
