use ::hyper_util::client::legacy::Client;
use ::hyper_util::client::legacy::connect::{Connect, HttpConnector};
use ::hyper_util::rt::TokioExecutor;
use axum::Router;
use axum::routing::get;
use blitz::net::TcpListener;
use blitz_hyper::{BlitzConnector, BlitzExecutor, BlitzTimer, Shutdown, serve};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use std::time::Duration;

/// Starts a server, and sends it several requests through `client`.
async fn ask<C: Connect + Clone + Send + Sync + 'static>(client: Client<C, Empty<Bytes>>) {
    let app = Router::new().route("/", get(|| async { "hello" }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let shutdown = Shutdown::new();
    let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));
    for _ in 0..3 {
        let answer = client.get(url.parse().unwrap()).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "hello");
    }
    drop(client);
    assert!(shutdown.finish(Duration::from_secs(60)).await.is_clean());
    server.await.unwrap().unwrap();
}

#[blitz::test(workers = 2)]
async fn by_trait() {
    let mut builder = Client::builder(BlitzExecutor::new());
    // The timer closes connections that were idle for this long.
    builder.pool_timer(BlitzTimer::new()).pool_idle_timeout(Duration::from_secs(60));
    ask(builder.build(BlitzConnector::new())).await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    ask(Client::builder(TokioExecutor::new()).build(HttpConnector::new())).await;
}
