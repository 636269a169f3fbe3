//! Accepting while the process has no more descriptors. These tests run in processes of their own,
//! so that other tests do not share their limits.
#![cfg(target_os = "linux")]

mod common;

use blitz::net::{TcpListener, UnixListener};
use blitz::{Backend, Runtime};
use common::{Dir, io_metrics, wait_for, watched};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::File;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// The environment variable that is set in a child process only.
const ROLE: &str = "BLITZ_NET_EMFILE";

/// Runs `test` in another process. `name` is the name of the calling test.
fn in_child(name: &str, test: impl FnOnce()) {
    if std::env::var_os(ROLE).is_some() {
        return test();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{}{name}", prefix()), "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && text.contains("1 passed");
    assert!(passed, "{}\n{text}\n{errors}", output.status);
}

/// Returns the prefix of this file's test names.
///
/// The file may be a module of another target.
fn prefix() -> String {
    match module_path!().split_once("::") {
        Some((_, modules)) => format!("{modules}::"),
        None => String::new(),
    }
}

/// Returns a runtime for each number of workers and each backend of this system.
fn runtimes() -> impl Iterator<Item = (Runtime, usize, Backend)> {
    [Backend::Readiness, Backend::IoUring].into_iter().flat_map(|backend| {
        [1, 2, 8].into_iter().filter_map(move |workers| {
            let built = Runtime::builder().workers(workers).backend(backend).build();
            built.ok().map(|runtime| (runtime, workers, backend))
        })
    })
}

/// Opens files until only `rest` descriptors are left.
fn fill(rest: usize) -> Vec<File> {
    let mut files = Vec::new();
    let error = loop {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    files.truncate(files.len() - rest);
    files
}

fn limit(descriptors: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum }).unwrap();
}

/// Makes sockets that are not connected: a connect needs no further descriptor.
fn clients(count: usize, domain: Domain) -> Vec<Socket> {
    (0..count).map(|_| Socket::new(domain, Type::STREAM, None).unwrap()).collect()
}

/// The reports of an accept loop: errors or connections.
type News<S> = Sender<io::Result<S>>;

async fn accept_tcp(listener: Arc<TcpListener>, news: News<blitz::net::TcpStream>) {
    loop {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        let failed = accepted.is_err();
        if news.send(accepted).is_err() {
            return;
        }
        if failed {
            blitz::task::yield_now().await;
        }
    }
}

#[test]
fn an_accept_loop_goes_on_when_there_are_descriptors_again() {
    in_child("an_accept_loop_goes_on_when_there_are_descriptors_again", || {
        limit(200);
        for (runtime, workers, backend) in runtimes() {
            watched("accepts without descriptors", |watch| {
                let runtime = watch.runtime(runtime);
                let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
                let address = SockAddr::from(listener.local_addr().unwrap());
                let listener = Arc::new(listener);
                let clients = clients(10, Domain::IPV4);
                let (news, heard) = channel();
                let files = fill(0);
                let task = runtime.spawn(accept_tcp(listener.clone(), news));
                clients.iter().for_each(|client| client.connect(&address).unwrap());
                let error = heard.recv().unwrap().unwrap_err();
                let context = format!("{error}, {workers} workers, {backend}");
                assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()), "{context}");
                drop(files);
                let mut accepted = Vec::new();
                while accepted.len() < clients.len() {
                    match heard.recv().unwrap() {
                        Ok(stream) => accepted.push(stream.peer_addr().unwrap()),
                        Err(error) => {
                            assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
                        }
                    }
                }
                let local = |client: &Socket| client.local_addr().unwrap().as_socket().unwrap();
                let mut connected: Vec<_> = clients.iter().map(local).collect();
                accepted.sort();
                connected.sort();
                assert_eq!(accepted, connected, "{context}: each client is accepted once");
                task.abort();
                assert!(task.join().unwrap_err().is_cancelled());
            });
        }
    });
}

/// An accept that waits needs no descriptor until there is a connection.
///
/// Then one descriptor is enough.
#[test]
fn an_accept_that_waits_takes_the_last_descriptor() {
    in_child("an_accept_that_waits_takes_the_last_descriptor", || {
        limit(200);
        for (runtime, workers, backend) in runtimes() {
            watched("the last descriptor", |watch| {
                let runtime = watch.runtime(runtime);
                let handle = runtime.handle();
                let mut listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
                let address = SockAddr::from(listener.local_addr().unwrap());
                let clients = clients(3, Domain::IPV4);
                let _files = fill(1);
                for client in &clients {
                    let accepting = runtime.spawn(async move {
                        let accepted = listener.accept().await;
                        (accepted, listener)
                    });
                    wait_for(|| {
                        let metrics = io_metrics(&handle);
                        metrics.waiting + metrics.under_way == 1
                    });
                    client.connect(&address).unwrap();
                    let (accepted, back) = accepting.join().unwrap();
                    listener = back;
                    let (stream, peer) = accepted
                        .unwrap_or_else(|error| panic!("{error}, {workers} workers, {backend}"));
                    assert_eq!(Some(peer), client.local_addr().unwrap().as_socket());
                    drop(stream);
                }
            });
        }
    });
}

#[test]
fn an_accept_that_waits_while_descriptors_run_out_returns_one_error() {
    in_child("an_accept_that_waits_while_descriptors_run_out_returns_one_error", || {
        limit(200);
        for (runtime, workers, backend) in runtimes() {
            watched("descriptors run out", |watch| {
                let runtime = watch.runtime(runtime);
                let handle = runtime.handle();
                let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
                let address = SockAddr::from(listener.local_addr().unwrap());
                let clients = clients(1, Domain::IPV4);
                let accepting = runtime.spawn(async move {
                    let accepted = listener.accept().await;
                    (accepted, listener)
                });
                wait_for(|| {
                    let metrics = io_metrics(&handle);
                    metrics.waiting + metrics.under_way == 1
                });
                let files = fill(0);
                clients[0].connect(&address).unwrap();
                let (accepted, listener) = accepting.join().unwrap();
                let error = accepted.unwrap_err();
                let context = format!("{error}, {workers} workers, {backend}");
                assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()), "{context}");
                drop(files);
                let (_, peer) = runtime.block_on(listener.accept()).unwrap();
                assert_eq!(Some(peer), clients[0].local_addr().unwrap().as_socket(), "{context}");
            });
        }
    });
}

#[test]
fn unix_listeners_go_on_too() {
    in_child("unix_listeners_go_on_too", || {
        limit(200);
        for (number, (runtime, workers, backend)) in runtimes().enumerate() {
            watched("unix accepts without descriptors", |watch| {
                let runtime = watch.runtime(runtime);
                let dir = Dir::new();
                let path = dir.at(&format!("{number}"));
                let entered = runtime.enter();
                let listener = UnixListener::bind(&path).unwrap();
                drop(entered);
                let clients = clients(5, Domain::UNIX);
                let files = fill(0);
                let address = SockAddr::unix(&path).unwrap();
                clients.iter().for_each(|client| client.connect(&address).unwrap());
                let error = runtime.block_on(listener.accept()).unwrap_err();
                let context = format!("{error}, {workers} workers, {backend}");
                assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()), "{context}");
                drop(files);
                for _ in &clients {
                    runtime.block_on(listener.accept()).unwrap();
                }
            });
        }
    });
}
