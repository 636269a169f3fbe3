//! How much a Blitz pool says about itself while it is measured.
//!
//! All three kinds are one type, so that they run the same machine code: what differs is the pool's
//! setting. It is chosen while a workload is opened, which is when its pool is built.

use std::{
    cell::Cell,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use ::blitz::{Pool, PoolBuilder, inspect::Inspect};

use crate::rival::RivalKind;

/// How often the scraper asks: much more often than scrapers do, so that it asks within a turn.
const PERIOD: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Insight {
    /// As users have it: recorders and metrics on.
    Default,
    /// Without recorders.
    Unrecorded,
    /// With a page, which a scraper asks.
    Inspected,
}

thread_local! {
    static INSIGHT: Cell<Insight> = const { Cell::new(Insight::Default) };
}

/// Calls `open` with the rival that `rival` is a setting of.
pub(crate) fn opened_as<T>(rival: RivalKind, open: impl FnOnce(RivalKind) -> T) -> T {
    let insight = match rival {
        RivalKind::Unrecorded => Insight::Unrecorded,
        RivalKind::Inspected => Insight::Inspected,
        _ => return open(rival),
    };
    let before = INSIGHT.replace(insight);
    let opened = open(RivalKind::Blitz);
    INSIGHT.set(before);
    opened
}

/// Builds a pool with the setting of the rival that is being opened.
pub(crate) fn build(builder: PoolBuilder) -> Result<(Pool, Option<Scraper>), String> {
    let insight = INSIGHT.get();
    let builder = if insight == Insight::Unrecorded { builder.trace_memory(0) } else { builder };
    let pool = builder.build().map_err(|error| error.to_string())?;
    let scraper = match insight {
        Insight::Inspected => Some(Scraper::start(&pool).map_err(|error| error.to_string())?),
        _ => None,
    };
    Ok((pool, scraper))
}

/// A thread that reads the metrics of a page now and then, until this is dropped.
#[derive(Debug)]
pub(crate) struct Scraper {
    /// Dropped first, which ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scraper {
    fn start(pool: &Pool) -> io::Result<Self> {
        let page = pool.inspect(Inspect::at("127.0.0.1:0"))?;
        let page = page.ok_or_else(|| io::Error::other("there is no page"))?;
        let address = page.address();
        // The first reading shows whether it works.
        scrape(address)?;
        let (end, ended) = channel();
        let thread = thread::Builder::new().name("scraper".to_owned()).spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                // A page that does not answer makes the pool look better, not worse: say so.
                if let Err(error) = scrape(address) {
                    eprintln!("the scraper has no answer: {error}");
                }
            }
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Scraper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It ends; how does not matter to what was measured.
            let _ = thread.join();
        }
    }
}

/// Reads the metrics of the page at `address`.
fn scrape(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.contains("blitz_workers") {
        return Ok(answer);
    }
    let line = answer.lines().next().unwrap_or("nothing");
    Err(io::Error::other(format!("the page says {line}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_lasts_as_long_as_its_workload_is_opened() {
        assert_eq!(opened_as(RivalKind::Tokio, |rival| rival), RivalKind::Tokio);
        let inner = opened_as(RivalKind::Unrecorded, |rival| (rival, INSIGHT.get()));
        assert_eq!(inner, (RivalKind::Blitz, Insight::Unrecorded));
        assert_eq!(INSIGHT.get(), Insight::Default);
    }

    #[test]
    fn each_setting_builds_its_pool() {
        let build = |rival| {
            opened_as(rival, |_| build(Pool::builder().workers(1))).expect("the pool can be built")
        };
        let records = |pool: &Pool| {
            pool.install(|| ::blitz::region("work", || ()));
            pool.metrics().trace.rare > 0
        };
        let (usual, none) = build(RivalKind::Blitz);
        assert!(records(&usual) && none.is_none());
        let (unrecorded, none) = build(RivalKind::Unrecorded);
        assert!(!records(&unrecorded) && none.is_none());
        let (inspected, scraper) = build(RivalKind::Inspected);
        assert!(records(&inspected) && scraper.is_some());
    }
}
