//! A descriptor that becomes readable when a process ends, on systems that have one.

#![forbid(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

/// Opens the descriptor of `child`. Returns `None` if the system has no such descriptors or forbids
/// them.
///
/// # Errors
/// If the system is out of descriptors or memory.
#[cfg(target_os = "linux")]
pub(super) fn open(child: &Child) -> io::Result<Option<OwnedFd>> {
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // The child was not waited for, so no other process has its number.
    match pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// Returns `None`: the system has no such descriptors.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub(super) fn open(_: &Child) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}
