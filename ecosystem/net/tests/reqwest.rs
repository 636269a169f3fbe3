use ::axum::extract::Path;
use ::axum::routing::{get, post};
use ::axum::{Json, Router};
use blitz::net::TcpListener;
use blitz_hyper::{Shutdown, serve};
use std::future::pending;
use std::time::Duration;

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let app = Router::new()
        .route("/double/{n}", get(|Path(n): Path<u32>| async move { Json(2 * n) }))
        .route(
            "/sum",
            post(|Json(all): Json<Vec<u32>>| async move { Json(all.iter().sum::<u32>()) }),
        )
        .route("/never", get(|| async { pending::<()>().await }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let shutdown = Shutdown::new();
    let server = blitz::spawn(serve(listener, app).with_shutdown(&shutdown));

    let client = ::reqwest::Client::new();
    let tasks: Vec<_> = (0..20_u32)
        .map(|n| {
            let asked = client.get(format!("{base}/double/{n}")).send();
            blitz::spawn(async move { asked.await.unwrap().json::<u32>().await.unwrap() })
        })
        .collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap() as usize, 2 * n);
    }
    let sum = client.post(format!("{base}/sum")).json(&[1, 2, 3]).send().await.unwrap();
    assert_eq!(sum.json::<u32>().await.unwrap(), 6);
    let slow = client.get(format!("{base}/never")).timeout(Duration::from_millis(5));
    assert!(slow.send().await.unwrap_err().is_timeout());
    drop(client);
    shutdown.finish(Duration::from_secs(60)).await;
    server.await.unwrap().unwrap();
    let refused = ::reqwest::get(format!("{base}/double/1")).await.unwrap_err();
    assert!(refused.is_connect(), "{refused}");
}
