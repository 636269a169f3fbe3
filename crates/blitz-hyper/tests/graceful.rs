//! How servers end: after the requests that have begun, at once, and when a deadline has passed.

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
mod peers;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::routing::get;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use blitz::sync::{Semaphore, mpsc, oneshot};
use blitz_hyper::{BlitzIo, Listener, Shutdown, serve, serve_make};
use common::{Tally, on_each_scheduler};
use peers::{Client, Server, request, text};
use std::convert::Infallible;
use std::future::{Ready, pending};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Service, service_fn};

/// A handler that reports when it begins and returns when it is allowed to.
struct Slow {
    begun: mpsc::UnboundedReceiver<()>,
    gate: Arc<Semaphore>,
    tally: Tally,
}

impl Slow {
    fn app() -> (Router, Slow) {
        let (begins, begun) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(0));
        let (inside, tally) = (gate.clone(), Tally::default());
        let tokens = tally.clone();
        let slow = get(move || async move {
            let _token = tokens.token();
            begins.send(()).unwrap();
            inside.acquire().await.unwrap().forget();
            "at last"
        });
        let app = Router::new().route("/", get(|| async { "hello" })).route("/slow", slow);
        (app, Slow { begun, gate, tally })
    }
}

#[test]
fn requests_that_have_begun_are_answered() {
    on_each_scheduler("graceful", || async {
        let (app, mut slow) = Slow::app();
        let server = Server::start(app).await;
        let mut one = Client::http1(server.address).await;
        let mut two = Client::http2(server.address).await;
        let (first, second) =
            (one.send(request("GET", "/slow", "")), two.send(request("GET", "/slow", "")));
        let (first, second) = (blitz::spawn(first), blitz::spawn(second));
        slow.begun.recv().await.unwrap();
        slow.begun.recv().await.unwrap();
        // hyper's client asks its connection for an error once more after it has sent a request. If
        // the shutdown came before that, the client would not wait for the answer. An answer to a
        // later request shows that the client has asked.
        text(two.send(request("GET", "/", "")).await.unwrap()).await;
        let mut idle = Client::http1(server.address).await;
        text(idle.send(request("GET", "/", "")).await.unwrap()).await;
        let mut silent = Client::http1(server.address).await;

        let address = server.address;
        server.shutdown.start();
        // Connections without a request are closed at once, and no new client is accepted.
        idle.closed().await;
        silent.closed().await;
        while TcpStream::connect(address).await.is_ok() || server.shutdown.running() > 2 {
            blitz::task::yield_now().await;
        }
        assert_eq!(slow.tally.dropped(), 0);
        slow.gate.add_permits(2);
        assert_eq!(text(first.await.unwrap().unwrap()).await, "at last");
        assert_eq!(text(second.await.unwrap().unwrap()).await, "at last");
        one.closed().await;
        two.closed().await;
        server.finish().await;
        assert!(slow.tally.is_even());
    });
}

#[test]
fn a_connection_that_does_not_begin_is_dropped() {
    on_each_scheduler("no beginning", || async {
        for is_made in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (told, mut errors) = mpsc::unbounded_channel::<String>();
            let (waits, mut waiting) = mpsc::unbounded_channel();
            let waits_too = waits.clone();
            let make = service_fn(move |_: SocketAddr| {
                let waits = waits.clone();
                async move {
                    if !is_made {
                        waits.send("service").unwrap();
                        pending::<()>().await;
                    }
                    Ok::<_, Infallible>(Router::new())
                }
            });
            let shutdown = Shutdown::new();
            let server = serve_make(listener, make)
                .with_shutdown(&shutdown)
                .with_handshake(move |mut stream: TcpStream| {
                    waits_too.send("handshake").unwrap();
                    async move { stream.read_u8().await.map(|_| stream) }
                })
                .on_error(move |error| told.send(error.to_string()).unwrap());
            let server = Server::run(server, address, shutdown);
            let mut silent = TcpStream::connect(address).await.unwrap();
            let waits_for = if is_made { "handshake" } else { "service" };
            assert_eq!(waiting.recv().await, Some(waits_for));
            server.finish().await;
            assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
            assert_eq!(errors.recv().await, None);
        }
    });
}

