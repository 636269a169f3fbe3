//! Jobs do not see the task, the task-local values or the entered pool of unrelated code below them
//! on the stack, whichever way a worker gets to them. Each test of jobs is named after such a way.

mod common;

use blitz::{LocalSet, Pool, Yield, block_on, join};
use common::{Watch, pool, wait_for, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

blitz::task_local!(static USER: &'static str);

/// The number of workers of the pool that alice's task enters.
const ENTERED: usize = 3;

/// What code sees of the task around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sight {
    in_task: bool,
    user: Option<&'static str>,
    workers: usize,
}

impl Sight {
    fn here() -> Sight {
        let workers = blitz::current_num_workers();
        Sight { in_task: blitz::task::try_id().is_some(), user: USER.try_get().ok(), workers }
    }

    /// Returns what a job of a pool of `workers` workers should see.
    fn of_job(workers: usize) -> Sight {
        Sight { in_task: false, user: None, workers }
    }

    /// What a task of alice sees.
    const ALICE: Sight = Sight { in_task: true, user: Some("alice"), workers: ENTERED };
}

/// What jobs saw, and how many of them have run.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<Sight>>>);

impl Witness {
    /// Returns a job that records what it sees.
    fn job(&self) -> impl FnOnce() + Send + 'static {
        let seen = self.0.clone();
        move || seen.lock().unwrap().push(Sight::here())
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Checks that all `count` jobs have run, and saw nothing of other tasks.
    #[track_caller]
    fn assert_jobs(&self, count: usize, workers: usize) {
        assert_eq!(*self.0.lock().unwrap(), vec![Sight::of_job(workers); count]);
    }
}

/// Runs `f` inside a task of `pool`.
///
/// The task has a task-local value and has entered another pool.
fn as_alice<R: Send + 'static>(
    pool: &Arc<Pool>,
    f: impl FnOnce(&Arc<Pool>) -> R + Send + 'static,
) -> R {
    let (inside, entered) = (pool.clone(), common::pool(ENTERED));
    let task = pool.spawn(async move {
        let _guard = entered.enter();
        USER.sync_scope("alice", || {
            assert_eq!(Sight::here(), Sight::ALICE);
            let result = f(&inside);
            assert_eq!(Sight::here(), Sight::ALICE, "what was hidden is back");
            result
        })
    });
    task.join().unwrap()
}

/// Returns a watched pool of one worker, and what its jobs see.
///
/// The pool has no spares: they would run jobs that the tests want on top of the worker's own
/// frames.
fn one(watch: &Watch) -> (Arc<Pool>, Witness) {
    let pool = Pool::builder().workers(1).spares(0).build().unwrap();
    (watch.pool(pool), Witness::default())
}

#[test]
fn a_job_that_a_join_takes_back() {
    watched("a_job_that_a_join_takes_back", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            join(|| pool.spawn_detached(jobs.job()), || ());
            assert_eq!(jobs.count(), 1, "the only worker has run the job to reach the other half");
            join(|| pool.spawn_detached_fifo(jobs.job()), || ());
            join(|| drop(pool.spawn_cpu(jobs.job())), || ());
            pool.in_place_scope(|s| join(|| s.spawn(|_| jobs.job()()), || ()));
            pool.in_place_scope_fifo(|s| join(|| s.spawn_fifo(|_| jobs.job()()), || ()));
            // Jobs see nothing of the task after a half has panicked, either.
            let spawn_and_panic = || {
                pool.spawn_detached(jobs.job());
                panic!("a half")
            };
            catch_unwind(AssertUnwindSafe(|| join(spawn_and_panic, || ()))).unwrap_err();
        });
        witness.assert_jobs(6, 1);
    });
}

#[test]
fn a_job_of_the_own_deque_while_its_worker_waits() {
    watched("a_job_of_the_own_deque_while_its_worker_waits", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            let (send, receive) = blitz::sync::oneshot::channel();
            let job = jobs.job();
            pool.spawn_detached(move || {
                job();
                send.send(()).unwrap();
            });
            block_on(receive).unwrap();
        });
        witness.assert_jobs(1, 1);
    });
}

#[test]
fn a_job_that_its_handle_runs() {
    watched("a_job_that_its_handle_runs", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| pool.spawn_cpu(jobs.job()).join().unwrap());
        witness.assert_jobs(1, 1);
    });
}

#[test]
fn mail() {
    watched("mail", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            pool.broadcast(|_| jobs.job()());
            pool.in_place_scope(|s| s.spawn_broadcast(|_, _| jobs.job()()));
            let (send, receive) = blitz::sync::oneshot::channel();
            let (inside, send) = (jobs.clone(), Mutex::new(Some(send)));
            pool.spawn_broadcast(move |_| {
                inside.job()();
                send.lock().unwrap().take().unwrap().send(()).unwrap();
            });
            block_on(receive).unwrap();
        });
        witness.assert_jobs(3, 1);
    });
}

