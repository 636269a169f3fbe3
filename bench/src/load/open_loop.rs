//! Clients that send requests at a fixed rate, even if there are no answers.
//!
//! As with users of a service, requests continue while a server stalls. The latency of a request
//! counts from the time at which it was due.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use blitz_contestant::{Metric, nanoseconds, os, rng::Rng};
use mio::{Events, Interest, Poll, Token};

use super::{Ask, Harvest, Load, Talk, clients};
use crate::stats::distribution;

/// Connections to one server that take turns.
#[derive(Debug)]
pub struct OpenLoop {
    talk: Talk,
    rate: u32,
    /// One thread writes to all connections, another one reads from them.
    writers: Vec<Writer>,
    poll: Poll,
    events: Events,
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Writer {
    stream: TcpStream,
    request: Vec<u8>,
    turn: u64,
}

#[derive(Debug)]
struct Reader {
    stream: mio::net::TcpStream,
    /// Every answer of this connection is compared with this request.
    request: Vec<u8>,
    received: Vec<u8>,
    turn: u64,
}

impl OpenLoop {
    /// Connects clients that together send `rate` requests per second.
    ///
    /// Each client has sent one request and has its answer when this returns.
    ///
    /// # Errors
    ///
    /// Returns a message if a connection or its first request fails.
    pub fn connect(load: Load, rate: u32) -> Result<Self, String> {
        let told = |error: io::Error| error.to_string();
        let poll = Poll::new().map_err(told)?;
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for number in 0..load.connections {
            let stream = clients::connect(load.address).map_err(told)?;
            let request = load.talk.request(number);
            let writer = stream.try_clone().map_err(told)?;
            writers.push(Writer { stream: writer, request: request.clone(), turn: 0 });
            let mut stream = mio::net::TcpStream::from_std(stream);
            poll.registry()
                .register(&mut stream, Token(number), Interest::READABLE)
                .map_err(told)?;
            readers.push(Reader { stream, request, received: Vec::new(), turn: 0 });
        }
        let events = Events::with_capacity(1_024);
        let mut clients = Self { talk: load.talk, rate, writers, poll, events, readers };
        clients.ask(Duration::ZERO)?;
        Ok(clients)
    }

