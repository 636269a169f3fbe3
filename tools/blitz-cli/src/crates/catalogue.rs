//! Which crates run on Blitz, and what each needs for it.
//!
//! `cargo xtask crates` runs a program for each entry that names a package of `ecosystem/`, and
//! writes the table of `docs/crates.md` from the same entries. `blitz doctor --crates` looks
//! entries up.

/// The known facts about one crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name on crates.io.
    pub name: &'static str,
    /// The package of `ecosystem/` that has a program for it. Empty if only its source was read.
    pub package: &'static str,
    /// What works without a guest; empty if nothing does. The test `as_is` shows it.
    pub as_is: &'static str,
    /// What works without a guest by a public trait or hook of the crate. The test `by_trait` shows
    /// it.
    pub by_trait: &'static str,
    /// The feature that avoids the guest, and what it brings instead; empty if there is none. The
    /// test `by_feature` shows it.
    pub feature: &'static str,
    /// What needs a guest. The test `as_a_guest` shows it.
    pub guest: &'static str,
}

const fn entry(
    package: &'static str,
    name: &'static str,
    as_is: &'static str,
    by_trait: &'static str,
    guest: &'static str,
) -> Entry {
    Entry { name, package, as_is, by_trait, feature: "", guest }
}

impl Entry {
    /// Adds the feature of the crate that avoids the guest.
    const fn or_feature(self, feature: &'static str) -> Entry {
        Entry { feature, ..self }
    }
}

