//! Runtimes with sockets and timers, and the servers that run on each of them.

use std::{convert::Infallible, future::Future, net::TcpListener, time::Duration};

use blitz_hyper::BlitzIo;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Runtime, Tasks};
use crate::load::HELLO;

/// A runtime with sockets and timers.
pub trait Outside: Runtime<Tasks: Timers> {
    /// Builds a runtime with everything that sockets and timers need.
    ///
    /// # Errors
    ///
    /// Returns the runtime's own message if it cannot be built.
    fn build_for_outside(workers: usize) -> Result<Self, String>;

    /// Accepts connections in the background; an echo task serves each.
    ///
    /// # Errors
    ///
    /// Returns an error if `listener` cannot be used.
    fn echo(&self, listener: TcpListener) -> Result<(), String>;

    /// Accepts connections in the background; a task serves each, in which hyper says [`HELLO`].
    ///
    /// # Errors
    ///
    /// Returns an error if `listener` cannot be used.
    fn hello(&self, listener: TcpListener) -> Result<(), String>;
}

/// Timers of one runtime.
pub trait Timers: Tasks {
    /// Waits for `duration`.
    fn sleep(self, duration: Duration) -> impl Future<Output = ()> + Send + 'static;
}

/// Echoes bytes until the client stops.
pub(super) async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match stream.read(&mut buffer).await {
            Ok(bytes) if bytes > 0 => {
                if stream.write_all(&buffer[..bytes]).await.is_err() {
                    return;
                }
            }
            // The clients check the answers; here an error means that the client has gone.
            _ => return,
        }
    }
}

/// Answers requests until no more come.
pub(super) async fn hello(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(HELLO.as_bytes()))))
    });
    let connection = http1::Builder::new().serve_connection(BlitzIo::new(stream), service);
    // The clients check the answers; here an error means that the client has gone.
    let _ = connection.await;
}

/// The size of a buffer: that of the largest message of the catalogue.
pub(crate) const BUFFER: usize = 16 * 1024;

/// Evaluates an expression with `$runtime` standing for the type of a rival with sockets and
/// timers.
macro_rules! with_outside {
    ($kind:expr, $runtime:ident => $body:expr) => {{
        use $crate::rival::RivalKind;
        match $kind {
            RivalKind::Blitz => {
                type $runtime = $crate::runtime::Blitz;
                $body
            }
            RivalKind::Signal => {
                type $runtime = $crate::runtime::BlitzSignal;
                $body
            }
            RivalKind::Tokio => {
                type $runtime = $crate::runtime::Tokio;
                $body
            }
            RivalKind::Smol => {
                type $runtime = $crate::runtime::Smol;
                $body
            }
            kind => Err(format!("{} has neither sockets nor timers", kind.name())),
        }
    }};
}
pub(crate) use with_outside;