/// Makes no service: it never becomes ready, and reports that it was asked.
struct NeverReady(mpsc::UnboundedSender<()>);

impl Service<SocketAddr> for NeverReady {
    type Response = Router;
    type Error = Infallible;
    type Future = Ready<Result<Router, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.send(()).unwrap();
        Poll::Pending
    }

    fn call(&mut self, _: SocketAddr) -> Self::Future {
        unreachable!("it was not ready")
    }
}

#[test]
fn a_make_service_that_is_not_ready_does_not_delay_the_end() {
    on_each_scheduler("never ready", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asks, mut asked) = mpsc::unbounded_channel();
        let shutdown = Shutdown::new();
        let server = serve_make(listener, NeverReady(asks)).with_shutdown(&shutdown);
        let server = Server::run(server, address, shutdown);
        let mut waiting = TcpStream::connect(address).await.unwrap();
        asked.recv().await.unwrap();
        server.finish().await;
        assert_eq!(waiting.read(&mut [0]).await.unwrap(), 0);
    });
}

/// A listener that breaks for good when the test sends the error.
struct Breaks {
    error: oneshot::Receiver<io::Error>,
    listener: TcpListener,
}

impl Listener for Breaks {
    type Stream = TcpStream;
    type Peer = SocketAddr;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        match Pin::new(&mut self.error).poll(cx) {
            Poll::Ready(error) => Poll::Ready(Err(error.unwrap())),
            Poll::Pending => self.listener.poll_accept(cx),
        }
    }
}

#[test]
fn a_listener_that_breaks_ends_no_request() {
    on_each_scheduler("breaks", || async {
        let (app, mut slow) = Slow::app();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (breaks, error) = oneshot::channel();
        let shutdown = Shutdown::new();
        let (tell, mut told) = mpsc::unbounded_channel();
        let server = serve(Breaks { error, listener }, app).with_shutdown(&shutdown);
        let server = blitz::spawn(server.on_error(move |error| drop(tell.send(error.to_string()))));
        let mut idle = Client::http1(address).await;
        text(idle.send(request("GET", "/", "")).await.unwrap()).await;
        let mut client = Client::http1(address).await;
        let answer = blitz::spawn(client.send(request("GET", "/slow", "")));
        slow.begun.recv().await.unwrap();
        breaks.send(io::ErrorKind::InvalidInput.into()).unwrap();
        idle.closed().await;
        shutdown.draining().await;
        while told.recv().await.unwrap() != "invalid input parameter" {}
        assert!(!server.is_finished());
        slow.gate.add_permits(1);
        assert_eq!(text(answer.await.unwrap().unwrap()).await, "at last");
        let error = server.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(shutdown.running(), 0);
    });
}

#[test]
fn a_signal_begins_the_end() {
    on_each_scheduler("signal", || async {
        let (app, _slow) = Slow::app();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = blitz::sync::oneshot::channel::<()>();
        let shutdown = Shutdown::new();
        let server = serve(listener, app)
            .with_shutdown(&shutdown)
            .with_graceful_shutdown(async { drop(stopped.await) })
            .with_deadline(peers::FOREVER);
        let server = Server::run(server, address, shutdown.clone());
        let mut client = Client::http1(address).await;
        assert_eq!(text(client.send(request("GET", "/", "")).await.unwrap()).await, "hello");
        assert!(!shutdown.is_draining());
        drop(stop);
        shutdown.draining().await;
        client.closed().await;
        assert!(server.ended().await.is_clean());
    });
}

