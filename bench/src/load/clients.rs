//! Many clients on one thread: a client that has its answer asks again.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::SocketAddr,
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, net::TcpStream};

use super::{Ask, HELLO, Harvest, Load, Talk};

/// Connections to one server.
#[derive(Debug)]
pub struct Clients {
    poll: Poll,
    events: Events,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    stream: TcpStream,
    talk: Talk,
    request: Vec<u8>,
    /// How many bytes of the request were sent.
    sent: usize,
    answer: Vec<u8>,
    /// How many bytes of the answer have arrived.
    received: usize,
    /// Counts the requests, so that each is different.
    turn: u64,
    asked_at: Instant,
}

/// A longer answer is wrong.
const LONGEST_HELLO: usize = 512;

impl Clients {
    /// Connects all clients; each sends one request and waits for its answer.
    ///
    /// # Errors
    ///
    /// Returns a message if that fails.
    pub fn connect(load: Load) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        let poll = Poll::new().map_err(told)?;
        let mut clients = Vec::with_capacity(load.connections);
        for number in 0..load.connections {
            let mut stream = TcpStream::from_std(connect(load.address).map_err(told)?);
            let interests = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut stream, Token(number), interests).map_err(told)?;
            clients.push(Client::new(stream, load.talk, number));
        }
        let mut clients = Self { poll, events: Events::with_capacity(1_024), clients };
        clients.ask(Duration::ZERO)?;
        Ok(clients)
    }
}

impl Ask for Clients {
    fn ask(&mut self, time: Duration) -> Result<Harvest, String> {
        let told = |error: io::Error| format!("a client failed: {error}");
        let start = Instant::now();
        let mut latencies = Vec::new();
        for client in &mut self.clients {
            client.begin().map_err(told)?;
        }
        let mut busy = self.clients.len();
        while busy > 0 {
            wait(&mut self.poll, &mut self.events, busy)?;
            for event in &self.events {
                let client = &mut self.clients[event.token().0];
                if !client.go_on().map_err(told)? {
                    continue;
                }
                client.talk.check(client.answer(), &client.request, client.turn)?;
                let now = Instant::now();
                latencies.push((now - client.asked_at).as_secs_f64() * 1e9);
                if now - start < time {
                    client.begin().map_err(told)?;
                } else {
                    client.rest();
                    busy -= 1;
                }
            }
        }
        Harvest::of(&latencies, start.elapsed())
    }
}

/// Opens a connection whose reads and writes do not block.
pub(super) fn connect(address: SocketAddr) -> io::Result<std::net::TcpStream> {
    // Blocks until it is connected, so that the first write does not have to wait.
    let stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Waits for an event of one of `busy` requests.
///
/// # Errors
///
/// Returns an error if the server hangs, or the system's error.
pub(super) fn wait(poll: &mut Poll, events: &mut Events, busy: usize) -> Result<(), String> {
    loop {
        match poll.poll(events, Some(PATIENCE)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("a client failed: {error}")),
            Ok(()) if events.is_empty() => {
                return Err(format!("{busy} requests have had no answer for {PATIENCE:?}"));
            }
            Ok(()) => return Ok(()),
        }
    }
}

impl Client {
    fn new(stream: TcpStream, talk: Talk, number: usize) -> Self {
        let request = talk.request(number);
        let answer = match talk {
            Talk::Echo(bytes) => vec![0; bytes],
            Talk::Hello => vec![0; LONGEST_HELLO],
        };
        let asked_at = Instant::now();
        let sent = request.len();
        Self { stream, talk, request, sent, answer, received: 0, turn: 0, asked_at }
    }

    /// Begins another request and sends as much of it as the socket accepts now.
    fn begin(&mut self) -> io::Result<()> {
        self.turn += 1;
        self.talk.number(&mut self.request, self.turn);
        self.sent = 0;
        self.received = 0;
        self.asked_at = Instant::now();
        self.write()
    }

    /// Forgets the answer, so that a later event does not count it again. The client sends nothing
    /// until the next `begin`.
    fn rest(&mut self) {
        self.received = 0;
    }

    /// Writes and reads as much as possible; returns whether the answer is complete.
    fn go_on(&mut self) -> io::Result<bool> {
        self.write()?;
        while !self.is_complete() {
            match self.stream.read(&mut self.answer[self.received..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.received += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.request.len() {
            match self.stream.write(&self.request[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        match self.talk {
            Talk::Echo(bytes) => self.received == bytes,
            Talk::Hello => {
                self.received == LONGEST_HELLO || self.answer().ends_with(HELLO.as_bytes())
            }
        }
    }

    fn answer(&self) -> &[u8] {
        &self.answer[..self.received]
    }
}

/// A server that is silent for this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);