    /// Returns the times at which the requests of a run of length `time` are due. There is at least
    /// one request per connection.
    fn schedule(&self, time: Duration) -> Vec<Duration> {
        let interval = Duration::from_secs(1) / self.rate;
        let requests = (time.as_secs_f64() * f64::from(self.rate)) as usize;
        if requests < self.writers.len() {
            return vec![Duration::ZERO; self.writers.len()];
        }
        let mut rng = Rng::new(requests as u64);
        // Each request is due at a random point of its interval, so that requests do not run in
        // step with periods of the server or of the kernel.
        let within =
            |rng: &mut Rng| interval.mul_f64((rng.next_u64() >> 32) as f64 / 2_f64.powi(32));
        (0..requests).map(|number| interval * number as u32 + within(&mut rng)).collect()
    }
}

impl Ask for OpenLoop {
    /// Answers to the first eighth of the requests are checked, but not counted.
    fn ask(&mut self, time: Duration) -> Result<Harvest, String> {
        let schedule = self.schedule(time);
        let start = Instant::now();
        let (talk, writers, requests) = (self.talk, &mut self.writers, schedule.len());
        let (poll, events, readers) = (&mut self.poll, &mut self.events, &mut self.readers);
        let (arrivals, asked_late) = thread::scope(|scope| {
            // The load changes settings of its threads. It has threads of its own, so that the
            // caller's thread keeps its settings.
            let write = scope.spawn(|| write_all(writers, talk, &schedule, start));
            let read = scope.spawn(move || {
                prefer_this_thread();
                read_all(poll, events, readers, talk, requests)
            });
            let panicked = |_| "a client panicked".to_owned();
            let arrivals = read.join().map_err(panicked)?;
            let asked_late = write.join().map_err(panicked)??;
            Ok::<_, String>((arrivals?, asked_late))
        })?;
        let late = |(request, arrival): (usize, Instant)| {
            nanoseconds(arrival.saturating_duration_since(start + schedule[request]))
        };
        let mut latencies: Vec<f64> = arrivals.into_iter().map(late).collect();
        let elapsed = start.elapsed();
        latencies.drain(..latencies.len() / 8);
        let mut harvest = Harvest::of(&latencies, elapsed)?;
        harvest.latencies.extend(distribution(&asked_late, &[(Metric::AskedP99, 99.0)]));
        Ok(harvest)
    }
}

/// Sends each request when it is due, or as soon as possible; returns how late each was.
fn write_all(
    writers: &mut [Writer],
    talk: Talk,
    schedule: &[Duration],
    start: Instant,
) -> Result<Vec<f64>, String> {
    prefer_this_thread();
    let mut late = Vec::with_capacity(schedule.len());
    let connections = writers.len();
    for (number, due) in schedule.iter().enumerate() {
        thread::sleep((start + *due).saturating_duration_since(Instant::now()));
        let Writer { stream, request, turn } = &mut writers[number % connections];
        *turn += 1;
        talk.number(request, *turn);
        write(stream, request).map_err(|error| format!("a client cannot ask: {error}"))?;
        late.push(nanoseconds(start.elapsed().saturating_sub(*due)));
    }
    Ok(late)
}

fn write(stream: &mut TcpStream, mut request: &[u8]) -> io::Result<()> {
    while !request.is_empty() {
        match stream.write(request) {
            Ok(bytes) => request = &request[bytes..],
            // The server has so many unread requests that no more fit.
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for all answers; returns the times of arrival, in the order of the requests.
fn read_all(
    poll: &mut Poll,
    events: &mut Events,
    readers: &mut [Reader],
    talk: Talk,
    requests: usize,
) -> Result<Vec<(usize, Instant)>, String> {
    let connections = readers.len();
    let mut answered = vec![0; connections];
    let mut arrivals = Vec::with_capacity(requests);
    while arrivals.len() < requests {
        clients::wait(poll, events, requests - arrivals.len())?;
        for event in &*events {
            let at = event.token().0;
            let reader = &mut readers[at];
            reader.read().map_err(|error| format!("a client failed: {error}"))?;
            let now = Instant::now();
            while reader.next_answer(talk)? {
                arrivals.push((at + answered[at] * connections, now));
                answered[at] += 1;
            }
        }
    }
    arrivals.sort_unstable_by_key(|(request, _)| *request);
    Ok(arrivals)
}

impl Reader {
    /// Reads all bytes that have arrived.
    fn read(&mut self) -> io::Result<()> {
        loop {
            let mut bytes = [0; 4_096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes and checks the next answer; returns whether there was one.
    fn next_answer(&mut self, talk: Talk) -> Result<bool, String> {
        let Some(end) = talk.first_answer(&self.received) else { return Ok(false) };
        self.turn += 1;
        talk.number(&mut self.request, self.turn);
        talk.check(&self.received[..end], &self.request, self.turn)?;
        self.received.drain(..end);
        Ok(true)
    }
}

/// Asks the kernel to run this thread promptly.
///
/// Servers keep all processors busy. The measurement is about the lateness of the server, not of
/// its clients. On two busy processors, clients that only had a short slice sent requests up to
/// 2.5 ms late (p99), and all servers looked alike.
fn prefer_this_thread() {
    // If the system refuses, requests to all servers are late, and the report says how late.
    let _ = os::sharpen_timers();
    if os::go_before_all().is_err() {
        let _ = os::shorten_slice(SLICE);
    }
}

/// The shortest slice that Linux grants.
const SLICE: Duration = Duration::from_micros(100);

/// How long a client waits if its connection accepts no more bytes.
const FULL: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// Connects to a server that answers in rounds.
    ///
    /// In each round it reads the given number of requests before it answers them.
    fn server(
        rounds: &'static [u64],
        answer: impl Fn(u64) -> u64 + Send + 'static,
    ) -> Result<OpenLoop, String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for requests in rounds {
                let mut read = || {
                    let mut request = [0; 8];
                    stream.read_exact(&mut request).unwrap();
                    u64::from_le_bytes(request)
                };
                let requests: Vec<u64> = (0..*requests).map(|_| read()).collect();
                for request in requests {
                    stream.write_all(&answer(request).to_le_bytes()).unwrap();
                }
            }
            // Wait until the client goes.
            let _ = stream.read(&mut [0]);
        });
        let load = Load { address, connections: 1, talk: Talk::Echo(8), rate: Some(1_000) };
        OpenLoop::connect(load, 1_000)
    }

    #[test]
    fn a_request_counts_from_the_time_at_which_it_was_due() {
        let mut clients = server(&[1, 20], |request| request).unwrap();
        let harvest = clients.ask(Duration::from_millis(20)).unwrap();
        // An eighth of twenty is not counted.
        assert_eq!(harvest.answers, 18);
        assert!(harvest.latencies.contains_key(&Metric::AskedP99));
        // The first answer comes after the last request, which is due at 19 ms at the earliest.
        // Clients that wait for an answer before the next request would see one late answer only.
        assert!(harvest.latencies[&Metric::ReturnP50] >= 5e6, "{harvest:?}");
    }

    #[test]
    fn a_wrong_answer_is_an_error() {
        let wrong = |request| if request == 4 { 9 } else { request };
        let mut clients = server(&[1, 1, 1, 1, 1], wrong).unwrap();
        let error = clients.ask(Duration::from_millis(4)).unwrap_err();
        assert!(error.contains("request 4"), "{error}");
    }

    #[test]
    fn the_schedule_has_the_rate_and_no_period() {
        let clients = server(&[1], |request| request).unwrap();
        let schedule = clients.schedule(Duration::from_secs(1));
        assert_eq!(schedule.len(), 1_000);
        for (number, due) in schedule.iter().enumerate() {
            assert_eq!(due.as_millis(), number as u128);
        }
        assert_eq!(clients.schedule(Duration::ZERO), [Duration::ZERO]);
    }
}
