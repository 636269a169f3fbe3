//! Open files: operations in flight are neither lost nor done twice.

mod common;

use blitz::fs::{File, OpenOptions};
use blitz::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz::sync::oneshot;
use common::{Dir, on_each_size, watched};
use std::future::Future;
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Returns more bytes than one operation moves.
fn many_bytes() -> Vec<u8> {
    // The pattern has a prime length, so that a byte in the wrong place is noticed.
    let mut bytes: Vec<u8> = (0..=250).collect::<Vec<u8>>().repeat(20_000);
    bytes.truncate(5_000_000);
    bytes
}

/// Polls `future` once and drops it; returns its result.
fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Returns a file whose reads wait until something is written to the other end.
fn slow_file() -> (File, UnixStream) {
    let (here, there) = UnixStream::pair().unwrap();
    (File::from_std(std::fs::File::from(OwnedFd::from(here))), there)
}

#[test]
fn what_is_written_can_be_read_from_anywhere() {
    on_each_size("seek", || async {
        let dir = Dir::new();
        let mut file = File::create_new(dir.at("file")).await.unwrap();
        let bytes = many_bytes();
        file.write_all(&bytes).await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(dir.at("file")).unwrap(), bytes);
        file.rewind().await.unwrap();
        let mut back = Vec::new();
        file.read_to_end(&mut back).await.unwrap();
        assert!(back == bytes);
        let mut four = [0; 4];
        assert_eq!(file.seek(SeekFrom::End(-10)).await.unwrap(), 4_999_990);
        file.read_exact(&mut four).await.unwrap();
        assert_eq!(four, bytes[4_999_990..4_999_994]);
        assert_eq!(file.seek(SeekFrom::Current(-2)).await.unwrap(), 4_999_992);
        assert_eq!(file.stream_position().await.unwrap(), 4_999_992);
        assert_eq!(file.seek(SeekFrom::Start(7)).await.unwrap(), 7);
        file.read_exact(&mut four).await.unwrap();
        assert_eq!(four, bytes[7..11]);
        assert!(file.seek(SeekFrom::Current(-100)).await.is_err());
        assert_eq!(file.stream_position().await.unwrap(), 11);
    });
}

#[test]
fn a_small_buffer_and_many_slices_make_the_same_file() {
    on_each_size("small buffer", || async {
        let dir = Dir::new();
        let mut file = File::create(dir.at("file")).await.unwrap();
        file.set_max_buf_size(0);
        assert_eq!(file.max_buf_size(), 1);
        file.set_max_buf_size(5);
        let slices = [IoSlice::new(b"abc"), IoSlice::new(b"defg"), IoSlice::new(b"h")];
        assert_eq!(file.write_vectored(&slices).await.unwrap(), 5);
        assert_eq!(file.write(b"").await.unwrap(), 0);
        file.write_all(b"fghijklmnop").await.unwrap();
        file.shutdown().await.unwrap();
        let mut file = File::open(dir.at("file")).await.unwrap();
        file.set_max_buf_size(3);
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abcdefghijklmnop");
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
    });
}

#[test]
fn a_file_that_is_dropped_writes_all() {
    for workers in [1, 2, 8] {
        watched("dropped file", |watch| {
            let dir = Dir::new();
            let path = dir.at("file");
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let mut file = File::create(&path).await.unwrap();
                file.write_all(&many_bytes()).await.unwrap();
            });
            // The runtime ends only after its operations in flight.
            drop(runtime);
            assert!(std::fs::read(&path).unwrap() == many_bytes());
        });
    }
}

#[test]
fn a_task_that_is_cancelled_or_panics_loses_nothing_that_it_wrote() {
    for workers in [1, 2, 8] {
        watched("cancelled writer", |watch| {
            let dir = Dir::new();
            let runtime = watch.workers(workers);
            let (path, other) = (dir.at("cancelled"), dir.at("panicked"));
            let (written, is_written) = oneshot::channel();
            let cancelled = runtime.spawn(async move {
                let mut file = File::create(path).await.unwrap();
                file.write_all(b"before the end").await.unwrap();
                written.send(()).unwrap();
                std::future::pending::<()>().await;
            });
            let panicked = runtime.spawn(async move {
                let mut file = File::create(other).await.unwrap();
                file.write_all(b"before the end").await.unwrap();
                panic!("on purpose");
            });
            runtime.block_on(async {
                is_written.await.unwrap();
                cancelled.abort();
                assert!(cancelled.await.unwrap_err().is_cancelled());
                assert!(panicked.await.unwrap_err().is_panic());
            });
            drop(runtime);
            for name in ["cancelled", "panicked"] {
                assert_eq!(std::fs::read(dir.at(name)).unwrap(), b"before the end");
            }
        });
    }
}

#[test]
fn a_read_that_is_dropped_leaves_its_bytes_to_the_next() {
    on_each_size("dropped read", || async {
        let (mut file, mut there) = slow_file();
        let mut buf = [0; 8];
        assert!(poll_once(file.read(&mut buf)).is_none());
        there.write_all(b"hello, world").unwrap();
        drop(there);
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello, world");
    });
}

