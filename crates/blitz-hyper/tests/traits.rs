//! Checks that public types are `Send` and `Debug`, and all but `Serve` also `Sync`.
//! `cargo xtask tidy` finds public types that are missing.

use blitz::net::TcpStream;
use blitz_hyper::{BlitzExecutor, BlitzIo, BlitzTimer, Left, Report, Running, Shutdown};
use blitz_hyper::{BoxError, PlainHandshake, Serve, SharedService};
use blitz_hyper::{FileBody, Files, KeepAlive, Timeout, TimeoutFuture, TimeoutLayer};
use std::fmt::Debug;
use std::future::Ready;

fn shared<T: Send + Sync + Debug>() {}
fn sent<T: Send + Debug>() {}

#[test]
fn servers_and_their_end() {
    shared::<Shutdown>();
    shared::<Running>();
    shared::<Report>();
    shared::<Left>();
    shared::<SharedService<u8>>();
    // The future that starts the shutdown need not be `Sync`.
    sent::<Serve<blitz::net::TcpListener, u8, u8>>();
    shared::<PlainHandshake<TcpStream>>();
    shared::<BoxError>();
}

#[test]
fn layers() {
    shared::<TimeoutLayer>();
    shared::<Timeout<u8>>();
    shared::<TimeoutFuture<Ready<u8>>>();
    shared::<KeepAlive<u8, fn() -> u8>>();
    shared::<Files>();
    shared::<FileBody>();
}

#[cfg(feature = "client")]
#[test]
fn clients() {
    use blitz_hyper::{BlitzConnector, Client, ConnectError, Stream};

    fn error<T: std::error::Error + Send + Sync + 'static>() {}

    shared::<BlitzConnector>();
    shared::<Stream>();
    shared::<Client<String>>();
    error::<ConnectError>();
}

#[test]
fn types_for_hyper() {
    shared::<BlitzExecutor>();
    shared::<BlitzTimer>();
    shared::<BlitzIo<TcpStream>>();
}
