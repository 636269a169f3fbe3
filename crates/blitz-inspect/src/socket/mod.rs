//! The Unix socket for tools, on systems that have Unix sockets.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::{folder_of_user, listen};
#[cfg(unix)]
pub(crate) use unix::{folder_of_user, listen};
