//! Memory that a burst needed goes back to the allocator once the pool is idle.

mod common;

use blitz::net::UdpSocket;
use blitz::time::{Instant, sleep_until};
use blitz::{JoinSet, Runtime, Scheduler};
use common::{wait_for, watched};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts the bytes that were allocated and not freed.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), SeqCst);
        // SAFETY: the caller's obligations are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, SeqCst);
        LIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

const WORKERS: usize = 2;

/// The bytes that may stay.
///
/// That is a megabyte for each worker's stock, one for the depot, and one for everything else.
const KEPT: usize = (WORKERS + 2) << 20;

/// Bytes that the signal scheduler keeps for each slot of its arena.
///
/// The number of slots is the largest number of tasks that have waited at the same time.
const SLOT: usize = 20;

/// The number of idle phases in which a pool has to give memory back.
///
/// One phase is enough, unless a thief was suspended inside a deque.
const PHASES: usize = 100;

/// Wakes the pool for a task, and returns once all workers sleep again.
fn idle_phase(runtime: &Runtime) {
    runtime.block_on(async { runtime.handle().spawn(async {}).await.unwrap() });
    wait_for(|| runtime.pool().dump().all_sleep);
}

/// Makes the tests of this file run one at a time, because they count the same bytes.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that a pool gives the memory of a burst back once it is idle again.
///
/// Compares the bytes that are live before and after the burst, on both schedulers. `burst` returns
/// when all of its work is done. At most `waiting` of its tasks wait at the same time.
fn after(name: &'static str, waiting: usize, burst: impl Fn(&Runtime)) {
    let _alone = alone();
    for (scheduler, slots) in [(Scheduler::Stealing, 0), (Scheduler::Signal, waiting)] {
        let allowed = KEPT + slots * SLOT;
        watched(name, |watch| {
            // There are no spares: a spare in service has memory of its own, which `KEPT` does not
            // include.
            let builder = Runtime::builder().workers(WORKERS).spares(0).max_blocking_threads(2);
            let runtime = watch.runtime(builder.scheduler(scheduler).build().unwrap());
            idle_phase(&runtime);
            let before = LIVE.load(SeqCst);
            burst(&runtime);
            let kept = || LIVE.load(SeqCst).saturating_sub(before);
            let mut phases = 0;
            while phases == 0 || (kept() > allowed && phases < PHASES) {
                idle_phase(&runtime);
                phases += 1;
            }
            let kept = kept() >> 10;
            assert!(
                kept <= allowed >> 10,
                "{kept} KiB stay after {phases} idle phases, {scheduler:?}"
            );
        });
    }
}

/// Calls `f` on a worker while the other workers are busy.
fn with_others_held(runtime: &Runtime, f: impl FnOnce() + Send) {
    let (held, released) = (AtomicUsize::new(0), AtomicBool::new(false));
    runtime.pool().install(|| {
        blitz::scope(|scope| {
            for _ in 1..WORKERS {
                scope.spawn(|_| {
                    held.fetch_add(1, SeqCst);
                    wait_for(|| released.load(SeqCst));
                });
            }
            wait_for(|| held.load(SeqCst) == WORKERS - 1);
            f();
            released.store(true, SeqCst);
        });
    });
}

/// Counts the jobs, tasks or closures that have run.
#[derive(Clone, Default)]
struct Done(Arc<AtomicUsize>);

