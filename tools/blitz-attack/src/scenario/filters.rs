//! Filters of system calls that a program installs after the pool has started.

use super::{Scenario, build, runtime, wait_for};
use crate::os::{self, Call};
use blitz::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz::net::UnixStream;
use blitz::{Backend, Runtime};

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "seccomp-uring",
        "a runtime goes on when io_uring is forbidden after its start",
        seccomp_uring,
    ),
    Scenario::new(
        "seccomp-membarrier",
        "a pool goes on when membarrier is forbidden after its start",
        seccomp_membarrier,
    ),
];

/// Installs the filter. Returns false if the system has no filters; then the scenario passes.
fn forbidden(calls: &[Call]) -> bool {
    os::forbid(calls).inspect_err(|why| println!("skipped: {why}")).is_ok()
}

async fn use_files_and_sockets() {
    let path = std::env::temp_dir().join(format!("blitz-attack-file-{}", std::process::id()));
    let mut file = blitz::fs::File::options();
    let file = file.create(true).truncate(true).read(true).write(true).open(&path).await;
    let mut file = file.unwrap();
    file.write_all(b"hello").await.unwrap();
    file.flush().await.unwrap();
    file.rewind().await.unwrap();
    let mut text = Vec::new();
    file.read_to_end(&mut text).await.unwrap();
    blitz::fs::remove_file(&path).await.unwrap();
    assert_eq!(text, b"hello");
    let (mut here, mut there) = UnixStream::pair().unwrap();
    here.write_all(b"hello").await.unwrap();
    let mut text = [0; 5];
    there.read_exact(&mut text).await.unwrap();
    here.send_owned(b"again".to_vec()).await.0.unwrap();
    let (count, buffer) = there.recv_owned(vec![0; 5]).await;
    assert_eq!(&buffer[..count.unwrap()], b"again");
}

fn seccomp_uring() {
    let backends = [Backend::IoUring, Backend::Auto];
    let builders = backends.map(|backend| Runtime::builder().workers(2).backend(backend));
    let runtimes: Vec<_> = builders.into_iter().flat_map(|builder| builder.build()).collect();
    for runtime in &runtimes {
        runtime.spawn(use_files_and_sockets()).join().unwrap();
    }
    if !forbidden(&[Call::UringEnter, Call::UringSetup]) {
        return;
    }
    for runtime in &runtimes {
        for _ in 0..20 {
            runtime.spawn(use_files_and_sockets()).join().unwrap();
        }
    }
}

fn seccomp_membarrier() {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return n.into();
        }
        let (a, b) = blitz::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    let pools = [runtime(4), build(Runtime::builder().workers(2))];
    let work = || {
        for runtime in &pools {
            assert_eq!(runtime.pool().install(|| fib(20)), 6_765);
            runtime.spawn(async {}).join().unwrap();
        }
    };
    work();
    if !forbidden(&[Call::Membarrier]) {
        return;
    }
    for _ in 0..100 {
        work();
        for runtime in &pools {
            // The first half waits for the second one. So the fork must become public, although a
            // thief can no longer use the fence by which it makes private forks public.
            let (send, receive) = std::sync::mpsc::channel();
            wait_for(|| runtime.pool().dump().all_sleep);
            let wait = move || receive.recv().unwrap();
            assert_eq!(runtime.pool().join(wait, || send.send(7).unwrap()), (7, ()));
        }
    }
}
