//! Tests the client, which reuses connections, against servers of our own.
#![cfg(feature = "client-tls")]

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
mod peers;

use axum::Router;
use axum::routing::{get, post};
use blitz::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use blitz_hyper::{
    BlitzConnector, BlitzExecutor, BlitzIo, BoxError, ConnectError, Shutdown, client, client_with,
    serve,
};
use common::on_each_scheduler;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, Uri, Version};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connect, Connection};
use peers::{FOREVER, Server};
use std::future::ready;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tower_service::Service;

fn app() -> Router {
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/echo", post(|body: axum::body::Bytes| async { body }))
}

async fn ask<C: Connect + Clone + Send + Sync + 'static>(
    client: &legacy::Client<C, Full<Bytes>>,
    url: &str,
) -> Result<(Version, Bytes), BoxError> {
    let answer = client.get(url.parse()?).await?;
    let version = answer.version();
    Ok((version, answer.into_body().collect().await?.to_bytes()))
}

#[test]
fn connections_are_kept_and_shared() {
    on_each_scheduler("connections_are_kept_and_shared", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let made = Arc::new(AtomicUsize::new(0));
        let (shutdown, count) = (Shutdown::new(), made.clone());
        let server =
            serve(listener, app()).with_shutdown(&shutdown).with_handshake(move |stream| {
                count.fetch_add(1, SeqCst);
                ready(Ok::<TcpStream, _>(stream))
            });
        let server = Server::run(server, address, shutdown);
        let base = format!("http://{address}");
        let client = client::<Full<Bytes>>();
        // A connection can be reused once its task has seen the end of a body. Before that, the
        // client may make a few more connections. If it reuses none, the test hangs.
        for asked in 1.. {
            assert_eq!(ask(&client, &base).await.unwrap(), (Version::HTTP_11, "hello".into()));
            if made.load(SeqCst) < asked {
                break;
            }
        }
        let body = Bytes::from("large ".repeat(100_000));
        let request = Request::post(format!("{base}/echo")).body(Full::new(body.clone())).unwrap();
        let answer = client.request(request).await.unwrap();
        assert!(answer.into_body().collect().await.unwrap().to_bytes() == body);
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (client, base) = (client.clone(), base.clone());
                blitz::spawn(async move { ask(&client, &base).await.unwrap() })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap().1, "hello");
        }
        drop(client);
        server.finish().await;
    });
}

#[test]
fn http2_has_one_connection_for_all() {
    on_each_scheduler("http2_has_one_connection_for_all", || async {
        let server = Server::start(app()).await;
        let base = format!("http://{}", server.address);
        let client = client_with::<Full<Bytes>>(BlitzConnector::new(), |settings| {
            settings.http2_only(true);
        });
        for _ in 0..20 {
            assert_eq!(ask(&client, &base).await.unwrap(), (Version::HTTP_2, "hello".into()));
        }
        assert_eq!(server.shutdown.running(), 1);
        drop(client);
        server.finish().await;
    });
}

/// Settings of a server with TLS for `localhost`, and of a client that trusts it.
fn settings() -> (ServerConfig, ClientConfig) {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let private = PrivateKeyDer::try_from(key.key_pair.serialize_der()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).unwrap();
    let mut trusting = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    trusting.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (server, trusting)
}

/// A server with TLS, and a connector that trusts it.
async fn secure() -> (Server, BlitzConnector) {
    let (server, trusting) = settings();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = Shutdown::new();
    let server = serve(listener, app())
        .with_handshake(move |stream: TcpStream| acceptor.accept(stream))
        .with_shutdown(&shutdown);
    let server = Server::run(server, address, shutdown);
    (server, BlitzConnector::new().with_tls(Arc::new(trusting)))
}

#[test]
fn tls_agrees_on_http2() {
    on_each_scheduler("tls_agrees_on_http2", || async {
        let (server, connector) = secure().await;
        let client = client_with::<Full<Bytes>>(connector, |_| {});
        let port = server.address.port();
        let answer = ask(&client, &format!("https://localhost:{port}/")).await.unwrap();
        assert_eq!(answer, (Version::HTTP_2, "hello".into()));
        // The certificate is for another name.
        assert!(ask(&client, &format!("https://127.0.0.1:{port}/")).await.is_err());
        drop(client);
        server.finish().await;
    });
}

/// A Unix socket that no server has yet. The file is gone once this is dropped.
struct Socket(PathBuf);

