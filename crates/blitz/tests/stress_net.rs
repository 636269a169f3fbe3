//! Sockets with random delays, on few and many workers: no readiness is lost, every byte arrives
//! once and in order. No test relies on a timeout: if an event is lost, the test hangs, and the
//! watchdog dumps the pools.

mod common;

use blitz::JoinSet;
use blitz::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use blitz::net::{TcpStream, UnixStream};
use common::{io_metrics, jitter, tcp_pair, watched};
use std::io::ErrorKind;
use std::sync::Arc;

const WORKERS: [usize; 4] = [1, 2, 8, 64];

/// Returns how many rounds to run: fewer without optimisation.
const fn rounds(optimised: usize) -> usize {
    if cfg!(debug_assertions) { optimised.div_ceil(10) } else { optimised }
}

/// Returns the next pseudo-random number below `limit`.
fn random(seed: &mut u64, limit: usize) -> usize {
    jitter(seed);
    (*seed >> 20) as usize % limit
}

/// Writes numbers in pieces of random length, with random pauses.
async fn write_numbers(mut to: impl AsyncWrite + Unpin, count: usize, mut seed: u64) {
    let bytes: Vec<u8> = (0..count as u32).flat_map(u32::to_le_bytes).collect();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let piece = (1 + random(&mut seed, 5_000)).min(rest.len());
        to.write_all(&rest[..piece]).await.unwrap();
        rest = &rest[piece..];
        if random(&mut seed, 8) == 0 {
            blitz::task::yield_now().await;
        }
    }
    to.shutdown().await.unwrap();
}

/// Reads pieces of random length, with random pauses; expects ordered numbers.
async fn read_numbers(mut from: impl AsyncRead + Unpin, count: usize, mut seed: u64) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = vec![0; 1 + random(&mut seed, 7_000)];
        let got = from.read(&mut piece).await.unwrap();
        if got == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..got]);
        if random(&mut seed, 8) == 0 {
            blitz::task::yield_now().await;
        }
    }
    let numbers = bytes.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
    assert!(numbers.eq(0..count as u32), "{} bytes", bytes.len());
}

#[test]
fn both_directions_of_many_streams_at_once() {
    for workers in WORKERS {
        watched("both directions", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            runtime.block_on(async {
                let count = rounds(100_000);
                let mut tasks = JoinSet::new();
                for stream in 0..8u64 {
                    let seed = 0x9e37_79b9 + stream * 7_919 + workers as u64;
                    if stream % 2 == 0 {
                        let (here, there) = tcp_pair().await;
                        for (end, seed) in [(here, seed + 1), (there, seed + 3)] {
                            let (read, write) = end.into_split();
                            tasks.spawn(read_numbers(read, count, seed));
                            tasks.spawn(write_numbers(write, count, seed + 1));
                        }
                    } else {
                        let (here, there) = UnixStream::pair().unwrap();
                        for (end, seed) in [(here, seed + 1), (there, seed + 3)] {
                            let (read, write) = end.into_split();
                            tasks.spawn(read_numbers(read, count, seed));
                            tasks.spawn(write_numbers(write, count, seed + 1));
                        }
                    }
                }
                while let Some(result) = tasks.join_next().await {
                    result.unwrap();
                }
            });
            assert_eq!(io_metrics(&handle).registered, 0);
        });
    }
}

#[test]
fn ping_pong_never_stops_too_early() {
    for workers in WORKERS {
        watched("ping-pong", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for pair in 0..16u64 {
                    let (here, there) = tcp_pair().await;
                    let count = rounds(2_000);
                    tasks.spawn(serve(here, count, pair + 1));
                    tasks.spawn(ask(there, count, pair + 100));
                }
                while let Some(result) = tasks.join_next().await {
                    result.unwrap();
                }
            });
        });
    }
}

async fn serve(mut stream: TcpStream, count: usize, mut seed: u64) {
    let mut buf = [0; 64];
    for _ in 0..count {
        stream.read_exact(&mut buf).await.unwrap();
        jitter(&mut seed);
        stream.write_all(&buf).await.unwrap();
    }
}

async fn ask(mut stream: TcpStream, count: usize, mut seed: u64) {
    for round in 0..count {
        let sent = [round as u8; 64];
        stream.write_all(&sent).await.unwrap();
        jitter(&mut seed);
        let mut back = [0; 64];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(back, sent);
    }
}

/// Several tasks wait until one socket is readable, and compete for its bytes.
#[test]
fn many_tasks_at_one_socket_miss_nothing() {
    for workers in WORKERS {
        watched("one socket", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let (here, mut there) = UnixStream::pair().unwrap();
                let here = Arc::new(here);
                let total = rounds(20_000);
                let mut readers = JoinSet::new();
                for seed in 1..6u64 {
                    let here = here.clone();
                    readers.spawn(async move {
                        let (mut got, mut seed) = (0, seed);
                        loop {
                            jitter(&mut seed);
                            here.ready(Interest::READABLE).await.unwrap();
                            match here.try_read(&mut [0; 3]) {
                                Ok(0) => return got,
                                Ok(count) => got += count,
                                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                            }
                        }
                    });
                }
                let mut seed = 77;
                for _ in 0..total {
                    there.write_all(b"x").await.unwrap();
                    jitter(&mut seed);
                }
                drop(there);
                let mut got = 0;
                while let Some(result) = readers.join_next().await {
                    got += result.unwrap();
                }
                assert_eq!(got, total);
            });
        });
    }
}

/// Sockets come and go while others are busy.
///
/// No event reaches the wrong socket, and no registration is left over.
#[test]
fn registrations_that_come_and_go() {
    for workers in WORKERS {
        watched("come and go", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for task in 0..8u64 {
                    tasks.spawn(async move {
                        let mut seed = task + 5;
                        for round in 0..rounds(1_000) {
                            let (mut here, mut there) = UnixStream::pair().unwrap();
                            let text = (round as u32).to_le_bytes();
                            if random(&mut seed, 3) > 0 {
                                here.write_all(&text).await.unwrap();
                                let mut back = [0; 4];
                                there.read_exact(&mut back).await.unwrap();
                                assert_eq!(back, text);
                            }
                            drop(here);
                            assert_eq!(there.read(&mut [0; 4]).await.unwrap(), 0);
                        }
                    });
                }
                while let Some(result) = tasks.join_next().await {
                    result.unwrap();
                }
            });
            assert_eq!(io_metrics(&handle).registered, 0);
        });
    }
}