impl Done {
    fn one_more(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    fn wait_for(&self, count: usize) {
        wait_for(|| self.0.load(SeqCst) == count);
    }
}

const MANY: usize = 1_000_000;

#[test]
fn jobs_of_a_worker() {
    after("jobs of a worker", 0, |runtime| {
        with_others_held(runtime, || {
            blitz::scope(|scope| (0..MANY).for_each(|_| scope.spawn(|_| {})));
        });
    });
}

#[test]
fn jobs_from_outside() {
    after("jobs from outside", 0, |runtime| {
        let done = Done::default();
        // One worker takes all of these jobs at once.
        with_others_held(runtime, || {
            std::thread::scope(|outside| {
                outside.spawn(|| {
                    for _ in 0..MANY {
                        let done = done.clone();
                        runtime.pool().spawn_detached(move || done.one_more());
                    }
                });
            });
        });
        done.wait_for(MANY);
    });
}

#[test]
fn tasks_of_a_worker() {
    after("tasks of a worker", MANY / 4, |runtime| {
        let tasks = async {
            let mut tasks = JoinSet::new();
            (0..MANY / 4).for_each(|_| drop(tasks.spawn(async {})));
            while tasks.join_next().await.is_some() {}
        };
        runtime.block_on(async { runtime.handle().spawn(tasks).await.unwrap() });
    });
}

#[test]
fn tasks_from_outside() {
    after("tasks from outside", MANY / 2, |runtime| {
        let done = Done::default();
        with_others_held(runtime, || {
            std::thread::scope(|outside| {
                outside.spawn(|| {
                    for _ in 0..MANY / 2 {
                        let done = done.clone();
                        drop(runtime.handle().spawn(async move { done.one_more() }));
                    }
                });
            });
        });
        done.wait_for(MANY / 2);
    });
}

#[test]
fn fifo_jobs() {
    after("fifo jobs", 0, |runtime| {
        let done = Done::default();
        with_others_held(runtime, || {
            for _ in 0..MANY {
                let done = done.clone();
                blitz::spawn_detached_fifo(move || done.one_more());
            }
        });
        done.wait_for(MANY);
    });
}

#[test]
fn broadcasts() {
    after("broadcasts", 0, |runtime| {
        let done = Done::default();
        with_others_held(runtime, || {
            for _ in 0..MANY {
                let done = done.clone();
                blitz::spawn_broadcast(move |_| done.one_more());
            }
        });
        done.wait_for(MANY * WORKERS);
    });
}

#[test]
fn timers_that_are_due_together() {
    after("timers", MANY / 2, |runtime| {
        let done = Done::default();
        let deadline = Instant::now() + Duration::from_secs(1);
        for _ in 0..MANY / 2 {
            let done = done.clone();
            drop(runtime.handle().spawn(async move {
                sleep_until(deadline).await;
                done.one_more();
            }));
        }
        done.wait_for(MANY / 2);
    });
}

#[test]
fn closures_that_may_block() {
    after("closures that may block", 0, |runtime| {
        let done = Done::default();
        let (hold, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..MANY / 2 {
            let (done, held) = (done.clone(), held.clone());
            drop(runtime.handle().spawn_blocking(move || {
                // Blocks until the sender is gone.
                assert!(held.lock().unwrap().recv().is_err());
                done.one_more();
            }));
        }
        drop(hold);
        done.wait_for(MANY / 2);
        wait_for(|| runtime.metrics().tasks.blocking_queue_depth == 0);
    });
}

#[test]
fn sockets() {
    after("sockets", 0, |runtime| {
        runtime.block_on(async {
            let mut sockets = Vec::new();
            for _ in 0..500 {
                sockets.push(UdpSocket::bind("127.0.0.1:0").await.unwrap());
            }
            for socket in &sockets {
                socket.writable().await.unwrap();
            }
        });
    });
}

/// Lets spares take seats `rounds` times.
fn call_spares(runtime: &Runtime, rounds: usize) {
    for _ in 0..rounds {
        let blocks = || async { blitz::block_in_place(std::thread::yield_now) };
        let all: Vec<_> = (0..3).map(|_| runtime.spawn(blocks())).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    }
}

/// The bytes that 9,000 calls of spares, or 100 pools, may add. A leak of 16 bytes per call would
/// be larger.
const SLACK: usize = 64 << 10;

/// How many parts a run has.
const PARTS: usize = 20;

#[test]
fn spares_that_come_and_go_thousands_of_times() {
    let _alone = alone();
    for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
        watched("spares come and go", |watch| {
            let builder = Runtime::builder().workers(WORKERS).spares(4).scheduler(scheduler);
            let runtime = watch.runtime(builder.build().unwrap());
            // What spares keep is bounded, but the bound may be reached late. A leak would add
            // memory in each part of the run.
            let part = || {
                call_spares(&runtime, 3_000);
                idle_phase(&runtime);
                LIVE.load(SeqCst)
            };
            let mut most = part();
            for _ in 0..PARTS {
                let live = part();
                if live <= most + SLACK {
                    return;
                }
                most = live;
            }
            panic!("each of {PARTS} parts leaves memory, {scheduler:?}");
        });
    }
}

#[test]
fn pools_whose_spares_served_leave_nothing() {
    let _alone = alone();
    for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
        // The watchdog does not learn of these pools: its handles would keep their memory.
        watched("pools with spares", |_| {
            let generation = || {
                let builder = Runtime::builder().workers(WORKERS).spares(4).scheduler(scheduler);
                let runtime = builder.build().unwrap();
                call_spares(&runtime, 20);
                assert!(runtime.metrics().spares <= 4);
            };
            // The first pools allocate what stays for the whole process.
            (0..5).for_each(|_| generation());
            let before = LIVE.load(SeqCst);
            (0..100).for_each(|_| generation());
            let kept = LIVE.load(SeqCst).saturating_sub(before);
            assert!(kept <= SLACK, "{kept} bytes stay of 100 pools, {scheduler:?}");
        });
    }
}
