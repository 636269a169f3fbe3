//! Moves bytes from and to sockets. Receive buffers need not be initialised: only this file decides
//! how many of their bytes count as initialised after a call.
//!
//! Where rustix can do without the C library, it calls the system directly. The C library would
//! make each call a cancellation point, with atomic exchanges before and after it.

use crate::borrowed::ReadBuf;
use bytes::BufMut;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Lets `receive` fill the free part of `buf`; returns how many bytes came.
///
/// # Safety
/// 1. If `receive` returns `Ok(n)` it has initialised the first `n` bytes of its argument.
/// 2. It keeps bytes initialised that already are.
#[inline]
unsafe fn fill(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<usize>,
) -> io::Result<usize> {
    // SAFETY: obligation 2.
    let free = unsafe { buf.unfilled_mut() };
    let count = receive(free)?;
    // SAFETY: obligation 1.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok(count)
}

/// Works like [`fill`], for growing buffers.
///
/// # Safety
/// 1. If `receive` returns `Ok(n)` it has initialised the first `n` bytes of its argument.
/// 2. It keeps bytes initialised that already are.
unsafe fn fill_mut(
    buf: &mut impl BufMut,
    receive: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<usize>,
) -> io::Result<usize> {
    // SAFETY: obligation 2.
    let free = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    let count = receive(free)?;
    // SAFETY: obligation 1.
    unsafe { buf.advance_mut(count) };
    Ok(count)
}

/// Receives from a stream; returns how many bytes came.
#[inline]
pub(crate) fn receive(socket: &impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: `recv` says which bytes it has written, from the first on.
    unsafe { fill(buf, |free| Ok(net::recv(socket, free, RecvFlags::empty())?.0.0.len())) }
}

/// Receives into a buffer that grows; returns how many bytes came.
pub(crate) fn receive_buf(socket: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    // SAFETY: as in `receive`.
    unsafe { fill_mut(buf, |free| Ok(net::recv(socket, free, RecvFlags::empty())?.0.0.len())) }
}

/// Receives from a stream without consuming the bytes; returns how many there were.
pub(crate) fn peek(socket: &impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: as in `receive`.
    unsafe { fill(buf, |free| Ok(net::recv(socket, free, RecvFlags::PEEK)?.0.0.len())) }
}

/// Sends to a stream; returns how many bytes the system took. If the peer is gone it returns an
/// error, and no signal is raised.
#[inline]
pub(crate) fn send(socket: &impl AsFd, buf: &[u8]) -> io::Result<usize> {
    Ok(net::send(socket, buf, WITHOUT_SIGNAL)?)
}

/// Returns the buffers to pass to the system in one call, which takes at most `LIST_MAX`.
///
/// The list starts at the first buffer that is not empty: if a call got only empty buffers, it
/// would look as if nothing could be sent. Callers compare what was sent with the length of this
/// list, so a transfer does not count as short because later buffers were left out.
pub(crate) fn first_of<'a, 'b>(bufs: &'a [IoSlice<'b>]) -> &'a [IoSlice<'b>] {
    let start = bufs.iter().take_while(|buf| buf.is_empty()).count();
    &bufs[start..][..(bufs.len() - start).min(LIST_MAX)]
}

/// Returns how many bytes `bufs` have together.
pub(crate) fn length(bufs: &[IoSlice<'_>]) -> usize {
    bufs.iter().fold(0, |length: usize, buf| length.saturating_add(buf.len()))
}

/// The most buffers that Linux and similar systems take in one call; more would be an error.
const LIST_MAX: usize = 1_024;

/// Works like [`send`], from several buffers: at least those that [`first_of`] returns.
pub(crate) fn send_vectored(socket: &impl AsFd, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    if let [buf] = bufs {
        return send(socket, buf);
    }
    let mut gathered = [0; GATHERED_MAX];
    match gather(bufs, &mut gathered) {
        Some(count) => send(socket, &gathered[..count]),
        None => {
            let mut nothing_else = SendAncillaryBuffer::default();
            Ok(net::sendmsg(socket, first_of(bufs), &mut nothing_else, WITHOUT_SIGNAL)?)
        }
    }
}

/// Copies all of `bufs` to the start of `into`, if there is room; returns how many bytes.
fn gather(bufs: &[IoSlice<'_>], into: &mut [u8]) -> Option<usize> {
    let mut count = 0;
    for buf in bufs {
        into.get_mut(count..)?.get_mut(..buf.len())?.copy_from_slice(buf);
        count += buf.len();
    }
    Some(count)
}

/// Copying this many bytes is faster than passing a list of buffers: a list costs about 200 ns.
const GATHERED_MAX: usize = 512;

/// Keeps a send to a closed peer from raising a signal. On Apple's systems that is a property of
/// sockets, which mio and the standard library set.
#[cfg(not(target_vendor = "apple"))]
const WITHOUT_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const WITHOUT_SIGNAL: SendFlags = SendFlags::empty();

/// Reads from any descriptor into a buffer that grows; returns how many bytes came.
pub(crate) fn read_buf(fd: impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    // SAFETY: as in `read`.
    unsafe { fill_mut(buf, |free| Ok(rustix::io::read(fd, free)?.0.len())) }
}

/// Reads from any descriptor; returns how many bytes came.
pub(crate) fn read(fd: impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: `read` says how many bytes it has initialised, from the first on.
    unsafe { fill(buf, |free| Ok(rustix::io::read(fd, free)?.0.len())) }
}
