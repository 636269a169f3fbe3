//! An echo server without a runtime: threads that wait for their sockets and answer directly.
//!
//! It has no tasks and no wakers, but the same buffers as the programs of the rivals. So its cost
//! is that of the system calls and of the program's memory. The difference between a rival and this
//! server is the most that a better runtime could save while it makes the same system calls.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpListener,
    ops::Range,
    thread::{self, JoinHandle},
};

use mio::{Events, Interest, Poll, Token, net::TcpStream};

use crate::runtime::BUFFER;

/// Echoes bytes on the first `connections` connections, which `threads` threads share. The threads
/// end when all connections have ended.
pub(super) fn echo(
    listener: TcpListener,
    connections: usize,
    threads: usize,
) -> io::Result<JoinHandle<io::Result<()>>> {
    thread::Builder::new().spawn(move || {
        let mut desks = (0..threads).map(|_| Desk::new()).collect::<io::Result<Vec<_>>>()?;
        for (number, stream) in listener.incoming().take(connections).enumerate() {
            let stream = stream?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            desks[number % threads].take(TcpStream::from_std(stream))?;
        }
        let serve = |desk: Desk| thread::Builder::new().spawn(|| desk.serve());
        let servers = desks.into_iter().map(serve).collect::<io::Result<Vec<_>>>()?;
        // A panic was already reported on stderr.
        servers.into_iter().try_for_each(|server| server.join().unwrap_or(Ok(())))
    })
}

/// One thread and its connections.
struct Desk {
    poll: Poll,
    /// Connections by token. Ended ones leave a gap.
    connections: Vec<Option<Connection>>,
}

impl Desk {
    fn new() -> io::Result<Self> {
        Ok(Self { poll: Poll::new()?, connections: Vec::new() })
    }

    fn take(&mut self, mut stream: TcpStream) -> io::Result<()> {
        let token = Token(self.connections.len());
        let interests = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, token, interests)?;
        self.connections.push(Some(Connection { stream, buffer: vec![0; BUFFER], unsent: 0..0 }));
        Ok(())
    }

    fn serve(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1_024);
        let mut open = self.connections.len();
        while open > 0 {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                let place = &mut self.connections[event.token().0];
                let Some(connection) = place else { continue };
                // The clients check the answers; here an error means that the client has gone.
                if !connection.echo().unwrap_or(false) {
                    *place = None;
                    open -= 1;
                }
            }
        }
        Ok(())
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The part that the system has not accepted yet.
    unsent: Range<usize>,
}

impl Connection {
    /// Echoes all available bytes; returns whether more may come.
    fn echo(&mut self) -> io::Result<bool> {
        while self.send()? {
            let Some(received) = unless_it_blocks(|| self.stream.read(&mut self.buffer))? else {
                return Ok(true);
            };
            self.unsent = 0..received;
            // A short read means that no more bytes are there, so do not try again.
            if received < self.buffer.len() {
                self.send()?;
                return Ok(received > 0);
            }
        }
        Ok(true)
    }

    /// Sends the rest; returns whether the system accepted all of it.
    fn send(&mut self) -> io::Result<bool> {
        while !self.unsent.is_empty() {
            let bytes = &self.buffer[self.unsent.clone()];
            match unless_it_blocks(|| self.stream.write(bytes))? {
                Some(sent) => self.unsent.start += sent,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Returns the result of `attempt`, or `None` if it would block.
fn unless_it_blocks(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            result => return result.map(Some),
        }
    }
}
