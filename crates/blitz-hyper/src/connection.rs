//! Serves one connection, from its first byte to its end.

#![forbid(unsafe_code)]

use crate::{BlitzExecutor, BlitzIo, BoxError, Running};
use blitz::shutdown::Place;
use blitz::sync::mpsc;
use http_body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

/// Counts a connection as open, for the coordinator and for the server. An upgraded connection is
/// no longer a task of the server, but still counts.
pub(crate) struct Presence {
    _to_coordinator: Arc<Place>,
    _to_server: mpsc::Sender<Infallible>,
}

impl Presence {
    /// Creates the presence of the connection that `running` tracks. The server waits until all
    /// clones of `present` are dropped.
    pub(crate) fn new(running: &Running, present: &mpsc::Sender<Infallible>) -> Presence {
        Presence { _to_coordinator: running.place(), _to_server: present.clone() }
    }
}

impl fmt::Debug for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presence")
    }
}

/// Answers the requests of `stream` until either side ends the connection.
///
/// When `running` starts to drain, this side ends the connection after the requests that have
/// begun.
///
/// # Errors
/// The error of the protocol, the stream or the service.
pub(crate) async fn drive<I, S, B>(
    builder: &Builder<BlitzExecutor>,
    stream: I,
    service: S,
    running: &mut Running,
    present: &mpsc::Sender<Infallible>,
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
    let stream = BlitzIo::of_server(stream, Presence::new(running, present));
    let connection = builder.serve_connection_with_upgrades(stream, service);
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
    .or_else(|error| if told && is_interruption(&error) { Ok(()) } else { Err(error) })
}

/// Whether `error` is hyper's error for a graceful shutdown before the client's first bytes have
/// decided between HTTP/1 and HTTP/2.
fn is_interruption(error: &BoxError) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}
