//! Files with io_uring: each byte is read or written once, even if a thread or a runtime ends
//! meanwhile.
#![cfg(target_os = "linux")]

mod common;

use blitz::fs::File;
use blitz::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz::{Backend, Runtime};
use common::{Dir, io_metrics, wait_for, watched};
use rustix::fs::{Advice, CWD, FileType, Mode, OFlags, fadvise, mknodat};
use std::io::{Read, Seek};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Waker};

fn runtime(workers: usize, backend: Backend) -> Option<Runtime> {
    let built = Runtime::builder().workers(workers).backend(backend).build();
    built.inspect_err(|error| println!("no io_uring here: {error}")).ok()
}

/// Writes the numbers below `count` to the file, syncs it, and returns the bytes.
///
/// Each number has eight bytes.
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

/// Begins a read of `file` on a thread that then ends.
///
/// Returns `None` if the read is ready at once.
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

/// Reads files whose first `warm` bytes are in memory.
///
/// A thread begins each read, and then ends.
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

#[test]
fn a_read_that_is_half_cold_brings_each_byte_once() {
    read_after_threads(4_096);
}

/// The thread that began the read is a worker, and ends with its runtime.
#[test]
fn a_read_that_outlives_its_runtime_brings_each_byte_once() {
    let dir = Dir::new();
    let path = dir.at("moved");
    let bytes = numbers(&path, 32_768);
    watched("files that go on in a second runtime", |watch| {
        let second = watch.workers(1);
        for round in 0..50 {
            let Some(first) = runtime(4, Backend::IoUring) else { return };
            let file = open_cold(&path, 4_096);
            let begun = first.spawn(async move {
                let mut file = File::from_std(file);
                let mut buffer = vec![0; 65_536];
                let mut cx = Context::from_waker(Waker::noop());
                let pending = pin!(file.read(&mut buffer)).poll(&mut cx).is_pending();
                pending.then_some(file)
            });
            let begun = begun.join().unwrap();
            drop(first);
            let Some(mut file) = begun else { continue };
            let mut all = Vec::new();
            if let Err(error) = second.block_on(file.read_to_end(&mut all)) {
                assert!(error.to_string().contains("has ended"), "round {round}: {error}");
                second.block_on(file.read_to_end(&mut all)).unwrap();
            }
            assert_eq!(all.len(), bytes.len(), "round {round}");
            assert!(all == bytes, "round {round}: other bytes");
        }
    });
}

#[test]
fn a_file_goes_on_where_reads_and_writes_have_left_it() {
    let dir = Dir::new();
    let path = dir.at("positions");
    let Some(runtime) = runtime(2, Backend::IoUring) else { return };
    watched("positions of files", |watch| {
        watch.runtime(runtime).block_on(async {
            let mut file = File::create_new(&path).await.unwrap();
            for word in ["one ", "two ", "three"] {
                file.write_all(word.as_bytes()).await.unwrap();
            }
            file.seek(std::io::SeekFrom::Start(4)).await.unwrap();
            let mut word = [0; 3];
            file.read_exact(&mut word).await.unwrap();
            assert_eq!(&word, b"two");
            file.write_all(b"-THR").await.unwrap();
            file.read_exact(&mut word[..2]).await.unwrap();
            assert_eq!(&word[..2], b"ee");
            let mut file = file.into_std().await;
            assert_eq!(file.stream_position().unwrap(), 13);
            assert_eq!(std::fs::read(&path).unwrap(), b"one two-THRee");
            // The system chooses the place of an append, and leaves the position after it.
            file.rewind().unwrap();
            let appended = std::fs::File::options().read(true).append(true).open(&path).unwrap();
            let mut appended = File::from_std(appended);
            for word in [" four", " five"] {
                appended.write_all(word.as_bytes()).await.unwrap();
            }
            let mut appended = appended.into_std().await;
            assert_eq!(appended.stream_position().unwrap(), 23);
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "one two-THRee four five");
            // A write that fails does not move the position.
            let mut only_read = File::open(&path).await.unwrap();
            only_read.read_exact(&mut word).await.unwrap();
            only_read.write_all(b"never").await.unwrap();
            only_read.flush().await.unwrap_err();
            assert_eq!(only_read.into_std().await.stream_position().unwrap(), 3);
            // These devices have no position, or a position that stays.
            for (device, count) in [("/dev/null", 0), ("/dev/zero", 3)] {
                let mut device = File::options().read(true).write(true).open(device).await.unwrap();
                device.write_all(b"gone").await.unwrap();
                device.flush().await.unwrap();
                assert_eq!(device.read(&mut word).await.unwrap(), count);
            }
        });
    });
}

/// Makes a FIFO and opens it twice; only the first handle blocks.
fn fifo(path: &Path) -> (std::fs::File, std::fs::File) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let open = |flags: OFlags| {
        let mut options = std::fs::File::options();
        options.read(true).write(true).custom_flags(flags.bits() as i32).open(path).unwrap()
    };
    (open(OFlags::empty()), open(OFlags::NONBLOCK))
}

/// Reads `count` bytes from a non-blocking file.
fn read_all(mut from: &std::fs::File, count: usize) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 4_096]);
    while all.len() < count {
        match from.read(&mut buffer) {
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                std::thread::yield_now();
            }
        }
    }
    all
}

