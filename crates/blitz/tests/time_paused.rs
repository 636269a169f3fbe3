//! The paused clock of a test: it stands still while work runs, and moves to the next timer when
//! the runtime has nothing else to do.

mod common;

use blitz::sync::{mpsc, oneshot};
use blitz::time::{self, Duration, Instant, sleep, sleep_until, timeout};
use blitz::{Pool, Runtime, WaitPolicy};
use common::{Watch, wait_for, watched};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Runs a test on runtimes of several sizes with paused clocks.
fn stopped<F: Future<Output = ()>>(name: &'static str, test: impl Fn() -> F) {
    watched(name, |watch: &Watch| {
        for workers in [1, 2, 4] {
            let runtime = Runtime::builder().workers(workers).start_paused(true).build().unwrap();
            watch.runtime(runtime).block_on(test());
        }
    });
}

#[test]
fn the_clock_stands_before_anything_has_slept() {
    stopped("the_clock_stands_before_anything_has_slept", || async {
        let start = Instant::now();
        // The runtime has no driver yet. The driver that it gets later begins with the same time.
        while start.into_std().elapsed() < 3 * MS {
            std::hint::spin_loop();
        }
        assert_eq!(Instant::now(), start);
        assert_eq!(blitz::spawn(async { Instant::now() }).await.unwrap(), start);
        sleep(SECOND).await;
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn the_thread_that_built_a_runtime_reads_its_clock_between_operations() {
    watched("the_thread_that_built_a_runtime_reads_its_clock", |watch| {
        let runtime = Runtime::builder().workers(2).start_paused(true).build().unwrap();
        let runtime = watch.runtime(runtime);
        let start = Instant::now();
        assert_eq!(runtime.block_on(async { Instant::now() }), start);
        runtime.block_on(sleep(YEAR));
        assert_eq!(start.elapsed(), YEAR);
        drop(runtime);
        assert!(start.elapsed() < YEAR, "the thread reads the system's clock again");
    });
}

#[test]
fn a_clock_that_stands_is_resumed_from_where_it_stands() {
    stopped("a_clock_that_stands_is_resumed_from_where_it_stands", || async {
        let start = Instant::now();
        time::resume();
        sleep(MS).await;
        assert!(start.elapsed() >= MS);
    });
}

/// Either a blocking thread or io_uring reads and writes the file.
#[cfg(target_os = "linux")]
#[test]
fn time_stands_while_a_file_is_read_or_written() {
    use blitz::fs::File;
    use blitz::io::{AsyncReadExt, AsyncWriteExt};
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::io::Write;
    stopped("time_stands_while_a_file_is_read_or_written", || async {
        let dir = common::Dir::new();
        let start = Instant::now();
        mknodat(CWD, dir.at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let fifo = std::fs::OpenOptions::new().read(true).write(true).open(dir.at("fifo")).unwrap();
        let mut file = File::from_std(fifo.try_clone().unwrap());
        for _ in 0..20 {
            let mut fifo = fifo.try_clone().unwrap();
            let writer = std::thread::spawn(move || {
                (0..1_000).for_each(|_| std::thread::yield_now());
                fifo.write_all(b"x").unwrap();
            });
            let read = timeout(YEAR, file.read_u8()).await;
            assert_eq!(read.expect("the clock stands").unwrap(), b'x');
            writer.join().unwrap();
        }
        for _ in 0..20 {
            let mut file = File::create(dir.at("written")).await.unwrap();
            let write = async {
                file.write_all(&vec![7; 1 << 20]).await.unwrap();
                file.flush().await.unwrap();
            };
            timeout(YEAR, write).await.expect("the clock stands");
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        sleep(SECOND).await;
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn time_stands_while_a_task_runs() {
    stopped("time_stands_while_a_task_runs", || async {
        let start = Instant::now();
        let real = std::time::Instant::now();
        let waiting = blitz::spawn(sleep(SECOND));
        while real.elapsed() < 3 * MS {
            blitz::task::yield_now().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        waiting.await.unwrap();
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn time_moves_while_a_worker_waits_for_descendants_only() {
    watched("time_moves_while_a_worker_waits_for_descendants_only", |watch| {
        for workers in [2, 4] {
            let pool = Pool::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly);
            let builder = pool.start_paused(true);
            let runtime = watch.runtime(builder.build().unwrap());
            for _ in 0..100 {
                let waited = runtime.block_on(async {
                    let start = Instant::now();
                    let begun = AtomicBool::new(false);
                    // Another worker has the second half, so this worker waits. This worker may or
                    // may not be the last one that goes to sleep.
                    let is_stolen = || wait_for(|| begun.load(Relaxed));
                    blitz::join(is_stolen, || {
                        begun.store(true, Relaxed);
                        blitz::block_on(sleep(SECOND));
                    });
                    start.elapsed()
                });
                assert_eq!(waited, SECOND);
            }
        }
    });
}

#[test]
fn time_moves_while_a_poll_waits_at_the_end_of_the_runtime() {
    watched("time_moves_while_a_poll_waits_at_the_end_of_the_runtime", |watch| {
        for workers in [2, 4] {
            let builder = Runtime::builder().workers(workers).start_paused(true);
            let runtime = watch.runtime(builder.build().unwrap());
            let (begun, begins) = std::sync::mpsc::channel();
            let (go, wait) = std::sync::mpsc::channel();
            let poll = runtime.spawn(async move {
                begun.send(()).unwrap();
                // `recv` returns once the runtime is about to end. So idle workers stop while the
                // `block_on` below waits.
                wait.recv().unwrap();
                blitz::scope(|scope| scope.spawn(|_| blitz::block_on(sleep(SECOND))));
            });
            begins.recv().unwrap();
            let handle = runtime.handle();
            let dropping = std::thread::spawn(move || drop(runtime));
            wait_for(|| handle.dump().stopping);
            go.send(()).unwrap();
            dropping.join().unwrap();
            assert!(poll.is_finished());
        }
    });
}

#[test]
fn time_moves_to_the_next_timer_exactly() {
    stopped("time_moves_to_the_next_timer_exactly", || async {
        let start = Instant::now();
        for time in [MS, 7 * MS, 64 * MS, SECOND, 4_097 * MS, 3_600 * SECOND, YEAR, 30 * YEAR] {
            let before = Instant::now();
            sleep(time).await;
            assert_eq!(before.elapsed(), time);
        }
        assert!(start.elapsed() > 31 * YEAR);
    });
}

#[test]
fn sleeps_beyond_the_last_moment_of_the_clock_end_there() {
    stopped("sleeps_beyond_the_last_moment_of_the_clock_end_there", || async {
        for centuries in [10, 1_000_000] {
            sleep(centuries * 100 * YEAR).await;
            assert!(Instant::now() >= Instant::from_std(std::time::Instant::now()) + 500 * YEAR);
        }
    });
}

#[test]
fn sleeps_end_in_the_order_of_their_deadlines() {
    stopped("sleeps_end_in_the_order_of_their_deadlines", || async {
        let (send, mut receive) = mpsc::unbounded_channel();
        let start = Instant::now();
        for n in 0..500u32 {
            let send = send.clone();
            drop(blitz::spawn(async move {
                let time = MS * (n * 7_919 % 5_003);
                sleep_until(start + time).await;
                assert_eq!(start.elapsed(), time);
                send.send(time).unwrap();
            }));
        }
        drop(send);
        let (mut last, mut count) = (Duration::ZERO, 0);
        while let Some(time) = receive.recv().await {
            assert!(time >= last);
            last = time;
            count += 1;
        }
        assert_eq!(count, 500, "a task that panics sends nothing");
    });
}

#[test]
fn a_cancelled_timer_does_not_move_the_clock() {
    stopped("a_cancelled_timer_does_not_move_the_clock", || async {
        let start = Instant::now();
        assert!(timeout(SECOND, sleep(5 * SECOND)).await.is_err());
        assert_eq!(start.elapsed(), SECOND);
        // Now only a thread outside the runtime can make progress.
        let (send, receive) = oneshot::channel();
        let outside = std::thread::spawn(move || send.send(Instant::now()));
        receive.await.unwrap();
        outside.join().unwrap().unwrap();
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn closures_that_block_keep_the_clock_from_jumping() {
    stopped("closures_that_block_keep_the_clock_from_jumping", || async {
        let start = Instant::now();
        let slept = blitz::spawn(sleep(SECOND));
        let (go, wait) = std::sync::mpsc::channel();
        let blocking = blitz::spawn_blocking(move || {
            wait.recv().unwrap();
            start.elapsed()
        });
        let real = std::time::Instant::now();
        let helper = std::thread::spawn(move || {
            while real.elapsed() < 3 * MS {
                std::thread::yield_now();
            }
            go.send(()).unwrap();
        });
        assert_eq!(blocking.await.unwrap(), Duration::ZERO);
        slept.await.unwrap();
        assert_eq!(start.elapsed(), SECOND);
        helper.join().unwrap();
        // The clock also goes on after a detached closure has ended.
        drop(blitz::spawn_blocking(|| ()));
        sleep(SECOND).await;
    });
}

#[test]
fn advancing_wakes_tasks_whose_time_has_come() {
    stopped("advancing_wakes_tasks_whose_time_has_come", || async {
        let start = Instant::now();
        let ended = Arc::new(AtomicUsize::new(0));
        let (hold, held) = oneshot::channel::<()>();
        // A closure on a blocking thread keeps the clock from jumping to the next timer.
        let computes = blitz::spawn_blocking(move || held.blocking_recv());
        for n in 1..=10u32 {
            let ended = ended.clone();
            drop(blitz::spawn(async move {
                sleep_until(start + SECOND * n).await;
                ended.fetch_add(1, Relaxed);
            }));
        }
        time::advance(Duration::ZERO).await;
        for n in 1..=10u32 {
            time::advance(SECOND).await;
            while ended.load(Relaxed) < n as usize {
                blitz::task::yield_now().await;
            }
            assert_eq!(ended.load(Relaxed), n as usize);
            assert_eq!(start.elapsed(), SECOND * n);
        }
        hold.send(()).unwrap();
        computes.await.unwrap().unwrap();
    });
}

#[test]
fn the_clock_goes_on_from_where_it_stands() {
    stopped("the_clock_goes_on_from_where_it_stands", || async {
        let start = Instant::now();
        sleep(3_600 * SECOND).await;
        time::resume();
        sleep(2 * MS).await;
        let elapsed = start.elapsed();
        assert!(elapsed >= 3_600 * SECOND + 2 * MS);
        time::pause();
        time::pause();
        assert!(start.elapsed() >= elapsed);
        let before = Instant::now();
        sleep(SECOND).await;
        assert_eq!(before.elapsed(), SECOND);
    });
}

#[test]
fn each_runtime_has_a_clock_of_its_own() {
    watched("each_runtime_has_a_clock_of_its_own", |watch| {
        let stopped = Runtime::builder().workers(1).start_paused(true).build().unwrap();
        let running = watch.workers(1);
        let start = Instant::now();
        stopped.block_on(sleep(YEAR));
        let there = stopped.block_on(async { Instant::now() });
        let here = running.spawn(async { Instant::now() }).join().unwrap();
        assert!(there >= start + YEAR);
        assert!(here < there);
    });
}

#[test]
fn a_running_clock_cannot_be_moved() {
    watched("a_running_clock_cannot_be_moved", |watch| {
        let runtime = watch.workers(1);
        let moved = runtime.spawn(time::advance(SECOND)).join();
        assert!(moved.unwrap_err().to_string().contains("call time::pause first"));
    });
}

#[test]
fn a_hundred_thousand_sleeps() {
    stopped("a_hundred_thousand_sleeps", || async {
        let start = Instant::now();
        let ended = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100_000u32)
            .map(|n| {
                let ended = ended.clone();
                blitz::spawn(async move {
                    let time = MS * (1 + n * 31 % 500);
                    sleep(time).await;
                    assert!(start.elapsed() >= time);
                    ended.fetch_add(1, Relaxed);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(ended.load(Relaxed), 100_000);
        assert_eq!(start.elapsed(), 500 * MS);
    });
}

#[blitz::test(start_paused = true)]
async fn the_attribute_stops_the_clock() {
    let start = Instant::now();
    sleep(YEAR).await;
    assert_eq!(start.elapsed(), YEAR);
}

#[blitz::test(workers = 3, start_paused = true)]
async fn the_attribute_stops_the_clock_of_many_workers() {
    let start = Instant::now();
    let tasks: Vec<_> = (1..=20u32).map(|n| blitz::spawn(sleep(SECOND * n))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(start.elapsed(), 20 * SECOND);
}
