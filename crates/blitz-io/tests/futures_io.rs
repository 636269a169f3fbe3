//! Streams through the traits of the `futures` crates.

use blitz::net::UnixStream;
use futures_io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::pin;

#[test]
fn what_is_written_is_read() {
    blitz::block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut here, mut there) = (pin!(here), pin!(there));
        let bufs = [IoSlice::new(b"ab"), IoSlice::new(b"c")];
        assert_eq!(poll_fn(|cx| here.as_mut().poll_write(cx, b"12")).await.unwrap(), 2);
        let written = poll_fn(|cx| here.as_mut().poll_write_vectored(cx, &bufs)).await;
        assert_eq!(written.unwrap(), 3);
        poll_fn(|cx| here.as_mut().poll_flush(cx)).await.unwrap();
        poll_fn(|cx| here.as_mut().poll_close(cx)).await.unwrap();
        let mut text = Vec::new();
        loop {
            let mut buf = [0; 4];
            match poll_fn(|cx| there.as_mut().poll_read(cx, &mut buf)).await.unwrap() {
                0 => break,
                count => text.extend_from_slice(&buf[..count]),
            }
        }
        assert_eq!(text, b"12abc");
    });
}

#[test]
fn halves_have_the_traits_too() {
    blitz::block_on(async {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (read, write) = here.into_split();
        let (mut read, mut write) = (pin!(read), pin!(write));
        let (their_read, their_write) = there.split();
        let (mut their_read, mut their_write) = (pin!(their_read), pin!(their_write));
        poll_fn(|cx| write.as_mut().poll_write(cx, b"x")).await.unwrap();
        poll_fn(|cx| their_write.as_mut().poll_write(cx, b"y")).await.unwrap();
        let (mut one, mut other) = ([0], [0]);
        poll_fn(|cx| their_read.as_mut().poll_read(cx, &mut one)).await.unwrap();
        poll_fn(|cx| read.as_mut().poll_read(cx, &mut other)).await.unwrap();
        assert_eq!((&one, &other), (b"x", b"y"));
    });
}
