//! An HTTP client that reuses connections: hyper-util's, on Blitz's sockets and timers.

mod connector;
mod transport;

pub use connector::{BlitzConnector, ConnectError, Stream};
pub use transport::Transport;

use crate::{BlitzExecutor, BlitzTimer};
use http_body::Body;
use hyper_util::client::legacy;

/// A client that reuses connections, over HTTP/1 and HTTP/2.
///
/// Clones share the connections. See [`client()`] and [`client_with`].
pub type Client<B> = legacy::Client<BlitzConnector, B>;

/// Returns a client with default settings, for addresses that begin with `http://`.
///
/// ```
/// use blitz_hyper::{Shutdown, client, serve};
/// use http_body_util::{BodyExt, Empty};
///
/// # fn main() -> Result<(), blitz_hyper::BoxError> {
/// # blitz::block_on(async {
/// let app = axum::Router::new().route("/", axum::routing::get(|| async { "hello" }));
/// let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await?;
/// let address = format!("http://{}/", listener.local_addr()?);
/// let shutdown = Shutdown::new();
/// let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));
///
/// let client = client::<Empty<bytes::Bytes>>();
/// let answer = client.get(address.parse()?).await?;
/// assert_eq!(answer.into_body().collect().await?.to_bytes(), "hello");
/// # drop(client);
/// # shutdown.start();
/// # server.await??;
/// # Ok(())
/// # })
/// # }
/// ```
#[must_use]
pub fn client<B: Body<Data: Send> + Send>() -> Client<B> {
    client_with(BlitzConnector::new(), |_| {})
}

/// Returns a client with another connector or other settings.
///
/// Settings are, for example, time limits, how many idle connections are kept, or HTTP/2 only.
///
/// ```
/// use blitz_hyper::{BlitzConnector, client_with};
/// use http_body_util::Empty;
/// use std::time::Duration;
///
/// let connector = BlitzConnector::new().with_timeout(Duration::from_secs(5));
/// let client = client_with::<Empty<bytes::Bytes>>(connector, |settings| {
///     settings.pool_idle_timeout(Duration::from_secs(30)).pool_max_idle_per_host(8);
/// });
/// # drop(client);
/// ```
pub fn client_with<B: Body<Data: Send> + Send>(
    connector: BlitzConnector,
    change: impl FnOnce(&mut legacy::Builder),
) -> Client<B> {
    let mut builder = legacy::Client::builder(BlitzExecutor::new());
    builder.timer(BlitzTimer::new()).pool_timer(BlitzTimer::new());
    change(&mut builder);
    builder.build(connector)
}
