//! io_uring, and running out of descriptors.

use super::{Scenario, build, wait_for};
use blitz::io::AsyncReadExt;
use blitz::net::{TcpListener, UnixStream};
use blitz::{Backend, Runtime};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io::Write;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

pub const ALL: &[Scenario] = &[
    Scenario::new("uring-overflow", "8,000 receives that are answered at once all end", overflow),
    Scenario::new("uring-cancel", "aborting a receive cancels no other receive", cancel),
    Scenario::new("fifo-read", "a read that never completes does not delay shutdown", fifo_read),
    Scenario::new("emfile-accept", "accept goes on once descriptors are free again", emfile),
];

/// A runtime with io_uring. `None` if the system has no io_uring; then the scenario skips this part
/// and passes.
fn with_uring(workers: usize) -> Option<Runtime> {
    let builder = Runtime::builder().workers(workers).backend(Backend::IoUring);
    match builder.build() {
        Ok(runtime) => {
            crate::watch::add_runtime(runtime.handle());
            Some(runtime)
        }
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn overflow() {
    const RECEIVES: usize = 8_000;
    let Some(runtime) = with_uring(2) else { return };
    let (here, mut there) = StdStream::pair().unwrap();
    here.set_nonblocking(true).unwrap();
    let stream = runtime.block_on(async { Arc::new(UnixStream::from_std(here).unwrap()) });
    let tasks: Vec<_> = (0..RECEIVES)
        .map(|_| {
            let stream = stream.clone();
            runtime.spawn(async move { stream.recv_owned(vec![0; 1]).await.0.unwrap() })
        })
        .collect();
    wait_for(|| runtime.metrics().tasks.waiting as usize >= RECEIVES);
    there.write_all(&vec![7; RECEIVES]).unwrap();
    let received: usize = tasks.into_iter().map(|task| task.join().unwrap()).sum();
    assert_eq!(received, RECEIVES);
}

/// Polls once, only to start the operation.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Starts receives and drops them at about the time they complete.
async fn give_up(over: Arc<AtomicBool>) {
    let (here, there) = UnixStream::pair().unwrap();
    while !over.load(SeqCst) {
        let mut receive = Box::pin(there.recv_owned(vec![0; 1]));
        let begun = poll_once(&mut receive);
        here.try_write(b"x").unwrap();
        if begun.is_pending() {
            blitz::task::yield_now().await;
        }
        drop(receive);
        while there.try_read(&mut [0; 64]).is_ok() {}
    }
}

async fn receive(count: usize) {
    let (here, there) = UnixStream::pair().unwrap();
    for _ in 0..count {
        let mut receive = Box::pin(there.recv_owned(vec![0; 1]));
        assert!(poll_once(&mut receive).is_pending());
        blitz::task::yield_now().await;
        here.try_write(b"x").unwrap();
        let received = receive.await.0;
        assert!(matches!(received, Ok(1)), "a receive that was not given up: {received:?}");
    }
}

fn cancel() {
    for workers in [2, 8] {
        let Some(runtime) = with_uring(workers) else { return };
        let over = Arc::new(AtomicBool::new(false));
        let given_up: Vec<_> = (0..4).map(|_| runtime.spawn(give_up(over.clone()))).collect();
        let received: Vec<_> = (0..4).map(|_| runtime.spawn(receive(4_000))).collect();
        let received: Vec<_> = received.into_iter().map(blitz::JoinHandle::join).collect();
        over.store(true, SeqCst);
        given_up.into_iter().for_each(|task| task.join().unwrap());
        received.into_iter().for_each(|result| result.unwrap());
    }
}

fn fifo_read() {
    let Some(runtime) = with_uring(2) else { return };
    let path = std::env::temp_dir().join(format!("blitz-attack-fifo-{}", std::process::id()));
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // The pipe has a writer that never writes.
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let open = || blitz::fs::File::from_std(file.try_clone().unwrap());
    // A task owns one read. The other read is dropped while its file stays open.
    let (mut of_task, mut stays) = (open(), open());
    let task = runtime.spawn(async move { of_task.read_u8().await });
    wait_for(|| runtime.metrics().tasks.waiting == 1);
    runtime.block_on(async {
        let mut buffer = [0];
        let mut read = Box::pin(stays.read(&mut buffer));
        std::future::poll_fn(|cx| {
            assert!(read.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    });
    drop(runtime);
    assert!(task.join().is_err());
    drop(stays);
}

fn emfile() {
    const CLIENTS: usize = 20;
    let with_readiness = || build(Runtime::builder().workers(2).backend(Backend::Readiness));
    for is_uring in [false, true] {
        let runtime = if is_uring { with_uring(2) } else { Some(with_readiness()) };
        let Some(runtime) = runtime else { return };
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (failed, accepted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (failures, acceptances) = (failed.clone(), accepted.clone());
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let limit = getrlimit(Resource::Nofile);
        // Descriptors have to be below the limit, which becomes the lowest free number. So from now
        // on the system hands out none.
        let next = std::fs::File::open("/dev/null").unwrap();
        let lowest = std::os::fd::AsRawFd::as_raw_fd(&next) as u64;
        drop(next);
        setrlimit(Resource::Nofile, Rlimit { current: Some(lowest), ..limit }).unwrap();
        let accepting = runtime.spawn(async move {
            let mut streams = Vec::new();
            while streams.len() < CLIENTS {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        streams.push(stream);
                        acceptances.fetch_add(1, SeqCst);
                    }
                    Err(_) => {
                        failures.fetch_add(1, SeqCst);
                        blitz::task::yield_now().await;
                    }
                }
            }
        });
        wait_for(|| failed.load(SeqCst) > 0);
        assert_eq!(accepted.load(SeqCst), 0);
        setrlimit(Resource::Nofile, limit).unwrap();
        accepting.join().unwrap();
        drop(clients);
    }
}
