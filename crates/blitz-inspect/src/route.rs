//! Finds the answer to a request by its path.

use crate::exposition;
use crate::gate::Gate;
use crate::guard::Guard;
use crate::head::{Head, Method};
use crate::json;
use crate::pools::{MetricsFormat, Pools, Source, TraceFormat};
use crate::response::{Response, Status};
use std::sync::Arc;
use std::time::Duration;

const PAGE: &str = include_str!("assets/index.html");
const SCRIPT: &str = include_str!("assets/app.js");
const STYLE: &str = include_str!("assets/app.css");

/// How many tasks are listed by default.
const TASKS: usize = 1_000;
/// How many tasks are listed at most.
const TASKS_MAX: usize = 100_000;
/// How far back a trace or a timeline may go, in seconds.
const SECONDS_MAX: f64 = 3_600.0;

/// How a request is answered.
pub(crate) enum Answer {
    /// One answer.
    Once(Response),
    /// Events of the pool with this name.
    Stream(Arc<str>),
}

/// Reads pools for one request at a time.
#[derive(Clone, Debug)]
pub(crate) struct Snapshots {
    turn: Gate,
    patience: Duration,
}

impl Snapshots {
    pub(crate) fn new(patience: Duration) -> Snapshots {
        Snapshots { turn: Gate::new(1), patience }
    }

    /// Waits until no other request reads a pool, and calls `read`.
    fn take<R>(&self, read: impl FnOnce() -> R) -> Result<R, Response> {
        match self.turn.enter_within(self.patience) {
            Some(_turn) => Ok(read()),
            None => Err(Response::refusal(Status::Busy, "other requests are reading the pool")),
        }
    }

    /// The events of a pool at this moment, for a stream; `None` if the pool has ended.
    pub(crate) fn events(&self, pools: &Pools, name: &str) -> Option<String> {
        let (name, source) = pools.find(Some(name))?;
        let read = || {
            let event = |kind: &str, fields: String| {
                let text = object(pools, &name, &fields);
                format!("event: {kind}\ndata: {text}\n\n")
            };
            event("summary", source.summary())
                + &event("workers", source.workers())
                + &event("stalls", source.stalls())
        };
        // If other requests are reading the pool, a comment keeps the stream alive.
        Some(self.take(read).unwrap_or_else(|_| ": busy\n\n".to_owned()))
    }
}

/// Finds the answer to a request.
pub(crate) fn answer(
    pools: &Pools,
    snapshots: &Snapshots,
    guard: &Guard,
    head: &Head<'_>,
) -> Answer {
    let admitted = guard.admit(head);
    if let Err((status, why)) = admitted {
        return Answer::Once(Response::refusal(status, why));
    }
    match asset(head) {
        Some(response) => Answer::Once(response),
        None => data(pools, snapshots, guard, head).unwrap_or_else(Answer::Once),
    }
}

/// Returns the page or one of its files. These hold no data of pools, so they need no token.
fn asset(head: &Head<'_>) -> Option<Response> {
    let (kind, text) = match head.path {
        "/" => ("text/html", PAGE),
        "/app.js" => ("text/javascript", SCRIPT),
        "/app.css" => ("text/css", STYLE),
        _ => return None,
    };
    Some(match head.method {
        Method::Get => Response::new(kind, text.as_bytes()),
        _ => Response::refusal(Status::UseGet, "use GET"),
    })
}

fn data(
    pools: &Pools,
    snapshots: &Snapshots,
    guard: &Guard,
    head: &Head<'_>,
) -> Result<Answer, Response> {
    let refuse = |(status, why)| Response::refusal(status, why);
    let path = match head.path {
        "/metrics" => "metrics",
        path => path.strip_prefix("/api/v1/").unwrap_or(path),
    };
    const KNOWN: &[&str] = &[
        "metrics", "pools", "summary", "workers", "tasks", "stalls", "explain", "timeline",
        "trace", "stream",
    ];
    let wanted = match path {
        "probe" => Method::Post,
        known if KNOWN.contains(&known) => Method::Get,
        _ => return Err(Response::refusal(Status::NotFound, "there is nothing here")),
    };
    if head.method != wanted {
        return Err(match wanted {
            Method::Post => Response::refusal(Status::UsePost, "use POST"),
            _ => Response::refusal(Status::UseGet, "use GET"),
        });
    }
    guard.admit_to_data(head).map_err(refuse)?;
    match path {
        "metrics" => return metrics(pools, snapshots, head).map(Answer::Once),
        "pools" => {
            let text = format!("{{{}}}", process(pools));
            return Ok(Answer::Once(Response::json(text)));
        }
        _ => {}
    }
    let (name, source) = chosen(pools, head)?;
    if path == "stream" {
        return Ok(Answer::Stream(name));
    }
    if path == "trace" {
        return trace(snapshots, &*source, head).map(Answer::Once);
    }
    let limit = number(head, "limit", TASKS as f64)?.min(TASKS_MAX as f64) as usize;
    let seconds = seconds(head)?;
    let fields = snapshots.take(|| match path {
        "summary" => source.summary(),
        "workers" => source.workers(),
        "tasks" => source.tasks(limit),
        "stalls" => source.stalls(),
        "explain" => source.explain(),
        "probe" => source.probe(),
        _ => source.timeline(seconds),
    })?;
    Ok(Answer::Once(Response::json(object(pools, &name, &fields))))
}

