use ::quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Configurations of a server and of a client that trusts the server's certificate.
fn configs() -> (ServerConfig, ClientConfig) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
    let certificate = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server = ServerConfig::with_single_cert(vec![certificate], key.into()).unwrap();
    (server, ClientConfig::with_root_certificates(Arc::new(roots)).unwrap())
}

/// Any free port of the loopback interface.
fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Sends 4 MiB there and back.
async fn echo(server: Endpoint, mut client: Endpoint, config: ClientConfig) {
    client.set_default_client_config(config);
    let address = server.local_addr().unwrap();
    let serving = blitz::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        let (mut send, mut receive) = connection.accept_bi().await.unwrap();
        let got = receive.read_to_end(8 << 20).await.unwrap();
        send.write_all(&got).await.unwrap();
        send.finish().unwrap();
        connection.closed().await;
        server.wait_idle().await;
    });
    let connection = client.connect(address, "localhost").unwrap().await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let data: Vec<u8> = (0..4 << 20).map(|n: u32| n as u8).collect();
    let sent = data.clone();
    let sending = blitz::spawn(async move {
        send.write_all(&sent).await.unwrap();
        send.finish().unwrap();
    });
    assert!(receive.read_to_end(8 << 20).await.unwrap() == data);
    sending.await.unwrap();
    connection.close(0_u32.into(), b"done");
    client.wait_idle().await;
    serving.await.unwrap();
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    let (server, client) = configs();
    let server = blitz_quinn::endpoint(Some(server), any()).unwrap();
    echo(server, blitz_quinn::endpoint(None, any()).unwrap(), client).await;
}

/// Two endpoints with quinn's own runtime: Tokio's if there is a guest, smol's otherwise.
async fn by_itself() {
    let (server, client) = configs();
    echo(Endpoint::server(server, any()).unwrap(), Endpoint::client(any()).unwrap(), client).await;
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    by_itself().await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    by_itself().await;
}
