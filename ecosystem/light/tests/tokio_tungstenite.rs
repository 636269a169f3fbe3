use ::futures_util::{SinkExt, StreamExt};
use ::tokio_tungstenite::tungstenite::Message;
use ::tokio_tungstenite::{accept_async, client_async, connect_async};
use blitz::net::{TcpListener, TcpStream};
use std::net::SocketAddr;

/// An echo server for one connection.
async fn echo() -> (SocketAddr, blitz::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = blitz::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if !message.is_text() {
                return;
            }
            socket.send(message).await.unwrap();
        }
    });
    (address, server)
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let (address, server) = echo().await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut socket, _) = client_async(format!("ws://{address}/"), stream).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    socket.close(None).await.unwrap();
    server.await.unwrap();
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let (address, server) = echo().await;
    let (mut socket, _) = connect_async(format!("ws://{address}/")).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    socket.close(None).await.unwrap();
    server.await.unwrap();
}
