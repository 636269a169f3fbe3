//! Connections up to the limits of the system, and beyond. This target is a process of its own, so
//! that other targets do not share its limits. The test that lowers the limit runs in a child.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use blitz::sync::{Barrier, Semaphore};
use blitz::{JoinSet, Runtime};
use common::{echo, io_metrics, watched};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// The environment variable that tells a child process its part in a test.
const ROLE: &str = "BLITZ_NET_LIMITS";

/// Runs the test `name` once more, in another process.
fn child(name: &str, role: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn role() -> Option<String> {
    env::var(ROLE).ok()
}

#[test]
fn running_out_of_descriptors_is_an_error_while_it_lasts() {
    if role().is_none() {
        let child = child("running_out_of_descriptors_is_an_error_while_it_lasts", "run out");
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    for workers in [1, 2, 8] {
        let before = descriptors().count();
        watched("out of descriptors", |watch| run_out(watch.workers(workers)));
        assert_eq!(descriptors().count(), before, "no descriptor is left open");
    }
}

fn run_out(runtime: Runtime) {
    let before = getrlimit(Resource::Nofile);
    let handle = runtime.handle();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The limit applies to the numbers of descriptors, not to their count.
        let highest = descriptors().max().unwrap();
        let room = Rlimit { current: Some(highest + 41), maximum: before.maximum };
        setrlimit(Resource::Nofile, room).unwrap();
        let (mut clients, mut servers) = (Vec::new(), Vec::new());
        let out = loop {
            match TcpStream::connect(address).await {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
            match listener.accept().await {
                Ok((server, _)) => servers.push(server),
                Err(error) => break error,
            }
        };
        assert_eq!(out.raw_os_error(), Some(rustix::io::Errno::MFILE.raw_os_error()), "{out}");
        assert!(clients.len() > 10 && clients.len() >= servers.len());
        let watched = io_metrics(&handle).registered;
        assert_eq!(watched, 1 + clients.len() + servers.len(), "failed sockets are not watched");
        // Closing some sockets makes room again. A connection that could not be accepted is still
        // there.
        servers.truncate(5);
        for number in servers.len()..clients.len().min(10) {
            drop(clients.swap_remove(number));
        }
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"again").await.unwrap();
        let mut text = [0; 5];
        loop {
            let (mut server, from) = listener.accept().await.unwrap();
            if from == client.local_addr().unwrap() {
                server.read_exact(&mut text).await.unwrap();
                break;
            }
        }
        assert_eq!(&text, b"again");
    });
    drop(runtime);
    setrlimit(Resource::Nofile, before).unwrap();
}

/// Returns the descriptors that are open.
fn descriptors() -> impl Iterator<Item = u64> {
    let names = std::fs::read_dir("/proc/self/fd").unwrap();
    names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Returns how many connections the test makes.
///
/// That is ten thousand, or fewer if the limit on descriptors is lower.
fn connections() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(most.saturating_sub(300)).unwrap().min(10_000)
}

fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[test]
fn ten_thousand_connections_at_once() {
    raise_limit();
    if let Some(address) = role() {
        watched("clients", |watch| watch.workers(2).block_on(clients(address)));
        return;
    }
    let wanted = connections();
    watched("server", |watch| {
        let runtime = watch.workers(2);
        let handle = runtime.handle();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let mut child = child("ten_thousand_connections_at_once", &address);
            let mut served = JoinSet::new();
            for number in 1..=wanted {
                let (stream, _) = listener.accept().await.unwrap();
                if number == wanted {
                    // All connections are open at once: no client leaves before the last client has
                    // its echo.
                    assert!(io_metrics(&handle).registered > wanted);
                }
                served.spawn(echo(stream));
            }
            let mut bytes = 0;
            while let Some(count) = served.join_next().await {
                bytes += count.unwrap().unwrap();
            }
            assert_eq!(bytes, 8 * wanted as u64);
            assert!(child.wait().unwrap().success());
        });
        assert_eq!(io_metrics(&handle).registered, 0);
    });
}

async fn clients(address: String) {
    let wanted = connections();
    let connecting = Arc::new(Semaphore::new(100));
    let all_there = Arc::new(Barrier::new(wanted));
    let mut clients = JoinSet::new();
    for number in 0..wanted as u32 {
        let (connecting, all_there) = (connecting.clone(), all_there.clone());
        let address = address.clone();
        clients.spawn(async move {
            let turn = connecting.acquire().await.unwrap();
            let mut stream = TcpStream::connect(address).await.unwrap();
            exchange(&mut stream, number).await;
            drop(turn);
            all_there.wait().await;
            exchange(&mut stream, !number).await;
        });
    }
    while let Some(result) = clients.join_next().await {
        result.unwrap();
    }
}

async fn exchange(stream: &mut TcpStream, number: u32) {
    stream.write_all(&number.to_le_bytes()).await.unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(u32::from_le_bytes(back), number);
}
