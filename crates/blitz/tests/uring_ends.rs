//! The end of a runtime while operations on its files and sockets are under way.
#![cfg(target_os = "linux")]

mod common;

use blitz::fs::File;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, UnixStream};
use blitz::{Backend, Runtime};
use blitz_io::IoDriver;
use common::{Dir, Watch, io_metrics, jitter, wait_for, watched};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::OpenOptions;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn runtime(workers: usize, backend: Backend) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(backend).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

/// Opens both ends of a FIFO. Nothing comes from it unless the test writes.
fn fifo(dir: &Dir, name: &str) -> std::fs::File {
    let path = dir.at(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[test]
fn a_read_that_never_completes_does_not_keep_the_runtime() {
    let dir = Dir::new();
    for (number, workers) in [1, 2, 8].into_iter().enumerate() {
        let Some(runtime) = runtime(workers, Backend::IoUring) else { return };
        watched("a read that never comes", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            let mut fifo = fifo(&dir, &format!("fifo-{number}"));
            let file = || File::from_std(fifo.try_clone().unwrap());
            // The reads belong to a task, to a thread that waits, and to a file that is used later.
            let mut of_task = file();
            drop(runtime.spawn(async move { of_task.read_u8().await }));
            let (of_thread, handle_of_thread) = (file(), runtime.handle());
            let thread = std::thread::spawn(move || {
                let mut of_thread = of_thread;
                handle_of_thread.block_on(async move { of_thread.read_u8().await })
            });
            let mut goes_on = file();
            runtime.block_on(async {
                let mut buffer = [0];
                let mut read = Box::pin(goes_on.read(&mut buffer));
                std::future::poll_fn(|cx| {
                    assert!(read.as_mut().poll(cx).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
            });
            wait_for(|| io_metrics(&handle).under_way == 3);
            drop(runtime);
            let error = thread.join().unwrap().unwrap_err();
            assert!(error.to_string().contains("has ended"), "{error}");
            // Nothing was taken from the FIFO, and the file can still be used.
            fifo.write_all(b"late").unwrap();
            let other = watch.runtime(common::runtime(1));
            let error = other.block_on(goes_on.read_u8()).unwrap_err();
            assert!(error.to_string().contains("has ended"), "{error}");
            let mut text = [0; 4];
            other.block_on(goes_on.read_exact(&mut text)).unwrap();
            assert_eq!(&text, b"late");
        });
    }
}

#[test]
fn a_write_that_waits_for_its_reader_is_waited_for_and_reported() {
    let dir = Dir::new();
    for (number, workers) in [1, 2, 8].into_iter().enumerate() {
        let Some(runtime) = runtime(workers, Backend::IoUring) else { return };
        watched("a write that waits", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            let name = format!("full-{number}");
            let mut file = File::from_std(fifo(&dir, &name));
            let mut other = other_end(&dir, &name);
            let mut full = 0;
            while let Ok(count) = other.write(&[7; 4_096]) {
                full += count;
            }
            drop(runtime.spawn(async move { file.write_all(b"hello").await }));
            wait_for(|| io_metrics(&handle).under_way == 1);
            assert!(runtime.shutdown_within(Duration::from_millis(1)).is_err(), "a write is left");
            // The task was told that the write is done. The write happens when there is room.
            let mut got = Vec::new();
            wait_for_bytes(&mut other, &mut got, full + 5);
            assert_eq!(&got[full..], b"hello");
            wait_for(|| io_metrics(&handle).under_way == 0);
        });
    }
}

#[test]
fn a_write_is_completed_although_the_runtime_ends_half_way() {
    let dir = Dir::new();
    for (number, workers) in [1, 2, 8].into_iter().enumerate() {
        let Some(runtime) = runtime(workers, Backend::IoUring) else { return };
        watched("half of a write", |watch| {
            let runtime = watch.runtime(runtime);
            let name = format!("half-{number}");
            let mut file = File::from_std(fifo(&dir, &name));
            let mut other = other_end(&dir, &name);
            // These are more bytes than a FIFO holds, so the write takes several operations.
            let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n >> 8) as u8).collect();
            let sent = bytes.clone();
            let (done, is_done) = std::sync::mpsc::channel();
            // The runtime ends while the task still owns the file.
            drop(runtime.spawn(async move {
                file.write_all(&sent).await.unwrap();
                done.send(()).unwrap();
                std::future::pending::<()>().await;
            }));
            is_done.recv().unwrap();
            assert!(runtime.shutdown_within(Duration::from_millis(1)).is_err(), "a write is left");
            let mut got = Vec::new();
            wait_for_bytes(&mut other, &mut got, bytes.len());
            assert!(got == bytes);
        });
    }
}

/// Opens the FIFO again, non-blocking.
fn other_end(dir: &Dir, name: &str) -> std::fs::File {
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    options.read(true).write(true).custom_flags(flags).open(dir.at(name)).unwrap()
}

/// Reads from a non-blocking file until `count` bytes came.
fn wait_for_bytes(from: &mut std::fs::File, to: &mut Vec<u8>, count: usize) {
    let mut buffer = [0; 4_096];
    while to.len() < count {
        match from.read(&mut buffer) {
            Ok(count) => to.extend_from_slice(&buffer[..count]),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn a_shutdown_with_a_limit_reports_a_read_on_a_blocking_thread() {
    let dir = Dir::new();
    for (number, workers) in [1, 2, 8].into_iter().enumerate() {
        watched("a read on a thread", |watch| {
            let runtime = watch.runtime(runtime(workers, Backend::Readiness).unwrap());
            let handle = runtime.handle();
            let mut fifo = fifo(&dir, &format!("fifo-{number}"));
            let mut file = File::from_std(fifo.try_clone().unwrap());
            drop(runtime.spawn(async move { file.read_u8().await }));
            wait_for(|| handle.metrics().tasks.blocking_threads > 0);
            assert!(runtime.shutdown_within(Duration::from_millis(1)).is_err(), "a read is left");
            fifo.write_all(b"x").unwrap();
        });
    }
}

#[test]
fn a_ring_that_is_made_while_the_runtime_ends_is_closed() {
    watched("a ring that is made meanwhile", |watch| {
        let mut seed = 7;
        for _ in 0..100 {
            let runtime = watch.runtime(runtime(1, Backend::Auto).unwrap());
            runtime.block_on(blitz::time::sleep(Duration::from_millis(1)));
            let (handle, barrier) = (runtime.handle(), Arc::new(Barrier::new(2)));
            let (at, mut other_seed) = (barrier.clone(), seed + 1);
            let thread = std::thread::spawn(move || {
                let mut file = File::from_std(std::fs::File::open("Cargo.toml").unwrap());
                at.wait();
                jitter(&mut other_seed);
                let _entered = handle.enter();
                let _ = handle.block_on(async { file.read(&mut [0; 16]).await });
            });
            barrier.wait();
            jitter(&mut seed);
            drop(runtime);
            thread.join().unwrap();
        }
    });
}

/// Builds a runtime whose only task waits until the runtime ends.
///
/// A write of that task goes on until the test reads from the FIFO.
fn with_stuck_write(watch: &Watch, dir: &Dir, name: &str) -> Option<(Runtime, std::fs::File)> {
    let runtime = watch.runtime(runtime(2, Backend::IoUring)?);
    let mut file = File::from_std(fifo(dir, name));
    let mut other = other_end(dir, name);
    while other.write(&[7; 4_096]).is_ok() {}
    let (done, is_done) = channel();
    drop(runtime.spawn(async move {
        file.write_all(b"hello").await.unwrap();
        done.send(()).unwrap();
        std::future::pending::<()>().await;
    }));
    is_done.recv().unwrap();
    wait_for(|| io_metrics(&runtime.handle()).under_way == 1);
    Some((runtime, other))
}

#[test]
fn waiting_threads_are_served_or_get_an_error_while_the_end_waits_for_a_write() {
    let dir = Dir::new();
    watched("served before writes", |watch| {
        let Some((runtime, mut other)) = with_stuck_write(watch, &dir, "told") else { return };
        let entered = runtime.enter();
        let [(mut to_read, mut reads), (mut to_receive, receives)] = [(); 2].map(|()| {
            let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
            there.set_nonblocking(true).unwrap();
            (here, UnixStream::from_std(there).unwrap())
        });
        drop(entered);
        let (handle, receiver) = (runtime.handle(), runtime.handle());
        // One thread waits for readiness, the other one for an operation of the ring.
        let read = std::thread::spawn(move || handle.block_on(async { reads.read_u8().await }));
        let receive = std::thread::spawn(move || {
            receiver.block_on(async { receives.recv_owned(vec![7; 8]).await })
        });
        wait_for(|| {
            let metrics = io_metrics(&runtime.handle());
            (metrics.waiting, metrics.under_way) == (1, 2)
        });
        assert!(
            runtime.shutdown_within(Duration::from_millis(1)).is_err(),
            "the shutdown waits for the write"
        );
        // Workers that wait for the write serve these threads. If the end of the pool has got
        // further, the threads get an error, and the other side may be gone.
        let _ = to_read.write_all(&[3]);
        let _ = to_receive.write_all(&[4; 8]);
        let told = |error: io::Error| assert!(error.to_string().contains("has ended"), "{error}");
        match read.join().unwrap() {
            Ok(byte) => assert_eq!(byte, 3),
            Err(error) => told(error),
        }
        match receive.join().unwrap() {
            (Ok(count), buffer) => assert_eq!((count, buffer), (8, vec![4; 8])),
            (Err(error), buffer) => {
                told(error);
                assert_eq!(buffer, [7; 8], "the buffer comes back");
            }
        }
        wait_for_bytes(&mut other, &mut Vec::new(), 5);
    });
}

#[test]
fn a_runtime_that_waits_for_a_write_says_that_it_has_not_ended() {
    let dir = Dir::new();
    watched("a write is left", |watch| {
        let Some((runtime, mut other)) = with_stuck_write(watch, &dir, "left") else { return };
        let handle = runtime.handle();
        let left = runtime.shutdown_within(Duration::from_millis(1)).unwrap_err();
        assert!(!left.is_empty(), "{left}");
        // However far the shutdown gets, the last worker stays until the write is done.
        for _ in 0..1_000 {
            assert!(handle.unfinished().workers > 0, "{}", handle.unfinished());
            std::thread::yield_now();
        }
        wait_for_bytes(&mut other, &mut Vec::new(), 5);
        wait_for(|| handle.unfinished().is_empty());
    });
}

#[test]
fn a_connection_that_comes_after_the_end_belongs_to_its_listener() {
    watched("a late connection", |watch| {
        let Some(runtime) = runtime(2, Backend::IoUring) else { return };
        let runtime = watch.runtime(runtime);
        let handle = runtime.handle();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        runtime.block_on(async {
            // The operation goes on after the future is gone.
            let mut accept = pin!(listener.accept());
            poll_fn(|cx| {
                assert!(accept.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
        });
        assert_eq!(io_metrics(&handle).under_way, 1);
        let driver = IoDriver::of(&handle).unwrap();
        drop(runtime);
        assert_eq!(driver.metrics().under_way, 0, "the listener's accept is cancelled");
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener);
        // The system closes connections that no program has accepted.
        match client.read(&mut [0; 8]) {
            Ok(0) => {}
            result => assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset),
        }
    });
}

#[test]
fn a_socket_of_another_pool_works_although_the_current_pool_has_ended() {
    watched("a socket of another pool", |watch| {
        let Some(ended) = runtime(1, Backend::IoUring) else { return };
        let ended = watch.runtime(ended);
        // Make the ring.
        ended.block_on(async {
            let (here, there) = UnixStream::pair().unwrap();
            assert_eq!(here.send_owned(vec![1]).await.0.unwrap(), 1);
            assert_eq!(there.recv_owned(vec![0]).await.0.unwrap(), 1);
        });
        let handle = ended.handle();
        drop(ended);
        let goes_on = watch.runtime(common::runtime(1));
        let (here, there) = goes_on.block_on(async { UnixStream::pair().unwrap() });
        let _current = handle.enter();
        let sent = poll_to_end(here.send_owned(b"hello".to_vec()));
        assert_eq!(sent.0.unwrap(), 5);
        let (received, buffer) = poll_to_end(there.recv_owned(vec![0; 8]));
        assert_eq!(&buffer[..received.unwrap()], b"hello");
    });
}

/// Polls a future until it is ready. Unlike `Runtime::block_on`, this enters no pool.
fn poll_to_end<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}
