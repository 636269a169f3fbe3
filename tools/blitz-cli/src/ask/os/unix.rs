//! Unix sockets.

use std::{io, os::unix::net::UnixStream, path::Path, time::Duration};

use crate::ask::Stream;

pub fn connect(path: &Path, patience: Duration) -> io::Result<Box<dyn Stream>> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(Box::new(stream))
}