#[test]
fn a_write_in_several_parts_goes_on_while_its_file_is_not_used() {
    let dir = Dir::new();
    for backend in [Backend::Readiness, Backend::IoUring] {
        let Some(runtime) = runtime(2, backend) else { return };
        watched("a write in several parts", |watch| {
            let runtime = watch.runtime(runtime);
            let (one, other) = fifo(&dir.at(&format!("{backend:?}")));
            let mut file = File::from_std(one);
            // These are more bytes than a FIFO holds.
            let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n >> 8) as u8).collect();
            runtime.block_on(file.write_all(&bytes)).unwrap();
            assert!(read_all(&other, bytes.len()) == bytes);
            runtime.block_on(file.flush()).unwrap();
        });
    }
}

#[test]
fn a_write_outlives_the_thread_that_began_it() {
    const LEN: usize = 65_536;
    let dir = Dir::new();
    let Some(runtime) = runtime(2, Backend::IoUring) else { return };
    watched("writes begun by threads that end", |watch| {
        let runtime = watch.runtime(runtime);
        for round in 0..200 {
            let path = dir.at(&round.to_string());
            let mut file = File::from_std(std::fs::File::create(&path).unwrap());
            let handle = runtime.handle();
            let begin = move || {
                handle.block_on(file.write_all(&[7; LEN])).unwrap();
                file
            };
            // The file is not used while the test waits for its bytes.
            let mut file = std::thread::spawn(begin).join().unwrap();
            wait_for(|| std::fs::metadata(&path).unwrap().len() == LEN as u64);
            runtime.block_on(file.flush()).unwrap();
            assert_eq!(runtime.block_on(file.stream_position()).unwrap(), LEN as u64);
        }
    });
}

#[test]
fn a_write_waits_for_room_in_a_file_that_does_not_block() {
    let dir = Dir::new();
    for backend in [Backend::Readiness, Backend::IoUring] {
        for ends in [false, true] {
            let Some(runtime) = runtime(2, backend) else { return };
            watched("a write to a full FIFO", |watch| {
                let runtime = watch.runtime(runtime);
                let (_one, other) = fifo(&dir.at(&format!("{backend:?}-{ends}")));
                let mut file = File::from_std(other.try_clone().unwrap());
                // These are more bytes than a FIFO holds.
                let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n >> 8) as u8).collect();
                runtime.block_on(file.write_all(&bytes)).unwrap();
                let ending = if ends {
                    drop(file);
                    std::thread::spawn(move || drop(runtime))
                } else {
                    std::thread::spawn(move || runtime.block_on(file.flush()).unwrap())
                };
                assert!(read_all(&other, bytes.len()) == bytes);
                ending.join().unwrap();
            });
        }
    }
}

#[test]
fn clones_that_share_a_position_read_each_byte_once() {
    const BLOCK: usize = 4_096;
    const BLOCKS: u64 = 2_048;
    let dir = Dir::new();
    let path = dir.at("shared");
    numbers(&path, BLOCKS * BLOCK as u64 / 8);
    let Some(runtime) = runtime(2, Backend::IoUring) else { return };
    watched("clones that read", |watch| {
        let mut seen = watch.runtime(runtime).block_on(async {
            let file = File::from_std(open_cold(&path, 0));
            let mut tasks = Vec::new();
            for _ in 0..4 {
                let mut file = file.try_clone().await.unwrap();
                tasks.push(blitz::spawn(async move {
                    let (mut seen, mut block) = (Vec::new(), vec![0; BLOCK]);
                    while file.read(&mut block).await.unwrap() > 0 {
                        seen.push(u64::from_le_bytes(block[..8].try_into().unwrap()));
                    }
                    seen
                }));
            }
            let mut seen = Vec::new();
            for task in tasks {
                seen.extend(task.await.unwrap());
            }
            seen
        });
        let blocks = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((blocks, seen.len() as u64), (BLOCKS as usize, BLOCKS), "each block once");
    });
}

#[test]
fn clones_that_share_a_position_write_each_byte_once() {
    const RECORDS: usize = 500;
    let dir = Dir::new();
    let path = dir.at("log");
    let build = || runtime(2, Backend::IoUring);
    let (Some(one), Some(other)) = (build(), build()) else { return };
    watched("clones that write", |watch| {
        let runtimes = [watch.runtime(one), watch.runtime(other)];
        let clones = runtimes[0].block_on(async {
            let mut clones = vec![File::create(&path).await.unwrap()];
            for n in 0..3 {
                clones.push(clones[n].try_clone().await.unwrap());
            }
            clones
        });
        let tasks = clones.into_iter().zip(0..).map(|(mut file, n)| {
            runtimes[usize::from(n) % 2].spawn(async move {
                for _ in 0..RECORDS {
                    file.write_all(&[b'a' + n; 64]).await.unwrap();
                    file.flush().await.unwrap();
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        let all = std::fs::read(&path).unwrap();
        for n in b'a'..b'e' {
            let count = all.iter().filter(|&&byte| byte == n).count();
            assert_eq!((n, count), (n, RECORDS * 64));
        }
        assert_eq!(all.len(), 4 * RECORDS * 64);
    });
}

/// A blocking thread that reads an empty FIFO would keep the runtime from ending.
#[test]
fn clones_without_a_position_stay_with_io_uring() {
    let dir = Dir::new();
    let Some(runtime) = runtime(2, Backend::IoUring) else { return };
    watched("clones of a FIFO", |watch| {
        let runtime = watch.runtime(runtime);
        let (one, _other) = fifo(&dir.at("fifo"));
        let file = File::from_std(one);
        let clone = runtime.block_on(file.try_clone()).unwrap();
        for mut file in [file, clone] {
            drop(runtime.spawn(async move { file.read_u8().await }));
        }
        wait_for(|| io_metrics(&runtime.handle()).under_way == 2);
        drop(runtime);
    });
}
