//! Which of the system's interfaces a runtime uses, and why.

#![forbid(unsafe_code)]

use std::fmt;

/// How a runtime does its file and socket operations.
///
/// Sockets read and write when they are ready (epoll, kqueue) with every backend, since that is the
/// fastest way here. io_uring takes over files, which otherwise need a thread that blocks. With
/// [`Backend::IoUring`] it also takes over [`TcpListener::accept`](crate::net::TcpListener::accept)
/// and the operations that own their buffer, such as
/// [`TcpStream::recv_owned`](crate::net::TcpStream::recv_owned).
///
/// A filter of system calls may forbid io_uring after the runtime was built. Then files go on with
/// threads and sockets with readiness. Operations that io_uring has begun still complete, with one
/// exception: if more than 1,024 of them complete at once, all operations under way fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// io_uring if Blitz was built with the feature `io-uring` and the system allows it, else
    /// readiness and threads.
    #[default]
    Auto,
    /// Readiness for sockets, threads for files.
    Readiness,
    /// io_uring, or an error when the runtime is built.
    IoUring,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "automatic",
            Backend::Readiness => "readiness",
            Backend::IoUring => "io_uring",
        })
    }
}

/// The backend that was chosen, and the reason if io_uring was wanted but cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendChoice {
    /// The backend in use, which is never [`Backend::Auto`].
    pub backend: Backend,
    /// Why the backend is not io_uring; `None` if it is, or if the program asked for readiness.
    pub reason: Option<String>,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{} ({reason})", self.backend),
            None => write!(f, "{}", self.backend),
        }
    }
}
