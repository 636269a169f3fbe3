use ::axum::body::{Body, to_bytes};
use ::axum::http::{Request, StatusCode, header};
use ::axum::routing::get;
use ::axum::{Router, response::Response};
use ::tower::ServiceExt;
use ::tower_http::catch_panic::CatchPanicLayer;
use ::tower_http::compression::CompressionLayer;
use ::tower_http::cors::CorsLayer;
use ::tower_http::services::ServeDir;
use ::tower_http::timeout::TimeoutLayer;
use ::tower_http::trace::TraceLayer;
use std::future::pending;
use std::time::Duration;

async fn ask(app: Router, path: &str) -> Response {
    let request = Request::get(path)
        .header(header::ACCEPT_ENCODING, "gzip")
        .header(header::ORIGIN, "http://here")
        .body(Body::empty());
    app.oneshot(request.unwrap()).await.unwrap()
}

#[blitz::test(workers = 2)]
async fn as_is() {
    let app = Router::new()
        .route("/", get(|| async { "text ".repeat(100) }))
        .route(
            "/panic",
            get(|| async {
                if true {
                    panic!("on purpose")
                }
            }),
        )
        .layer(CatchPanicLayer::new())
        .layer(CompressionLayer::new())
        .layer(CorsLayer::permissive())
        .layer(TraceLayer::new_for_http());
    let answer = ask(app.clone(), "/").await;
    assert_eq!(answer.headers()[header::CONTENT_ENCODING], "gzip");
    assert_eq!(answer.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    assert!(to_bytes(answer.into_body(), 1_000).await.unwrap().len() < 100);
    assert_eq!(ask(app, "/panic").await.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let late =
        TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_millis(1));
    let app = Router::new()
        .route("/never", get(|| async { pending::<()>().await }))
        .layer(late)
        .fallback_service(ServeDir::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(ask(app.clone(), "/never").await.status(), StatusCode::REQUEST_TIMEOUT);
    let file = ask(app, "/Cargo.toml").await;
    let text = to_bytes(file.into_body(), 1 << 20).await.unwrap();
    assert!(text.starts_with(b"[package]"));
}
