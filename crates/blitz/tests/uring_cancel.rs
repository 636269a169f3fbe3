//! Operations of io_uring complete although other operations are cancelled, or although the thread
//! that began them ends.

mod common;

use blitz::net::{TcpListener, UnixStream};
use blitz::{Backend, Runtime};
use common::{io_metrics, wait_for, watched};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

/// Builds a runtime whose sockets use io_uring, if this system has it.
fn runtime(workers: usize) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(Backend::IoUring).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// How many receives each receiving task makes.
const RECEIVES: usize = 8_000;

#[test]
fn no_operation_is_cancelled_in_place_of_another() {
    for workers in [2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("cancellations beside receives", |watch| {
            let runtime = watch.runtime(runtime);
            let over = Arc::new(AtomicBool::new(false));
            let cancelling: Vec<_> = (0..4)
                .map(|_| {
                    let over = over.clone();
                    runtime.spawn(async move {
                        let (here, there) = UnixStream::pair().unwrap();
                        while !over.load(SeqCst) {
                            let mut receive = Box::pin(there.recv_owned(vec![0; 1]));
                            let begun = poll_once(&mut receive);
                            // The operation completes about the time when it is cancelled.
                            here.try_write(b"x").unwrap();
                            if begun.is_pending() {
                                blitz::task::yield_now().await;
                            }
                            drop(receive);
                            while there.try_read(&mut [0; 64]).is_ok() {}
                        }
                    })
                })
                .collect();
            let receiving: Vec<_> = (0..4)
                .map(|_| {
                    runtime.spawn(async move {
                        let (here, there) = UnixStream::pair().unwrap();
                        let mut buffer = vec![0; 1];
                        for number in 0..RECEIVES {
                            let mut receive = Box::pin(there.recv_owned(buffer));
                            let begun = poll_once(&mut receive);
                            assert!(begun.is_pending());
                            blitz::task::yield_now().await;
                            here.try_write(b"x").unwrap();
                            let (count, filled) = receive.await;
                            assert!(
                                matches!(count, Ok(1)),
                                "receive {number}, which was never cancelled: {count:?}"
                            );
                            buffer = filled;
                        }
                    })
                })
                .collect();
            let results: Vec<_> = receiving.into_iter().map(|task| task.join()).collect();
            over.store(true, SeqCst);
            cancelling.into_iter().for_each(|task| task.join().unwrap());
            results.into_iter().for_each(|result| result.unwrap());
            wait_for(|| io_metrics(&runtime.handle()).under_way == 0);
        });
    }
}

#[test]
fn an_operation_outlives_the_thread_that_began_it() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("the thread that began an operation ends", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            let entered = runtime.enter();
            let (here, there) = UnixStream::pair().unwrap();
            let begin = move || {
                let _entered = handle.enter();
                let mut receive = Box::pin(async move { there.recv_owned(vec![0; 8]).await });
                assert!(poll_once(&mut receive).is_pending());
                receive
            };
            let receive = std::thread::spawn(begin).join().unwrap();
            drop(entered);
            here.try_write(b"hello").unwrap();
            let (count, buffer) = runtime.block_on(receive);
            assert_eq!(&buffer[..count.unwrap()], b"hello");
        });
    }
}

#[test]
fn an_accept_outlives_the_thread_that_began_it() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("the thread that began an accept ends", |watch| {
            let runtime = watch.runtime(runtime);
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
            let (listener, handle) = (Arc::new(listener), runtime.handle());
            let at = listener.clone();
            let begin = move || {
                let _entered = handle.enter();
                let mut accept = Box::pin(at.accept());
                assert!(poll_once(&mut accept).is_pending());
            };
            std::thread::spawn(begin).join().unwrap();
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_, peer) = runtime.block_on(listener.accept()).unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        });
    }
}
