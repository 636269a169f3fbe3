//! Crates that are built quickly, each in a small program on Blitz.
//!
//! A module is named after its crate. `as_is` runs without a guest, `by_trait` with a trait or hook
//! of the crate that leads to Blitz, `as_a_guest` with a Tokio runtime beside the pool.

mod async_channel;
mod async_compression;
mod async_stream;
mod aws_smithy_async;
mod axum;
mod backon;
mod bb8;
mod deadpool;
mod flume;
mod futures_util;
mod governor;
mod moka;
mod notify;
mod openraft;
mod tokio_cron_scheduler;
mod tokio_rustls;
mod tokio_stream;
mod tokio_tungstenite;
mod tokio_util;
mod tower;
mod tower_http;
mod tracing;
