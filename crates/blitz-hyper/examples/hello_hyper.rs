//! Plain hyper: a server and a client that use Blitz as hyper's runtime.

use blitz::net::{TcpListener, TcpStream};
use blitz_hyper::{BlitzIo, BlitzTimer, BoxError};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use std::convert::Infallible;
use std::net::SocketAddr;

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let name = request.uri().path().trim_start_matches('/');
    Ok(Response::new(Full::new(Bytes::from(format!("hello {name}")))))
}

async fn answer_one_connection(listener: TcpListener) -> Result<(), BoxError> {
    let (stream, _) = listener.accept().await?;
    server::conn::http1::Builder::new()
        .timer(BlitzTimer::new())
        .serve_connection(BlitzIo::new(stream), service_fn(hello))
        .await?;
    Ok(())
}

async fn ask(address: SocketAddr, names: &[&str]) -> Result<Vec<String>, BoxError> {
    let stream = BlitzIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = client::conn::http1::handshake(stream).await?;
    let connection = blitz::spawn(connection);
    let mut answers = Vec::new();
    for name in names {
        let request = Request::get(format!("/{name}"))
            .header("host", "localhost")
            .body(Full::<Bytes>::default())?;
        sender.ready().await?;
        let answer = sender.send_request(request).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        answers.push(String::from_utf8(body.to_vec())?);
    }
    // The connection ends when no sender is left.
    drop(sender);
    connection.await??;
    Ok(answers)
}

#[blitz::main]
async fn main() -> Result<(), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = blitz::spawn(answer_one_connection(listener));
    let answers = ask(address, &["world", "hyper", "blitz"]).await?;
    server.await??;
    assert_eq!(answers, ["hello world", "hello hyper", "hello blitz"]);
    println!("{}", answers.join(", "));
    Ok(())
}
