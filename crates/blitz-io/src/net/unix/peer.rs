//! The process on the other side.

use std::io;
use std::os::fd::AsFd;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::os::fd::{AsRawFd, BorrowedFd};

/// The process on the other side of a Unix stream, as it was when that process called `connect`,
/// `listen` or `socketpair`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UCred {
    pid: Option<i32>,
    uid: u32,
    gid: u32,
}

impl UCred {
    /// Returns the id of the process. `None` if the process has no id here, because it is outside
    /// this container, or if the stream is not connected.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Returns the id of the user that the process ran as.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns the id of the group that the process ran as.
    #[must_use]
    pub fn gid(&self) -> u32 {
        self.gid
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn of(socket: &impl AsFd) -> io::Result<UCred> {
        let peer = raw(socket.as_fd())?;
        let pid = Some(peer.pid).filter(|&pid| pid != 0);
        Ok(UCred { pid, uid: peer.uid, gid: peer.gid })
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn of(_: &impl AsFd) -> io::Result<UCred> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "Blitz reads the credentials of a peer only on Linux and Android",
        ))
    }
}

/// Returns the peer's ids, as the kernel reports them.
///
/// Does not use `rustix`, whose process ids cannot be 0: the kernel reports 0 if the peer has no id
/// here.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn raw(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    let place = (&raw mut peer).cast();
    // SAFETY: the descriptor is open while it is borrowed, and the kernel writes at most `length`
    // bytes to `place`.
    let result = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, option, place, &raw mut length)
    };
    if result == 0 { Ok(peer) } else { Err(io::Error::last_os_error()) }
}
