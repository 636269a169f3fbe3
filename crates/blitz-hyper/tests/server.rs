//! Servers and clients on loopback: conversations that succeed, and those that end badly.

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
mod peers;

use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use axum::{Extension, Router};
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use blitz::sync::mpsc;
use blitz_hyper::{BoxError, Listener, Shutdown, serve, serve_make};
use common::{on_each_scheduler, watched};
use hyper::Version;
use peers::{Client, Server, request, text};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tower::service_fn;

fn app() -> Router {
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/length", post(|body: Bytes| async move { body.len().to_string() }))
        .route("/echo", post(|body: Body| async { body }))
        .route("/panic", get(unlucky))
        .layer(axum::extract::DefaultBodyLimit::disable())
}

async fn unlucky() -> &'static str {
    panic!("as the test wants it")
}

#[test]
fn one_connection_answers_many_requests() {
    on_each_scheduler("keep-alive", || async {
        let server = Server::start(app()).await;
        let mut client = Client::http1(server.address).await;
        for _ in 0..50 {
            client.ready().await;
            let answer = client.send(request("GET", "/", "")).await.unwrap();
            assert_eq!((answer.status().as_u16(), text(answer).await), (200, "hello".to_owned()));
        }
        client.ready().await;
        let answer = client.send(request("GET", "/nowhere", "")).await.unwrap();
        assert_eq!(answer.status().as_u16(), 404);
        assert_eq!(server.shutdown.running(), 1, "all requests used one connection");
        server.finish().await;
    });
}

#[test]
fn requests_that_do_not_wait_for_answers_get_them_in_order() {
    on_each_scheduler("pipelined", || async {
        let server = Server::start(app()).await;
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let mut requests = String::new();
        for length in 1..=20 {
            let body = "x".repeat(length);
            let close = if length == 20 { "connection: close\r\n" } else { "" };
            requests += &format!(
                "POST /length HTTP/1.1\r\nhost: a\r\n{close}content-length: {length}\r\n\r\n{body}"
            );
        }
        stream.write_all(requests.as_bytes()).await.unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.unwrap();
        let bodies: Vec<&str> = answers.split("\r\n\r\n").skip(1).collect();
        let lengths: Vec<String> = (1..=20).map(|length| length.to_string()).collect();
        assert_eq!(bodies.len(), 20, "{answers}");
        for (body, length) in bodies.iter().zip(&lengths) {
            // The next answer begins right after a body.
            assert_eq!(body.split("HTTP").next(), Some(length.as_str()));
        }
        server.finish().await;
    });
}

#[test]
fn large_bodies_come_back_whole() {
    on_each_scheduler("large bodies", || async {
        let server = Server::start(app()).await;
        let sent: String = (0..500_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
        for mut client in [Client::http1(server.address).await, Client::http2(server.address).await]
        {
            let answer = client.send(request("POST", "/echo", &sent)).await.unwrap();
            assert!(text(answer).await == sent, "the body that came back differs");
        }
        server.finish().await;
    });
}

#[test]
fn streams_of_one_http2_connection_do_not_wait_for_each_other() {
    on_each_scheduler("http/2", || async {
        let (entered, mut enter) = mpsc::unbounded_channel();
        let gate = std::sync::Arc::new(blitz::sync::Semaphore::new(0));
        let inside = gate.clone();
        let wait = get(move || async move {
            entered.send(()).unwrap();
            inside.acquire().await.unwrap().forget();
            "waited"
        });
        let server = Server::start(app().route("/wait", wait)).await;
        let mut client = Client::http2(server.address).await;
        let mut waiting = blitz::JoinSet::new();
        for _ in 0..20 {
            waiting.spawn(client.send(request("GET", "/wait", "")));
        }
        for _ in 0..20 {
            enter.recv().await.unwrap();
        }
        let quick = client.send(request("GET", "/", "")).await.unwrap();
        assert_eq!(quick.version(), Version::HTTP_2);
        assert_eq!(text(quick).await, "hello");
        gate.add_permits(20);
        while let Some(answer) = waiting.join_next().await {
            assert_eq!(text(answer.unwrap().unwrap()).await, "waited");
        }
        assert_eq!(server.shutdown.running(), 1, "all requests used one connection");
        server.finish().await;
    });
}

#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    on_each_scheduler("vanishing clients", || async {
        let server = Server::start(app()).await;
        let beginnings = [
            "",
            "GET / HT",
            "POST /length HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nand no more",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "not HTTP at all\r\n\r\n",
        ];
        for beginning in beginnings {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            drop(stream);
        }
        // A client that goes away in the middle of a body that the server sends back.
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let length = 50_000_000;
        let head = format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b'x'; 100_000]).await.unwrap();
        let mut first = [0; 8];
        stream.read_exact(&mut first).await.unwrap();
        drop(stream);
        // Other clients are served. The connections of all clients are gone before the shutdown
        // begins.
        let mut client = Client::http1(server.address).await;
        assert_eq!(text(client.send(request("GET", "/", "")).await.unwrap()).await, "hello");
        drop(client);
        server.shutdown.drained().await;
        server.finish().await;
    });
}

