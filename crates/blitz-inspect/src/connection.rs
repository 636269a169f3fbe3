//! One connection, with time limits for everything.

use crate::head::HEAD_MAX;
use crate::response::{Response, Status};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The time limit for the head of a request, and for each piece of an answer.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The size of a piece.
const PIECE: usize = 64 * 1024;
/// The most bytes that are read from a client after the answer.
const REST_MAX: usize = 256 * 1024;

/// The operations that TCP and Unix sockets have in common.
pub(crate) trait Socket: Read + Write + Send + 'static {
    fn set_patience(&self, time: Duration) -> io::Result<()>;
    fn end_writing(&self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn set_patience(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }

    fn end_writing(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// The connection of one client.
pub(crate) struct Connection<S> {
    socket: S,
    patience: Duration,
}

impl<S: Socket> Connection<S> {
    pub(crate) fn new(socket: S, patience: Duration) -> Connection<S> {
        Connection { socket, patience }
    }

    /// Reads until the empty line after the head, and returns the head.
    pub(crate) fn read_head(&mut self) -> Result<Vec<u8>, Status> {
        let deadline = Instant::now() + self.patience;
        let mut bytes = Vec::with_capacity(1024);
        let mut piece = [0; 1024];
        loop {
            let read = self.read_until(deadline, &mut piece)?;
            // The end of the head may begin in bytes that were read before.
            let from = bytes.len().saturating_sub(3);
            bytes.extend_from_slice(&piece[..read]);
            let end = bytes[from..].windows(4).position(|four| four == b"\r\n\r\n");
            match end.map(|end| from + end) {
                Some(end) if end <= HEAD_MAX => {
                    bytes.truncate(end);
                    return Ok(bytes);
                }
                None if bytes.len() <= HEAD_MAX => {}
                _ => return Err(Status::HeadTooLarge),
            }
        }
    }

    fn read_until(&mut self, deadline: Instant, piece: &mut [u8]) -> Result<usize, Status> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.socket.set_patience(left).is_err() {
                return Err(Status::Timeout);
            }
            match self.socket.read(piece) {
                Ok(0) => return Err(Status::BadRequest),
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Status::Timeout),
            }
        }
    }

    /// Writes all of `bytes`, each piece within the patience.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            let deadline = Instant::now() + self.patience;
            let mut rest = piece;
            while !rest.is_empty() {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                self.socket.set_patience(left)?;
                match self.socket.write(rest) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(written) => rest = &rest[written..],
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.socket.flush()
    }

    /// Writes an answer and ends the connection.
    pub(crate) fn answer(mut self, response: &Response) {
        let written =
            self.write(response.head().as_bytes()).and_then(|()| self.write(response.body()));
        if written.is_ok() {
            self.finish();
        }
    }

    /// Ends the connection. If it were closed while the client still sends, the system would
    /// discard the answer. So this reads the rest of the client's bytes first, if they are few and
    /// arrive soon.
    fn finish(&mut self) {
        let deadline = Instant::now() + self.patience;
        if self.socket.end_writing().is_err() {
            return;
        }
        let mut piece = [0; 4096];
        let mut read = 0;
        while read < REST_MAX {
            match self.read_until(deadline, &mut piece) {
                Ok(more) => read += more,
                Err(_) => return,
            }
        }
    }
}
