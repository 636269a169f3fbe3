use ::axum::extract::ws::{Message, WebSocketUpgrade};
use ::axum::extract::{ConnectInfo, Path, State};
use ::axum::response::sse::{Event, KeepAlive, Sse};
use ::axum::routing::{any, get};
use ::axum::{Json, Router};
use ::futures_util::{SinkExt, StreamExt, stream};
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::TcpStream;
use blitz::sync::Notify;
use blitz_hyper::{Shutdown, serve_make};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::tungstenite;

fn app<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/double/{n}", get(|Path(n): Path<u32>| async move { Json(2 * n) })).route(
        "/peer",
        get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() }),
    )
}

/// Sends one request to a server.
async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Returns the server's answer to one request.
async fn get_from(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    ask(address, path).await.read_to_string(&mut answer).await.unwrap();
    answer
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = Shutdown::new();
    // axum's `ConnectInfo` needs a service for each connection.
    let make = app::<()>().into_make_service_with_connect_info::<SocketAddr>();
    let server = serve_make(listener, make).with_shutdown(&shutdown);
    let server = blitz::spawn(server);
    assert!(get_from(address, "/double/21").await.ends_with("\r\n\r\n42"));
    assert!(get_from(address, "/peer").await.contains("127.0.0.1:"));
    assert!(shutdown.finish(Duration::from_secs(60)).await.is_clean());
    server.await.unwrap().unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let seen = Arc::new(Notify::new());
    let app = app()
        .route(
            "/ws",
            any(|upgrade: WebSocketUpgrade| async {
                upgrade.on_upgrade(|mut socket| async move {
                    while let Some(Ok(Message::Text(text))) = socket.recv().await {
                        socket.send(Message::Text(text)).await.unwrap();
                    }
                })
            }),
        )
        .route(
            "/events",
            get(|State(seen): State<Arc<Notify>>| async {
                // There is one event. Until it comes, the server sends comments that keep the
                // stream alive.
                let events = stream::once(async move {
                    seen.notified().await;
                    Ok::<_, Infallible>(Event::default().data("1"))
                });
                let often = KeepAlive::new().interval(Duration::from_millis(1)).text("alive");
                Sse::new(events).keep_alive(often)
            }),
        )
        .with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let make = app.into_make_service_with_connect_info::<SocketAddr>();
    let (stop, stopped) = blitz::sync::oneshot::channel::<()>();
    let server = ::axum::serve(listener, make).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = blitz::spawn(server.into_future());

    assert!(get_from(address, "/double/21").await.ends_with("\r\n\r\n42"));
    assert!(get_from(address, "/peer").await.contains("127.0.0.1:"));
    let mut stream = ask(address, "/events").await;
    let mut events = String::new();
    while !events.contains(": alive") {
        let mut some = [0; 100];
        let count = stream.read(&mut some).await.unwrap();
        assert_ne!(count, 0, "{events}");
        events += str::from_utf8(&some[..count]).unwrap();
    }
    seen.notify_one();
    stream.read_to_string(&mut events).await.unwrap();
    assert!(events.contains("data: 1"), "{events}");
    let url = format!("ws://{address}/ws");
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    socket.send(tungstenite::Message::text("hello")).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    assert_eq!(answer.into_text().unwrap().as_str(), "hello");
    socket.close(None).await.unwrap();
    drop(socket);
    drop(stop);
    server.await.unwrap().unwrap();
}
