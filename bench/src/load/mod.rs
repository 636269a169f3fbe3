//! The load of the I/O workloads: clients in a process of their own, so that the CPU time of a
//! server is the server's, and so that every server is asked by the same program.
//!
//! ```text
//!  contestant: the server ◀── sockets ──▶ load: the clients
//!          └──── "for so long", what came of it ────┘  (pipes)
//! ```
//!
//! HTTP servers are also asked by [programs](Tool) that know nothing of this repository.

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
pub use process::{LoadProcess, serve};
pub use talk::{HELLO, Talk};
pub use tool::Tool;
pub use tool_run::ToolRun;

use crate::stats::distribution;

/// What clients ask for, and how many of them there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Where the server is.
    pub address: SocketAddr,
    /// How many connections are open at once.
    pub connections: usize,
    /// What is said through them.
    pub talk: Talk,
    /// Requests per second of all connections together: an open loop.
    ///
    /// Without it each connection asks again when it has its answer.
    pub rate: Option<u32>,
}

/// What came of some time of asking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harvest {
    /// How many requests were answered. Each answer was checked.
    pub answers: u64,
    /// How long that took.
    pub nanoseconds: f64,
    /// The distribution of the time until a request has its answer, as far as it is known.
    pub latencies: Sample,
}

/// A client that sends requests to a server.
pub trait Ask {
    /// Asks for about `time`, and until the last answer has come.
    ///
    /// # Errors
    ///
    /// Returns which answer was wrong, or what else went wrong.
    fn ask(&mut self, time: Duration) -> Result<Harvest, String>;
}

impl Harvest {
    /// What came of requests with these latencies, in nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns that there are none.
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

/// Connects the clients that `load` describes, as a part of this process.
///
/// # Errors
///
/// Returns why they cannot connect.
pub fn connect(load: Load) -> Result<Box<dyn Ask + Send>, String> {
    Ok(match load.rate {
        Some(rate) => Box::new(OpenLoop::connect(load, rate)?),
        None => Box::new(Clients::connect(load)?),
    })
}