/// Starts a thread that posts `jobs` jobs of `witness`, then installs one more.
///
/// Returns once the `jobs` jobs are posted.
fn from_outside(pool: &Arc<Pool>, witness: &Witness, jobs: usize) -> std::thread::JoinHandle<()> {
    let (pool, witness, posted) = (pool.clone(), witness.clone(), Arc::new(AtomicBool::new(false)));
    let told = posted.clone();
    let thread = std::thread::spawn(move || {
        (0..jobs).for_each(|_| pool.spawn_detached(witness.job()));
        told.store(true, SeqCst);
        pool.install(witness.job());
    });
    wait_for(|| posted.load(SeqCst));
    thread
}

#[test]
fn an_injected_job() {
    watched("an_injected_job", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            let thread = from_outside(pool, &jobs, 2);
            while jobs.count() < 3 {
                block_on(async { blitz::task::yield_now().await });
            }
            thread.join().unwrap();
        });
        witness.assert_jobs(3, 1);
    });
}

#[test]
fn an_injected_job_that_comes_with_another_and_that_a_join_takes_back() {
    watched("an_injected_job_that_comes_with_another", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            let mut thread = None;
            let first_half = || {
                pool.in_place_scope(|s| {
                    std::thread::scope(|threads| drop(threads.spawn(|| s.spawn(|_| ()))));
                    // These jobs come in one batch with the scope's job, and wait in the deque when
                    // the scope's job has run.
                    thread = Some(from_outside(pool, &jobs, 3));
                });
            };
            join(first_half, || ());
            assert!(jobs.count() >= 3, "the injected jobs lay above the other half");
            while jobs.count() < 4 {
                block_on(async { blitz::task::yield_now().await });
            }
            thread.unwrap().join().unwrap();
        });
        witness.assert_jobs(4, 1);
    });
}

#[test]
fn a_stolen_job() {
    watched("a_stolen_job", |watch| {
        let (pool, witness) = (watch.pool(pool(2)), Witness::default());
        let (release, is_released) = blitz::sync::oneshot::channel();
        let (tell, alice_is_there) = mpsc::channel();
        let inside = pool.clone();
        let alice = std::thread::spawn(move || {
            as_alice(&inside, move |_| {
                tell.send(()).unwrap();
                block_on(is_released).unwrap();
            });
        });
        alice_is_there.recv().unwrap();
        let (jobs, inside) = (witness.clone(), pool.clone());
        // The other worker has the job in its deque and blocks until the job has run: alice's
        // worker takes it.
        pool.install(move || {
            let (send, receive) = mpsc::channel();
            let job = jobs.job();
            inside.spawn_detached(move || {
                job();
                send.send(()).unwrap();
            });
            receive.recv().unwrap();
        });
        release.send(()).unwrap();
        alice.join().unwrap();
        witness.assert_jobs(1, 2);
    });
}

#[test]
fn a_descendant_that_a_waiting_worker_finds_by_leapfrogging() {
    watched("a_descendant", |watch| {
        let (pool, witness) = (watch.pool(pool(2)), Witness::default());
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            let began = AtomicBool::new(false);
            let stolen_half = || {
                began.store(true, SeqCst);
                let (send, receive) = mpsc::channel();
                let job = jobs.job();
                pool.spawn_detached(move || {
                    job();
                    send.send(()).unwrap();
                });
                receive.recv().unwrap();
                Sight::here()
            };
            // A worker that waits for a half inside of a task runs descendants of that half only.
            let (_, stolen) = join(|| wait_for(|| began.load(SeqCst)), stolen_half);
            assert_eq!(stolen, Sight::of_job(2));
        });
        witness.assert_jobs(1, 2);
    });
}

#[test]
fn the_halves_of_a_join_are_the_tasks_own_unless_they_change_threads() {
    watched("the_halves_of_a_join", |watch| {
        let (pool, _) = one(watch);
        let halves = as_alice(&pool, |_| join(Sight::here, Sight::here));
        assert_eq!(halves, (Sight::ALICE, Sight::ALICE));
        // The same holds if a job lay above the other half.
        let halves = as_alice(&pool, |pool| join(|| pool.spawn_detached(|| ()), Sight::here));
        assert_eq!(halves.1, Sight::ALICE);
        let here = as_alice(&pool, |pool| pool.install(Sight::here));
        assert_eq!(here, Sight { workers: 1, ..Sight::ALICE });
    });
}

#[test]
fn a_job_at_the_end_of_its_scope() {
    watched("a_job_at_the_end_of_its_scope", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            pool.scope(|s| {
                s.spawn(|_| jobs.job()());
                s.spawn(|s| s.spawn(|_| jobs.job()()));
            });
            pool.scope_fifo(|s| {
                s.spawn_fifo(|_| jobs.job()());
                s.spawn_fifo(|_| jobs.job()());
            });
        });
        witness.assert_jobs(4, 1);
    });
}

