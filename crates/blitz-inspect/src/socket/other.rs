//! Where there are no Unix sockets, tools use the address of the page.

use crate::server::Server;
use std::io;
use std::path::PathBuf;

/// There is none.
pub(crate) fn folder_of_user() -> Option<PathBuf> {
    None
}

/// Does nothing.
pub(crate) fn listen(_: &Server) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}
