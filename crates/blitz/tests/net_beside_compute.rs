//! Sockets beside code that computes: a worker that polls a task for long does not keep events from
//! the other workers.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use common::{io_metrics, tcp_pair, wait_for, watched};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Two tasks wait for one byte each, which may come in one batch of events.
///
/// The first task that gets its byte stays in its poll until the other task has its byte, too.
#[test]
fn an_event_does_not_wait_behind_a_poll_that_waits_for_it() {
    for workers in [2, 8] {
        watched("long polls", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            for round in 0..40 {
                let arrived = Arc::new(AtomicUsize::new(0));
                let mut ends = Vec::new();
                let tasks: Vec<_> = (0..2)
                    .map(|_| {
                        let (mut here, there) = runtime.block_on(tcp_pair());
                        let there = there.into_std().unwrap();
                        ends.push(there);
                        let arrived = arrived.clone();
                        runtime.spawn(async move {
                            let mut byte = [0];
                            here.read_exact(&mut byte).await.unwrap();
                            arrived.fetch_add(1, SeqCst);
                            // This wait is no await: until it is over, the worker does nothing
                            // else.
                            wait_for(|| arrived.load(SeqCst) == 2);
                        })
                    })
                    .collect();
                if round % 2 == 0 {
                    wait_for(|| io_metrics(&handle).waiting == 2);
                }
                for mut end in ends {
                    end.write_all(b"x").unwrap();
                }
                tasks.into_iter().for_each(|task| task.join().unwrap());
            }
        });
    }
}

/// An echo goes on while other tasks compute on all workers.
#[test]
fn an_echo_goes_on_beside_parallel_code() {
    for workers in [1, 2, 8] {
        watched("echo beside compute", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let (here, mut there) = tcp_pair().await;
                let echo = blitz::spawn(common::echo(here));
                let compute: Vec<_> = (0..4)
                    .map(|_| {
                        blitz::spawn(async {
                            let mut sum = 0;
                            for _ in 0..20 {
                                sum += common::fib(16);
                                blitz::task::yield_now().await;
                            }
                            sum
                        })
                    })
                    .collect();
                for round in 0..100u32 {
                    there.write_all(&round.to_le_bytes()).await.unwrap();
                    let mut back = [0; 4];
                    there.read_exact(&mut back).await.unwrap();
                    assert_eq!(u32::from_le_bytes(back), round);
                }
                drop(there);
                assert_eq!(echo.await.unwrap().unwrap(), 400);
                for task in compute {
                    assert_eq!(task.await.unwrap(), 20 * 987);
                }
            });
        });
    }
}
