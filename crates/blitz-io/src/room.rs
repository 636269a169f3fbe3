//! Writes that wait until there is room.

#![forbid(unsafe_code)]

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Writes all of `bytes`, even to a non-blocking file.
///
/// # Blocking
/// Blocks as long as the file has no room.
///
/// # Errors
/// If the system reports an error.
pub(crate) fn write_all(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for_room(file)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(file: &File) -> io::Result<()> {
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::write_all;
    use rustix::io::Errno;
    use std::fs::File;
    use std::io::{ErrorKind, Read};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn all_bytes_are_written_even_if_a_write_would_block() {
        let (one, mut other) = UnixStream::pair().unwrap();
        one.set_nonblocking(true).unwrap();
        let file = File::from(OwnedFd::from(one));
        // More than a socket holds.
        let bytes: Vec<u8> = (0..4_000_000_u32).map(|n| (n >> 8) as u8).collect();
        let sent = bytes.clone();
        let thread = std::thread::spawn(move || write_all(&file, &sent));
        let mut all = Vec::new();
        other.read_to_end(&mut all).unwrap();
        assert!(all == bytes);
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn an_error_is_returned() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        let file = File::from(OwnedFd::from(one));
        assert_eq!(write_all(&file, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let only_read = File::open("/dev/null").unwrap();
        let error = write_all(&only_read, b"x").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::BADF.raw_os_error()));
    }
}