#[test]
fn a_panic_ends_its_connection_only() {
    on_each_scheduler("panic", || async {
        let server = Server::start(app()).await;
        let mut unlucky = Client::http1(server.address).await;
        let mut other = Client::http1(server.address).await;
        assert_eq!(text(other.send(request("GET", "/", "")).await.unwrap()).await, "hello");
        unlucky.send(request("GET", "/panic", "")).await.unwrap_err();
        other.ready().await;
        assert_eq!(text(other.send(request("GET", "/", "")).await.unwrap()).await, "hello");
        server.finish().await;
    });
}

#[test]
fn a_panic_goes_to_the_pools_handler() {
    watched("panic handler", |watch| {
        let (told, panics) = std::sync::mpsc::channel();
        let pool = blitz::Pool::builder().workers(2).panic_handler(move |panic| {
            told.send(panic.downcast_ref::<&str>().copied()).unwrap();
        });
        let runtime = watch.runtime(pool.build().unwrap());
        runtime.block_on(async {
            let server = Server::start(app()).await;
            let mut client = Client::http1(server.address).await;
            client.send(request("GET", "/panic", "")).await.unwrap_err();
            server.finish().await;
        });
        assert_eq!(panics.recv().unwrap(), Some("as the test wants it"));
    });
}

#[test]
fn a_connection_that_says_nothing_ends_well() {
    on_each_scheduler("silent", || async {
        let (told, mut errors) = mpsc::unbounded_channel::<String>();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let server = serve(listener, app())
            .with_shutdown(&shutdown)
            .on_error(move |error| told.send(error.to_string()).unwrap());
        let server = Server::run(server, address, shutdown);
        let mut silent = TcpStream::connect(address).await.unwrap();
        while server.shutdown.running() == 0 {
            blitz::task::yield_now().await;
        }
        server.finish().await;
        assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(errors.recv().await, None);
    });
}

#[test]
fn a_server_that_has_begun_may_be_moved_and_keeps_its_settings() {
    watched("a_server_that_has_begun_may_be_moved_and_keeps_its_settings", |_| {
        blitz::block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let shutdown = Shutdown::new();
            let mut server = serve(listener, app()).with_shutdown(&shutdown);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut server).poll(&mut cx).is_pending());
            // Too late: the server runs already, and the first coordinator ends it.
            let server = server.with_shutdown(&Shutdown::new());
            assert!(format!("{server:?}").contains("runs: true"));
            let server = blitz::spawn(server);
            shutdown.start();
            assert!(server.await.unwrap().unwrap().is_clean());
        });
    });
}

#[test]
fn a_service_for_each_connection_knows_the_peer() {
    on_each_scheduler("make service", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let who = get(|Extension(peer): Extension<SocketAddr>| async move { peer.to_string() });
        let app = Router::new().route("/", who);
        let make = service_fn(move |peer: SocketAddr| {
            let app = app.clone().layer(Extension(peer));
            async move { Ok::<_, Infallible>(app) }
        });
        let shutdown = Shutdown::new();
        let server = serve_make(listener, make).with_shutdown(&shutdown);
        let server = Server::run(server, address, shutdown);
        let mut client = Client::http1(address).await;
        let answer = client.send(request("GET", "/", "")).await.unwrap();
        assert_eq!(text(answer).await, client.local.to_string());
        server.finish().await;
    });
}

