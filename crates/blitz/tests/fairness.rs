//! No task or job waits for ever: a task that is always ready, or a job that always spawns another,
//! keeps neither tasks nor jobs from running, wherever they come from. Most tests have one worker,
//! so that no other worker can help. Each test ends only if the expected work runs.

mod common;

use blitz::io::{AsyncReadExt as _, AsyncWriteExt as _};
use blitz::net::UnixStream;
use blitz::sync::{Notify, mpsc};
use blitz::task::{consume_budget, yield_now};
use blitz::time::sleep;
use blitz::{Handle, Runtime, Scheduler};
use common::{wait_for, watched};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Work that goes on until the test stops it.
#[derive(Clone, Default)]
struct Busy {
    stop: Arc<AtomicBool>,
    turns: Arc<AtomicUsize>,
}

impl Busy {
    /// Counts a turn; returns whether to take another.
    fn turn(&self) -> bool {
        self.turns.fetch_add(1, SeqCst);
        !self.stop.load(SeqCst)
    }

    fn stop(&self) {
        self.stop.store(true, SeqCst);
    }

    fn turns(&self) -> usize {
        self.turns.load(SeqCst)
    }
}

/// Functions that each start a kind of work that could keep a worker busy for ever.
const HOGS: [fn(&Handle, Busy); 10] = [
    yielder,
    ping_pong,
    spender,
    joiner,
    respawner,
    outside_jobs,
    outside_tasks,
    broadcaster,
    sleepers,
    talkers,
];

fn yielder(handle: &Handle, busy: Busy) {
    drop(handle.spawn(async move {
        while busy.turn() {
            yield_now().await;
        }
    }));
}

/// Spawns two tasks that wake each other: one of them is always in the LIFO slot.
fn ping_pong(handle: &Handle, busy: Busy) {
    let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    ping.notify_one();
    for (own, other) in [(ping.clone(), pong.clone()), (pong, ping)] {
        let busy = busy.clone();
        drop(handle.spawn(async move {
            while busy.turn() {
                own.notified().await;
                other.notify_one();
            }
            other.notify_one();
        }));
    }
}

fn spender(handle: &Handle, busy: Busy) {
    drop(handle.spawn(async move {
        while busy.turn() {
            consume_budget().await;
        }
    }));
}

/// Spawns a task whose join handles are always ready: the awaited job has just run.
fn joiner(handle: &Handle, busy: Busy) {
    drop(handle.spawn(async move {
        while busy.turn() {
            let job = blitz::spawn_cpu(|| ());
            wait_for(|| job.is_finished() || blitz::yield_local().is_none());
            job.await.unwrap();
        }
    }));
}

/// Starts a job that spawns itself again.
fn respawner(handle: &Handle, busy: Busy) {
    fn again(busy: Busy) {
        if busy.turn() {
            blitz::spawn_detached(move || again(busy));
        }
    }
    drop(handle.spawn(async move { again(busy) }));
}

/// Calls `post` again and again, on a thread of its own.
///
/// Each call gets a token that counts as posted until it is dropped. At most a hundred tokens exist
/// at a time.
fn flood(busy: Busy, post: impl Fn(Posted) + Send + 'static) {
    let posted = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        while busy.turn() {
            if posted.load(SeqCst) < 100 {
                post(Posted::new(&posted));
            } else {
                std::thread::yield_now();
            }
        }
    });
}

/// The token of posted work; dropped when the work has run.
struct Posted(Arc<AtomicUsize>);

