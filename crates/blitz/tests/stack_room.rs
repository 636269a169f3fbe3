//! Work that a waiting worker still does with little stack left, or beside other work.

mod common;

use blitz::task::{shield, yield_now};
use blitz::{Pool, Runtime, WaitPolicy, block_on};
use common::{forget, wait_for, watched};
use std::future::{Future, pending, poll_fn};
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

const STACK: usize = 2 << 20;

/// Runs `f` under the watchdog.
fn within<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    watched("a wait", move |_| f())
}

fn here() -> usize {
    let marker = 0u8;
    black_box(&raw const marker).addr()
}

/// Calls `f` where `used` bytes of the stack are in use since `start`.
fn dig<R>(start: usize, used: usize, f: impl FnOnce() -> R) -> R {
    let mut frame = [1u8; 8 << 10];
    black_box(&mut frame);
    let result = if start - here() >= used { f() } else { dig_boxed(start, used, Box::new(f)) };
    black_box(&mut frame);
    result
}

fn dig_boxed<'a, R>(start: usize, used: usize, f: Box<dyn FnOnce() -> R + 'a>) -> R {
    dig_dyn(start, used, f)
}

fn dig_dyn<'a, R>(start: usize, used: usize, f: Box<dyn FnOnce() -> R + 'a>) -> R {
    let mut frame = [1u8; 8 << 10];
    black_box(&mut frame);
    let result = if start - here() >= used { f() } else { dig_dyn(start, used, f) };
    black_box(&mut frame);
    result
}

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).stack_size(STACK).build().unwrap()
}

/// The caller runs its own share directly, and does not mail it to itself.
#[test]
fn broadcast_with_a_fifth_of_the_stack_free_in_deep_nesting() {
    let all = within(|| {
        let pool = pool(2);
        pool.install(|| dig(here(), STACK / 5 * 4, || blitz::broadcast(|context| context.index())))
    });
    assert_eq!(all, [0, 1]);
}

/// The stolen half mails a job to the worker that waits for this half.
///
/// Then the half waits for that job.
#[test]
fn a_stolen_half_broadcasts_with_a_fifth_of_the_stack_free_in_deep_nesting() {
    let all = within(|| {
        let pool = pool(2);
        pool.install(|| {
            dig(here(), STACK / 5 * 4, || {
                let stolen = AtomicBool::new(false);
                let a = || {
                    while !stolen.load(SeqCst) {
                        std::thread::yield_now();
                    }
                };
                let b = || {
                    stolen.store(true, SeqCst);
                    blitz::broadcast(|context| context.index())
                };
                blitz::join(a, b).1
            })
        })
    });
    assert_eq!(all, [0, 1]);
}

/// The job lies in the caller's own deque, below the jobs that the wait may pop.
#[test]
fn block_on_for_an_own_job_with_two_fifths_of_the_stack_free_in_deep_nesting() {
    let seven = within(|| {
        let pool = pool(1);
        pool.install(|| dig(here(), STACK / 5 * 3, || block_on(blitz::spawn_cpu(|| 7))))
    });
    assert_eq!(seven.unwrap(), 7);
}

/// All workers wait for own jobs at once, so no worker can steal such a job.
#[test]
fn block_on_for_own_jobs_on_all_workers_with_two_fifths_of_the_stack_free_in_deep_nesting() {
    let all = within(|| {
        let pool = pool(2);
        let entered = AtomicUsize::new(0);
        pool.broadcast(|_| {
            dig(here(), STACK / 5 * 3, || {
                entered.fetch_add(1, SeqCst);
                while entered.load(SeqCst) < 2 {
                    std::thread::yield_now();
                }
                let job = blitz::spawn_cpu(|| 7);
                block_on(job).unwrap()
            })
        })
    });
    assert_eq!(all, [7, 7]);
}

/// Jobs of a scope nest like the program's own calls.
#[test]
fn a_scope_with_a_tenth_of_the_stack_free_in_deep_nesting() {
    let ran = within(|| {
        let pool = pool(1);
        let ran = AtomicUsize::new(0);
        pool.install(|| {
            dig(here(), STACK / 10 * 9, || {
                blitz::scope(|s| s.spawn(|_| _ = ran.fetch_add(1, SeqCst)))
            })
        });
        ran.into_inner()
    });
    assert_eq!(ran, 1);
}

fn descendants_only(workers: usize) -> Runtime {
    let pool = Pool::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly);
    pool.build().unwrap()
}

/// A task that yields for ever does not starve tasks in the queue.
#[test]
fn a_task_that_yields_beside_a_wait_for_the_outside_lets_others_go() {
    within(|| {
        let runtime = descendants_only(1);
        runtime.pool().install(|| {
            let stop = Arc::new(AtomicBool::new(false));
            let spins = stop.clone();
            drop(blitz::spawn(async move {
                while !spins.load(SeqCst) {
                    yield_now().await;
                }
            }));
            let closure = move || {
                // This task comes from outside, so it goes into the queue.
                blitz::spawn(async {}).join().unwrap();
                stop.store(true, SeqCst);
            };
            blitz::spawn_blocking(closure).join().unwrap();
        });
    });
}

