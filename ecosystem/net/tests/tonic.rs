use ::tonic::transport::server::TcpIncoming;
use ::tonic::transport::{Endpoint, Server, Uri};
use ::tonic_health::ServingStatus;
use ::tonic_health::pb::HealthCheckRequest;
use ::tonic_health::pb::health_check_response::ServingStatus as Answer;
use ::tonic_health::pb::health_client::HealthClient;
use ::tonic_health::server::health_reporter;
use blitz::net::{TcpListener, TcpStream};
use blitz_hyper::{BlitzExecutor, BlitzIo, Shutdown, serve};
use std::time::Duration;
use tokio::sync::oneshot;
use tonic::service::Routes;
use tonic::transport::Channel;

/// Asks a server for its health.
async fn ask(channel: Channel) {
    let mut client = HealthClient::new(channel);
    let answer = client.check(HealthCheckRequest { service: "blitz".to_owned() }).await.unwrap();
    assert_eq!(answer.into_inner().status(), Answer::Serving);
    let unknown = client.check(HealthCheckRequest { service: "other".to_owned() }).await;
    assert!(unknown.is_err());
    let watched = client.watch(HealthCheckRequest { service: "blitz".to_owned() }).await.unwrap();
    let first = watched.into_inner().message().await.unwrap().unwrap();
    assert_eq!(first.status(), Answer::Serving);
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    let (reporter, health) = health_reporter();
    reporter.set_service_status("blitz", ServingStatus::Serving).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = Shutdown::new();
    let app = Routes::new(health).into_axum_router();
    let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));

    let connect = tower::service_fn(move |_: Uri| async move {
        TcpStream::connect(address).await.map(BlitzIo::new)
    });
    let endpoint = Endpoint::from_static("http://here").executor(BlitzExecutor::new());
    let channel = endpoint.connect_with_connector(connect).await.unwrap();
    blitz::spawn(ask(channel)).await.unwrap();
    shutdown.finish(Duration::from_secs(60)).await;
    server.await.unwrap().unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let (reporter, health) = health_reporter();
    reporter.set_service_status("blitz", ServingStatus::Serving).await;
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::builder()
        .timeout(Duration::from_secs(60))
        .add_service(health)
        .serve_with_incoming_shutdown(incoming, async { drop(stopped.await) });
    let server = blitz::spawn(server);
    let endpoint = Endpoint::try_from(format!("http://{address}")).unwrap();
    let channel = endpoint.connect().await.unwrap();
    blitz::spawn(ask(channel)).await.unwrap();
    drop(stop);

    // A peer whose backlog accepts connections, and which never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::try_from(format!("http://{}", silent.local_addr().unwrap())).unwrap();
    let channel = endpoint.timeout(Duration::from_millis(1)).connect().await.unwrap();
    let late = HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap_err();
    assert!(late.to_string().contains("Timeout expired"), "{late}");
    server.await.unwrap().unwrap();
}
