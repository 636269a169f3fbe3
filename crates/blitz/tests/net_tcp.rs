//! TCP on loopback: operations succeed or fail, and never hang.

mod common;

use blitz::JoinSet;
use blitz::io::{AsyncReadExt, AsyncWriteExt, Interest};
use blitz::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use common::{echo, on_each_size, tcp_pair, watched};
use std::io::{ErrorKind, IoSlice};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Starts a server that echoes all bytes on any number of connections.
async fn echo_server() -> (SocketAddr, blitz::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = blitz::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(blitz::spawn(echo(stream)));
        }
    });
    (address, server)
}

/// Returns a socket that does not listen, and its address.
///
/// As long as the socket exists, no other socket can take the address.
fn without_a_listener() -> (TcpSocket, SocketAddr) {
    let held = TcpSocket::new_v4().unwrap();
    held.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = held.local_addr().unwrap();
    (held, address)
}

/// Returns bytes that differ from place to place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn an_echo_brings_back_what_was_sent() {
    on_each_size("echo", || async {
        let (address, server) = echo_server().await;
        let stream = TcpStream::connect(address).await.unwrap();
        let sent = pattern(1 << 20);
        let (mut read, mut write) = stream.into_split();
        let writer = blitz::spawn({
            let sent = sent.clone();
            async move { write.write_all(&sent).await }
        });
        let mut back = Vec::new();
        read.read_to_end(&mut back).await.unwrap();
        writer.await.unwrap().unwrap();
        assert!(back == sent, "{} bytes came back", back.len());
        server.abort();
    });
}

#[test]
fn the_debug_text_of_a_socket_omits_its_reactor() {
    on_each_size("debug", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        for text in [format!("{listener:?}"), format!("{stream:?}")] {
            assert!(text.contains("127.0.0.1:") && !text.contains("Reactor"), "{text}");
        }
    });
}

#[test]
fn many_small_buffers_arrive_however_many_the_system_takes_at_once() {
    on_each_size("many small buffers", || async {
        let (mut here, mut there) = tcp_pair().await;
        // One buffer, a few small ones, a few larger ones, and more buffers than one system call
        // takes.
        for (count, length) in [(1, 3), (7, 5), (7, 500), (2_500, 1)] {
            let sent = pattern(count * length);
            let mut slices: Vec<IoSlice<'_>> = sent.chunks(length).map(IoSlice::new).collect();
            let mut rest = &mut slices[..];
            while !rest.is_empty() {
                let moved = there.write_vectored(rest).await.unwrap();
                IoSlice::advance_slices(&mut rest, moved);
            }
            let mut received = vec![0; sent.len()];
            here.read_exact(&mut received).await.unwrap();
            assert!(received == sent, "{count} buffers of {length}");
        }
        let mut late = vec![IoSlice::new(b""); 2_000];
        late.push(IoSlice::new(b"late"));
        assert_eq!(there.write_vectored(&late).await.unwrap(), 4);
        assert_eq!(there.write_vectored(&[]).await.unwrap(), 0);
        let none = [IoSlice::new(b""), IoSlice::new(b"")];
        assert_eq!(there.write_vectored(&none).await.unwrap(), 0);
    });
}

#[test]
fn what_lies_behind_urgent_data_is_read() {
    on_each_size("urgent data", || async {
        let (mut here, mut there) = tcp_pair().await;
        let mut buf = [0; 64];
        for _ in 0..10 {
            assert_eq!(there.try_write(b"abc").unwrap(), 3);
            socket2::SockRef::from(&there).send_out_of_band(b"!").unwrap();
            assert_eq!(there.try_write(b"def").unwrap(), 3);
            // A read ends before the urgent byte, which is not a part of the stream.
            let mut text = Vec::new();
            while text.len() < 6 {
                let count = here.read(&mut buf).await.unwrap();
                text.extend_from_slice(&buf[..count]);
            }
            assert_eq!(text, b"abcdef");
            here.write_all(b"next").await.unwrap();
            there.read_exact(&mut buf[..4]).await.unwrap();
        }
    });
}

#[test]
fn many_connections_at_once() {
    on_each_size("many connections", || async {
        let (address, server) = echo_server().await;
        let mut clients = JoinSet::new();
        for number in 0..200u32 {
            clients.spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                for round in 0..10u32 {
                    let sent = (number * 1_000 + round).to_le_bytes();
                    stream.write_all(&sent).await.unwrap();
                    let mut back = [0; 4];
                    stream.read_exact(&mut back).await.unwrap();
                    assert_eq!(back, sent);
                }
            });
        }
        let mut done = 0;
        while let Some(result) = clients.join_next().await {
            result.unwrap();
            done += 1;
        }
        assert_eq!(done, 200);
        server.abort();
    });
}

