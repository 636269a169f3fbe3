//! The process on the other side.

#[cfg(any(target_os = "linux", target_os = "android"))]
use rustix::net::sockopt::socket_peercred;
use std::io;
use std::os::fd::AsFd;

/// The process on the other side of a Unix stream, as it was when that process called `connect`,
/// `listen` or `socketpair`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UCred {
    pid: Option<i32>,
    uid: u32,
    gid: u32,
}

impl UCred {
    /// Returns the id of the process, if the system knows it.
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
        let peer = socket_peercred(socket)?;
        let pid = Some(peer.pid.as_raw_nonzero().get());
        Ok(UCred { pid, uid: peer.uid.as_raw(), gid: peer.gid.as_raw() })
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn of(_: &impl AsFd) -> io::Result<UCred> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the credentials of a peer are available only on Linux and Android",
        ))
    }
}
