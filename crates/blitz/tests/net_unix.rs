//! Unix sockets and other descriptors.

mod common;

use blitz::io::unix::AsyncFd;
use blitz::io::{AsyncReadExt, AsyncWriteExt, Interest};
use blitz::net::{UnixDatagram, UnixListener, UnixStream};
use common::{on_each_size, watched};
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};

/// A path without a file. Dropping this value removes a file that was made there.
struct Spot(PathBuf);

impl Spot {
    fn new() -> Spot {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        let name = format!("blitz-{}-{number}.sock", std::process::id());
        Spot(std::env::temp_dir().join(name))
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_peer_without_a_process_id_has_none() {
    blitz::block_on(async {
        // A stream that is not connected has no peer: the system says that the process id is 0.
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        socket.set_nonblocking(true).unwrap();
        let stream = UnixStream::from_std(OwnedFd::from(socket).into()).unwrap();
        assert_eq!(stream.peer_cred().unwrap().pid(), None);
    });
}

#[test]
fn a_stream_at_a_path_echoes_and_knows_its_peer() {
    on_each_size("unix stream", || async {
        let spot = Spot::new();
        let error = UnixStream::connect(&spot.0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let listener = UnixListener::bind(&spot.0).unwrap();
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(spot.0.as_path()));
        let server = blitz::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut read, mut write) = stream.split();
            blitz::io::copy(&mut read, &mut write).await.unwrap()
        });
        let mut stream = UnixStream::connect(&spot.0).await.unwrap();
        assert_eq!(stream.peer_cred().unwrap().pid(), Some(std::process::id() as i32));
        let sent = vec![9; 300_000];
        let (mut read, mut write) = stream.split();
        let mut back = vec![0; sent.len()];
        // A single task that writes all before it reads would wait for itself.
        let both = async {
            let mut written = 0;
            let mut got = 0;
            while got < sent.len() {
                let interest = Interest::READABLE;
                let interest =
                    if written < sent.len() { interest | Interest::WRITABLE } else { interest };
                let ready = read.ready(interest).await.unwrap();
                if ready.is_writable() && written < sent.len() {
                    match write.try_write(&sent[written..]) {
                        Ok(count) => written += count,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                    }
                }
                match read.try_read(&mut back[got..]) {
                    Ok(count) => got += count,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        };
        both.await;
        write.shutdown().await.unwrap();
        assert_eq!(read.read(&mut [0]).await.unwrap(), 0);
        assert!(back == sent);
        assert_eq!(server.await.unwrap(), 300_000);
    });
}

#[test]
fn a_pair_whose_other_side_is_gone() {
    on_each_size("unix gone", || async {
        let (mut here, there) = UnixStream::pair().unwrap();
        let reader = blitz::spawn(async move {
            let mut text = String::new();
            here.read_to_string(&mut text).await.unwrap();
            (here, text)
        });
        drop(there);
        let (mut here, text) = reader.await.unwrap();
        assert_eq!(text, "");
        let error = here.write_all(b"hello?").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn packets() {
    on_each_size("unix datagram", || async {
        let spot = Spot::new();
        let server = UnixDatagram::bind(&spot.0).unwrap();
        let client = UnixDatagram::unbound().unwrap();
        client.send_to(b"unnamed", &spot.0).await.unwrap();
        client.connect(&spot.0).unwrap();
        client.send(b"connected").await.unwrap();
        let mut buf = [0; 32];
        let (count, from) = server.recv_from(&mut buf).await.unwrap();
        assert!(&buf[..count] == b"unnamed" && from.is_unnamed());
        assert_eq!(server.recv(&mut buf).await.unwrap(), 9);
        assert_eq!(server.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        let (one, other) = UnixDatagram::pair().unwrap();
        one.send(b"pair").await.unwrap();
        assert_eq!(other.recv(&mut buf).await.unwrap(), 4);
    });
}

#[test]
fn a_full_receiver_holds_unconnected_senders_up() {
    on_each_size("unix full", || async {
        let spot = Spot::new();
        let server = UnixDatagram::bind(&spot.0).unwrap();
        let (filler, late) = (UnixDatagram::unbound().unwrap(), UnixDatagram::unbound().unwrap());
        let mut sent = 0;
        while filler.try_send_to(b"fill", &spot.0).is_ok() {
            sent += 1;
        }
        // `late` has nothing in the queue, so the system does not notify it when there is room.
        let path = spot.0.clone();
        let sender = blitz::spawn(async move { late.send_to(b"late", path).await.unwrap() });
        let mut buf = [0; 8];
        for _ in 0..sent {
            assert_eq!(server.recv(&mut buf).await.unwrap(), 4);
        }
        assert_eq!(server.recv(&mut buf).await.unwrap(), 4);
        assert_eq!((&buf[..4], sender.await.unwrap()), (&b"late"[..], 4));
    });
}

#[test]
fn a_sender_to_a_full_receiver_gets_an_error_when_the_runtime_has_ended() {
    watched("unix full at the end", |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        let _guard = handle.enter();
        let spot = Spot::new();
        let _server = UnixDatagram::bind(&spot.0).unwrap();
        let unbound = || UnixDatagram::unbound().unwrap();
        let (filler, early, late) = (unbound(), unbound(), unbound());
        while filler.try_send_to(b"fill", &spot.0).is_ok() {}
        let mut sending = pin!(early.send_to(b"early", &spot.0));
        // The send yields a few times, and sleeps from then on.
        for _ in 0..100 {
            assert!(sending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(runtime);
        let slept = blitz::block_on(sending).unwrap_err();
        let begun = handle.block_on(late.send_to(b"late", &spot.0)).unwrap_err();
        for error in [slept, begun] {
            assert!(error.to_string().contains("the runtime has ended"), "{error}");
        }
    });
}

#[test]
fn any_descriptor_can_be_waited_for() {
    on_each_size("async fd", || async {
        let (here, mut there) = StdStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let mut here = AsyncFd::new(here).unwrap();
        assert!(here.writable().await.unwrap().ready().is_writable());
        let reader = blitz::spawn(async move {
            let mut got = Vec::new();
            loop {
                let mut guard = here.readable().await.unwrap();
                let mut buf = [0; 3];
                match guard.try_io(|fd| fd.get_ref().read(&mut buf)) {
                    Ok(Ok(0)) => break,
                    Ok(result) => got.extend_from_slice(&buf[..result.unwrap()]),
                    Err(_would_block) => continue,
                }
            }
            (here, got)
        });
        for _ in 0..100 {
            there.write_all(b"12345").unwrap();
            blitz::task::yield_now().await;
        }
        drop(there);
        let (back, got) = reader.await.unwrap();
        here = back;
        assert_eq!(got.len(), 500);
        // The event of the last bytes has come. The event of the close may have come, too.
        let mut guard = here.readable_mut().await.unwrap();
        assert!(guard.ready().is_readable());
        guard.retain_ready();
        assert!(matches!(guard.try_io(|fd| fd.get_mut().read(&mut [0; 4])), Ok(Ok(0))));
        here.into_inner().set_nonblocking(false).unwrap();
    });
}

#[test]
fn a_hang_up_that_was_cleared_is_reported_once() {
    on_each_size("hang-up", || async {
        let (here, there) = StdStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let here = AsyncFd::new(here).unwrap();
        drop(there);
        let mut guard = here.readable().await.unwrap();
        assert!(guard.ready().is_read_closed());
        guard.clear_ready();
        drop(guard);
        // No further event comes, so nothing is ready: a task that waits here sleeps and does not
        // spin.
        let error = here.try_io(Interest::READABLE, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn a_file_cannot_be_waited_for() {
    on_each_size("file", || async {
        let file = std::fs::File::open("Cargo.toml").unwrap();
        let error = AsyncFd::new(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("spawn_blocking"), "{error}");
    });
}
