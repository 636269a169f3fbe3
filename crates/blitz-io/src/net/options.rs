//! Options that only some systems have. On other systems these functions return errors.

#![forbid(unsafe_code)]

use socket2::SockRef;
use std::io;
use std::os::fd::AsFd;

/// Returns the interface that the socket is bound to.
pub(super) fn device(socket: &impl AsFd) -> io::Result<Option<Vec<u8>>> {
    of_linux::device(&SockRef::from(socket))
}

/// Binds the socket to an interface, or to none.
pub(super) fn bind_device(socket: &impl AsFd, interface: Option<&[u8]>) -> io::Result<()> {
    of_linux::bind_device(&SockRef::from(socket), interface)
}

/// Returns whether received data is acknowledged at once.
pub(super) fn quickack(socket: &impl AsFd) -> io::Result<bool> {
    of_linux::tcp_quickack(&SockRef::from(socket))
}

/// Sets whether received data is acknowledged at once.
pub(super) fn set_quickack(socket: &impl AsFd, quickack: bool) -> io::Result<()> {
    of_linux::set_tcp_quickack(&SockRef::from(socket), quickack)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
use socket2::Socket as of_linux;

/// Returns errors, on systems without these options.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod of_linux {
    use socket2::Socket;
    use std::io;

    fn none<R>() -> io::Result<R> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has this option of sockets"))
    }

    pub(super) fn device(_: &Socket) -> io::Result<Option<Vec<u8>>> {
        none()
    }

    pub(super) fn bind_device(_: &Socket, _: Option<&[u8]>) -> io::Result<()> {
        none()
    }

    pub(super) fn tcp_quickack(_: &Socket) -> io::Result<bool> {
        none()
    }

    pub(super) fn set_tcp_quickack(_: &Socket, _: bool) -> io::Result<()> {
        none()
    }
}