#[test]
fn a_refused_connection_is_an_error() {
    on_each_size("refused", || async {
        let (_held, address) = without_a_listener();
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = TcpSocket::new_v4().unwrap().connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn connect_tries_every_address() {
    on_each_size("addresses", || async {
        let (_held, gone) = without_a_listener();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[gone, there][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), there);
        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(TcpStream::connect("no port here").await.is_err());
        let named = lookup_host(("localhost", there.port())).await.unwrap();
        assert!(named.collect::<Vec<_>>().contains(&there));
        let stream = TcpStream::connect(("localhost", there.port())).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), there);
    });
}

#[test]
fn a_reset_in_the_middle_is_an_error_for_reader_and_writer() {
    on_each_size("reset", || async {
        let (here, there) = tcp_pair().await;
        let (mut read, mut write) = there.into_split();
        let reader = blitz::spawn(async move {
            let mut buf = Vec::new();
            let result = read.read_to_end(&mut buf).await;
            (buf, result)
        });
        write.write_all(b"never read").await.unwrap();
        // Closing with unread bytes, or without lingering, resets the connection.
        here.set_linger(Some(Duration::ZERO)).unwrap();
        assert_eq!(here.linger().unwrap(), Some(Duration::ZERO));
        drop(here);
        let (buf, result) = reader.await.unwrap();
        assert!(buf.is_empty());
        assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionReset);
        // The system may still accept bytes once; then the reset is known.
        let broken = loop {
            if let Err(error) = write.write_all(&[0; 1024]).await {
                break error.kind();
            }
        };
        assert!(matches!(broken, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{broken}");
    });
}

#[test]
fn one_direction_can_end_before_the_other() {
    on_each_size("half-close", || async {
        let (mut here, mut there) = tcp_pair().await;
        here.write_all(b"question").await.unwrap();
        here.shutdown().await.unwrap();
        let mut question = String::new();
        there.read_to_string(&mut question).await.unwrap();
        assert_eq!(question, "question");
        assert_eq!(there.read(&mut [0; 8]).await.unwrap(), 0, "the end stays the end");
        there.write_all(b"answer").await.unwrap();
        drop(there);
        let mut answer = String::new();
        here.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "answer");
        here.shutdown().await.unwrap();
    });
}

#[test]
fn a_slow_reader_holds_the_writer_up() {
    on_each_size("backpressure", || async {
        let (mut here, mut there) = tcp_pair().await;
        let chunk = pattern(64 * 1024);
        // Write until the system takes no more.
        let mut taken = 0;
        loop {
            match here.try_write(&chunk) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(taken > 0);
        let writer = blitz::spawn(async move {
            here.write_all(b"the end").await.unwrap();
        });
        let mut buf = vec![0; taken];
        there.read_exact(&mut buf).await.unwrap();
        writer.await.unwrap();
        let mut rest = String::new();
        there.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "the end");
    });
}

#[test]
fn one_byte_at_a_time_arrives() {
    on_each_size("one byte", || async {
        let (mut here, mut there) = tcp_pair().await;
        here.set_nodelay(true).unwrap();
        assert!(here.nodelay().unwrap());
        let sent = pattern(2_000);
        let writer = blitz::spawn({
            let sent = sent.clone();
            async move {
                for byte in sent.chunks(1) {
                    assert_eq!(here.write(byte).await.unwrap(), 1);
                }
            }
        });
        let mut got = Vec::new();
        let mut byte = [0];
        while there.read(&mut byte).await.unwrap() == 1 {
            got.push(byte[0]);
        }
        writer.await.unwrap();
        assert!(got == sent);
    });
}

#[test]
fn several_tasks_accept_from_one_listener() {
    on_each_size("acceptors", || async {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        let mut acceptors = JoinSet::new();
        for _ in 0..8 {
            let listener = listener.clone();
            acceptors.spawn(async move { listener.accept().await.map(|(_, from)| from) });
        }
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let mut from = Vec::new();
        while let Some(accepted) = acceptors.join_next().await {
            from.push(accepted.unwrap().unwrap());
        }
        from.sort();
        let mut expected: Vec<_> = clients.iter().map(|c| c.local_addr().unwrap()).collect();
        expected.sort();
        assert_eq!(from, expected);
    });
}