/// The pool that the request chooses.
fn chosen(pools: &Pools, head: &Head<'_>) -> Result<(Arc<str>, Arc<dyn Source>), Response> {
    let name = parameter(head, "pool")?;
    pools.find(name.as_deref()).ok_or_else(|| {
        let why = match name {
            Some(name) => format!("no pool is called {name:?}, or it has ended"),
            None => "no pool is left".to_owned(),
        };
        Response::refusal(Status::NotFound, &why)
    })
}

fn trace(
    snapshots: &Snapshots,
    source: &dyn Source,
    head: &Head<'_>,
) -> Result<Response, Response> {
    let (format, kind, end) = match parameter(head, "format")?.as_deref() {
        None | Some("perfetto") => (TraceFormat::Perfetto, "application/octet-stream", "pftrace"),
        Some("chrome") => (TraceFormat::Chrome, "application/json", "json"),
        Some(_) => {
            return Err(Response::refusal(Status::BadRequest, "formats are perfetto and chrome"));
        }
    };
    let seconds = seconds(head)?;
    let bytes = snapshots.take(|| source.trace(seconds, format))?;
    Ok(Response::new(kind, bytes).saved_as(format!("blitz-{}.{end}", std::process::id())))
}

fn metrics(pools: &Pools, snapshots: &Snapshots, head: &Head<'_>) -> Result<Response, Response> {
    let is_open = head.accept.is_some_and(|accept| accept.contains("application/openmetrics-text"));
    let (format, kind) = match is_open {
        true => (MetricsFormat::OpenMetrics, "application/openmetrics-text; version=1.0.0"),
        false => (MetricsFormat::Prometheus, "text/plain; version=0.0.4"),
    };
    let per_worker = parameter(head, "per_worker")?.is_some_and(|value| value != "0");
    let shown: Vec<_> = match parameter(head, "pool")? {
        Some(_) => vec![chosen(pools, head)?],
        None => pools.names().iter().filter_map(|name| pools.find(Some(name))).collect(),
    };
    let text = snapshots.take(|| {
        let texts = shown.iter().map(|(name, source)| source.metrics(name, per_worker, format));
        exposition::merge(&texts.collect::<Vec<_>>(), is_open)
    })?;
    Ok(Response::new(kind, text.into_bytes()))
}

fn parameter(head: &Head<'_>, name: &str) -> Result<Option<String>, Response> {
    head.parameter(name).map_err(|status| Response::refusal(status, "the query cannot be decoded"))
}

fn seconds(head: &Head<'_>) -> Result<f64, Response> {
    Ok(number(head, "seconds", 5.0)?.min(SECONDS_MAX))
}

/// Parses a parameter that is a number and not negative; returns `otherwise` if it is missing.
fn number(head: &Head<'_>, name: &str, otherwise: f64) -> Result<f64, Response> {
    let Some(text) = parameter(head, name)? else { return Ok(otherwise) };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(Response::refusal(Status::BadRequest, &format!("{name} is no number >= 0"))),
    }
}

/// An object about one pool.
fn object(pools: &Pools, name: &str, fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    format!("{{{},\"pool\":{}{comma}{fields}}}", process(pools), json::string(name))
}

/// The fields about the process, which all JSON answers have, except refusals and traces.
fn process(pools: &Pools) -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(std::path::Path::file_name).unwrap_or_default();
    let names = pools.names();
    format!(
        "\"v\":1,\"pid\":{},\"program\":{},\"pools\":{}",
        std::process::id(),
        json::string(&program.to_string_lossy()),
        json::list(names.iter().map(|name| json::string(name)))
    )
}
