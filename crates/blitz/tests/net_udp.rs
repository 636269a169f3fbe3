//! UDP on loopback.

mod common;

use blitz::io::{Interest, ReadBuf};
use blitz::net::UdpSocket;
use common::on_each_size;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::Arc;

#[test]
fn packets_arrive_whole() {
    on_each_size("udp", || async {
        let server = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = server.local_addr().unwrap();
        let echo = blitz::spawn({
            let server = server.clone();
            async move {
                let mut buf = [0; 2_000];
                loop {
                    let (count, from) = server.recv_from(&mut buf).await.unwrap();
                    server.send_to(&buf[..count], from).await.unwrap();
                }
            }
        });
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(address).await.unwrap();
        assert_eq!(client.peer_addr().unwrap(), address);
        for length in [0, 1, 100, 1_400] {
            let sent = vec![7; length];
            client.send(&sent).await.unwrap();
            let mut buf = [0; 2_000];
            assert_eq!(client.peek(&mut buf).await.unwrap(), length);
            assert_eq!(client.recv(&mut buf).await.unwrap(), length);
            assert_eq!(&buf[..length], sent);
        }
        echo.abort();
    });
}

#[test]
fn packets_can_be_polled_for_and_tried_for() {
    on_each_size("udp poll", || async {
        let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (here_at, there_at) = (here.local_addr().unwrap(), there.local_addr().unwrap());
        here.writable().await.unwrap();
        assert_eq!(here.try_recv(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
        here.try_send_to(b"one", there_at).unwrap();
        let mut memory = [0; 8];
        let mut buf = ReadBuf::new(&mut memory);
        let from = poll_fn(|cx| there.poll_recv_from(cx, &mut buf)).await.unwrap();
        assert_eq!((buf.filled(), from), (&b"one"[..], here_at));
        poll_fn(|cx| there.poll_send_to(cx, b"two", here_at)).await.unwrap();
        here.readable().await.unwrap();
        let mut bytes = [0; 8];
        assert_eq!(here.peek_from(&mut bytes).await.unwrap(), (3, there_at));
        assert_eq!(here.try_recv_from(&mut bytes).unwrap(), (3, there_at));
        here.connect(there_at).await.unwrap();
        poll_fn(|cx| here.poll_send(cx, b"three")).await.unwrap();
        assert_eq!(there.recv(&mut bytes).await.unwrap(), 5);
        assert!(there.ready(Interest::WRITABLE).await.unwrap().is_writable());
    });
}

#[test]
fn a_packet_without_a_receiver_is_an_error_once_and_no_busy_loop() {
    on_each_size("udp refused", || async {
        // A socket that is connected to itself keeps its port, and takes no packets of others.
        let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = deaf.local_addr().unwrap();
        deaf.connect(address).await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(address).await.unwrap();
        client.send(b"anybody?").await.unwrap();
        let error = client.recv(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // The error was returned once. Further attempts would have to wait.
        let mut buf = [0; 8];
        assert_eq!(client.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(client.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn options_are_what_was_set() {
    on_each_size("udp options", || async {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.set_broadcast(true).unwrap();
        socket.set_multicast_loop_v4(false).unwrap();
        socket.set_multicast_ttl_v4(3).unwrap();
        socket.set_ttl(55).unwrap();
        assert!(socket.broadcast().unwrap() && !socket.multicast_loop_v4().unwrap());
        assert_eq!((socket.multicast_ttl_v4().unwrap(), socket.ttl().unwrap()), (3, 55));
        let group = Ipv4Addr::new(224, 0, 0, 251);
        socket.join_multicast_v4(group, Ipv4Addr::LOCALHOST).unwrap();
        assert!(socket.join_multicast_v4(group, Ipv4Addr::LOCALHOST).is_err(), "already in");
        socket.leave_multicast_v4(group, Ipv4Addr::LOCALHOST).unwrap();
        let address = socket.local_addr().unwrap();
        let socket = UdpSocket::try_from(socket.into_std().unwrap()).unwrap();
        assert_eq!(socket.local_addr().unwrap(), address);
    });
}

#[test]
fn a_sender_is_known_before_its_packet_is_taken() {
    on_each_size("udp peek_sender", || async {
        let (here, there) = (UdpSocket::bind("127.0.0.1:0"), UdpSocket::bind("127.0.0.1:0"));
        let (here, there) = (here.await.unwrap(), there.await.unwrap());
        assert_eq!(here.try_peek_sender().unwrap_err().kind(), ErrorKind::WouldBlock);
        let (to, from) = (here.local_addr().unwrap(), there.local_addr().unwrap());
        poll_fn(|cx| there.poll_send_ready(cx)).await.unwrap();
        let sent = blitz::spawn(async move { there.send_to(b"hello", to).await });
        poll_fn(|cx| here.poll_recv_ready(cx)).await.unwrap();
        sent.await.unwrap().unwrap();
        assert_eq!(here.peek_sender().await.unwrap(), from);
        assert_eq!(here.try_peek_sender().unwrap(), from);
        assert_eq!(poll_fn(|cx| here.poll_peek_sender(cx)).await.unwrap(), from);
        let mut buf = [0; 8];
        assert_eq!(here.recv_from(&mut buf).await.unwrap(), (5, from));
        assert_eq!(here.try_peek_sender().unwrap_err().kind(), ErrorKind::WouldBlock);
        here.set_tos_v4(0x10).unwrap();
        assert_eq!(here.tos_v4().unwrap(), 0x10);
    });
}