impl Posted {
    fn new(count: &Arc<AtomicUsize>) -> Posted {
        count.fetch_add(1, SeqCst);
        Posted(count.clone())
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn outside_jobs(handle: &Handle, busy: Busy) {
    let handle = handle.clone();
    flood(busy, move |posted| handle.spawn_detached(move || drop(posted)));
}

fn outside_tasks(handle: &Handle, busy: Busy) {
    let handle = handle.clone();
    flood(busy, move |posted| drop(handle.spawn(async move { drop(posted) })));
}

fn broadcaster(handle: &Handle, busy: Busy) {
    let handle = handle.clone();
    flood(busy, move |posted| {
        let posted = Arc::new(posted);
        handle.spawn_broadcast(move |_| drop(posted.clone()));
    });
}

/// Spawns tasks whose timers are always due.
fn sleepers(handle: &Handle, busy: Busy) {
    for _ in 0..64 {
        let busy = busy.clone();
        drop(handle.spawn(async move {
            while busy.turn() {
                sleep(Duration::from_nanos(1)).await;
            }
        }));
    }
}

/// Spawns tasks that answer each other through sockets.
fn talkers(handle: &Handle, busy: Busy) {
    for _ in 0..8 {
        let (handle, busy) = (handle.clone(), busy.clone());
        drop(handle.clone().spawn(async move {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            let echo = handle.spawn(async move {
                let mut byte = [0];
                while there.read_exact(&mut byte).await.is_ok() {
                    // If the runtime ends, the other side may be gone.
                    let _ = there.write_all(&byte).await;
                }
            });
            while busy.turn() {
                here.write_all(&[7]).await.unwrap();
                if here.read_exact(&mut [0]).await.is_err() {
                    // The runtime ends.
                    break;
                }
            }
            drop(here);
            echo.await.unwrap();
        }));
    }
}

/// Calls `test` beside each kind of hog, on one worker, with and without spares.
fn beside_each_hog(name: &'static str, test: impl Fn(&Runtime)) {
    watched(name, |watch| {
        for (start, spares) in HOGS.into_iter().flat_map(|start| [(start, 0), (start, 4)]) {
            let builder = Runtime::builder().workers(1).spares(spares);
            let runtime = watch.runtime(builder.build().unwrap());
            let busy = Busy::default();
            start(&runtime.handle(), busy.clone());
            wait_for(|| busy.turns() > 0);
            test(&runtime);
            busy.stop();
        }
    });
}

#[test]
fn tasks_from_outside_run() {
    beside_each_hog("tasks_from_outside_run", |runtime| {
        for n in 0..20 {
            assert_eq!(runtime.spawn(async move { n }).join().unwrap(), n);
        }
    });
}

#[test]
fn tasks_that_a_task_spawns_run() {
    beside_each_hog("tasks_that_a_task_spawns_run", |runtime| {
        let sum = runtime.spawn(async {
            let handles: Vec<_> = (0..100).map(|n| blitz::spawn(async move { n })).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum.join().unwrap(), 4_950);
    });
}

#[test]
fn tasks_that_are_woken_from_outside_run() {
    beside_each_hog("tasks_that_are_woken_from_outside_run", |runtime| {
        let (send, mut receive) = mpsc::channel(1);
        let sum = runtime.spawn(async move {
            let mut sum = 0;
            while let Some(n) = receive.recv().await {
                sum += n;
            }
            sum
        });
        for n in 0..100 {
            send.blocking_send(n).unwrap();
        }
        drop(send);
        assert_eq!(sum.join().unwrap(), 4_950);
    });
}

#[test]
fn jobs_that_a_task_spawns_run() {
    beside_each_hog("jobs_that_a_task_spawns_run", |runtime| {
        let sum = runtime.spawn(async {
            let mut sum = 0;
            for n in 0..20 {
                sum += blitz::spawn_cpu(move || n).await.unwrap();
            }
            sum
        });
        assert_eq!(sum.join().unwrap(), 190);
    });
}

#[test]
fn many_jobs_that_a_task_spawns_run() {
    beside_each_hog("many_jobs_that_a_task_spawns_run", |runtime| {
        let sum = runtime.spawn(async {
            let jobs: Vec<_> = (0..20).map(|n| blitz::spawn_cpu(move || n)).collect();
            let mut sum = 0;
            for job in jobs {
                sum += job.await.unwrap();
            }
            sum
        });
        assert_eq!(sum.join().unwrap(), 190);
    });
}

#[test]
fn jobs_from_outside_run() {
    beside_each_hog("jobs_from_outside_run", |runtime| {
        for n in 0..20 {
            assert_eq!(runtime.pool().install(|| n), n);
            assert_eq!(runtime.spawn_cpu(move || n).join().unwrap(), n);
        }
    });
}

#[test]
fn broadcasts_reach_the_worker() {
    beside_each_hog("broadcasts_reach_the_worker", |runtime| {
        for n in 0..20 {
            assert_eq!(runtime.pool().broadcast(|_| n), [n]);
        }
    });
}

#[test]
fn timers_fire() {
    beside_each_hog("timers_fire", |runtime| {
        let fired = runtime.spawn(async {
            let mut fired = 0;
            for _ in 0..20 {
                sleep(Duration::from_micros(100)).await;
                fired += 1;
            }
            fired
        });
        assert_eq!(fired.join().unwrap(), 20);
    });
}

#[test]
fn sockets_are_served() {
    beside_each_hog("sockets_are_served", |runtime| {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        there.set_nonblocking(true).unwrap();
        let echo = runtime.spawn(async move {
            let mut there = UnixStream::from_std(there).unwrap();
            let mut bytes = [0; 4];
            while there.read_exact(&mut bytes).await.is_ok() {
                there.write_all(&bytes).await.unwrap();
            }
        });
        for n in 0..20_u32 {
            let mut answer = [0; 4];
            (&here).write_all(&n.to_le_bytes()).unwrap();
            (&here).read_exact(&mut answer).unwrap();
            assert_eq!(u32::from_le_bytes(answer), n);
        }
        drop(here);
        echo.join().unwrap();
    });
}

#[test]
fn a_worker_that_waits_in_block_on_is_as_fair() {
    beside_each_hog("a_worker_that_waits_in_block_on_is_as_fair", |runtime| {
        let handle = runtime.handle();
        let inside = runtime.spawn(async move {
            // A task and a job are posted before the wait begins. The worker finds them while it
            // waits.
            let outside = std::thread::spawn(move || {
                let task = handle.spawn(async { 1 });
                let _entered = handle.enter();
                (task, blitz::spawn_cpu(|| 2))
            });
            let (task, job) = outside.join().unwrap();
            let own_task = blitz::spawn(async { 4 });
            let own_job = blitz::spawn_cpu(|| 8);
            let all = blitz::block_on(async {
                let tasks = task.await.unwrap() + own_task.await.unwrap();
                tasks + job.await.unwrap() + own_job.await.unwrap()
            });
            all + blitz::block_on(blitz::spawn(async { 16 })).unwrap()
        });
        assert_eq!(inside.join().unwrap(), 31);
    });
}

#[test]
fn tasks_of_a_worker_that_blocks_run_on_a_worker_that_is_never_idle() {
    watched("tasks_of_a_worker_that_blocks_run", |watch| {
        for start in HOGS {
            let runtime = watch.workers(2);
            let busy = Busy::default();
            start(&runtime.handle(), busy.clone());
            wait_for(|| busy.turns() > 0);
            let blocks = runtime.spawn(async {
                let (done, is_done) = std::sync::mpsc::channel();
                for n in 0..20 {
                    let done = done.clone();
                    drop(blitz::spawn(async move { done.send(n).unwrap() }));
                }
                drop(done);
                is_done.iter().sum::<u32>()
            });
            assert_eq!(blocks.join().unwrap(), 190);
            busy.stop();
        }
    });
}

#[test]
fn a_task_in_the_queue_runs_within_the_interval() {
    watched("a_task_in_the_queue_runs_within_the_interval", |watch| {
        /// The longest interval: see `blitz_parts::tuning`.
        const INTERVAL: usize = blitz_parts::tuning::INTERVAL_MAX as usize;
        // No other thread may take the task and then wait for a processor.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let handle = runtime.handle();
        let polls = runtime.spawn(async move {
            let mut most = 0;
            for _ in 0..50 {
                let (handle, ran) = (handle.clone(), Arc::new(AtomicBool::new(false)));
                let flag = ran.clone();
                let spawn = move || drop(handle.spawn(async move { flag.store(true, SeqCst) }));
                std::thread::spawn(spawn).join().unwrap();
                let mut polls = 0;
                while !ran.load(SeqCst) {
                    yield_now().await;
                    polls += 1;
                }
                most = most.max(polls);
            }
            most
        });
        let polls = polls.join().unwrap();
        assert!((1..=INTERVAL).contains(&polls), "ran after {polls} polls of another task");
    });
}

#[test]
fn a_task_from_outside_waits_for_one_long_task_at_most() {
    watched("a_task_from_outside_waits_for_one", |watch| {
        // No other thread may help.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let handle = runtime.handle();
        let polls = runtime.spawn(async move {
            // Each poll takes longer than a task from outside should wait. There are enough polls
            // for the worker's average of poll times to become that long.
            let take_long = || {
                let since = std::time::Instant::now();
                while since.elapsed() < Duration::from_micros(60) {}
            };
            for _ in 0..2_000 {
                take_long();
                yield_now().await;
            }
            let mut most = 0;
            for _ in 0..50 {
                let (handle, ran) = (handle.clone(), Arc::new(AtomicBool::new(false)));
                let flag = ran.clone();
                let spawn = move || drop(handle.spawn(async move { flag.store(true, SeqCst) }));
                std::thread::spawn(spawn).join().unwrap();
                let mut polls = 0;
                while !ran.load(SeqCst) {
                    take_long();
                    yield_now().await;
                    polls += 1;
                }
                most = most.max(polls);
            }
            most
        });
        // With the bitmap, the worker's own task that has yielded goes first once more.
        let most = if runtime.scheduler() == Scheduler::Signal { 2 } else { 1 };
        assert!((1..=most).contains(&polls.join().unwrap()));
    });
}

#[test]
fn jobs_that_tasks_spawn_run_oldest_first() {
    watched("jobs_that_tasks_spawn_run_oldest_first", |watch| {
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let all = runtime.spawn({
            let order = order.clone();
            async move {
                let job = |n| {
                    let order = order.clone();
                    move || order.lock().unwrap().push(n)
                };
                let jobs: Vec<_> = (0..64).map(|n| blitz::spawn_cpu(job(n))).collect();
                for job in jobs {
                    job.await.unwrap();
                }
            }
        });
        all.join().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..64).collect::<Vec<_>>());
    });
}

#[test]
fn jobs_that_jobs_spawn_run_newest_first() {
    watched("jobs_that_jobs_spawn_run_newest_first", |watch| {
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let (send, order) = std::sync::mpsc::channel();
        runtime.spawn_detached(move || {
            for n in 0..5 {
                let send = send.clone();
                blitz::spawn_detached(move || send.send(n).unwrap());
            }
        });
        assert_eq!(order.iter().collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
    });
}

#[test]
fn a_task_in_the_ring_waits_for_three_polls_of_the_lifo_slot_at_most() {
    watched("three_polls_of_the_lifo_slot", |watch| {
        let most = blitz_parts::tuning::LIFO_POLLS_MAX as usize;
        // Another thread would take the task from the ring if the worker has no processor for long.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let gaps = runtime.spawn(async {
            let busy = Busy::default();
            ping_pong(&Handle::current(), busy.clone());
            let mut gaps = Vec::new();
            for _ in 0..1_000 {
                let before = busy.turns();
                yield_now().await;
                gaps.push(busy.turns() - before);
            }
            busy.stop();
            gaps
        });
        let gaps = gaps.join().unwrap();
        // Once the two tasks wait for each other, each poll of the pair is one turn.
        assert!(gaps.iter().skip(2).all(|&gap| gap == most), "{gaps:?}");
    });
}

