//! Connections that io_uring accepts.
#![cfg(target_os = "linux")]

mod common;

use blitz::net::TcpListener;
use blitz::{Backend, Runtime};
use common::{io_metrics, wait_for, watched};
use std::future::{Future, poll_fn};
use std::net::TcpStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Builds a runtime whose sockets use io_uring, if this system has it.
fn runtime(workers: usize) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(Backend::IoUring).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

fn connect(listener: &TcpListener) -> TcpStream {
    TcpStream::connect(listener.local_addr().unwrap()).unwrap()
}

/// Begins to accept a connection and drops the future; the operation goes on.
fn begin_and_leave(listener: &TcpListener) {
    let accept = pin!(listener.accept());
    assert!(accept.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[test]
fn a_connection_that_its_client_has_reset_is_accepted_with_its_address() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("a reset connection", |watch| {
            watch.runtime(runtime).block_on(async {
                for host in ["127.0.0.1:0", "[::1]:0"] {
                    let Ok(listener) = TcpListener::bind(host).await else { continue };
                    let client = connect(&listener);
                    let address = client.local_addr().unwrap();
                    // With a linger time of zero the close resets the connection.
                    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
                    drop(client);
                    let next = connect(&listener);
                    assert_eq!(listener.accept().await.unwrap().1, address);
                    let (stream, address) = listener.accept().await.unwrap();
                    assert_eq!(address, next.local_addr().unwrap());
                    assert_eq!(stream.peer_addr().unwrap(), address);
                }
            });
        });
    }
}

#[test]
fn an_accept_that_is_not_polled_blocks_no_other_accept() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("an accept that is not polled", |watch| {
            watch.runtime(runtime).block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let mut accepts: Vec<_> = (0..3).map(|_| Box::pin(listener.accept())).collect();
                poll_fn(|cx| {
                    accepts.iter_mut().for_each(|accept| {
                        assert!(accept.as_mut().poll(cx).is_pending());
                    });
                    Poll::Ready(())
                })
                .await;
                // Neither the first nor the last of the three accepts is polled again.
                let client = connect(&listener);
                let (_, address) = accepts.remove(1).await.unwrap();
                assert_eq!(address, client.local_addr().unwrap());
                let client = connect(&listener);
                let (_, address) = listener.accept().await.unwrap();
                assert_eq!(address, client.local_addr().unwrap());
            });
        });
    }
}

#[test]
fn poll_accept_returns_the_connection_of_a_dropped_accept() {
    for workers in [1, 2, 8] {
        let Some(runtime) = runtime(workers) else { return };
        watched("poll_accept after accept", |watch| {
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                // The connection comes before `poll_accept`.
                begin_and_leave(&listener);
                let client = connect(&listener);
                wait_for(|| io_metrics(&handle).under_way == 0);
                let (_, address) = poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
                assert_eq!(address, client.local_addr().unwrap());
                // The connection comes after `poll_accept`.
                begin_and_leave(&listener);
                let mut client = None;
                let accepted = poll_fn(|cx| {
                    let accepted = listener.poll_accept(cx);
                    client.get_or_insert_with(|| connect(&listener));
                    accepted
                });
                let (_, address) = accepted.await.unwrap();
                assert_eq!(address, client.unwrap().local_addr().unwrap());
            });
        });
    }
}
