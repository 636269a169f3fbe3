//! Bytes from and to sockets. Buffers for what comes need not be initialised first: this is the one place that says
//! how many bytes came.
//!
//! The system is called without the C library, which would make each call a point at which a thread can be cancelled:
//! two atomic exchanges before and after it.

use bytes::BufMut;
use rustix::net::{RecvFlags, SendFlags, recv, send as send_once};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use tokio::io::ReadBuf;

/// Has `receive` fill the free part of `buf`; how many bytes came.
///
/// # Safety
/// 1. If `receive` returns `Ok(n)` it has initialised the first `n` bytes of what it was given.
/// 2. It leaves bytes initialised that are.
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

/// As [`fill`], for growing buffers.
///
/// # Safety
/// 1. If `receive` returns `Ok(n)` it has initialised the first `n` bytes of what it was given.
/// 2. It leaves bytes initialised that are.
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

/// Receives from a stream; how many bytes came.
#[inline]
pub(super) fn receive(socket: &impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: `recv` writes bytes, and as many as it says.
    unsafe { fill(buf, |free| receive_into(socket, free, RecvFlags::empty())) }
}

/// Receives into a buffer that grows; how many bytes came.
pub(super) fn receive_buf(socket: &impl AsFd, buf: &mut impl BufMut) -> io::Result<usize> {
    // SAFETY: as in `receive`.
    unsafe { fill_mut(buf, |free| receive_into(socket, free, RecvFlags::empty())) }
}

/// Receives from a stream, and leaves the bytes there; how many there were.
pub(super) fn peek(socket: &impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: as in `receive`.
    unsafe { fill(buf, |free| receive_into(socket, free, RecvFlags::PEEK)) }
}

#[inline]
fn receive_into(
    socket: &impl AsFd,
    free: &mut [MaybeUninit<u8>],
    flags: RecvFlags,
) -> io::Result<usize> {
    let ((received, _), _) = recv(socket, free, flags)?;
    Ok(received.len())
}

/// Sends to a stream; how many bytes the system took. If the other side has gone that is an error, and no signal.
#[inline]
pub(super) fn send(socket: &impl AsFd, buf: &[u8]) -> io::Result<usize> {
    Ok(send_once(socket, buf, WITHOUT_SIGNAL)?)
}

#[cfg(not(target_vendor = "apple"))]
const WITHOUT_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// A property of the socket there, which mio sets.
#[cfg(target_vendor = "apple")]
const WITHOUT_SIGNAL: SendFlags = SendFlags::empty();

/// Reads from any descriptor; how many bytes came.
pub(crate) fn read(fd: impl AsFd, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: `read` says how many bytes it has initialised, from the first on.
    unsafe { fill(buf, |free| Ok(rustix::io::read(fd, free)?.0.len())) }
}
