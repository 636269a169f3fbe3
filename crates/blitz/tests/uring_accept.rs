//! Connections that io_uring accepts.
#![cfg(target_os = "linux")]

mod common;

use blitz::net::TcpListener;
use blitz::{Backend, Runtime};
use common::watched;
use std::net::TcpStream;
use std::time::Duration;

/// A runtime whose sockets use io_uring; none if this system has none.
fn runtime(workers: usize) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(Backend::IoUring).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

fn connect(listener: &TcpListener) -> TcpStream {
    TcpStream::connect(listener.local_addr().unwrap()).unwrap()
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
                    // No linger: the close resets it.
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
