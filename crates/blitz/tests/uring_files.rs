//! Files that the system reads and writes by itself: each byte once, whatever ends meanwhile.
#![cfg(target_os = "linux")]

mod common;

use blitz::fs::File;
use blitz::io::AsyncReadExt;
use blitz::{Backend, Runtime};
use common::{Dir, watched};
use rustix::fs::{Advice, fadvise};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Waker};

fn runtime(workers: usize, backend: Backend) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(backend).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

/// Eight bytes for each number below `count`, on the disk.
fn numbers(path: &Path, count: u64) -> Vec<u8> {
    let bytes: Vec<u8> = (0..count).flat_map(u64::to_le_bytes).collect();
    std::fs::write(path, &bytes).unwrap();
    std::fs::File::open(path).unwrap().sync_all().unwrap();
    bytes
}

/// Opens the file so that a read waits for the disk once it has got `warm` bytes.
fn open_cold(path: &Path, warm: usize) -> std::fs::File {
    let file = std::fs::File::open(path).unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    fadvise(&file, 0, None, Advice::Random).unwrap();
    file.read_exact_at(&mut vec![0; warm], 0).unwrap();
    file
}

/// Has a thread begin a read of `file` and end. Returns none if the disk was faster.
fn begin_elsewhere(runtime: &Runtime, file: std::fs::File) -> Option<File> {
    let handle = runtime.handle();
    let begin = move || {
        let _entered = handle.enter();
        let mut file = File::from_std(file);
        let mut buffer = vec![0; 65_536];
        let mut cx = Context::from_waker(Waker::noop());
        let pending = pin!(file.read(&mut buffer)).poll(&mut cx).is_pending();
        pending.then_some(file)
    };
    std::thread::spawn(begin).join().unwrap()
}

/// Reads files of which the first `warm` bytes are in memory, each begun by a thread that ends.
fn read_after_threads(warm: usize) {
    let dir = Dir::new();
    let path = dir.at("cold");
    let bytes = numbers(&path, 32_768);
    let Some(runtime) = runtime(2, Backend::IoUring) else { return };
    watched("reads begun by threads that end", |watch| {
        let runtime = watch.runtime(runtime);
        for round in 0..100 {
            let begun = begin_elsewhere(&runtime, open_cold(&path, warm));
            let Some(mut file) = begun else { continue };
            let mut all = Vec::new();
            let read = runtime.block_on(file.read_to_end(&mut all));
            let read = read.unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert_eq!(read, bytes.len(), "round {round}");
            assert!(all == bytes, "round {round}: other bytes");
        }
    });
}

#[test]
fn a_cold_read_outlives_the_thread_that_began_it() {
    read_after_threads(0);
}
