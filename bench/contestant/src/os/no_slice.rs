//! Systems other than Linux: these requests for prompt scheduling change nothing.

use std::{io, time::Duration};

/// Does nothing.
///
/// # Errors
///
/// Always returns an error, so that the caller learns that nothing has changed.
pub fn shorten_slice(_slice: Duration) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing.
///
/// # Errors
///
/// Always returns an error, like [`shorten_slice`].
pub fn go_before_all() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing.
///
/// # Errors
///
/// Never.
pub fn sharpen_timers() -> io::Result<()> {
    Ok(())
}
