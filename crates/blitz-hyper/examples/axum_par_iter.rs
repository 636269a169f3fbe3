//! An axum handler that computes with a parallel iterator, right where it is.
//!
//! Other workers answer requests while the handler computes. The program needs no second pool, no
//! channel and no `spawn_blocking`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::extract::Path;
use axum::{Router, routing::get};
use blitz::net::{TcpListener, TcpStream};
use blitz::prelude::*;
use blitz_hyper::{BlitzIo, BoxError, Shutdown, serve};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Request, client};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

fn is_prime(number: &u64) -> bool {
    (2..).take_while(|divisor| divisor * divisor <= *number).all(|divisor| number % divisor != 0)
}

/// Counts primes. The loop runs on the worker that polls this handler; idle workers take parts.
async fn primes(Path(limit): Path<u64>) -> String {
    IS_COUNTING.store(true, Relaxed);
    let count = (2..limit).into_par_iter().filter(is_prime).count();
    IS_COUNTING.store(false, Relaxed);
    count.to_string()
}

fn app() -> Router {
    Router::new().route("/primes/{limit}", get(primes)).route("/alive", get(|| async { "yes" }))
}

async fn ask(address: SocketAddr, path: &str) -> Result<Bytes, BoxError> {
    let stream = BlitzIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = client::conn::http1::handshake(stream).await?;
    drop(blitz::spawn(connection));
    let request = Request::get(path).header("host", "localhost").body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    assert_eq!(answer.status(), 200);
    Ok(answer.into_body().collect().await?.to_bytes())
}

#[blitz::main]
async fn main() -> Result<(), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let shutdown = Shutdown::new();
    let server = blitz::spawn(serve(listener, app()).with_shutdown(&shutdown));

    let counting = blitz::spawn(async move { ask(address, "/primes/1500000").await });
    let (mut answers, mut meanwhile, mut slowest) = (0, 0, Duration::ZERO);
    while !counting.is_finished() {
        let start = Instant::now();
        assert_eq!(ask(address, "/alive").await?, "yes");
        slowest = slowest.max(start.elapsed());
        answers += 1;
        meanwhile += usize::from(IS_COUNTING.load(Relaxed));
    }
    assert_eq!(counting.await??, "114155");

    let report = shutdown.finish(Duration::from_secs(10)).await;
    assert!(report.is_clean(), "{report}");
    server.await??;
    println!(
        "114155 primes; {answers} other answers, {meanwhile} during the count; slowest: {slowest:?}"
    );
    Ok(())
}
