//! HTTPS with tokio-rustls, which works with Tokio's traits; Blitz's sockets implement them. The
//! program makes its own certificate, and the client trusts no other certificate.

use axum::{Router, routing::get};
use blitz::net::{TcpListener, TcpStream};
use blitz_hyper::{BlitzExecutor, BlitzIo, BoxError, Shutdown, serve};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::{Request, Version};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const HOST: &str = "localhost";
/// The name of HTTP/2 in a TLS handshake.
const HTTP_2: &[u8] = b"h2";

fn server_side(key: &rcgen::CertifiedKey) -> Result<TlsAcceptor, BoxError> {
    let private = PrivateKeyDer::try_from(key.key_pair.serialize_der())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn client_side(trusted: CertificateDer<'static>) -> Result<TlsConnector, BoxError> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_2.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn ask(address: SocketAddr, tls: TlsConnector) -> Result<(Version, String), BoxError> {
    let stream = TcpStream::connect(address).await?;
    let stream = tls.connect(ServerName::try_from(HOST)?, stream).await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(HTTP_2));
    let stream = BlitzIo::new(stream);
    let (mut sender, connection) = http2::handshake(BlitzExecutor::new(), stream).await?;
    drop(blitz::spawn(connection));
    let request = Request::get(format!("https://{HOST}/")).body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    let version = answer.version();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok((version, String::from_utf8(body.to_vec())?))
}

#[blitz::main]
async fn main() -> Result<(), BoxError> {
    let key = rcgen::generate_simple_self_signed([HOST.to_owned()])?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/", get(|| async { "between you and me" }));
    let acceptor = server_side(&key)?;
    let shutdown = Shutdown::new();
    let server = serve(listener, app)
        .with_handshake(move |stream: TcpStream| acceptor.accept(stream))
        .with_shutdown(&shutdown);
    let server = blitz::spawn(server);

    let answer = ask(address, client_side(key.cert.der().clone())?).await?;
    assert_eq!(answer, (Version::HTTP_2, "between you and me".to_owned()));

    // A client that trusts another certificate for the same name cannot connect.
    let other = rcgen::generate_simple_self_signed([HOST.to_owned()])?;
    let refused = ask(address, client_side(other.cert.der().clone())?).await.unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");

    let report = shutdown.finish(Duration::from_secs(10)).await;
    assert!(report.is_clean(), "{report}");
    server.await??;
    println!("{answer:?}; another certificate: {refused}");
    Ok(())
}
