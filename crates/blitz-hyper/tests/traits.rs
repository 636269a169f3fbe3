//! Checks that types of servers and types for hyper are `Send` and `Debug`, and all but `Serve`
//! also `Sync`.

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
    // The future that starts the shutdown need not be `Sync`.
    sent::<Serve<blitz::net::TcpListener, u8, u8>>();
}

#[test]
fn types_for_hyper() {
    shared::<BlitzExecutor>();
    shared::<BlitzTimer>();
    shared::<BlitzIo<blitz::net::TcpStream>>();
}