/// Under the default policy a task that yields starves no other task, either.
///
/// The wait is on a stack that is more than half used.
#[test]
fn a_task_that_yields_beside_a_wait_deep_in_the_stack_lets_others_go_in_deep_nesting() {
    within(|| {
        let pool = pool(1);
        pool.install(|| {
            dig(here(), STACK / 5 * 3, || {
                let stop = Arc::new(AtomicBool::new(false));
                let spins = stop.clone();
                drop(blitz::spawn(async move {
                    while !spins.load(SeqCst) {
                        yield_now().await;
                    }
                }));
                let closure = move || {
                    blitz::spawn(async {}).join().unwrap();
                    stop.store(true, SeqCst);
                };
                blitz::spawn_blocking(closure).join().unwrap();
            });
        });
    });
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// Begins a section that never ends, and forgets it.
async fn forget_a_section() {
    let mut section = Box::pin(shield(pending::<()>()));
    assert!(poll_once(section.as_mut()).await.is_pending());
    forget(section);
}

/// A worker gives back the section's hold, although no worker is ever idle.
#[test]
fn a_forgotten_shield_ends_beside_a_task_that_yields() {
    for workers in [1, 2] {
        within(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (go, wait) = blitz::sync::oneshot::channel();
            let task = runtime.spawn(async move {
                forget_a_section().await;
                wait.await.unwrap()
            });
            let handle = runtime.handle();
            while handle.metrics().tasks.waiting < 1 {
                std::thread::yield_now();
            }
            drop(runtime.spawn(async {
                loop {
                    yield_now().await;
                }
            }));
            let dropping = std::thread::spawn(move || drop(runtime));
            while handle.dump().alive != 1 {
                std::thread::yield_now();
            }
            go.send(7).unwrap();
            assert_eq!(task.join().unwrap(), 7);
            dropping.join().unwrap();
        });
    }
}

/// A worker gives back the section's hold, although all workers wait.
///
/// The workers wait for closures on blocking threads.
#[test]
fn a_forgotten_shield_ends_beside_a_wait_for_the_outside() {
    for workers in [1, 2] {
        within(move || {
            let runtime = descendants_only(workers);
            let (go, wait) = blitz::sync::oneshot::channel();
            let task = runtime.spawn(async move {
                forget_a_section().await;
                wait.await.unwrap()
            });
            // When this task is cancelled, the drop of its token ends the closures below.
            let (token, gone) = mpsc::channel::<()>();
            drop(runtime.spawn(async move {
                let _token = token;
                pending::<()>().await;
            }));
            let handle = runtime.handle();
            while handle.metrics().tasks.waiting < 2 {
                std::thread::yield_now();
            }
            let gone = Arc::new(std::sync::Mutex::new(gone));
            let waiting = Arc::new(AtomicUsize::new(0));
            let waits = waiting.clone();
            runtime.pool().spawn_broadcast(move |_| {
                let (gone, waits) = (gone.clone(), waits.clone());
                let closure = move || {
                    waits.fetch_add(1, SeqCst);
                    let _ = gone.lock().unwrap().recv();
                };
                blitz::spawn_blocking(closure).join().unwrap();
            });
            while waiting.load(SeqCst) < workers {
                std::thread::yield_now();
            }
            let dropping = std::thread::spawn(move || drop(runtime));
            // Wait until the hold of the dropped runtime is gone, and only the section's is left.
            wait_for(|| handle.dump().task_holds == 1);
            go.send(7).unwrap();
            assert_eq!(task.join().unwrap(), 7);
            dropping.join().unwrap();
        });
    }
}

struct Blocks(AtomicUsize);

impl std::task::Wake for Blocks {
    fn wake(self: Arc<Self>) {
        // A worker calls this waker. While it waits here, it calls the next of the driver's kept
        // wakers.
        block_on(blitz::time::sleep(Duration::from_millis(1)));
        self.0.fetch_add(1, SeqCst);
    }
}

/// Each waker waits, and the wait visits the driver, which has more such wakers.
#[test]
fn wakers_that_wait_do_not_pile_up() {
    for workers in [1, 2] {
        within(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let handle = runtime.handle();
            let _entered = handle.enter();
            let blocks = Arc::new(Blocks(AtomicUsize::new(0)));
            let waker = std::task::Waker::from(blocks.clone());
            let mut context = std::task::Context::from_waker(&waker);
            let count = 1_000;
            let mut sleeps: Vec<_> = (0..count)
                .map(|_| Box::pin(blitz::time::sleep(Duration::from_millis(300))))
                .collect();
            // On a busy machine some sleeps may be over at their first poll. These call no waker.
            let mut waiting = 0;
            for sleep in &mut sleeps {
                waiting += usize::from(sleep.as_mut().poll(&mut context).is_pending());
            }
            while blocks.0.load(SeqCst) < waiting {
                std::thread::yield_now();
            }
        });
    }
}

struct WaitsInDrop;

impl Drop for WaitsInDrop {
    fn drop(&mut self) {
        block_on(blitz::time::sleep(Duration::from_millis(1)));
    }
}

/// The drop of each cancelled task waits, and the wait could cancel the next task.
#[test]
fn cancelled_tasks_that_wait_in_their_drops_do_not_pile_up() {
    for workers in [1, 2] {
        within(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            for _ in 0..5_000 {
                drop(runtime.spawn(async {
                    let _waits = WaitsInDrop;
                    pending::<()>().await;
                }));
            }
            let handle = runtime.handle();
            while handle.metrics().tasks.waiting < 5_000 {
                std::thread::yield_now();
            }
            drop(runtime);
        });
    }
}