#[test]
fn a_queue_that_never_runs_dry_leaves_a_part_to_own_tasks() {
    // If the queue has the slowest tasks, the queue gets a turn after each poll. If it has faster
    // ones, the interval ends before all tasks of a batch are polled. So the worker takes the next
    // batch before it is done with the previous batch.
    [500, 100, 30].into_iter().for_each(beside_a_full_queue);
}

/// Polls own tasks of a worker beside a queue whose tasks take `micros` us.
fn beside_a_full_queue(micros: u128) {
    watched("a_queue_that_never_runs_dry", |watch| {
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let busy = Busy::default();
        let (handle, flood) = (runtime.handle(), busy.clone());
        let flooding = std::thread::spawn(move || {
            while flood.turn() {
                // Reading the metrics may take longer than a task, so each reading is followed by
                // many tasks.
                let spawned = if handle.metrics().tasks.queue_depth < 200 { 100 } else { 0 };
                for _ in 0..spawned {
                    let flood = flood.clone();
                    drop(handle.spawn(async move {
                        let since = std::time::Instant::now();
                        while since.elapsed().as_micros() < micros && !flood.stop.load(SeqCst) {
                            std::hint::spin_loop();
                        }
                    }));
                }
            }
        });
        wait_for(|| runtime.metrics().tasks.queue_depth >= 200);
        let turns = runtime.spawn(async {
            let turns = Busy::default();
            ping_pong(&Handle::current(), turns.clone());
            while turns.turns() < 50 {
                yield_now().await;
            }
            turns.stop();
            turns.turns()
        });
        assert!(turns.join().unwrap() >= 50);
        busy.stop();
        flooding.join().unwrap();
    });
}

#[test]
fn a_task_that_never_waits_is_made_to_yield() {
    watched("a_task_that_never_waits_is_made_to_yield", |watch| {
        // A spare would take the other tasks if the worker has no processor for long, and the task
        // would yield until that spare has polled them.
        let runtime = watch.runtime(Runtime::builder().workers(1).spares(0).build().unwrap());
        let yields = runtime.spawn(async {
            let others = Arc::new(AtomicUsize::new(0));
            let mut handles = Vec::new();
            for _ in 0..4 {
                let others = others.clone();
                handles.push(blitz::spawn(async move { others.fetch_add(1, SeqCst) }));
            }
            while others.load(SeqCst) < 4 {
                consume_budget().await;
            }
            blitz::task::unconstrained(async {
                for _ in 0..10_000 {
                    consume_budget().await;
                }
            })
            .await;
            handles.len()
        });
        assert_eq!(yields.join().unwrap(), 4);
        let metrics = runtime.metrics().tasks;
        assert!((1..10).contains(&metrics.budget_yields), "{metrics}");
    });
}