#[test]
fn a_write_goes_where_the_reader_is_even_if_more_was_read() {
    on_each_size("write after read", || async {
        let dir = Dir::new();
        std::fs::write(dir.at("file"), "abcdef").unwrap();
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).open(dir.at("file")).await.unwrap();
        let mut six = [0; 6];
        // Sometimes the reading thread is so fast that the first poll is ready.
        while poll_once(file.read(&mut six)).is_some() {
            file.rewind().await.unwrap();
        }
        let mut two = [0; 2];
        file.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"ab");
        file.write_all(b"XY").await.unwrap();
        file.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"ef");
        assert_eq!(std::fs::read(dir.at("file")).unwrap(), b"abXYef");

        file.rewind().await.unwrap();
        while poll_once(file.read(&mut six)).is_some() {
            file.rewind().await.unwrap();
        }
        file.read_exact(&mut two).await.unwrap();
        let mut file = file.into_std().await;
        assert_eq!(file.stream_position().unwrap(), 2);
    });
}

#[test]
fn a_file_that_cannot_seek_back_returns_an_error_and_keeps_the_order() {
    on_each_size("no way back", || async {
        let (mut file, mut there) = slow_file();
        assert!(poll_once(file.read(&mut [0; 8])).is_none());
        there.write_all(b"ahead").unwrap();
        let mut two = [0; 2];
        file.read_exact(&mut two).await.unwrap();
        file.write_all(b"never").await.unwrap();
        let error = file.flush().await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotSeekable);
        there.write_all(b"ok").unwrap();
        file.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"ok");
    });
}

#[test]
fn an_error_of_a_write_is_returned_once_by_the_next_operation() {
    on_each_size("write error", || async {
        let dir = Dir::new();
        std::fs::write(dir.at("file"), "abc").unwrap();
        let mut file = File::open(dir.at("file")).await.unwrap();
        for round in 0..4 {
            // The bytes are accepted; the error comes later, since the file is open for reading
            // only.
            file.write_all(b"x").await.unwrap();
            let error = match round {
                0 => file.flush().await,
                1 => file.write_all(b"y").await,
                2 => file.sync_all().await,
                _ => file.shutdown().await,
            };
            let error = error.unwrap_err();
            assert!(error.raw_os_error().is_some(), "{error}");
            file.flush().await.unwrap();
        }
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
    });
}

#[test]
fn queries_and_changes_wait_for_operations_in_flight() {
    on_each_size("queries", || async {
        let dir = Dir::new();
        let mut file = File::create(dir.at("file")).await.unwrap();
        let bytes = many_bytes();
        file.write_all(&bytes).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), bytes.len() as u64);
        file.set_len(10).await.unwrap();
        file.sync_data().await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 10);
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(PermissionsExt::from_mode(0o600)).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().permissions().mode() & 0o777, 0o600);
        let mut clone = file.try_clone().await.unwrap();
        clone.seek(SeekFrom::Start(2)).await.unwrap();
        file.write_all(b"both").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(clone.stream_position().await.unwrap(), 6);
    });
}

#[test]
fn a_query_without_a_waiting_task_is_still_in_flight() {
    on_each_size("dropped query", || async {
        let (mut file, mut there) = slow_file();
        let mut buf = [0; 4];
        assert!(poll_once(file.read(&mut buf)).is_none());
        assert!(poll_once(file.metadata()).is_none());
        let file = file.try_into_std().unwrap_err();
        there.write_all(b"ping").unwrap();
        let _ = poll_once(file.metadata());
        let mut file = file.into_std().await;
        file.write_all(b"pong").unwrap();
        there.read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"pong");
    });
}

#[test]
fn one_thread_is_enough_for_many_files() {
    watched("one thread", |watch| {
        let runtime = blitz::Runtime::builder().workers(2).max_blocking_threads(1);
        let runtime = watch.runtime(runtime.build().unwrap());
        let dir = Dir::new();
        runtime.block_on(async {
            let mut files = Vec::new();
            for n in 0..20 {
                files.push(File::create_new(dir.at(&n.to_string())).await.unwrap());
            }
            for _ in 0..10 {
                for file in &mut files {
                    file.write_all(b"a line\n").await.unwrap();
                }
            }
            for file in &mut files {
                file.rewind().await.unwrap();
                let mut text = String::new();
                file.read_to_string(&mut text).await.unwrap();
                assert_eq!(text, "a line\n".repeat(10));
            }
        });
    });
}

#[test]
fn a_file_outlives_the_runtime_that_it_was_opened_in() {
    watched("outlives", |watch| {
        let dir = Dir::new();
        let first = watch.workers(1);
        let mut file = first.block_on(File::create_new(dir.at("file"))).unwrap();
        first.block_on(file.write_all(b"first")).unwrap();
        let handle = first.handle();
        drop(first);
        // A runtime that has ended has no threads: the write is done in place.
        let entered = handle.enter();
        assert!(matches!(poll_once(file.write_all(b", second")), Some(Ok(()))));
        drop(entered);
        watch.workers(1).block_on(async {
            file.rewind().await.unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "first, second");
        });
    });
}
