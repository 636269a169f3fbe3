//! Nothing stalls a pool: workers that are blocked, or compute for long, do not delay tasks,
//! timers, sockets or jobs.

mod common;

use blitz::time::sleep;
use blitz::{Runtime, WaitPolicy, join};
use common::{everything, wait_for, watched};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many workers the pools have.
const SIZES: [usize; 3] = [1, 2, 64];

/// How many workers the pools have in tests in which all workers compute.
const COMPUTING: [usize; 3] = [1, 2, 6];

/// Both workers block until a job runs that lies on the deque of one of them.
///
/// The pool relied on the other worker to take the job: that worker was searching, but found other
/// work. There is no driver, so only the job turns the watch on.
#[test]
fn a_job_on_the_deque_of_a_blocked_worker_runs_although_the_worker_that_looked_is_blocked() {
    watched("a_job_on_the_deque_of_a_blocked_worker", |watch| {
        for round in 0..100 {
            let runtime = watch.workers(2);
            let (ran, has_run) = channel();
            let (begun, has_begun) = channel();
            let waits = Arc::new(Mutex::new(has_run));
            let on_deque = runtime.spawn({
                let waits = waits.clone();
                async move {
                    begun.send(()).unwrap();
                    if round % 2 == 0 {
                        std::thread::yield_now();
                    }
                    drop(blitz::spawn_cpu(move || (0..2).for_each(|_| ran.send(()).unwrap())));
                    waits.lock().unwrap().recv().unwrap();
                }
            });
            has_begun.recv().unwrap();
            let waits_too = runtime.spawn_cpu(move || waits.lock().unwrap().recv().unwrap());
            on_deque.join().unwrap();
            waits_too.join().unwrap();
        }
    });
}

/// One worker sleeps until its stolen half is done. The thief blocks in that half.
///
/// The sleeping worker polls no tasks. So a spare must get the seat of the blocked worker.
#[test]
fn a_worker_that_waits_for_descendants_is_not_taken_for_a_helper() {
    watched("a_worker_that_waits_for_descendants", |watch| {
        for _ in 0..10 {
            let builder = Runtime::builder().workers(2).wait_policy(WaitPolicy::DescendantsOnly);
            let runtime = watch.runtime(builder.build().unwrap());
            let (send, receive) = channel();
            let (begun, has_begun) = channel();
            let receive = Mutex::new(receive);
            let stolen = AtomicBool::new(false);
            let forks = runtime.spawn_cpu(move || {
                let wait_until_stolen = || wait_for(|| stolen.load(SeqCst));
                let block = || {
                    stolen.store(true, SeqCst);
                    begun.send(()).unwrap();
                    receive.lock().unwrap().recv().unwrap()
                };
                join(wait_until_stolen, block).1
            });
            has_begun.recv().unwrap();
            drop(runtime.spawn(async move { send.send(7).unwrap() }));
            assert_eq!(forks.join().unwrap(), 7);
        }
    });
}

/// Blocks the workers of a pool, each in a task of its own.
struct Blocked {
    begun: Arc<AtomicUsize>,
    release: Vec<Sender<()>>,
    handles: Vec<blitz::JoinHandle<()>>,
}

impl Blocked {
    /// Starts `count` tasks that each call `block` until the test is over.
    fn by(runtime: &Runtime, count: usize, block: fn(Receiver<()>)) -> Blocked {
        let begun = Arc::new(AtomicUsize::new(0));
        let (mut release, mut handles) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (tell, told) = channel();
            let begun = begun.clone();
            release.push(tell);
            handles.push(runtime.spawn(async move {
                begun.fetch_add(1, SeqCst);
                block(told);
            }));
        }
        Blocked { begun, release, handles }
    }

    /// Returns once each task has begun, and is inside `block` or about to call it.
    fn wait(&self) {
        wait_for(|| self.begun.load(SeqCst) == self.handles.len());
    }

    fn end(self, runtime: &Runtime) {
        drop(self.release);
        for handle in self.handles {
            runtime.block_on(handle).unwrap();
        }
    }
}

fn receive(told: Receiver<()>) {
    assert!(told.recv().is_err());
}

fn compute(told: Receiver<()>) {
    while told.try_recv() == Err(TryRecvError::Empty) {
        std::hint::spin_loop();
    }
}

