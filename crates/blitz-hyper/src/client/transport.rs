//! Streams that hyper-util's clients can use.

#![forbid(unsafe_code)]

use crate::BlitzIo;
use blitz::io::DuplexStream;
use blitz::net::{TcpStream, UnixStream};
use hyper_util::client::legacy::connect::{Connected, Connection};

/// A stream that a connector may return to hyper-util's clients inside of a [`BlitzIo`].
///
/// `BlitzIo` has hyper-util's `Connection` for each of these streams, so a connector needs no
/// wrapper of its own. [`TcpStream`], [`UnixStream`] and [`DuplexStream`] have this trait and, with
/// the feature `client-tls`, `TlsStream` and `client::TlsStream` of tokio-rustls. A stream type of
/// your own needs one line.
///
/// The connector of this client sends every request to one Unix socket:
///
/// ```
/// use blitz::net::{UnixListener, UnixStream};
/// use blitz_hyper::{BlitzExecutor, BlitzIo, BlitzTimer, Shutdown, serve};
/// use http_body_util::{BodyExt, Empty};
/// use hyper_util::client::legacy::Client;
///
/// # fn main() -> Result<(), blitz_hyper::BoxError> {
/// # blitz::block_on(async {
/// # let path = std::env::temp_dir().join(format!("blitz-transport-{}", std::process::id()));
/// let app = axum::Router::new().route("/", axum::routing::get(|| async { "hello" }));
/// let listener = UnixListener::bind(&path)?;
/// let shutdown = Shutdown::new();
/// let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));
///
/// # let place = path.clone();
/// let connector = tower::service_fn(move |_: hyper::Uri| {
///     let path = path.clone();
///     Box::pin(async move { UnixStream::connect(path).await.map(BlitzIo::new) })
/// });
/// let client: Client<_, Empty<bytes::Bytes>> =
///     Client::builder(BlitzExecutor::new()).pool_timer(BlitzTimer::new()).build(connector);
/// let answer = client.get("http://service/".parse()?).await?;
/// assert_eq!(answer.into_body().collect().await?.to_bytes(), "hello");
/// # drop(client);
/// # shutdown.start();
/// # server.await??;
/// # std::fs::remove_file(place)?;
/// # Ok(())
/// # })
/// # }
/// ```
pub trait Transport {
    /// Returns whether both sides have agreed on HTTP/2 already, as TLS lets them do.
    fn negotiated_h2(&self) -> bool {
        false
    }
}

impl Transport for TcpStream {}

impl Transport for UnixStream {}

impl Transport for DuplexStream {}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn negotiated_h2(&self) -> bool {
        (**self).negotiated_h2()
    }
}

#[cfg(feature = "client-tls")]
impl<T> Transport for tokio_rustls::client::TlsStream<T> {
    fn negotiated_h2(&self) -> bool {
        self.get_ref().1.alpn_protocol() == Some(b"h2")
    }
}

#[cfg(feature = "client-tls")]
impl<T> Transport for tokio_rustls::TlsStream<T> {
    fn negotiated_h2(&self) -> bool {
        self.get_ref().1.alpn_protocol() == Some(b"h2")
    }
}

impl<T: Transport> Connection for BlitzIo<T> {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.get_ref().negotiated_h2() { connected.negotiated_h2() } else { connected }
    }
}
