//! `AsyncFd`: descriptors in errors, exclusive access, readiness by direction, and priority events.

mod common;

use blitz::io::unix::AsyncFd;
use blitz::io::{AsyncReadExt, AsyncWriteExt, Interest, Ready};
use common::{on_each_size, tcp_pair, watched};
use socket2::SockRef;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

/// Returns a pair whose first end is watched and has `written` to read.
fn watched_pair(written: &[u8]) -> (AsyncFd<UnixStream>, UnixStream) {
    let (here, mut there) = UnixStream::pair().unwrap();
    here.set_nonblocking(true).unwrap();
    there.write_all(written).unwrap();
    (AsyncFd::try_new(here).unwrap(), there)
}

fn is_pending(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_descriptor_that_cannot_be_watched_comes_back() {
    on_each_size("try_new", || async {
        let error = AsyncFd::try_new(File::open("Cargo.toml").unwrap()).unwrap_err();
        assert!(error.to_string().contains("spawn_blocking"), "{error}");
        let (mut file, cause) = error.into_parts();
        assert_eq!(cause.kind(), ErrorKind::PermissionDenied);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert!(text.contains("blitz"));
        let as_error: std::io::Error =
            AsyncFd::try_with_interest(file, Interest::READABLE).unwrap_err().into();
        assert_eq!(as_error.kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn a_descriptor_comes_back_from_a_runtime_that_has_ended() {
    watched("try_new after the end", |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        drop(runtime);
        let _entered = handle.enter();
        let (here, _there) = UnixStream::pair().unwrap();
        let (mut here, error) = AsyncFd::try_new(here).unwrap_err().into_parts();
        assert!(error.to_string().contains("has ended"), "{error}");
        here.write_all(b"still open").unwrap();
    });
}

#[test]
fn one_task_may_have_the_descriptor_for_itself() {
    on_each_size("exclusive", || async {
        let (mut here, mut there) = watched_pair(b"");
        let mut buf = [0; 8];
        let block = here.try_io_mut(Interest::READABLE, |stream| stream.read(&mut buf));
        assert_eq!(block.unwrap_err().kind(), ErrorKind::WouldBlock);
        let writer = blitz::spawn_blocking(move || {
            there.write_all(b"hello").unwrap();
            there
        });
        let read = here.async_io_mut(Interest::READABLE, |stream| stream.read(&mut buf)).await;
        assert_eq!(&buf[..read.unwrap()], b"hello");
        poll_fn(|cx| here.poll_write_ready_mut(cx).map_ok(drop)).await.unwrap();
        let mut there = writer.await.unwrap();
        there.write_all(b"more").unwrap();
        let mut ready = here.readable_mut().await.unwrap();
        assert_eq!(ready.get_inner_mut().read(&mut buf).unwrap(), 4);
        assert!(ready.get_mut().get_mut().peer_addr().is_ok());
        assert!(matches!(ready.try_io(|fd| fd.get_mut().read(&mut buf)), Err(_would_block)));
    });
}

#[test]
fn one_direction_is_cleared_without_the_other() {
    on_each_size("matching", || async {
        let (here, _there) = watched_pair(b"x");
        let mut guard = here.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        assert_eq!(guard.ready(), Ready::READABLE | Ready::WRITABLE);
        guard.clear_ready_matching(Ready::READABLE);
        assert_eq!(guard.ready(), Ready::WRITABLE);
        assert!(std::ptr::eq(guard.get_ref(), &here));
        let nothing = |_: &UnixStream| Ok(());
        let read = here.try_io(Interest::READABLE, nothing).unwrap_err();
        assert_eq!(read.kind(), ErrorKind::WouldBlock);
        here.try_io(Interest::WRITABLE, nothing).unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn urgent_data_is_a_priority_event() {
    on_each_size("priority", || async {
        let (mut here, mut there) = tcp_pair().await;
        {
            let mut urgent = pin!(here.ready(Interest::PRIORITY));
            assert!(is_pending(urgent.as_mut()));
            there.write_all(b"plain").await.unwrap();
            here.readable().await.unwrap();
            assert!(is_pending(urgent.as_mut()), "plain data is not urgent");
            SockRef::from(&there).send_out_of_band(b"!").unwrap();
            assert!(urgent.await.unwrap().is_priority());
        }
        let mut byte = [MaybeUninit::uninit()];
        let receive = || SockRef::from(&here).recv_out_of_band(&mut byte);
        assert_eq!(here.try_io(Interest::PRIORITY, receive).unwrap(), 1);
        let mut plain = [0; 5];
        here.read_exact(&mut plain).await.unwrap();
        assert_eq!(&plain, b"plain");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_may_be_watched_for_priority_events_alone() {
    on_each_size("priority alone", || async {
        let (here, there) = tcp_pair().await;
        let here = here.into_std().unwrap();
        let here = AsyncFd::with_interest(here, Interest::PRIORITY).unwrap();
        let mut guard = pin!(here.ready(Interest::PRIORITY));
        assert!(is_pending(guard.as_mut()));
        SockRef::from(&there).send_out_of_band(b"!").unwrap();
        let mut guard = guard.await.unwrap();
        assert!(guard.ready().is_priority() && !guard.ready().is_readable());
        guard.clear_ready();
        let error = here.try_io(Interest::PRIORITY, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    });
}