#[test]
fn after_the_deadline_connections_are_reported_and_dropped() {
    on_each_scheduler("deadline", || async {
        for of_the_server in [true, false] {
            let (app, mut slow) = Slow::app();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let shutdown = Shutdown::new();
            let mut server = serve(listener, app).with_shutdown(&shutdown);
            if of_the_server {
                server = server.with_deadline(Duration::from_millis(1));
            }
            let server = Server::run(server, address, shutdown.clone());
            let mut client = Client::http1(address).await;
            let never = blitz::spawn(client.send(request("GET", "/slow", "")));
            slow.begun.recv().await.unwrap();

            let report = match of_the_server {
                true => {
                    shutdown.start();
                    server.ended().await
                }
                false => {
                    let report = shutdown.finish(Duration::from_millis(1)).await;
                    let _ = server.ended().await;
                    report
                }
            };
            let names: Vec<&str> = report.left.iter().map(|left| left.what.as_str()).collect();
            assert_eq!(names, [client.local.to_string()]);
            assert!(never.await.unwrap().unwrap_err().is_incomplete_message());
            assert_eq!(shutdown.running(), 0);
            assert!(slow.tally.is_even(), "the handler's future is gone");
        }
    });
}

#[test]
fn a_server_that_is_dropped_takes_its_connections_along() {
    on_each_scheduler("dropped", || async {
        let (app, mut slow) = Slow::app();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let task = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));
        let mut client = Client::http1(address).await;
        let never = blitz::spawn(client.send(request("GET", "/slow", "")));
        slow.begun.recv().await.unwrap();
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(never.await.unwrap().is_err());
        shutdown.drained().await;
        assert!(slow.tally.is_even());
    });
}

#[test]
fn one_coordinator_ends_several_servers() {
    on_each_scheduler("several servers", || async {
        let shutdown = Shutdown::new();
        let mut servers = Vec::new();
        for _ in 0..3 {
            let (app, _slow) = Slow::app();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = serve(listener, app).with_shutdown(&shutdown);
            servers.push(Server::run(server, address, shutdown.clone()));
            let mut client = Client::http1(address).await;
            assert_eq!(text(client.send(request("GET", "/", "")).await.unwrap()).await, "hello");
            // A task holds the client, so the connection stays open and idle.
            drop(blitz::spawn(async move { client.closed().await }));
        }
        assert_eq!(shutdown.running(), 3);
        assert!(shutdown.finish(peers::FOREVER).await.is_clean());
        for server in servers {
            assert!(server.ended().await.is_clean());
        }
    });
}

/// A handler that upgrades the connection and echoes all bytes.
fn echo_app() -> Router {
    let upgrade = |request: Request| async {
        let upgraded = hyper::upgrade::on(request);
        drop(blitz::spawn(async {
            let (mut from, mut to) = blitz::io::split(BlitzIo::new(upgraded.await.unwrap()));
            blitz::io::copy(&mut from, &mut to).await.unwrap();
        }));
        (
            StatusCode::SWITCHING_PROTOCOLS,
            [(header::CONNECTION, "upgrade"), (header::UPGRADE, "echo")],
        )
    };
    Router::new().route("/", get(upgrade))
}

/// A connection that is no longer HTTP.
async fn upgraded(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
}

async fn is_echoed(stream: &mut TcpStream) {
    stream.write_all(b"echo").await.unwrap();
    let mut echo = [0; 4];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"echo");
}

#[test]
fn a_connection_that_was_upgraded_is_waited_for() {
    on_each_scheduler("upgraded", || async {
        let server = Server::start(echo_app()).await;
        let mut stream = upgraded(&server).await;
        is_echoed(&mut stream).await;
        let shutdown = server.shutdown.clone();
        let end = blitz::spawn(server.finish());
        shutdown.draining().await;
        is_echoed(&mut stream).await;
        assert_eq!(shutdown.running(), 1);
        assert!(!end.is_finished());
        drop(stream);
        end.await.unwrap();
        assert_eq!(shutdown.running(), 0);
    });
}

#[test]
fn a_connection_that_was_upgraded_is_named_when_the_time_is_over() {
    on_each_scheduler("upgraded too long", || async {
        let server = Server::start(echo_app()).await;
        let shutdown = server.shutdown.clone();
        let mut stream = upgraded(&server).await;
        let report = shutdown.finish(Duration::from_millis(1)).await;
        let names: Vec<&str> = report.left.iter().map(|left| left.what.as_str()).collect();
        assert_eq!(names, [stream.local_addr().unwrap().to_string()]);
        assert_eq!(server.ended().await, report);
        // The connection belongs to its handler, and ends with it.
        is_echoed(&mut stream).await;
        drop(stream);
        shutdown.drained().await;
    });
}
