//! Both ends of a connection: a running server, and hyper's clients on Blitz.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use axum::Router;
use blitz::JoinHandle;
use blitz::net::{TcpListener, TcpStream};
use blitz_hyper::{BlitzExecutor, BlitzIo, BlitzTimer, Report, Shutdown, serve};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Longer than any test takes.
pub const FOREVER: Duration = Duration::from_secs(3_600);

/// A server on loopback.
pub struct Server {
    pub address: SocketAddr,
    pub shutdown: Shutdown,
    task: JoinHandle<io::Result<Report>>,
}

impl Server {
    /// Serves `app`.
    pub async fn start(app: Router) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let server = serve(listener, app).with_shutdown(&shutdown);
        Server::run(server, address, shutdown)
    }

    /// Runs the future that `serve` returned.
    pub fn run(
        server: impl Future<Output = io::Result<Report>> + Send + 'static,
        address: SocketAddr,
        shutdown: Shutdown,
    ) -> Server {
        Server { address, shutdown, task: blitz::spawn(server) }
    }

    /// Shuts the server down and checks that it left no work unfinished.
    pub async fn finish(self) {
        let report = self.shutdown.finish(FOREVER).await;
        assert!(report.is_clean(), "{report}");
        assert!(self.ended().await.is_clean());
    }

    /// Waits until the server has ended; returns its report.
    pub async fn ended(self) -> Report {
        self.task.await.unwrap().unwrap()
    }
}

/// A client with one connection.
pub struct Client {
    pub local: SocketAddr,
    sender: Sender,
    connection: JoinHandle<hyper::Result<()>>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub async fn http1(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        let local = stream.local_addr().unwrap();
        let (sender, connection) = http1::handshake(BlitzIo::new(stream)).await.unwrap();
        let connection = blitz::spawn(connection);
        Client { local, sender: Sender::Http1(sender), connection }
    }

    pub async fn http2(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        let local = stream.local_addr().unwrap();
        let handshake = http2::Builder::new(BlitzExecutor::new())
            .timer(BlitzTimer::new())
            .handshake(BlitzIo::new(stream))
            .await;
        let (sender, connection) = handshake.unwrap();
        let connection = blitz::spawn(connection);
        Client { local, sender: Sender::Http2(sender), connection }
    }

    /// Waits until the connection takes another request.
    ///
    /// The client may have read an answer before the connection is ready again.
    pub async fn ready(&mut self) {
        let ready = match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        };
        ready.unwrap();
    }

    /// Sends `request`. The future completes with the answer's head; its body may come later.
    pub fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + Send + use<> {
        let answer = match &mut self.sender {
            Sender::Http1(sender) => Ok(sender.send_request(request)),
            Sender::Http2(sender) => Err(sender.send_request(request)),
        };
        async move {
            match answer {
                Ok(http1) => http1.await,
                Err(http2) => http2.await,
            }
        }
    }

    /// Waits until the other side has closed the connection, with an error or without.
    pub async fn closed(&mut self) {
        let _ = (&mut self.connection).await.unwrap();
    }
}

pub fn request(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    Request::builder().method(method).uri(format!("http://test{path}")).body(body).unwrap()
}

/// The whole body.
pub async fn text(answer: Response<Incoming>) -> String {
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}