/// Sleeps for 200 ms at a time. The sleep is what the test is about: nothing waits for it.
fn sleep_on(told: Receiver<()>) {
    while told.try_recv() == Err(TryRecvError::Empty) {
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Blocks in the executor of the `futures` crates until a thread outside of the pool is told.
fn block_in_executor(told: Receiver<()>) {
    let (send, sent) = futures_channel::oneshot::channel();
    let teller = std::thread::spawn(move || {
        receive(told);
        send.send(()).unwrap();
    });
    futures_executor::block_on(sent).unwrap();
    teller.join().unwrap();
}

/// Checks that [`everything`] completes while all workers are inside `block`.
fn goes_on_beside(name: &'static str, sizes: [usize; 3], block: fn(Receiver<()>)) {
    for workers in sizes {
        watched(name, |watch| {
            let runtime = watch.workers(workers);
            // One task blocks each worker. There are enough spares to replace them.
            let blocked = Blocked::by(&runtime, workers, block);
            blocked.wait();
            runtime.spawn(everything()).join().unwrap();
            for _ in 0..10 {
                runtime.spawn(everything()).join().unwrap();
            }
            blocked.end(&runtime);
        });
    }
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_workers_that_wait_for_a_message() {
    goes_on_beside("wait for a message", SIZES, receive);
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_workers_that_compute() {
    goes_on_beside("compute", COMPUTING, compute);
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_workers_that_sleep() {
    goes_on_beside("sleep", SIZES, sleep_on);
}

#[test]
fn tasks_timers_and_sockets_go_on_beside_workers_in_a_foreign_executor() {
    goes_on_beside("a foreign executor", SIZES, block_in_executor);
}

#[test]
fn jobs_run_beside_workers_that_are_blocked() {
    for workers in SIZES {
        watched("jobs beside blocked workers", |watch| {
            let runtime = watch.workers(workers);
            let blocked = Blocked::by(&runtime, workers, receive);
            blocked.wait();
            assert_eq!(runtime.install(|| common::fib(10)), 55);
            let (tell, told) = channel();
            runtime.spawn_detached(move || tell.send(join(|| 1, || 2)).unwrap());
            assert_eq!(told.recv().unwrap(), (1, 2));
            assert_eq!(runtime.block_on(runtime.spawn_cpu(|| 3)).unwrap(), 3);
            blocked.end(&runtime);
        });
    }
}

#[test]
fn a_task_that_others_wait_for_by_blocking_is_polled() {
    for workers in SIZES {
        watched("wait for a queued task", |watch| {
            let runtime = watch.workers(workers);
            let mut waiting = Vec::new();
            let mut senders = Vec::new();
            for _ in 0..workers {
                let (send, receive) = channel();
                senders.push(send);
                waiting.push(runtime.spawn(async move { receive.recv().unwrap() }));
            }
            // The tasks that send are queued behind the tasks that wait.
            for (value, send) in senders.into_iter().enumerate() {
                drop(runtime.spawn(async move { send.send(value).unwrap() }));
            }
            for (value, waits) in waiting.into_iter().enumerate() {
                assert_eq!(runtime.block_on(waits).unwrap(), value);
            }
        });
    }
}

#[test]
fn a_lock_whose_holder_waits_for_a_timer_is_released() {
    for workers in SIZES {
        watched("lock of a waiting task", |watch| {
            let runtime = watch.workers(workers);
            let lock = Arc::new(Mutex::new(0));
            let (locked, is_locked) = channel();
            let local = lock.clone();
            let held = runtime.spawn(async move {
                // A guard is not `Send`, so a thread holds the lock while it waits for a timer.
                let handle = blitz::Handle::current();
                std::thread::spawn(move || {
                    let mut guard = local.lock().unwrap();
                    locked.send(()).unwrap();
                    handle.block_on(sleep(Duration::from_millis(2)));
                    *guard += 1;
                })
            });
            is_locked.recv().unwrap();
            let wants = || {
                let lock = lock.clone();
                runtime.spawn(async move { *lock.lock().unwrap() })
            };
            let all: Vec<_> = (0..workers).map(|_| wants()).collect();
            for one in all {
                assert_eq!(runtime.block_on(one).unwrap(), 1);
            }
            runtime.block_on(held).unwrap().join().unwrap();
        });
    }
}

/// A local task holds the lock of `std` while it waits for timers, sockets and tasks of the pool.
#[test]
#[allow(clippy::await_holding_lock, reason = "the test is about such a lock")]
fn a_lock_whose_holder_is_a_local_task_that_waits_is_released() {
    for workers in SIZES {
        watched("lock of a local task", |watch| {
            let runtime = watch.workers(workers);
            let lock = Arc::new(Mutex::new(0));
            let (locked, is_locked) = channel();
            let (wanted, is_wanted) = blitz::sync::oneshot::channel::<()>();
            let (held, handle) = (lock.clone(), runtime.handle());
            let outside = std::thread::spawn(move || {
                let set = blitz::LocalSet::new();
                handle.block_on(set.run_until(async move {
                    let holder = blitz::spawn_local(async move {
                        let mut guard = held.lock().unwrap();
                        locked.send(()).unwrap();
                        is_wanted.await.unwrap();
                        blitz::spawn(everything()).await.unwrap();
                        *guard += 1;
                    });
                    holder.await.unwrap();
                }));
            });
            is_locked.recv().unwrap();
            block_workers(&runtime, wanted, move || *lock.lock().unwrap());
            outside.join().unwrap();
        });
    }
}

/// Blocks every worker in `take`, and then lets the holder of the lock go on. `take` returns what
/// the holder has written.
fn block_workers(
    runtime: &blitz::Runtime,
    wanted: blitz::sync::oneshot::Sender<()>,
    take: impl Fn() -> i32 + Clone + Send + 'static,
) {
    let (workers, begun) = (runtime.num_workers(), Arc::new(AtomicUsize::new(0)));
    let wants = || {
        let (take, begun) = (take.clone(), begun.clone());
        runtime.spawn(async move {
            begun.fetch_add(1, SeqCst);
            take()
        })
    };
    let all: Vec<_> = (0..workers).map(|_| wants()).collect();
    wait_for(|| begun.load(SeqCst) == workers);
    wanted.send(()).unwrap();
    for one in all {
        assert_eq!(one.join().unwrap(), 1);
    }
}

/// A task of the pool holds the lock while it waits. Every worker blocks until the lock is free.
#[test]
fn a_lock_whose_holder_is_a_task_that_waits_is_released() {
    for workers in SIZES {
        watched("lock of a task", |watch| {
            let runtime = watch.workers(workers);
            let lock = Arc::new(blitz::sync::Mutex::new(0));
            let (locked, is_locked) = channel();
            let (wanted, is_wanted) = blitz::sync::oneshot::channel::<()>();
            let held = lock.clone();
            let holder = runtime.spawn(async move {
                let mut guard = held.lock().await;
                locked.send(()).unwrap();
                is_wanted.await.unwrap();
                everything().await;
                *guard += 1;
            });
            is_locked.recv().unwrap();
            // Blocks the worker's thread, as `Mutex::lock` of `std` does.
            block_workers(&runtime, wanted, move || *lock.blocking_lock());
            holder.join().unwrap();
        });
    }
}

#[test]
fn a_foreign_executor_on_every_worker_waits_for_tasks_that_run() {
    for workers in SIZES {
        watched("foreign block_on", |watch| {
            let runtime = watch.workers(workers);
            let waits = |n: u64| {
                runtime.spawn(async move {
                    futures_executor::block_on(blitz::spawn(async move {
                        sleep(Duration::from_millis(1)).await;
                        n
                    }))
                    .unwrap()
                })
            };
            let all: Vec<_> = (0..workers as u64).map(waits).collect();
            for (n, one) in all.into_iter().enumerate() {
                assert_eq!(runtime.block_on(one).unwrap(), n as u64);
            }
        });
    }
}

/// A future that is ready at its first poll: the task that awaits it does not wait.
async fn ready() {}

#[test]
fn a_task_that_never_waits_keeps_no_other_from_its_timer() {
    for workers in COMPUTING {
        watched("a hog on every worker", |watch| {
            let runtime = watch.workers(workers);
            let over = Arc::new(AtomicBool::new(false));
            let begun = Arc::new(AtomicUsize::new(0));
            for _ in 0..workers {
                let (over, begun) = (over.clone(), begun.clone());
                drop(runtime.spawn(async move {
                    begun.fetch_add(1, SeqCst);
                    while !over.load(SeqCst) {
                        ready().await;
                    }
                }));
            }
            wait_for(|| begun.load(SeqCst) == workers);
            let timers: Vec<_> =
                (0..100).map(|n| runtime.spawn(sleep(Duration::from_micros(500 * n)))).collect();
            for timer in timers {
                runtime.block_on(timer).unwrap();
            }
            over.store(true, SeqCst);
        });
    }
}

#[test]
fn block_in_place_gives_the_seat_away_at_once() {
    for workers in SIZES {
        watched("block_in_place", |watch| {
            let runtime = watch.workers(workers);
            let (tell, told) = channel();
            let told = Arc::new(Mutex::new(told));
            let waits: Vec<_> = (0..workers)
                .map(|_| {
                    let told = told.clone();
                    runtime.spawn(async move {
                        blitz::block_in_place(|| told.lock().unwrap().recv().unwrap())
                    })
                })
                .collect();
            let tells: Vec<_> = (0..workers)
                .map(|n| {
                    let tell = tell.clone();
                    runtime.spawn_cpu(move || tell.send(n).unwrap())
                })
                .collect();
            for handle in tells {
                runtime.block_on(handle).unwrap();
            }
            let mut sum = 0;
            for handle in waits {
                sum += runtime.block_on(handle).unwrap();
            }
            assert_eq!(sum, workers * (workers - 1) / 2);
        });
    }
}

#[test]
fn a_call_that_blocks_in_place_unwinds_and_may_be_nested() {
    watched("block_in_place unwinds", |watch| {
        let runtime = watch.workers(1);
        let panicked = runtime.spawn(async { blitz::block_in_place(|| panic!("in place")) });
        assert!(runtime.block_on(panicked).unwrap_err().is_panic());
        let nested = runtime.spawn(async {
            blitz::block_in_place(|| blitz::block_in_place(|| blitz::block_on(async { 5 })))
        });
        assert_eq!(runtime.block_on(nested).unwrap(), 5);
        assert_eq!(blitz::block_in_place(|| 6), 6);
        runtime.spawn(everything()).join().unwrap();
    });
}

#[test]
fn spares_come_and_go() {
    watched("spares come and go", |watch| {
        let runtime = watch.workers(2);
        for _ in 0..300 {
            let all: Vec<_> = (0..4)
                .map(|_| runtime.spawn(async { blitz::block_in_place(std::thread::yield_now) }))
                .collect();
            for one in all {
                runtime.block_on(one).unwrap();
            }
        }
        assert!(runtime.metrics().spares <= 32);
        drop(runtime);
    });
}

/// Counts the threads of this process whose names begin with `prefix`.
fn threads_named(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(prefix)).count()
}

#[test]
fn a_pool_says_once_that_no_spare_is_left_and_goes_on_when_a_thread_is_back() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let texts = said.clone();
    let builder = Runtime::builder().workers(1).spares(1);
    let builder = builder.spares_handler(move |text| texts.lock().unwrap().push(text.to_owned()));
    let runtime = builder.build().unwrap();
    watched("the bound on spares", |watch| {
        let runtime = watch.runtime(runtime);
        // Blocks the worker and the spare.
        let blocked = Blocked::by(&runtime, 2, receive);
        blocked.wait();
        let waits = runtime.spawn(async { 9 });
        wait_for(|| !said.lock().unwrap().is_empty());
        blocked.end(&runtime);
        assert_eq!(runtime.block_on(waits).unwrap(), 9);
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("no spare thread is left of 1") && said[0].contains("BLITZ_SPARES"),
            "{said:?}"
        );
    });
}

#[test]
fn a_pool_ends_while_its_workers_are_blocked_and_spares_work() {
    for workers in SIZES {
        watched("an end beside blocked workers", |watch| {
            let runtime = watch.workers(workers);
            let blocked = Blocked::by(&runtime, workers, receive);
            blocked.wait();
            runtime.spawn(everything()).join().unwrap();
            let waits = runtime.spawn(std::future::pending::<()>());
            let ends = std::thread::spawn(move || drop(runtime));
            // The blocked tasks keep the pool alive. Tasks that wait are cancelled.
            assert!(futures_executor::block_on(waits).unwrap_err().is_cancelled());
            drop(blocked.release);
            ends.join().unwrap();
        });
    }
}

#[test]
fn a_program_that_only_forks_starts_no_spare_and_no_watch() {
    // This test runs in a child process, since the other tests of this target start spares.
    if std::env::var_os("BLITZ_TEST_FORKS").is_none() {
        let program = std::env::current_exe().unwrap();
        let target = module_path!().split_once("::").map_or("", |(_, module)| module);
        let test = "a_program_that_only_forks_starts_no_spare_and_no_watch";
        let name = if target.is_empty() { test.to_owned() } else { format!("{target}::{test}") };
        let mut run = std::process::Command::new(program);
        let run = run.args(["--exact", &name, "--test-threads=1"]).env("BLITZ_TEST_FORKS", "1");
        assert!(run.status().unwrap().success());
        return;
    }
    let pool = common::pool(3);
    assert_eq!(pool.install(|| common::fib(20)), 6765);
    assert_eq!(threads_named("blitz-spare") + threads_named("blitz-watch"), 0);
}
