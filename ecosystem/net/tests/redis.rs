use crate::peers::Peer;
use ::redis::AsyncCommands;

/// Counts with several tasks. With the features `tokio-comp` and `smol-comp` together, redis uses
/// Tokio's runtime if there is a guest, and smol's otherwise.
async fn count() {
    let Some(server) = Peer::redis() else { return };
    let client = ::redis::Client::open(format!("redis://127.0.0.1:{}/", server.port)).unwrap();
    let connection = client.get_connection_manager().await.unwrap();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let mut connection = connection.clone();
            blitz::spawn(async move { connection.incr::<_, _, u32>("count", 1).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let mut connection = connection;
    assert_eq!(connection.get::<_, u32>("count").await.unwrap(), 10);
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    count().await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    count().await;
}
