use ::sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use ::sqlx::{Connection, SqliteConnection};

#[blitz::test(workers = 2)]
async fn as_is() {
    // One connection without a pool: SQLite runs on a thread of sqlx's own.
    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let sum: i64 =
        ::sqlx::query_scalar("SELECT ? + 2").bind(40).fetch_one(&mut connection).await.unwrap();
    assert_eq!(sum, 42);
    connection.close().await.unwrap();
}

/// Writes with several tasks over a pool. With both features sqlx uses Tokio's runtime if there is
/// a guest, and smol's otherwise.
async fn use_a_pool(name: &str) {
    let place = std::env::temp_dir().join(format!("blitz-sqlx-{name}-{}", std::process::id()));
    let options = SqliteConnectOptions::new().filename(&place).create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(3).connect_with(options).await.unwrap();
    ::sqlx::query("CREATE TABLE numbers (n INTEGER)").execute(&pool).await.unwrap();
    let tasks: Vec<_> = (1..=20_i64)
        .map(|n| {
            let pool = pool.clone();
            blitz::spawn(async move {
                let mut change = pool.begin().await.unwrap();
                let insert = ::sqlx::query("INSERT INTO numbers VALUES (?)").bind(n);
                insert.execute(&mut *change).await.unwrap();
                change.commit().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let sum: i64 =
        ::sqlx::query_scalar("SELECT sum(n) FROM numbers").fetch_one(&pool).await.unwrap();
    assert_eq!(sum, 210);
    pool.close().await;
    std::fs::remove_file(&place).unwrap();
}

#[blitz::test(workers = 2)]
async fn by_feature() {
    use_a_pool("smol").await;
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    use_a_pool("tokio").await;
}
