//! A hundred requests at once over one HTTP/2 connection.
//!
//! A graceful shutdown begins before any of them is answered. All of them still get an answer.

use axum::extract::Path;
use axum::{Router, routing::get};
use blitz::JoinSet;
use blitz::net::{TcpListener, TcpStream};
use blitz::sync::Barrier;
use blitz_hyper::{BlitzExecutor, BlitzIo, BlitzTimer, BoxError, Shutdown, serve};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use std::sync::Arc;
use std::time::Duration;

const REQUESTS: u64 = 100;

#[blitz::main]
async fn main() -> Result<(), BoxError> {
    // No request is answered before all have arrived and the shutdown has begun.
    let together = Arc::new(Barrier::new(REQUESTS as usize + 1));
    let meeting = together.clone();
    let square = get(move |Path(n): Path<u64>| async move {
        meeting.wait().await;
        meeting.wait().await;
        (n * n).to_string()
    });
    let app = Router::new().route("/square/{n}", square);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let shutdown = Shutdown::new();
    let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));

    let stream = BlitzIo::new(TcpStream::connect(address).await?);
    let (sender, connection) = http2::Builder::new(BlitzExecutor::new())
        .timer(BlitzTimer::new())
        .handshake(stream)
        .await?;
    drop(blitz::spawn(connection));
    let mut requests = JoinSet::new();
    for n in 0..REQUESTS {
        let mut sender = sender.clone();
        requests.spawn(async move {
            let uri = format!("http://{address}/square/{n}");
            let answer =
                sender.send_request(Request::get(uri).body(Empty::<Bytes>::new())?).await?;
            let body = answer.into_body().collect().await?.to_bytes();
            Ok::<u64, BoxError>(std::str::from_utf8(&body)?.parse()?)
        });
    }

    let end = blitz::spawn(async move {
        together.wait().await;
        shutdown.start();
        together.wait().await;
        shutdown.finish(Duration::from_secs(10)).await
    });
    let mut sum = 0;
    while let Some(square) = requests.join_next().await {
        sum += square??;
    }
    assert_eq!(sum, (0..REQUESTS).map(|n| n * n).sum::<u64>());
    let report = end.await?;
    assert!(report.is_clean(), "{report}");
    server.await??;
    println!("the sum of {REQUESTS} squares is {sum}; {report}");
    Ok(())
}
