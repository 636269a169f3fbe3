//! A page that shows the pools of a live process, and the same data as JSON for tools. Use it
//! through the feature `inspect` of `blitz-rt`.
//!
//! The server does not know pools: it gets its data from a [`Source`]. It runs on threads of its
//! own with blocking sockets, so that it can show a pool that hangs. It listens at the addresses
//! that pools ask for, and at a Unix socket for tools of the same user:
//! `$XDG_RUNTIME_DIR/blitz/PID.sock` if that folder belongs to the user, else
//! `/tmp/blitz-UID/PID.sock`.
//!
//! # Requests
//!
//! | path | answer |
//! |---|---|
//! | `/`, `/app.js`, `/app.css` | the page |
//! | `/metrics` | metrics of all pools: Prometheus, or OpenMetrics if `Accept` names it |
//! | `/metrics?per_worker=1` | the same, and the metrics of each worker |
//! | `/api/v1/pools` | which pools there are |
//! | `/api/v1/summary` | counters and times of one pool |
//! | `/api/v1/workers` | each worker |
//! | `/api/v1/tasks?limit=N` | types of tasks, and the tasks themselves, the longest wait first |
//! | `/api/v1/stalls` | workers that are stuck |
//! | `/api/v1/explain` | which tasks wait for what |
//! | `/api/v1/timeline?seconds=5` | the recent timeline, for the page |
//! | `/api/v1/trace?seconds=5&format=perfetto` | that timeline for Perfetto, or as `chrome` |
//! | `/api/v1/stream` | events `summary`, `workers` and `stalls`, once per second (SSE) |
//! | POST `/api/v1/probe` | polls waiting tasks, answers as `explain`; needs a token over TCP |
//!
//! `?pool=NAME` chooses a pool; the default is the oldest one, but for `/metrics` all pools. JSON
//! answers, except traces, are objects with `v` (the version, 1), `pid`, `program`, `pools` (names)
//! and, except that of `/api/v1/pools`, `pool`. Numbers of 64 bits are strings. The answer to a
//! request that is refused has only the fields `v` and `error`.
//!
//! # Rules
//!
//! - The host that a client of a page names has to be the address of the listener, a loopback
//!   address, `localhost` or a listed name. If the listener has all addresses of the machine, every
//!   IP address is accepted. Requests from pages of other origins are refused.
//! - If a token is set, each request for data has to carry it: `Authorization: Bearer TOKEN`. An
//!   address that other machines can reach needs a token. A Unix socket needs none: only its user
//!   can open the file.
//! - A head may have at most 8 KiB and 64 fields, and must arrive within 5 s. A listener serves at
//!   most 16 clients at a time. The server reads pools for one request at a time. A connection
//!   serves one request.

#![forbid(unsafe_code)]

mod connection;
mod exposition;
mod gate;
mod guard;
mod head;
pub mod json;
mod page;
mod pools;
mod response;
mod route;
mod server;
mod settings;
mod socket;
mod token;

pub use page::{pages, show, tool_folder, tool_socket};
pub use pools::{MetricsFormat, Pools, Source, TraceFormat};
pub use server::{Limits, Page, Server};
pub use settings::{Inspect, from_env};
pub use token::Token;
