//! Connections for clients: plain ones, and TLS on top of them.

#![forbid(unsafe_code)]

use super::transport::Transport;
use crate::BlitzIo;
use blitz::net::TcpStream;
use blitz::time::timeout;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
#[cfg(feature = "client-tls")]
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(feature = "client-tls")]
use tokio_rustls::{TlsConnector, client::TlsStream, rustls};
use tower_service::Service;

/// Connects the clients of hyper-util over Blitz's sockets.
///
/// The system looks names up, on a thread that may block. The connector tries each address of a
/// name in turn.
#[derive(Clone, Default)]
pub struct BlitzConnector {
    patience: Option<Duration>,
    #[cfg(feature = "client-tls")]
    tls: Option<TlsConnector>,
}

impl BlitzConnector {
    /// Returns a connector without a time limit, for `http://` only.
    #[must_use]
    pub fn new() -> BlitzConnector {
        BlitzConnector::default()
    }

    /// Limits the time to make a connection, including TLS.
    #[must_use]
    pub fn with_timeout(mut self, patience: Duration) -> BlitzConnector {
        self.patience = Some(patience);
        self
    }

    /// Also connects to `https://`, with the settings in `config`.
    ///
    /// HTTP/2 is spoken if `config` offers `h2` in its `alpn_protocols` and the server agrees.
    #[cfg(feature = "client-tls")]
    #[must_use]
    pub fn with_tls(mut self, config: Arc<rustls::ClientConfig>) -> BlitzConnector {
        self.tls = Some(TlsConnector::from(config));
        self
    }

    async fn connect(self, uri: Uri) -> Result<Stream, ConnectError> {
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") if self.can_tls() => true,
            _ => return Err(ConnectError::Scheme(uri)),
        };
        let Some(host) = uri.host() else { return Err(ConnectError::Scheme(uri)) };
        // An IPv6 address is in brackets in a URI, and without brackets here.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = TcpStream::connect((host, port)).await.map_err(ConnectError::Io)?;
        // Requests are written in one piece, so Nagle's algorithm could only delay them. An error
        // is ignored: if the connection is gone, the next read shows it.
        let _ = stream.set_nodelay(true);
        if is_tls { self.secure(host, stream).await } else { Ok(Stream(Inner::Plain(stream))) }
    }

    #[cfg(feature = "client-tls")]
    fn can_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(not(feature = "client-tls"))]
    fn can_tls(&self) -> bool {
        false
    }

    #[cfg(feature = "client-tls")]
    async fn secure(&self, host: &str, stream: TcpStream) -> Result<Stream, ConnectError> {
        let Some(tls) = &self.tls else { return Ok(Stream(Inner::Plain(stream))) };
        let name = rustls::pki_types::ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| ConnectError::Io(io::Error::other(error)))?;
        let stream = tls.connect(name, stream).await.map_err(ConnectError::Io)?;
        Ok(Stream(Inner::Tls(Box::new(stream))))
    }

    #[cfg(not(feature = "client-tls"))]
    async fn secure(&self, _: &str, stream: TcpStream) -> Result<Stream, ConnectError> {
        Ok(Stream(Inner::Plain(stream)))
    }
}

impl fmt::Debug for BlitzConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlitzConnector")
            .field("patience", &self.patience)
            .field("tls", &self.can_tls())
            .finish()
    }
}

impl Service<Uri> for BlitzConnector {
    type Response = BlitzIo<Stream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<BlitzIo<Stream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let patience = connector.patience;
            let connecting = connector.connect(uri);
            let stream = match patience {
                None => connecting.await?,
                Some(patience) => match timeout(patience, connecting).await {
                    Ok(connected) => connected?,
                    Err(_) => return Err(ConnectError::TimedOut(patience)),
                },
            };
            Ok(BlitzIo::new(stream))
        })
    }
}

/// Why a client could not connect.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address begins neither with `http://` nor with `https://`, or the connector has no TLS.
    Scheme(Uri),
    /// The system or TLS returned an error.
    Io(io::Error),
    /// The connection took longer than the connector's limit.
    TimedOut(Duration),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Scheme(uri) => write!(
                f,
                "cannot connect to {uri}: use http://, or https:// with BlitzConnector::with_tls"
            ),
            ConnectError::Io(error) => write!(f, "cannot connect: {error}"),
            ConnectError::TimedOut(patience) => write!(f, "cannot connect within {patience:?}"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ConnectError::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// A client's connection, with TLS or without.
#[derive(Debug)]
pub struct Stream(Inner);

#[derive(Debug)]
enum Inner {
    Plain(TcpStream),
    #[cfg(feature = "client-tls")]
    Tls(Box<TlsStream<TcpStream>>),
}

/// Calls the same function of a plain or a TLS stream.
macro_rules! of_either {
    ($stream:expr, $inner:pat => $call:expr) => {
        match &mut $stream.0 {
            Inner::Plain($inner) => $call,
            #[cfg(feature = "client-tls")]
            Inner::Tls($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_either!(self, stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, stream => Pin::new(stream).poll_write_vectored(cx, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            Inner::Plain(stream) => stream.is_write_vectored(),
            #[cfg(feature = "client-tls")]
            Inner::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.negotiated_h2() { connected.negotiated_h2() } else { connected }
    }
}

impl Transport for Stream {
    fn negotiated_h2(&self) -> bool {
        match &self.0 {
            Inner::Plain(stream) => stream.negotiated_h2(),
            #[cfg(feature = "client-tls")]
            Inner::Tls(stream) => stream.negotiated_h2(),
        }
    }
}
