//! A Tokio guest when the system gives no more descriptors. This target is a process of its own, so
//! that other tests do not share its limits.
#![cfg(all(feature = "tokio-guest", target_os = "linux"))]

mod common;

use blitz::Runtime;
use common::{wait_for, watched};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const EMFILE: i32 = 24;

/// Takes descriptors until the system gives no more.
fn take_all() -> Vec<File> {
    let mut taken = Vec::new();
    loop {
        match File::open("/dev/null") {
            Ok(file) => taken.push(file),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(EMFILE), "{error}");
                return taken;
            }
        }
    }
}

#[test]
fn a_full_table_of_descriptors_is_an_error_while_it_lasts() {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: before.maximum }).unwrap();
    watched("a full table of descriptors", |watch| {
        let runtime = Runtime::builder().workers(1).tokio_guest().build().unwrap();
        let runtime = watch.runtime(runtime);
        let errors = Arc::new(AtomicU32::new(0));
        let counted = errors.clone();
        let (address, accepted) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // A typical accept loop: it goes on after an error.
            let accepted = tokio::spawn(async move {
                loop {
                    match listener.accept().await {
                        Ok((mut stream, _)) => {
                            stream.write_u32(counted.load(SeqCst)).await.unwrap();
                            return;
                        }
                        Err(error) => {
                            assert_eq!(error.raw_os_error(), Some(EMFILE), "{error}");
                            counted.fetch_add(1, SeqCst);
                            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                        }
                    }
                }
            });
            (address, accepted)
        });
        let mut taken = take_all();
        // A second guest cannot be built, and the error says so.
        let error = Runtime::builder().workers(1).tokio_guest().build().unwrap_err();
        assert_eq!(error.io_error().and_then(io::Error::raw_os_error), Some(EMFILE), "{error}");
        assert!(error.to_string().contains("the Tokio guest could not be built"), "{error}");
        let refused = runtime.block_on(async { TcpStream::connect(address).await.unwrap_err() });
        assert_eq!(refused.raw_os_error(), Some(EMFILE), "{refused}");
        // One descriptor becomes free, and the client takes it. The server's accept fails until
        // more descriptors are free.
        drop(taken.pop());
        let mut stream = runtime.block_on(TcpStream::connect(address)).unwrap();
        let answer = runtime.spawn(async move { stream.read_u32().await });
        wait_for(|| errors.load(SeqCst) > 0);
        taken.clear();
        assert_eq!(answer.join().unwrap().unwrap(), errors.load(SeqCst));
        runtime.block_on(accepted).unwrap();
    });
    setrlimit(Resource::Nofile, before).unwrap();
}
