//! Accepts clients and answers them. The server has threads of its own, so it works even if a pool
//! hangs.

use crate::connection::{Connection, PATIENCE, Socket};
use crate::gate::{Gate, Pass};
use crate::guard::Guard;
use crate::head::Head;
use crate::pools::Pools;
use crate::response::{Response, Status};
use crate::route::{Answer, Snapshots, answer};
use crate::settings::Inspect;
use crate::token::Token;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most clients that one listener serves at a time; others are refused with "busy".
    pub connections: usize,
    /// How many of these clients may have a stream of events.
    pub streams: usize,
    /// How long a client may take to send its request, and to take each 64 KiB of the answer. A
    /// request also waits no longer than this for other requests that read a pool.
    pub patience: Duration,
    /// How long a stream pauses after it has sent `summary`, `workers` and `stalls`.
    pub beat: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 16, streams: 8, patience: PATIENCE, beat: Duration::from_secs(1) }
    }
}

/// An address at which the pools of this process are shown.
///
/// ```no_run
/// for page in blitz_inspect::pages() {
///     println!("{}", page.url());
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    /// The requested address, which may have port 0.
    asked: SocketAddr,
    address: SocketAddr,
    token: Option<Token>,
    hosts: Vec<String>,
}

impl Page {
    /// Returns the address for browsers.
    ///
    /// If there is a token, it follows after `#`: browsers do not send that part to servers.
    #[must_use]
    pub fn url(&self) -> String {
        let address = self.address;
        let address = match address.ip().is_unspecified() {
            true if address.is_ipv4() => SocketAddr::from(([127, 0, 0, 1], address.port())),
            _ => address,
        };
        match &self.token {
            Some(token) => format!("http://{address}/#token={}", token.reveal()),
            None => format!("http://{address}/"),
        }
    }

    /// Whether another pool with these `settings`, whose address is `asked`, wants this page. Port
    /// 0 means any port, so another page is opened if this one has another token, or lacks a host
    /// name.
    pub(crate) fn is_meant_by(&self, asked: SocketAddr, settings: &Inspect) -> bool {
        let is_like = || self.token == settings.token && self.missing_host(settings).is_none();
        self.asked == asked && (asked.port() != 0 || is_like())
    }

    /// Returns this page, if it can show another pool, whose `settings` ask for this page.
    ///
    /// # Errors
    /// If the pool wants a token that this page does not ask for, or a host name under which this
    /// page is not served.
    pub(crate) fn admitted(self, settings: &Inspect) -> io::Result<Page> {
        let address = self.address;
        let refuse = |why: String| Err(io::Error::new(ErrorKind::AddrInUse, why));
        if settings.token.is_some() && settings.token != self.token {
            let how = if self.token.is_some() { "with another" } else { "without a" };
            return refuse(format!(
                "the page at {address} is served {how} token, for another pool: use the same token \
                 for both, or another address"
            ));
        }
        if let Some(host) = self.missing_host(settings) {
            return refuse(format!(
                "the page at {address} is not served under the host name {host:?}: another pool has \
                 opened it. Use the same names for both, or another address"
            ));
        }
        Ok(self)
    }

    /// Returns a host name of the settings under which this page is not served.
    fn missing_host<'a>(&self, settings: &'a Inspect) -> Option<&'a str> {
        let is_served = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        settings.hosts.iter().map(String::as_str).find(|host| !is_served(host))
    }

    /// Returns the address at which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves pools at any number of addresses. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server {
    pools: Pools,
    limits: Limits,
    snapshots: Snapshots,
}

impl Server {
    /// Makes a server that listens nowhere yet.
    #[must_use]
    pub fn new(pools: Pools, limits: Limits) -> Server {
        Server { pools, limits, snapshots: Snapshots::new(limits.patience) }
    }

