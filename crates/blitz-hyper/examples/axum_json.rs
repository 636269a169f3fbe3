//! An axum application whose handler computes in parallel, right where it is.
//!
//! There is no second pool to hand the work to. Other workers answer requests while the handler
//! computes.

use axum::extract::Json;
use axum::routing::post;
use axum::{Router, routing::get};
use blitz::net::{TcpListener, TcpStream};
use blitz_hyper::{BlitzIo, BoxError, Shutdown, serve};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, client};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Deserialize, Serialize)]
struct Numbers {
    numbers: Vec<u64>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Summary {
    smallest: u64,
    median: u64,
    largest: u64,
}

fn sort(numbers: &mut [u64]) {
    if numbers.len() <= 1 {
        return;
    }
    let middle = numbers.len() / 2;
    numbers.select_nth_unstable(middle);
    let (low, high) = numbers.split_at_mut(middle);
    blitz::join(|| sort(low), || sort(&mut high[1..]));
}

async fn summarize(Json(Numbers { mut numbers }): Json<Numbers>) -> Json<Option<Summary>> {
    sort(&mut numbers);
    let summary = numbers.first().zip(numbers.last()).map(|(&smallest, &largest)| Summary {
        smallest,
        median: numbers[numbers.len() / 2],
        largest,
    });
    Json(summary)
}

fn app() -> Router {
    Router::new().route("/summary", post(summarize)).route("/alive", get(|| async { "yes" }))
}

async fn ask(address: SocketAddr, path: &str, body: Vec<u8>) -> Result<Bytes, BoxError> {
    let stream = BlitzIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = client::conn::http1::handshake(stream).await?;
    drop(blitz::spawn(connection));
    let request = Request::builder()
        .method(if body.is_empty() { "GET" } else { "POST" })
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::<Bytes>::from(body))?;
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

    // Every number below 200,000 once, in an order that looks random.
    let numbers = (0..200_000_u64).map(|n| n * 7_919 % 200_000).collect();
    let body = serde_json::to_vec(&Numbers { numbers })?;
    let sorting = blitz::spawn(async move { ask(address, "/summary", body).await });
    let alive = ask(address, "/alive", Vec::new()).await?;
    assert_eq!(alive, "yes");
    let summary: Summary = serde_json::from_slice(&sorting.await??)?;
    assert_eq!(summary, Summary { smallest: 0, median: 100_000, largest: 199_999 });

    let report = shutdown.finish(Duration::from_secs(10)).await;
    assert!(report.is_clean(), "{report}");
    server.await??;
    println!("{summary:?}; {report}");
    Ok(())
}
