//! HTTP with hyper, axum and tower on the Blitz runtime.
//!
//! [`serve`] answers HTTP/1 and HTTP/2 with any tower service: an axum router, a stack of
//! middleware, a function. When the program asks for it, the server shuts down gracefully, and
//! reports the work that it did not finish.
//!
//! ```
//! use axum::{Router, routing::get};
//! use blitz::net::TcpListener;
//! use blitz_hyper::{Shutdown, serve};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), blitz_hyper::BoxError> {
//! # blitz::block_on(async {
//! // A handler computes right where it is: idle workers take a part, and no thread is blocked.
//! let app = Router::new().route("/", get(|| async { format!("{:?}", blitz::join(|| 1 + 1, || 2 + 2)) }));
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//!
//! let shutdown = Shutdown::new();
//! let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));
//! // The server accepts no more connections. Open connections have one second to end.
//! let report = shutdown.finish(Duration::from_secs(1)).await;
//! assert!(report.is_clean(), "{report}");
//! server.await??;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! A program that calls hyper without `serve` needs three things from a runtime, which are here as
//! well: [`BlitzExecutor`] starts tasks, [`BlitzTimer`] sleeps, and [`BlitzIo`] adapts streams with
//! Tokio's traits, such as Blitz's sockets, to hyper.
//!
//! This crate does not pull in Tokio's scheduler or timers. With the feature `client`, hyper-util
//! enables Tokio's feature `net`, so Tokio's reactor is compiled; nothing here runs it.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::must_use_candidate)]

#[cfg(feature = "client")]
mod client;
mod connection;
mod executor;
mod io;
mod layers;
mod listener;
mod serve;
mod timer;

#[doc(no_inline)]
pub use blitz::shutdown::{Left, Report, Running, Shutdown};
#[cfg(feature = "client")]
pub use client::{BlitzConnector, Client, ConnectError, Stream, Transport, client, client_with};
pub use executor::BlitzExecutor;
pub use io::BlitzIo;
pub use layers::{FileBody, Files, KeepAlive, Timeout, TimeoutFuture, TimeoutLayer, keep_alive};
pub use listener::Listener;
pub use serve::{PlainHandshake, Serve, SharedService, serve, serve_make};
pub use timer::BlitzTimer;

/// An error of a service, a body or a connection.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The programs of the guide's chapter about HTTP.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/07-http.md")]
mod guide {}

/// The program of the package's own page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
