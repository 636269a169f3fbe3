//! One connection, with time limits for everything.

use crate::head::HEAD_MAX;
use crate::response::{Response, Status};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How long a head may take to come, and each piece of an answer to go.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How much of an answer has to go within that time.
const PIECE: usize = 64 * 1024;
/// How much of what a client still sends is read after an answer.
const REST_MAX: usize = 256 * 1024;

/// What both kinds of sockets can do.
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

/// A client.
pub(crate) struct Connection<S> {
    socket: S,
    patience: Duration,
}

impl<S: Socket> Connection<S> {
    pub(crate) fn new(socket: S, patience: Duration) -> Connection<S> {
        Connection { socket, patience }
    }

    /// Reads until the empty line behind the head, and returns what is before it.
    pub(crate) fn read_head(&mut self) -> Result<Vec<u8>, Status> {
        let deadline = Instant::now() + self.patience;
        let mut bytes = Vec::with_capacity(1024);
        let mut piece = [0; 1024];
        loop {
            let read = self.read_until(deadline, &mut piece)?;
            // An end can begin in what was there before.
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

    /// Ends the connection. Were it closed while the client sends, the system would take the answer
    /// back; so the rest is read, if it is short and comes soon.
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
