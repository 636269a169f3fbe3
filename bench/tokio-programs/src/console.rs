//! console-subscriber: a layer that reads Tokio's spans, and a thread that collects them for a
//! console. The thread listens on a port of this machine, and no console connects.

use std::{net::Ipv4Addr, sync::Once};

use blitz_bench::insight::{self, Attached};
use console_subscriber::ConsoleLayer;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::prelude::*;

use crate::{run_tasks, two_workers};

/// Builds a runtime whose spans the layer reads. There is one layer for the whole process.
pub fn build(builder: Builder) -> Result<(Runtime, Attached), String> {
    static LAYER: Once = Once::new();
    LAYER.call_once(|| {
        let console = ConsoleLayer::builder().server_addr((Ipv4Addr::LOCALHOST, 0)).spawn();
        tracing_subscriber::registry().with(console).init();
    });
    insight::plain_tokio(builder)
}

/// Shows that a task runs inside of a span of Tokio that the layer has not filtered out.
pub fn prove() -> Result<String, String> {
    let (runtime, _) = build(two_workers())?;
    let tasks = run_tasks(&runtime)?;
    let span = runtime.block_on(async {
        let name = || tracing::Span::current().metadata().map(|span| span.name());
        tokio::spawn(async move { name() }).await
    });
    match span.map_err(|error| error.to_string())? {
        Some(name) => Ok(format!("{tasks} tasks ran, in spans called {name}")),
        None => Err("tasks run in no span".to_owned()),
    }
}
