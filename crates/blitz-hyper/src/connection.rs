//! One connection of a server, from its first byte to its end.

#![forbid(unsafe_code)]

use crate::{BlitzExecutor, BlitzIo, BoxError, Running};
use http_body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::future::{Future, poll_fn};
use std::pin::pin;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

/// Answers what comes through `stream` until either side ends it, or `running` is to come to its end.
///
/// # Errors
/// What the protocol, the stream or the service had to complain about.
pub(crate) async fn drive<I, S, B>(
    builder: &Builder<BlitzExecutor>,
    stream: I,
    service: S,
    running: &mut Running,
) -> Result<(), BoxError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let service = TowerToHyperService::new(service);
    let connection = builder.serve_connection_with_upgrades(BlitzIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut told = false;
    poll_fn(|cx| {
        if !told && running.poll_draining(cx).is_ready() {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(cx)
    })
    .await
}
