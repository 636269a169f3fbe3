//! Asks a live process about its pools: a small blocking client of the server in `blitz-inspect`.

mod find;
mod http;
mod os;

pub use find::find;

use std::{
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use serde_json::Value;

use crate::Failure;

/// The timeout for connecting to a page, and for each piece of an answer. The server takes one
/// reading at a time and lets clients wait for at most 5 s.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a process.
pub trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// A process that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of the same user, at its socket for tools.
    Tool(PathBuf),
    /// The address of a page, `host:port`, with its token.
    Page { address: String, token: Option<String> },
}

impl Peer {
    /// Asks for `path` with this query, and returns the body of the answer.
    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, Failure> {
        self.ask("GET", path, query)
    }

    fn ask(&self, method: &str, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, Failure> {
        let (host, token) = match self {
            Self::Tool(_) => ("localhost", None),
            Self::Page { address, token } => (address.as_str(), token.as_deref()),
        };
        let request = http::request(method, &http::target(path, query), host, token);
        let mut stream = self.connect()?;
        let answer = stream.write_all(request.as_bytes()).and_then(|()| http::answer(stream));
        let (status, body) = answer.map_err(|error| Failure::new(self.name(), error))?;
        if status == 200 {
            return Ok(body);
        }
        let refusal = serde_json::from_slice::<Value>(&body).ok();
        let why = refusal.as_ref().and_then(|refusal| refusal["error"].as_str());
        Err(Failure::new(self.name(), why.unwrap_or(&format!("it answers with status {status}"))))
    }

    /// Works like [`get`](Self::get), for an answer in JSON.
    pub fn json(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        self.parsed(&self.get(path, query)?)
    }

    /// Works like [`json`](Self::json), for a request that changes the process.
    pub fn post(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        self.parsed(&self.ask("POST", path, query)?)
    }

    fn parsed(&self, body: &[u8]) -> Result<Value, Failure> {
        serde_json::from_slice(body).map_err(|error| {
            Failure::new(
                self.name(),
                format!("its answer is not JSON, so this is no Blitz process: {error}"),
            )
        })
    }

    /// The name to show to users.
    pub fn name(&self) -> String {
        match self {
            Self::Tool(path) => {
                let pid = path.file_stem().unwrap_or_default().to_string_lossy();
                format!("process {pid}")
            }
            Self::Page { address, .. } => format!("http://{address}/"),
        }
    }

    fn connect(&self) -> Result<Box<dyn Stream>, Failure> {
        let stream = match self {
            Self::Tool(path) => os::connect(path, PATIENCE),
            Self::Page { address, .. } => connect(address),
        };
        stream.map_err(|error| Failure::new(format!("cannot reach {}", self.name()), error))
    }
}

fn connect(address: &str) -> std::io::Result<Box<dyn Stream>> {
    let mut outcome = Err(std::io::ErrorKind::NotFound.into());
    for address in address.to_socket_addrs()? {
        outcome = TcpStream::connect_timeout(&address, PATIENCE);
        if outcome.is_ok() {
            break;
        }
    }
    let stream = outcome?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}