impl Socket {
    fn new() -> Socket {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("blitz-http-{}-{}", std::process::id(), NEXT.fetch_add(1, SeqCst));
        Socket(std::env::temp_dir().join(name))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_client_asks_over_a_unix_socket() {
    on_each_scheduler("a_client_asks_over_a_unix_socket", || async {
        let socket = Socket::new();
        let listener = UnixListener::bind(&socket.0).unwrap();
        let shutdown = Shutdown::new();
        let server = blitz::spawn(serve(listener, app()).with_shutdown(&shutdown));
        let path = socket.0.clone();
        let connector = tower::service_fn(move |_: Uri| {
            let path = path.clone();
            Box::pin(async move { UnixStream::connect(path).await.map(BlitzIo::new) })
        });
        let client = legacy::Client::builder(BlitzExecutor::new()).build(connector);
        for _ in 0..3 {
            let answer = ask(&client, "http://service/").await.unwrap();
            assert_eq!(answer, (Version::HTTP_11, "hello".into()));
        }
        drop(client);
        assert!(shutdown.finish(FOREVER).await.is_clean());
        server.await.unwrap().unwrap();
    });
}

#[test]
fn a_connector_may_return_tls_streams() {
    on_each_scheduler("a_connector_may_return_tls_streams", || async {
        let socket = Socket::new();
        let (server, trusting) = settings();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let listener = UnixListener::bind(&socket.0).unwrap();
        let shutdown = Shutdown::new();
        let serving = serve(listener, app())
            .with_handshake(move |stream: UnixStream| acceptor.accept(stream))
            .with_shutdown(&shutdown);
        let serving = blitz::spawn(serving);
        let path = socket.0.clone();
        let tls = TlsConnector::from(Arc::new(trusting));
        let connector = tower::service_fn(move |_: Uri| {
            let (path, tls) = (path.clone(), tls.clone());
            Box::pin(async move {
                let stream = UnixStream::connect(path).await?;
                let name = ServerName::try_from("localhost").unwrap();
                tls.connect(name, stream).await.map(BlitzIo::new)
            })
        });
        let client = legacy::Client::builder(BlitzExecutor::new()).build(connector);
        // The client learns from the stream that both sides agreed on HTTP/2.
        let answer = ask(&client, "https://localhost/").await.unwrap();
        assert_eq!(answer, (Version::HTTP_2, "hello".into()));
        drop(client);
        assert!(shutdown.finish(FOREVER).await.is_clean());
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn every_kind_of_stream_is_a_connection() {
    fn needs<T: Connection>() {}
    needs::<BlitzIo<TcpStream>>();
    needs::<BlitzIo<UnixStream>>();
    needs::<BlitzIo<blitz::io::DuplexStream>>();
    needs::<BlitzIo<Box<TcpStream>>>();
    needs::<BlitzIo<tokio_rustls::TlsStream<TcpStream>>>();
    needs::<BlitzIo<tokio_rustls::client::TlsStream<UnixStream>>>();
}

async fn connect(mut connector: BlitzConnector, url: &str) -> Result<(), ConnectError> {
    connector.call(url.parse::<Uri>().unwrap()).await.map(drop)
}

#[test]
fn an_unreachable_address_is_an_error() {
    on_each_scheduler("an_unreachable_address_is_an_error", || async {
        let closed: SocketAddr = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        let refused = connect(BlitzConnector::new(), &format!("http://{closed}/")).await;
        assert!(matches!(refused, Err(ConnectError::Io(_))), "{refused:?}");
        let no_tls = connect(BlitzConnector::new(), "https://localhost/").await;
        assert!(matches!(no_tls, Err(ConnectError::Scheme(_))), "{no_tls:?}");
        assert!(no_tls.unwrap_err().to_string().contains("with_tls"));
        let strange = connect(BlitzConnector::new(), "ftp://localhost/").await;
        assert!(matches!(strange, Err(ConnectError::Scheme(_))), "{strange:?}");
        // A part of a name has at most 63 letters, so no resolver looks for this name.
        let too_long = format!("http://{}/", "x".repeat(64));
        let unknown = connect(BlitzConnector::new(), &too_long).await;
        assert!(matches!(unknown, Err(ConnectError::Io(_))), "{unknown:?}");
        let client = client::<Full<Bytes>>();
        assert!(ask(&client, &format!("http://{closed}/")).await.is_err());
    });
}

#[test]
fn a_connection_that_is_not_made_in_time_is_an_error() {
    on_each_scheduler("a_connection_that_is_not_made_in_time_is_an_error", || async {
        // The system accepts connections to this listener. The TLS handshake gets no answer.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (server, connector) = secure().await;
        let connector = connector.with_timeout(Duration::from_millis(5));
        let silent = format!("https://localhost:{}/", address.port());
        let late = connect(connector.clone(), &silent);
        assert!(matches!(late.await, Err(ConnectError::TimedOut(_))));
        assert!(format!("{connector:?}").contains("tls: true"));
        let patient = connector.with_timeout(FOREVER);
        let url = format!("https://localhost:{}/", server.address.port());
        connect(patient, &url).await.unwrap();
        server.finish().await;
    });
}
