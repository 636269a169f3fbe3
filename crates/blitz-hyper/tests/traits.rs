//! What each public type can do: be sent, be shared, be printed. None is an error.

use blitz_hyper::{BlitzExecutor, BlitzIo, BlitzTimer, Left, Report, Running, Shutdown};
use blitz_hyper::{Serve, SharedService};
use std::fmt::Debug;

fn shared<T: Send + Sync + Debug>() {}
fn sent<T: Send + Debug>() {}

#[test]
fn servers_and_their_end() {
    shared::<Shutdown>();
    shared::<Running>();
    shared::<Report>();
    shared::<Left>();
    shared::<SharedService<u8>>();
    // The future that begins its end need not be shared.
    sent::<Serve<blitz::net::TcpListener, u8, u8>>();
}

#[test]
fn what_hyper_asks_for() {
    shared::<BlitzExecutor>();
    shared::<BlitzTimer>();
    shared::<BlitzIo<blitz::net::TcpStream>>();
}