    /// Serves the page as `settings` say, until the process ends.
    ///
    /// # Errors
    /// If there is no address or it cannot be used, or if other machines can reach it and there is
    /// no token.
    pub fn open(&self, settings: &Inspect) -> io::Result<Page> {
        let Some(asked) = settings.socket_addr()? else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "there is no address for a page"));
        };
        let (hosts, token) = (settings.hosts.clone(), settings.token.clone());
        let address = self.listen(asked, |own| Guard::tcp(own, hosts.clone(), token.clone()))?;
        Ok(Page { asked, address, token, hosts })
    }

    /// Listens at a TCP address until the process ends. `guard` gets the actual address.
    fn listen(
        &self,
        address: SocketAddr,
        guard: impl FnOnce(SocketAddr) -> Guard,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).map_err(|error| {
            let why = format!("the page cannot be served at {address}: {error}");
            io::Error::new(error.kind(), why)
        })?;
        let own = listener.local_addr()?;
        self.accept(move || listener.accept().map(|(socket, _)| socket), guard(own))?;
        Ok(own)
    }

    /// Starts a thread that takes clients from `next`.
    pub(crate) fn accept<S: Socket>(
        &self,
        mut next: impl FnMut() -> io::Result<S> + Send + 'static,
        guard: Guard,
    ) -> io::Result<()> {
        let pools = match guard.is_tcp() {
            true => self.pools.for_page(guard.token().cloned()),
            false => self.pools.clone(),
        };
        let server = Server { pools, ..self.clone() };
        let (places, streams) =
            (Gate::new(self.limits.connections), Gate::new(self.limits.streams));
        let accepts = move || {
            loop {
                match next() {
                    Ok(socket) => server.admit(socket, &places, &streams, &guard),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // The next call may fail at once, too, for example because no descriptor is
                    // left. So wait instead of spinning.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        thread::Builder::new().name("blitz-inspect".to_owned()).spawn(accepts).map(drop)
    }

    fn admit<S: Socket>(&self, socket: S, places: &Gate, streams: &Gate, guard: &Guard) {
        let connection = Connection::new(socket, self.limits.patience);
        let Some(pass) = places.try_enter() else {
            return turn_away(connection);
        };
        let (server, streams, guard) = (self.clone(), streams.clone(), guard.clone());
        let serves = move || server.serve(connection, &streams, &guard, pass);
        // If the system starts no thread, the client and its place are dropped.
        drop(thread::Builder::new().name("blitz-inspect-c".to_owned()).spawn(serves));
    }

    fn serve<S: Socket>(
        &self,
        mut connection: Connection<S>,
        streams: &Gate,
        guard: &Guard,
        _place: Pass,
    ) {
        let bytes = match connection.read_head() {
            Ok(bytes) => bytes,
            Err(status) => return connection.answer(&Response::refusal(status, reason(status))),
        };
        let answer = match Head::parse(&bytes) {
            Ok(head) => answer(&self.pools, &self.snapshots, guard, &head),
            Err(status) => Answer::Once(Response::refusal(status, reason(status))),
        };
        match answer {
            Answer::Once(response) => connection.answer(&response),
            Answer::Stream(pool) => match streams.try_enter() {
                Some(_stream) => self.stream(connection, &pool),
                None => {
                    connection.answer(&Response::refusal(Status::Busy, "too many pages are open"))
                }
            },
        }
    }

    /// Writes the events of the pool once per beat, until the client is gone or the pool has ended.
    fn stream<S: Socket>(&self, mut connection: Connection<S>, pool: &str) {
        let mut written = connection.write(Response::events().head().as_bytes());
        while written.is_ok() {
            let Some(events) = self.snapshots.events(&self.pools, pool) else {
                drop(connection.write(b"event: ended\ndata: {}\n\n"));
                return;
            };
            written = connection.write(events.as_bytes());
            thread::sleep(self.limits.beat);
        }
    }
}

/// Answers that all places are taken, without waiting for the client.
fn turn_away<S: Socket>(mut connection: Connection<S>) {
    let response = Response::refusal(Status::Busy, "too many clients");
    let text = response.head() + &String::from_utf8_lossy(response.body());
    drop(connection.write(text.as_bytes()));
}

fn reason(status: Status) -> &'static str {
    match status {
        Status::Timeout => "the request took too long",
        Status::HeadTooLarge => "the head of the request has more than 8 KiB or 64 fields",
        Status::BodyTooLarge => "this server accepts no request with a body",
        _ => "this request is not valid",
    }
}
