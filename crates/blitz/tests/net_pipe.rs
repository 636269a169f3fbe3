//! Pipes with a path and without one, Unix sockets with options, and options that only Linux has.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt, Interest};
use blitz::net::unix::pipe::{OpenOptions, Receiver, Sender, pipe};
use blitz::net::{TcpListener, TcpSocket, UdpSocket, UnixSocket};
use common::{Dir, on_each_size, tcp_pair, watched};
use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, mknodat};
use rustix::io::Errno;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::path::Path;

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_pipe_moves_more_than_it_holds() {
    on_each_size("pipe", || async {
        let (mut sender, mut receiver) = pipe().unwrap();
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n >> 7) as u8).collect();
        let sent = bytes.clone();
        let writer = blitz::spawn(async move { sender.write_all(&sent).await });
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).await.unwrap();
        assert!(all == bytes);
        writer.await.unwrap().unwrap();
    });
}

#[test]
fn attempts_say_when_they_would_block() {
    on_each_size("pipe attempts", || async {
        let (sender, receiver) = pipe().unwrap();
        let mut buf = [0; 8];
        assert_eq!(receiver.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        let parts = [IoSlice::new(b"he"), IoSlice::new(b"llo")];
        sender.writable().await.unwrap();
        assert_eq!(sender.try_write_vectored(&parts).unwrap(), 5);
        receiver.readable().await.unwrap();
        let (mut one, mut other) = ([0; 2], [0; 2]);
        let mut into = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut other)];
        assert_eq!(receiver.try_read_vectored(&mut into).unwrap(), 4);
        assert_eq!((&one, &other), (b"he", b"ll"));
        let mut rest = Vec::with_capacity(8);
        assert_eq!(receiver.try_read_buf(&mut rest).unwrap(), 1);
        assert_eq!(rest, b"o");
        while sender.try_write(&[0; 4_096]).is_ok() {}
        assert_eq!(sender.try_write(b"x").unwrap_err().kind(), ErrorKind::WouldBlock);
        let full = sender.try_io(|| Ok(())).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::WouldBlock, "a full pipe is not tried again");
        drop(receiver);
        assert!(sender.ready(Interest::WRITABLE).await.unwrap().is_write_closed());
        poll_fn(|cx| sender.poll_write_ready(cx)).await.unwrap();
        assert_eq!(sender.try_write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn packets_of_a_pipe_do_not_wait_for_the_next_one() {
    on_each_size("packets", || async {
        let (sender, mut receiver) = pipe().unwrap();
        fcntl_setfl(&sender, fcntl_getfl(&sender).unwrap() | OFlags::DIRECT).unwrap();
        // Both packets are in the pipe before the first one is read. So no event comes for the
        // second packet.
        sender.try_write(b"one").unwrap();
        sender.try_write(b"two").unwrap();
        let mut buf = [0; 16];
        for expected in [b"one", b"two"] {
            let count = receiver.read(&mut buf).await.unwrap();
            assert_eq!(&buf[..count], expected);
        }
    });
}

#[test]
fn a_pipe_with_a_path_is_opened_by_both_ends() {
    on_each_size("fifo", || async {
        let dir = Dir::new();
        let path = dir.at("fifo");
        fifo(&path);
        let options = OpenOptions::new();
        let error = options.open_sender(&path).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NXIO.raw_os_error()), "no receiver yet");
        let mut receiver = options.open_receiver(&path).unwrap();
        let mut sender = options.open_sender(&path).unwrap();
        sender.write_all(b"hello").await.unwrap();
        drop(sender);
        let mut text = String::new();
        receiver.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
        // A FIFO that is opened for both directions needs no peer, and sees no end of file.
        let sender = OpenOptions::new().read_write(true).open_sender(&path).unwrap();
        sender.try_write(b"x").unwrap();
        let mut byte = [0; 1];
        assert_eq!(receiver.read(&mut byte).await.unwrap(), 1);
    });
}

#[test]
fn a_file_that_is_not_a_pipe_is_refused_unless_unchecked() {
    on_each_size("no pipe", || async {
        let dir = Dir::new();
        std::fs::write(dir.at("file"), "text").unwrap();
        let error = OpenOptions::new().open_receiver(dir.at("file")).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::InvalidInput, "not a pipe")
        );
        let error = OpenOptions::new().unchecked(true).open_receiver(dir.at("file")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "the system cannot poll it");
        let (sender, receiver) = pipe().unwrap();
        let wrong = Receiver::from_owned_fd(sender.into_nonblocking_fd().unwrap()).unwrap_err();
        assert!(wrong.to_string().contains("not open for reads"), "{wrong}");
        let wrong = Sender::from_owned_fd(receiver.into_nonblocking_fd().unwrap()).unwrap_err();
        assert!(wrong.to_string().contains("not open for writes"), "{wrong}");
    });
}