#[test]
fn readiness_says_what_an_attempt_would_find() {
    on_each_size("readiness", || async {
        let (here, there) = tcp_pair().await;
        assert!(here.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap().is_writable());
        let error = here.try_read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        there.try_write(b"abcd").unwrap();
        here.readable().await.unwrap();
        let mut peeked = [0; 2];
        assert_eq!(here.peek(&mut peeked).await.unwrap(), 2);
        let mut buf = Vec::with_capacity(2);
        assert_eq!(here.try_read_buf(&mut buf).unwrap(), 2);
        assert_eq!((&peeked[..], &buf[..]), (&b"ab"[..], &b"ab"[..]));
        let mut rest = [0; 4];
        assert_eq!(here.try_read(&mut rest).unwrap(), 2);
        there.try_write_vectored(&[IoSlice::new(b"e"), IoSlice::new(b"f")]).unwrap();
        drop(there);
        let ready = here.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_readable());
        let mut all = Vec::new();
        here.async_io(Interest::READABLE, || here.try_read_buf(&mut all)).await.unwrap();
        assert_eq!(all, b"ef");
        here.readable().await.unwrap();
        assert_eq!(here.try_read(&mut rest).unwrap(), 0);
        assert!(here.take_error().unwrap().is_none());
    });
}

#[test]
fn halves_of_different_streams_do_not_reunite() {
    on_each_size("reunite", || async {
        let ((one, _far_one), (other, mut far)) = (tcp_pair().await, tcp_pair().await);
        let (read, write) = one.into_split();
        let (other_read, other_write) = other.into_split();
        let error = read.reunite(other_write).unwrap_err();
        assert!(error.to_string().contains("different streams"));
        let (read, mut other_write) = (error.0, error.1);
        other_write.write_all(b"still open").await.unwrap();
        other_write.forget();
        other_read.as_ref().try_write(b", and on").unwrap();
        drop(other_read);
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "still open, and on");
        read.reunite(write).unwrap().set_nodelay(true).unwrap();
    });
}

#[test]
fn options_are_what_was_set() {
    on_each_size("options", || async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_reuseport(true).unwrap();
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_send_buffer_size(32 * 1024).unwrap();
        socket.set_recv_buffer_size(32 * 1024).unwrap();
        assert!(socket.reuseaddr().unwrap() && socket.reuseport().unwrap());
        assert!(socket.keepalive().unwrap() && socket.nodelay().unwrap());
        assert!(socket.send_buffer_size().unwrap() >= 32 * 1024);
        assert!(socket.recv_buffer_size().unwrap() >= 32 * 1024);
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = socket.listen(16).unwrap();
        listener.set_ttl(33).unwrap();
        assert_eq!((listener.ttl().unwrap(), listener.local_addr().unwrap()), (33, address));
        let stream = TcpSocket::new_v4().unwrap().connect(address).await.unwrap();
        stream.set_ttl(44).unwrap();
        assert_eq!(stream.ttl().unwrap(), 44);
        let in_use = TcpListener::bind(address).await.unwrap_err();
        assert_eq!(in_use.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn sockets_go_to_the_standard_library_and_back() {
    on_each_size("std", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap().into_std().unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::try_from(listener).unwrap();
        let stream = TcpStream::connect(address).await.unwrap().into_std().unwrap();
        let mut stream = TcpStream::try_from(stream).unwrap();
        let (mut there, _) = listener.accept().await.unwrap();
        stream.write_all(b"round trip").await.unwrap();
        let mut buf = [0; 10];
        there.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"round trip");
    });
}

#[test]
fn a_task_that_is_always_served_lets_others_go_first() {
    watched("budget", |watch| {
        let runtime = watch.workers(1);
        runtime.block_on(async {
            let (here, mut there) = tcp_pair().await;
            let stop = Arc::new(blitz::sync::Notify::new());
            // The socket is always readable, and its reader never has to wait.
            there.write_all(b"x").await.unwrap();
            let spinner = blitz::spawn(async move {
                loop {
                    here.peek(&mut [0]).await.unwrap();
                }
            });
            let other = blitz::spawn({
                let stop = stop.clone();
                async move { stop.notified().await }
            });
            stop.notify_one();
            other.await.unwrap();
            spinner.abort();
        });
    });
}

#[test]
fn a_close_without_lingering_resets_the_connection() {
    on_each_size("tcp zero linger", || async {
        let (mut here, there) = common::tcp_pair().await;
        there.set_zero_linger().unwrap();
        assert_eq!(there.linger().unwrap(), Some(std::time::Duration::ZERO));
        drop(there);
        let error = here.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}
