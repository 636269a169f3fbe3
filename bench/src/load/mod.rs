//! The load of the I/O workloads: clients in a process of their own, so that the CPU time of a
//! server is the server's alone, and so that the same program sends requests to every server.
//!
//! ```text
//!  contestant: the server ◀── sockets ──▶ load: the clients
//!          └─────── duration, result ──────────────┘  (pipes)
//! ```
//!
//! Independent [programs](Tool) send requests to HTTP servers, too.

mod clients;
mod open_loop;
mod process;
mod talk;
pub mod tool;
mod tool_run;

use std::{net::SocketAddr, time::Duration};

use blitz_contestant::{Metric, Sample, nanoseconds};
use serde::{Deserialize, Serialize};

pub use clients::Clients;
pub use open_loop::OpenLoop;
pub use process::{CLIENTS, LoadProcess, serve};
pub use talk::{HELLO, Talk};
pub use tool::Tool;
pub use tool_run::ToolRun;

use crate::stats::distribution;

/// The requests of the clients, and the number of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The address of the server.
    pub address: SocketAddr,
    /// How many connections are open at once.
    pub connections: usize,
    /// The protocol.
    pub talk: Talk,
    /// Requests per second of all connections together: an open loop.
    ///
    /// Without a rate, each connection sends its next request when it has the answer to the last.
    pub rate: Option<u32>,
}

/// The results of sending requests for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harvest {
    /// How many requests were answered. An open loop does not count the first eighth of them.
    pub answers: u64,
    /// How long the clients took for their requests, including the answers.
    pub nanoseconds: f64,
    /// The distribution of the time until a request has its answer, as far as it is known. An open
    /// loop adds how late it sent its requests.
    pub latencies: Sample,
}

/// A client that sends requests to a server.
pub trait Ask {
    /// Sends requests for about `time`, and waits for the last answer.
    ///
    /// # Errors
    ///
    /// Returns a message about a wrong answer or another failure.
    fn ask(&mut self, time: Duration) -> Result<Harvest, String>;
}

impl Harvest {
    /// The results of requests with these latencies, in nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns an error if there are none.
    fn of(latencies: &[f64], time: Duration) -> Result<Self, String> {
        if latencies.is_empty() {
            return Err("there are no answers".to_owned());
        }
        Ok(Self {
            answers: latencies.len() as u64,
            nanoseconds: nanoseconds(time),
            latencies: distribution(latencies, &Metric::RETURNS),
        })
    }
}

/// Connects the clients that `load` describes, in this process.
///
/// # Errors
///
/// Returns the reason if they cannot connect.
pub fn connect(load: Load) -> Result<Box<dyn Ask + Send>, String> {
    Ok(match load.rate {
        Some(rate) => Box::new(OpenLoop::connect(load, rate)?),
        None => Box::new(Clients::connect(load)?),
    })
}
