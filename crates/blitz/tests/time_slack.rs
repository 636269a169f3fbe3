//! The slack of timers: every timer fires, none is early, and a paused clock stays exact.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::UnixStream;
use blitz::time::{Duration, Instant, interval, sleep, sleep_until, timeout};
use blitz::{Backend, Builder, Runtime};
use common::{wait_for, watched};
use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;

const MICRO: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn with_slack(workers: usize, slack: Duration) -> Builder {
    Runtime::builder().workers(workers).timer_slack(slack)
}

/// Runs sleeps of many lengths at the same time, and checks that none is early.
async fn naps(count: u32) {
    let nap = |n| {
        blitz::spawn(async move {
            let (start, time) = (std::time::Instant::now(), MICRO * (n * 7_919 % 7_000));
            sleep(time).await;
            assert!(start.elapsed() >= time);
        })
    };
    let naps: Vec<_> = (0..count).map(nap).collect();
    for nap in naps {
        nap.await.unwrap();
    }
}

#[test]
fn whatever_the_slack_timers_end_and_none_is_early() {
    watched("whatever_the_slack_timers_end_and_none_is_early", |watch| {
        for slack in [Duration::ZERO, Duration::from_nanos(1), MICRO, 40 * MICRO, 3 * MS] {
            for workers in [1, 2, 8] {
                let runtime = watch.runtime(with_slack(workers, slack).build().unwrap());
                runtime.block_on(naps(200));
            }
        }
    });
}

/// A slack of more than one second counts as one second.
///
/// After that second, all due timers fire at once.
#[test]
fn a_slack_without_end_counts_as_one_second() {
    watched("a_slack_without_end_counts_as_one_second", |watch| {
        let runtime = watch.runtime(with_slack(2, Duration::MAX).build().unwrap());
        runtime.block_on(naps(50));
    });
}

#[test]
fn timers_of_one_moment_all_fire() {
    watched("timers_of_one_moment_all_fire", |watch| {
        for workers in [1, 2] {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let deadline = Instant::now() + 30 * MS;
                let sleeps: Vec<_> = (0..20_000)
                    .map(|_| {
                        blitz::spawn(async move {
                            sleep_until(deadline).await;
                            assert!(Instant::now() >= deadline);
                        })
                    })
                    .collect();
                for sleep in sleeps {
                    sleep.await.unwrap();
                }
            });
        }
    });
}

/// Another thread adds an earlier timer, or resets a timer to an earlier time.
///
/// The worker in the driver blocks until its next timer, which may be an hour away.
#[test]
fn an_earlier_timer_of_another_thread_wakes_the_driver() {
    watched("an_earlier_timer_of_another_thread_wakes_the_driver", |watch| {
        for (slack, workers) in [(Duration::ZERO, 1), (40 * MICRO, 1), (40 * MICRO, 2), (5 * MS, 2)]
        {
            let runtime = watch.runtime(with_slack(workers, slack).build().unwrap());
            let hour = runtime.spawn(sleep(HOUR));
            for n in 0..20 {
                wait_for(|| runtime.pool().dump().all_sleep);
                // This thread is not a worker, so its timer is in the wheel that such threads
                // share.
                runtime.block_on(sleep(MS));
                wait_for(|| runtime.pool().dump().all_sleep);
                runtime.spawn(sleep(MICRO * (n * 50))).join().unwrap();
                wait_for(|| runtime.pool().dump().all_sleep);
                let mut moved = Box::pin(sleep(HOUR));
                runtime.block_on(poll_fn(|cx| {
                    assert!(moved.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                }));
                moved.as_mut().reset(Instant::now() + MICRO * (n * 50));
                runtime.block_on(moved);
            }
            hour.abort();
        }
    });
}

#[test]
fn a_clock_that_stands_is_exact_whatever_the_slack() {
    watched("a_clock_that_stands_is_exact_whatever_the_slack", |watch| {
        for slack in [Duration::ZERO, 40 * MICRO, Duration::MAX] {
            for workers in [1, 2] {
                let builder = with_slack(workers, slack).start_paused(true);
                watch.runtime(builder.build().unwrap()).block_on(exact_times());
            }
        }
    });
}

async fn exact_times() {
    let start = Instant::now();
    for time in [MICRO, 3 * MICRO, 41 * MICRO, MS + MICRO, HOUR + 7 * MICRO] {
        let before = Instant::now();
        sleep(time).await;
        assert_eq!(before.elapsed(), time);
        assert!(timeout(time, pending::<()>()).await.is_err());
        assert_eq!(before.elapsed(), 2 * time);
    }
    // Timers that are a microsecond apart do not fire together.
    let near = [5, 3, 4, 1, 2].map(|n| {
        let deadline = start + 3 * HOUR + n * MICRO;
        blitz::spawn(async move {
            sleep_until(deadline).await;
            assert_eq!(Instant::now(), deadline);
        })
    });
    for sleep in near {
        sleep.await.unwrap();
    }
    let mut ticks = interval(7 * MICRO);
    let first = ticks.tick().await;
    for n in 1..100 {
        assert_eq!(ticks.tick().await, first + n * 7 * MICRO);
        assert_eq!(Instant::now(), first + n * 7 * MICRO);
    }
}

/// Workers find sockets ready each time they check.
///
/// Half of the runtimes fetch at most one event at a time, and the others at most 256.
#[test]
fn timers_fire_beside_a_busy_driver() {
    watched("timers_fire_beside_a_busy_driver", |watch| {
        for events in [1, 256] {
            for workers in [1, 2] {
                let builder = with_slack(workers, 40 * MICRO).max_io_completions(events);
                let runtime = watch.runtime(builder.build().unwrap());
                runtime.block_on(async {
                    let enough = Arc::new(AtomicBool::new(false));
                    let pairs: Vec<_> = (0..4).map(|_| ping_pong(enough.clone())).collect();
                    naps(100).await;
                    enough.store(true, Relaxed);
                    for pair in pairs {
                        pair.await.unwrap();
                    }
                });
            }
        }
    });
}

/// Sends bytes to itself until `enough` is set.
fn ping_pong(enough: Arc<AtomicBool>) -> blitz::JoinHandle<()> {
    blitz::spawn(async move {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        while !enough.load(Relaxed) {
            let (sent, mut byte) = (here.write_all(b"x"), [0; 1]);
            sent.await.unwrap();
            there.read_exact(&mut byte).await.unwrap();
            assert_eq!(&byte, b"x");
        }
    })
}

/// With io_uring the worker in the driver also waits for the ring's descriptor.
#[test]
fn timers_fire_with_each_backend() {
    watched("timers_fire_with_each_backend", |watch| {
        for backend in [Backend::Auto, Backend::Readiness, Backend::IoUring] {
            let builder = with_slack(2, 40 * MICRO).backend(backend);
            // A backend that the system forbids is not a failure.
            let Ok(runtime) = builder.build() else { continue };
            let runtime = watch.runtime(runtime);
            runtime.block_on(async {
                let (here, _there) = UnixStream::pair().unwrap();
                assert!(timeout(MS, here.recv_owned(vec![0; 1])).await.is_err());
                naps(100).await;
            });
        }
    });
}
