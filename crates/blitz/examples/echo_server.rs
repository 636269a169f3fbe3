//! An echo server and its clients: a hundred connections, each a task, all on the same workers.

use blitz::JoinSet;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use std::error::Error;
use std::net::SocketAddr;

const CLIENTS: u32 = 100;
const MESSAGES: u32 = 50;

/// Echoes bytes until the client is done; returns their number.
async fn echo(mut stream: TcpStream) -> std::io::Result<u64> {
    let mut buffer = vec![0; 4 * 1024];
    let mut echoed = 0;
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(echoed);
        }
        stream.write_all(&buffer[..length]).await?;
        echoed += length as u64;
    }
}

/// Accepts the connection of each client; returns how many bytes were echoed.
async fn serve(listener: TcpListener) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let mut connections = JoinSet::new();
    for _ in 0..CLIENTS {
        let (stream, _) = listener.accept().await?;
        connections.spawn(echo(stream));
    }
    let mut echoed = 0;
    while let Some(connection) = connections.join_next().await {
        echoed += connection??;
    }
    Ok(echoed)
}

/// Sends messages, one after the other; returns the number of bytes sent.
///
/// The client reads the echo of each message before it sends the next message.
async fn talk(address: SocketAddr, number: u32) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(address).await?;
    let mut sent = 0;
    for message in 0..MESSAGES {
        let text = format!("message {message} of client {number}");
        stream.write_all(text.as_bytes()).await?;
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await?;
        assert_eq!(back, text.as_bytes());
        sent += text.len() as u64;
    }
    Ok(sent)
}

#[blitz::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = blitz::spawn(serve(listener));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(talk(address, number));
    }
    let mut sent = 0;
    while let Some(client) = clients.join_next().await {
        sent += client??;
    }
    let echoed = server.await??;
    assert_eq!(echoed, sent);
    println!("{CLIENTS} clients had {echoed} bytes sent back to them");
    Ok(())
}
