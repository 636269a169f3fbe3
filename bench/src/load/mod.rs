//! The load of the I/O workloads: clients in a process of their own, so that the CPU time of a server
//! is the server's, and so that every server is asked by the same program.
//!
//! ```text
//!  contestant: the server ◀── sockets ──▶ load: the clients
//!          └──── "for so long", what came of it ────┘  (pipes)
//! ```
//!
//! HTTP servers are also asked by [programs](Tool) that know nothing of this repository.

mod clients;
mod process;
pub mod tool;
mod tool_run;

use std::{fmt, net::SocketAddr, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

pub use clients::Clients;
pub use process::{LoadProcess, serve};
pub use tool::Tool;
pub use tool_run::ToolRun;

/// What clients ask for, and how many of them there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Where the server is.
    pub address: SocketAddr,
    /// How many connections are open at once; each has one request on its way at a time.
    pub connections: usize,
    /// What is said through them.
    pub talk: Talk,
}

/// What is said through a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talk {
    /// So many bytes, which have to come back as they were.
    Echo(usize),
    /// A request of HTTP/1.1, whose answer has to be [`HELLO`].
    Hello,
}

/// What a server that is asked to say hello says.
pub const HELLO: &str = "Hello, world!";

/// What came of some time of asking.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Harvest {
    /// How many requests were answered. Each answer was checked.
    pub answers: u64,
    /// How long that took.
    pub nanoseconds: f64,
    /// The median of the time between a request and the end of its answer.
    pub p50: f64,
    /// The 99th percentile of the same.
    pub p99: f64,
}

/// Somebody who asks a server.
pub trait Ask {
    /// Asks for about `time`, and until the last answer has come.
    ///
    /// # Errors
    ///
    /// Returns which answer was wrong, or what else went wrong.
    fn ask(&mut self, time: Duration) -> Result<Harvest, String>;
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo(bytes) => write!(f, "{bytes}"),
            Self::Hello => f.write_str("hello"),
        }
    }
}

impl FromStr for Talk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hello" => Ok(Self::Hello),
            bytes => match bytes.parse() {
                Ok(bytes) if bytes >= clients::SHORTEST => Ok(Self::Echo(bytes)),
                _ => Err(format!("{text:?} is neither hello nor a number of bytes")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talks_have_names() {
        for talk in [Talk::Hello, Talk::Echo(64)] {
            assert_eq!(talk.to_string().parse(), Ok(talk));
        }
        assert!("1".parse::<Talk>().is_err() && "goodbye".parse::<Talk>().is_err());
    }
}
