//! The insight settings of a Blitz pool, or of a Tokio runtime, that is measured.
//!
//! Pools with each of the three settings are one type, so that all of them run the same machine
//! code. The setting is chosen when the workload builds its pool. The tools that look inside of
//! Tokio need `--cfg tokio_unstable`: a program with that flag passes them to [`with_tokio`].

use std::{
    any::Any,
    cell::Cell,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle, LocalKey},
    time::Duration,
};

use ::blitz::{Pool, PoolBuilder, inspect::Inspect};
use ::tokio::runtime::{Builder, Runtime};

use crate::rival::RivalKind;

/// The time from one request of the scraper to the next: as long as a turn of a quick run, and
/// hundreds of times shorter than is usual for scrapers. The runner stops a contestant between its
/// turns. A request that becomes due meanwhile is sent as soon as the contestant goes on, before
/// the measured part of the turn. So with a longer period most turns would have no request in their
/// measured part.
const PERIOD: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Insight {
    /// The default: recorders and metrics are on.
    Default,
    /// Without recorders.
    Unrecorded,
    /// With a page that a scraper reads.
    Inspected,
}

/// The part of a tool that lives as long as its runtime.
pub type Attached = Box<dyn Any + Send + Sync>;

/// Builds a Tokio runtime with a tool that looks inside of it.
pub type BuildTokio = fn(Builder) -> Result<(Runtime, Attached), String>;

thread_local! {
    static INSIGHT: Cell<Insight> = const { Cell::new(Insight::Default) };
    static TOKIO: Cell<BuildTokio> = const { Cell::new(plain_tokio) };
}

/// Calls `open` while `setting` has the value `value` on this thread.
fn while_set<V, T>(setting: &'static LocalKey<Cell<V>>, value: V, open: impl FnOnce() -> T) -> T {
    let before = setting.replace(value);
    let opened = open();
    setting.set(before);
    opened
}

/// Calls `open` while workloads build their Tokio runtimes with `build`.
///
/// ```
/// use blitz_bench::{insight, rival::RivalKind::Tokio, workload::{Pace, TaskWorkload, Workload}};
///
/// let yields = Workload::Tasks(TaskWorkload::YieldMany { tasks: 2, yields: 3 });
/// let opened = insight::with_tokio(
///     |_| Err("no tool is installed".to_owned()),
///     || yields.open(Tokio, 1, Pace::Smoke),
/// );
/// assert_eq!(opened.err().unwrap(), "no tool is installed");
/// assert!(yields.open(Tokio, 1, Pace::Smoke).unwrap().turn().is_ok());
/// ```
pub fn with_tokio<T>(build: BuildTokio, open: impl FnOnce() -> T) -> T {
    while_set(&TOKIO, build, open)
}

/// Builds a Tokio runtime as the caller of [`with_tokio`] wants it; by default, without a tool.
pub(crate) fn build_tokio(builder: Builder) -> Result<(Runtime, Attached), String> {
    TOKIO.get()(builder)
}

/// Builds a runtime without a tool.
///
/// # Errors
///
/// Returns Tokio's message if the runtime cannot be built.
pub fn plain_tokio(mut builder: Builder) -> Result<(Runtime, Attached), String> {
    let runtime = builder.build().map_err(|error| error.to_string())?;
    Ok((runtime, Box::new(())))
}

/// Calls `open` with `rival`. If `rival` is Blitz with an insight setting, calls `open` with plain
/// Blitz while that setting is in force.
pub(crate) fn opened_as<T>(rival: RivalKind, open: impl FnOnce(RivalKind) -> T) -> T {
    let insight = match rival {
        RivalKind::Unrecorded => Insight::Unrecorded,
        RivalKind::Inspected => Insight::Inspected,
        _ => return open(rival),
    };
    while_set(&INSIGHT, insight, || open(RivalKind::Blitz))
}

/// Builds a pool with the setting of the rival that is being opened.
pub(crate) fn build(builder: PoolBuilder) -> Result<(Pool, Option<Scraper>), String> {
    let insight = INSIGHT.get();
    let builder = if insight == Insight::Unrecorded { builder.trace_memory(0) } else { builder };
    let pool = builder.build().map_err(|error| error.to_string())?;
    let scraper = match insight {
        Insight::Inspected => Some(scrape_page(&pool).map_err(|error| error.to_string())?),
        _ => None,
    };
    Ok((pool, scraper))
}

/// A thread that reads metrics periodically, until the scraper is dropped.
#[derive(Debug)]
pub struct Scraper {
    /// Dropped first, which ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scraper {
    /// Calls `read` about fifty times per second on a new thread.
    ///
    /// # Errors
    ///
    /// Returns the system's error if the thread cannot be started.
    pub fn start(mut read: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let (end, ended) = channel();
        let thread = thread::Builder::new().name("scraper".to_owned()).spawn(move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                read();
            }
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

/// Serves the page of `pool` and reads its metrics periodically.
fn scrape_page(pool: &Pool) -> io::Result<Scraper> {
    let page = pool.inspect(Inspect::at("127.0.0.1:0"))?;
    let page = page.ok_or_else(|| io::Error::other("there is no page"))?;
    let address = page.address();
    // The first reading shows whether the page answers.
    scrape(address)?;
    Scraper::start(move || {
        // A page that does not answer would make the pool look better, so report it.
        if let Err(error) = scrape(address) {
            eprintln!("the scraper has no answer: {error}");
        }
    })
}

impl Drop for Scraper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // How the thread ends does not matter for the measurement.
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
    use crate::workload::Pace;

    #[test]
    fn a_turn_is_not_shorter_than_the_period_of_the_scraper() {
        for pace in [Pace::Quick, Pace::Full] {
            assert!(pace.turn_time() >= PERIOD, "{pace:?}");
        }
    }

    #[test]
    fn a_setting_is_in_force_while_its_workload_is_opened() {
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
