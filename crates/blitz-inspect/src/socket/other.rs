//! Stands in on systems without Unix sockets. Tools use the address of the page there.

use crate::server::Server;
use std::io;
use std::path::PathBuf;

/// Returns `None`: there is no folder.
pub(crate) fn folder_of_user() -> Option<PathBuf> {
    None
}

/// Returns an error: there are no Unix sockets.
pub(crate) fn listen(_: &Server) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