#[test]
fn ends_become_descriptors_and_come_back() {
    on_each_size("descriptors of a pipe", || async {
        let (sender, receiver) = pipe().unwrap();
        let mut file = std::fs::File::from(sender.into_blocking_fd().unwrap());
        assert!(!fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
        file.write_all(b"one").unwrap();
        let mut sender = Sender::from_file(file).unwrap();
        assert!(fcntl_getfl(&sender).unwrap().contains(OFlags::NONBLOCK));
        sender.write_all(b"two").await.unwrap();
        drop(sender);
        let mut file = std::fs::File::from(receiver.into_blocking_fd().unwrap());
        let mut three = [0; 3];
        file.read_exact(&mut three).unwrap();
        assert_eq!(&three, b"one");
        let mut receiver = Receiver::from_file_unchecked(file).unwrap();
        let mut rest = Vec::new();
        receiver.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"two");
    });
}

#[test]
fn a_pipe_outlives_its_runtime_as_far_as_it_need_not_wait() {
    watched("pipe of a runtime that ended", |watch| {
        let runtime = watch.workers(1);
        let (sender, mut receiver) = runtime.block_on(async { pipe().unwrap() });
        drop(runtime);
        sender.try_write(b"x").unwrap();
        let other = watch.workers(1);
        other.block_on(async {
            let mut buf = [0; 1];
            assert_eq!(receiver.read(&mut buf).await.unwrap(), 1);
            let error = receiver.read(&mut buf).await.unwrap_err();
            assert!(error.to_string().contains("has ended"), "{error}");
        });
    });
}

#[test]
fn a_unix_socket_is_bound_before_it_is_used() {
    on_each_size("unix socket", || async {
        let dir = Dir::new();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(dir.at("listener")).unwrap();
        let error = UnixSocket::new_stream().unwrap().bind(dir.at("listener")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let refused = UnixSocket::new_stream().unwrap().connect(dir.at("listener")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let listener = socket.listen(4).unwrap();
        let client = UnixSocket::new_stream().unwrap();
        client.bind(dir.at("client")).unwrap();
        let mut client = client.connect(dir.at("listener")).await.unwrap();
        let (mut server, from) = listener.accept().await.unwrap();
        assert_eq!(from.as_pathname(), Some(dir.at("client").as_path()));
        client.write_all(b"hello").await.unwrap();
        let mut buf = [0; 5];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"hello");

        let packets = UnixSocket::new_datagram().unwrap();
        packets.bind(dir.at("packets")).unwrap();
        let packets = packets.datagram().unwrap();
        let sender = UnixSocket::new_datagram().unwrap().datagram().unwrap();
        sender.send_to(b"packet", dir.at("packets")).await.unwrap();
        let mut buf = [0; 8];
        assert_eq!(packets.recv(&mut buf).await.unwrap(), 6);

        let packets = || UnixSocket::new_datagram().unwrap();
        let kinds = [
            packets().listen(1).unwrap_err().kind(),
            packets().connect(dir.at("listener")).await.unwrap_err().kind(),
            UnixSocket::new_stream().unwrap().datagram().unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::InvalidInput; 3]);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn sockets_are_bound_to_interfaces() {
    on_each_size("interfaces", || async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(socket.device().unwrap(), None);
        socket.bind_device(Some(b"lo")).unwrap();
        assert_eq!(socket.device().unwrap().as_deref(), Some(&b"lo"[..]));
        assert!(socket.bind_device(Some(b"no-such-device")).is_err());
        let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        peer.send_to(b"hello", socket.local_addr().unwrap()).await.unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 5);

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind_device(Some(b"lo")).unwrap();
        assert_eq!(socket.device().unwrap().as_deref(), Some(&b"lo"[..]));
        socket.connect(listener.local_addr().unwrap()).await.unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn acknowledgements_may_come_at_once() {
    on_each_size("quickack", || async {
        let (here, there) = tcp_pair().await;
        for on in [false, true] {
            here.set_quickack(on).unwrap();
            assert_eq!(here.quickack().unwrap(), on);
        }
        drop(there);
    });
}
