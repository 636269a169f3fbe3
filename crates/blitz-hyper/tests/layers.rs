//! Tests time limits, streams that are kept alive, and files, all without a Tokio runtime.

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
mod peers;

use axum::Router;
use axum::body::Body;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use blitz_hyper::{Files, TimeoutLayer, keep_alive};
use common::{Dir, Tally, on_each_scheduler};
use futures_util::{Stream, stream};
use http_body_util::BodyExt;
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use peers::{Client, Server, request, text};
use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io::Write;
use std::pin::pin;
use std::time::Duration;
use tower::ServiceExt;

#[blitz::test(start_paused = true)]
async fn a_service_has_until_its_limit() {
    let tally = Tally::default();
    let token = tally.clone();
    let never = move || {
        let token = token.token();
        async move {
            let _token = token;
            pending::<()>().await;
        }
    };
    let limit = TimeoutLayer::new(Duration::from_secs(5));
    let app: Router = Router::new()
        .route("/never", get(never))
        .route(
            "/slow",
            get(|| async {
                blitz::time::sleep(Duration::from_secs(4)).await;
                "in time"
            }),
        )
        .layer(limit);
    let ask = |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        app.clone().oneshot(request)
    };
    let begin = blitz::time::Instant::now();
    let late = ask("/never").await.unwrap();
    assert_eq!(late.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
    assert!(tally.is_even() && tally.made() == 1, "the service's future is dropped");
    let in_time = ask("/slow").await.unwrap();
    assert_eq!(in_time.status(), StatusCode::OK);

    let gateway: Router = Router::new()
        .route("/", get(|| async { pending::<()>().await }))
        .layer(limit.with_status(StatusCode::GATEWAY_TIMEOUT));
    let request = Request::get("/").body(Body::empty()).unwrap();
    assert_eq!(gateway.oneshot(request).await.unwrap().status(), StatusCode::GATEWAY_TIMEOUT);
}

/// One item per pause, in seconds.
fn paced(pauses: &'static [u64]) -> impl Stream<Item = u64> {
    stream::unfold(pauses, |left| async move {
        let (pause, left) = left.split_first()?;
        blitz::time::sleep(Duration::from_secs(*pause)).await;
        Some((*pause, left))
    })
}

#[blitz::test(start_paused = true)]
async fn silence_is_filled_and_the_end_is_kept() {
    let filled = keep_alive(paced(&[1, 7, 2]), Duration::from_secs(3), || 0);
    let mut filled = pin!(filled);
    let mut seen = Vec::new();
    while let Some(item) = poll_fn(|cx| filled.as_mut().poll_next(cx)).await {
        seen.push(item);
    }
    // The stream is silent for seven seconds, so two fillers come: after three and after six.
    assert_eq!(seen, [1, 0, 0, 7, 2]);
    assert_eq!(poll_fn(|cx| filled.as_mut().poll_next(cx)).await, None);
}

#[test]
fn events_are_kept_alive_over_a_connection() {
    on_each_scheduler("events_are_kept_alive_over_a_connection", || async {
        let events = || async {
            let silent = stream::pending::<Result<Event, Infallible>>();
            let comment = || Ok(Event::default().comment("still here"));
            Sse::new(keep_alive(silent, Duration::from_millis(1), comment))
        };
        let server = Server::start(Router::new().route("/", get(events))).await;
        let mut client = Client::http1(server.address).await;
        let mut answer = client.send(request("GET", "/", "")).await.unwrap();
        for _ in 0..3 {
            let frame = answer.body_mut().frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), ": still here\n\n");
        }
        drop((answer, client));
        server.finish().await;
    });
}

async fn ask_for(app: &Router, method: Method, path: &str) -> Response<Body> {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

async fn read(answer: Response<Body>) -> Vec<u8> {
    answer.into_body().collect().await.unwrap().to_bytes().to_vec()
}

#[test]
fn files_are_answers() {
    on_each_scheduler("files_are_answers", || async {
        let dir = Dir::new();
        let large: Vec<u8> = (0..1_000_003_u32).map(|n| n as u8).collect();
        std::fs::create_dir_all(dir.at("root/sub")).unwrap();
        std::fs::write(dir.at("secret"), "outside").unwrap();
        std::fs::write(dir.at("root/large.bin"), &large).unwrap();
        std::fs::write(dir.at("root/empty.css"), "").unwrap();
        std::fs::write(dir.at("root/sub/index.html"), "<p>").unwrap();
        let app: Router = Router::new().fallback_service(Files::new(dir.at("root")));

        let answer = ask_for(&app, Method::GET, "/large.bin").await;
        assert_eq!(answer.headers()[CONTENT_LENGTH], "1000003");
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/octet-stream");
        assert!(read(answer).await == large);
        let head = ask_for(&app, Method::HEAD, "/large.bin").await;
        assert_eq!(head.headers()[CONTENT_LENGTH], "1000003");
        assert!(read(head).await.is_empty());
        let empty = ask_for(&app, Method::GET, "/empty.css").await;
        assert_eq!(empty.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
        assert!(read(empty).await.is_empty());
        assert_eq!(read(ask_for(&app, Method::GET, "/sub/").await).await, b"<p>");
        let moved = ask_for(&app, Method::GET, "/sub").await;
        assert_eq!(moved.status(), StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(moved.headers()[LOCATION], "./sub/");
        let moved = ask_for(&app, Method::GET, "/sub?page=1&word=%2f%20").await;
        assert_eq!(moved.headers()[LOCATION], "./sub/?page=1&word=%2f%20");

        let refused = ask_for(&app, Method::POST, "/large.bin").await;
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(refused.headers()[ALLOW], "GET, HEAD");
        let too_long = format!("/{}", "x".repeat(5_000));
        for missing in ["/none", "/large.bin/x", "/", "/../secret", "/%2e%2e/secret", &too_long] {
            let answer = ask_for(&app, Method::GET, missing).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{missing}");
        }
    });
}

#[test]
fn a_file_that_changes_during_an_answer_breaks_no_other_answer() {
    on_each_scheduler("a_file_that_changes_during_an_answer_breaks_no_other_answer", || async {
        let dir = Dir::new();
        std::fs::write(dir.at("file"), vec![7; 300_000]).unwrap();
        let app: Router = Router::new().fallback_service(Files::new(dir.at("")));
        // The file has grown: the new bytes are not sent.
        let answer = ask_for(&app, Method::GET, "/file").await;
        let mut file = std::fs::OpenOptions::new().append(true).open(dir.at("file")).unwrap();
        file.write_all(b"more").unwrap();
        assert_eq!(read(answer).await.len(), 300_000);
        // The file has shrunk: the answer ends with an error, so its body does not look complete.
        let answer = ask_for(&app, Method::GET, "/file").await;
        file.set_len(1_000).unwrap();
        assert!(answer.into_body().collect().await.is_err());
        assert_eq!(read(ask_for(&app, Method::GET, "/file").await).await.len(), 1_000);
    });
}

#[test]
fn files_are_sent_by_a_server() {
    on_each_scheduler("files_are_sent_by_a_server", || async {
        let dir = Dir::new();
        std::fs::write(dir.at("index.html"), "<h1>here</h1>").unwrap();
        let server = Server::start(Router::new().fallback_service(Files::new(dir.at("")))).await;
        let mut client = Client::http1(server.address).await;
        let answer = client.send(request("GET", "/", "")).await.unwrap();
        assert_eq!(text(answer).await, "<h1>here</h1>");
        drop(client);
        server.finish().await;
    });
}
