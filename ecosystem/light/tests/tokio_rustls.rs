use ::tokio_rustls::rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use ::tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use ::tokio_rustls::{TlsAcceptor, TlsConnector};
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use std::sync::Arc;

#[blitz::test(workers = 2)]
async fn as_is() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
    let certificate = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = blitz::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(Arc::new(server)).accept(stream).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    });
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
    stream.write_all(b"secret").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(server.await.unwrap(), "secret");
}