#[test]
fn errors_go_to_the_error_handler() {
    on_each_scheduler("errors", || async {
        let (told, mut errors) = mpsc::unbounded_channel::<String>();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tell = move |error: BoxError| told.send(error.to_string()).unwrap();
        let mut turn = 0;
        let make = service_fn(move |_: SocketAddr| {
            turn += 1;
            let made = if turn == 1 { Err("no service for you") } else { Ok(app()) };
            async move { made }
        });
        let shutdown = Shutdown::new();
        let server = serve_make(listener, make)
            .with_shutdown(&shutdown)
            .with_handshake(|mut stream: TcpStream| async move {
                match stream.read_u8().await? {
                    b'!' => Ok(stream),
                    _ => Err(io::Error::other("not the password")),
                }
            })
            .on_error(tell);
        let server = Server::run(server, address, shutdown);

        let _first = TcpStream::connect(address).await.unwrap();
        assert_eq!(errors.recv().await.unwrap(), "no service for you");
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(b"?").await.unwrap();
        assert_eq!(errors.recv().await.unwrap(), "not the password");
        let mut third = TcpStream::connect(address).await.unwrap();
        third.write_all(b"!GET / HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        third.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
        server.finish().await;
    });
}

/// A listener that returns its errors first, and then accepts connections.
struct Troubled {
    errors: VecDeque<io::Error>,
    listener: TcpListener,
}

impl Listener for Troubled {
    type Stream = TcpStream;
    type Peer = SocketAddr;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        match self.errors.pop_front() {
            Some(error) => Poll::Ready(Err(error)),
            None => self.listener.poll_accept(cx),
        }
    }
}

#[test]
fn a_server_survives_temporary_errors_of_accept() {
    const TOO_MANY_FILES: i32 = 24;
    const BAD_DESCRIPTOR: i32 = 9;
    on_each_scheduler("errors of accept", || async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let passing =
            [io::Error::from_raw_os_error(TOO_MANY_FILES), io::ErrorKind::ConnectionAborted.into()];
        let listener = Troubled { errors: passing.into(), listener };
        let (told, mut errors) = mpsc::unbounded_channel();
        let shutdown = Shutdown::new();
        let server = serve(listener, app()).with_shutdown(&shutdown).on_error(move |error| {
            told.send(error.downcast::<io::Error>().unwrap().kind()).unwrap();
        });
        let server = Server::run(server, address, shutdown);
        errors.recv().await.unwrap();
        assert_eq!(errors.recv().await.unwrap(), io::ErrorKind::ConnectionAborted);
        let mut client = Client::http1(address).await;
        assert_eq!(text(client.send(request("GET", "/", "")).await.unwrap()).await, "hello");
        server.finish().await;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let lasting = [io::Error::from_raw_os_error(BAD_DESCRIPTOR)];
        let listener = Troubled { errors: lasting.into(), listener };
        let error = serve(listener, app()).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(BAD_DESCRIPTOR));
    });
}

#[test]
fn sockets_of_the_file_system_work_as_well() {
    on_each_scheduler("unix sockets", || async {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("blitz-hyper-{}-{}", std::process::id(), unique()));
        let listener = UnixListener::bind(&path).unwrap();
        let (stop, stopped) = blitz::sync::oneshot::channel::<()>();
        let server = serve(listener, app()).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let server = blitz::spawn(server);
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
        drop(stop);
        assert!(server.await.unwrap().unwrap().is_clean());
        std::fs::remove_file(path).unwrap();
    });
}

fn unique() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Relaxed)
}

/// Makes services. Its first polls and calls panic or fail.
struct Unlucky {
    connections: usize,
}

impl tower::Service<SocketAddr> for Unlucky {
    type Response = Router;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Router>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connections += 1;
        match self.connections {
            1 => panic!("as the test wants it"),
            2 => Poll::Ready(Err(io::Error::other("not ready"))),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, _: SocketAddr) -> Self::Future {
        std::future::ready(match self.connections {
            3 => panic!("as the test wants it"),
            4 => Err(io::Error::other("no service")),
            _ => Ok(app()),
        })
    }
}

#[test]
fn a_panic_of_the_make_service_or_of_the_error_handler_ends_one_connection() {
    watched("a panic of the make service", |watch| {
        let (told, panics) = std::sync::mpsc::channel();
        let pool = blitz::Pool::builder().workers(2).panic_handler(move |panic| {
            told.send(panic.downcast_ref::<&str>().copied()).unwrap();
        });
        let runtime = watch.runtime(pool.build().unwrap());
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let shutdown = Shutdown::new();
            let server = serve_make(listener, Unlucky { connections: 0 })
                .with_shutdown(&shutdown)
                .on_error(|_| panic!("as the test wants it"));
            let server = Server::run(server, address, shutdown);
            for connection in 1..=4 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let read = stream.read(&mut [0]).await;
                assert_eq!(read.unwrap(), 0, "connection {connection}");
            }
            let mut client = Client::http1(address).await;
            assert_eq!(text(client.send(request("GET", "/", "")).await.unwrap()).await, "hello");
            drop(client);
            server.finish().await;
        });
        // Each of the four connections has caused one panic.
        for _ in 0..4 {
            assert_eq!(panics.recv().unwrap(), Some("as the test wants it"));
        }
    });
}