#[test]
fn a_job_that_a_yield_runs() {
    watched("a_job_that_a_yield_runs", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            pool.spawn_detached(jobs.job());
            assert_eq!(blitz::yield_job(), Some(Yield::Executed));
            pool.spawn_detached(jobs.job());
            assert_eq!(blitz::yield_local(), Some(Yield::Executed));
            // A job that enters a pool and sets a task-local value hides both from other jobs, too.
            let (inside, job) = (pool.clone(), jobs.job());
            pool.spawn_detached(move || {
                let other = common::pool(ENTERED);
                let _guard = other.enter();
                USER.sync_scope("bob", || {
                    inside.spawn_detached(job);
                    assert_eq!(blitz::yield_job(), Some(Yield::Executed));
                });
            });
            assert_eq!(blitz::yield_job(), Some(Yield::Executed));
        });
        witness.assert_jobs(3, 1);
    });
}

#[test]
fn a_job_of_an_exit_handler() {
    watched("a_job_of_an_exit_handler", |_| {
        let witness = Witness::default();
        let jobs = witness.clone();
        let handler = move |_| {
            USER.sync_scope("alice", || {
                blitz::spawn_detached(jobs.job());
                join(|| blitz::spawn_detached(jobs.job()), || ());
                // The worker finds this job at its last look.
                blitz::spawn_detached(jobs.job());
            });
        };
        drop(Pool::builder().workers(1).exit_handler(handler).build().unwrap());
        witness.assert_jobs(3, 1);
    });
}

#[test]
fn a_job_that_helps_another_pool_to_its_end() {
    watched("a_job_that_helps_another_pool_to_its_end", |watch| {
        let (pool, witness) = one(watch);
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            let ending = common::pool(1);
            let last = jobs.clone();
            ending.spawn_detached(move || wait_for(|| last.count() == 1));
            pool.spawn_detached(jobs.job());
            drop(ending);
        });
        witness.assert_jobs(1, 1);
    });
}

/// Calls `f` inside a local task of this thread that has a task-local value.
fn as_local_alice(f: impl FnOnce() + 'static) {
    let set = LocalSet::new();
    block_on(set.run_until(async {
        let task = blitz::spawn_local(async {
            USER.sync_scope("alice", f);
        });
        task.await.unwrap();
    }));
}

#[test]
fn a_job_on_a_thread_that_a_pool_has_adopted() {
    watched("a_job_on_a_thread_that_a_pool_has_adopted", |_| {
        // The task builds the pool and drops it, so each operation begins and ends inside the task.
        let adopting = || Pool::builder().workers(1).use_current_thread().build().unwrap();
        let witness = Witness::default();
        let jobs = witness.clone();
        as_local_alice(move || {
            let pool = adopting();
            // The first job runs while the worker waits for a scope. The second job runs when a
            // join reaches its other half.
            pool.install(|| pool.in_place_scope(|s| s.spawn(|_| jobs.job()())));
            pool.install(|| join(|| pool.spawn_detached(jobs.job()), || ()));
            // This job runs in the drop of the pool, before the worker leaves.
            pool.install(|| pool.spawn_detached(jobs.job()));
            drop(pool);
            // This job runs in the last moment of an operation during which the pool was dropped.
            let pool = adopting();
            let handle = pool.handle();
            handle.block_on(async {
                pool.spawn_detached(jobs.job());
                drop(pool);
            });
        });
        witness.assert_jobs(4, 1);
    });
}

#[test]
fn a_job_on_top_of_a_local_task() {
    watched("a_job_on_top_of_a_local_task", |watch| {
        let (pool, witness) = one(watch);
        let (jobs, inside) = (witness.clone(), pool.clone());
        let outside = pool.spawn_cpu(move || {
            let is_outside = Arc::new(AtomicBool::new(false));
            let seen = is_outside.clone();
            as_local_alice(move || {
                let job = jobs.job();
                inside.spawn_detached(move || {
                    job();
                    let local = catch_unwind(|| drop(blitz::spawn_local(async {})));
                    is_outside.store(local.is_err(), SeqCst);
                });
                while jobs.count() < 1 {
                    block_on(async { blitz::task::yield_now().await });
                }
                let job = jobs.job();
                join(|| inside.spawn_detached(job), || ());
            });
            seen.load(SeqCst)
        });
        assert!(outside.join().unwrap(), "a job is in no local set");
        witness.assert_jobs(2, 1);
    });
}

#[test]
fn mail_that_its_sender_runs_because_the_worker_is_gone() {
    watched("mail_that_its_sender_runs", |watch| {
        let builder = Pool::builder().workers(2).spawn_handler(|thread| {
            if thread.index() == 0 {
                std::thread::spawn(|| thread.run());
            }
            Ok(())
        });
        let (pool, witness) = (watch.pool(builder.build().unwrap()), Witness::default());
        let jobs = witness.clone();
        as_alice(&pool, move |pool| {
            pool.broadcast(|_| jobs.job()());
            pool.in_place_scope(|s| s.spawn_broadcast(|_, _| jobs.job()()));
        });
        witness.assert_jobs(4, 2);
    });
}