/// Every crate that is known, by name.
pub const ENTRIES: &[Entry] = &[
    entry("light", "async-channel", "channels", "", ""),
    entry("light", "async-compression", "encoders and decoders over Blitz's streams", "", ""),
    entry("", "async-nats", "", "", "all: spawns, connects and sleeps with Tokio"),
    entry("light", "async-stream", "`stream!`", "", ""),
    entry(
        "light",
        "aws-smithy-async",
        "",
        "`AsyncSleep`: `blitz-adapters` with its feature `aws`",
        "",
    ),
    entry(
        "",
        "aws-smithy-runtime",
        "",
        "`AsyncSleep` and an HTTP client of one's own",
        "the default client",
    ),
    entry(
        "light",
        "axum",
        "routers, extractors, `ConnectInfo`, SSE and WebSockets on `blitz_hyper::serve`: see docs/http.md",
        "",
        "`axum::serve`, with handlers on the guest's thread; `Sse::keep_alive`, `WebSocketUpgrade`",
    ),
    entry(
        "light",
        "backon",
        "",
        "`.sleep(blitz::time::sleep)`",
        "retries without a sleeper of one's own",
    )
    .or_feature("`futures-timer-sleep`, then `.sleep(FuturesTimerSleeper)`: a thread for timers"),
    entry("light", "bb8", "", "", "pools: they spawn and sleep"),
    entry("heavy", "datafusion", "", "", "queries: they spawn tasks"),
    entry("light", "deadpool", "pools without timeouts", "", "pools with timeouts").or_feature(
        "`rt_smol_2` and `Runtime::Smol2` (0.13), `rt_async-std_1` (0.12): another reactor",
    ),
    entry("light", "flume", "channels", "", ""),
    entry("light", "futures-util", "`join_all`, `select`, `FuturesUnordered`", "", ""),
    entry("light", "governor", "`until_ready`: its timers are threads", "", ""),
    entry(
        "net",
        "hickory-resolver",
        "",
        "`RuntimeProvider`: `blitz-adapters` with its feature `hickory`",
        "look-ups with the provider for Tokio",
    ),
    entry("", "hyper", "", "`Executor`, `Timer`, `Read` and `Write`: the crate `blitz-hyper`", ""),
    entry(
        "net",
        "hyper-util",
        "",
        "`Executor`, `Timer`, `Connection`: `blitz_hyper::client`",
        "the client with its `HttpConnector`",
    ),
    entry("net", "jsonrpsee", "", "", "servers, HTTP and WebSocket clients"),
    entry("", "kube-client", "", "", "all: connects and sleeps with Tokio"),
    entry(
        "net",
        "lapin",
        "",
        "`RuntimeKit`: `blitz-adapters` with its feature `lapin`",
        "`Connection::connect`",
    )
    .or_feature("`smol` or `async-global-executor` instead of `default-runtime`: another reactor"),
    entry("data", "metrics-exporter-prometheus", "the recorder", "", ""),
    entry("light", "moka", "`future::Cache`", "", ""),
    entry("", "mongodb", "", "", "all: spawns, connects and sleeps with Tokio"),
    entry("light", "notify", "watchers: they are threads", "", ""),
    entry(
        "data",
        "object_store",
        "memory, and files read on the worker",
        "",
        "files read on threads that may block",
    ),
    entry(
        "light",
        "openraft",
        "",
        "`AsyncRuntime`: `blitz-adapters` with its feature `openraft`",
        "its `TokioRuntime`",
    ),
    entry(
        "data",
        "opentelemetry_sdk",
        "batches exported by its own thread, with `tracing-opentelemetry`",
        "",
        "batches exported by a task: `runtime::Tokio`",
    ),
    entry("heavy", "polars", "queries: they run on threads of Rayon's", "", ""),
    entry(
        "net",
        "quinn",
        "",
        "`Runtime`: the crate `blitz-quinn`",
        "endpoints with `runtime-tokio`",
    )
    .or_feature("`runtime-smol` instead of `runtime-tokio`: another reactor"),
    entry(
        "heavy",
        "rdkafka",
        "",
        "`AsyncRuntime`: `blitz-adapters` with its feature `rdkafka`",
        "producers and consumers with its `TokioRuntime`",
    )
    .or_feature("`naive-runtime` instead of `tokio`: a thread for each task and timer"),
    entry("net", "redis", "", "", "`tokio-comp`")
        .or_feature("`smol-comp` instead of `tokio-comp`: another reactor"),
    entry("net", "reqwest", "", "", "clients"),
    entry("data", "sqlx", "one `SqliteConnection`", "", "pools with `runtime-tokio`").or_feature(
        "`runtime-smol` (0.9), `runtime-async-std` (0.8) instead of `runtime-tokio`: another \
         reactor",
    ),
    entry("net", "tarpc", "", "", "servers and clients over TCP, deadlines"),
    entry("light", "tokio-cron-scheduler", "", "", "schedulers: they spawn and sleep"),
    entry("net", "tokio-postgres", "`connect_raw` over a stream of Blitz", "", "`connect`"),
    entry("light", "tokio-rustls", "acceptors and connectors over Blitz's streams", "", ""),
    entry(
        "light",
        "tokio-stream",
        "wrappers of channels, `merge`",
        "",
        "`timeout`, `throttle`, `IntervalStream`",
    ),
    entry(
        "light",
        "tokio-tungstenite",
        "`accept_async`, `client_async` over Blitz's streams",
        "",
        "`connect_async`",
    ),
    entry(
        "light",
        "tokio-util",
        "codecs, `CancellationToken`, `TaskTracker::track_future`, `PollSender`, `ReaderStream`",
        "",
        "`TaskTracker::spawn`, `JoinMap`, `DelayQueue`, `FutureExt::timeout`, `SyncIoBridge`",
    ),
    entry(
        "net",
        "tonic",
        "",
        "servers by `Routes::into_axum_router` on `blitz_hyper::serve`; clients by \
         `Endpoint::executor` and `connect_with_connector`",
        "`transport::Server`, `Endpoint::connect`, timeouts",
    ),
    entry(
        "light",
        "tower",
        "`concurrency_limit`, `load_shed`",
        "",
        "`buffer`, `timeout`, `rate_limit`",
    ),
    entry(
        "light",
        "tower-http",
        "`trace`, `cors`, `compression`, `catch_panic`",
        "",
        "`TimeoutLayer`, `ServeDir`; `blitz_hyper::{TimeoutLayer, Files}` need no guest",
    ),
    entry("light", "tracing", "spans that follow tasks", "", ""),
    entry("", "warp", "", "", "all: spawns and listens with Tokio"),
];
