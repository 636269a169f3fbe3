//! A service with axum, sqlx and reqwest, written for Tokio, on Blitz.
//!
//! [`from-tokio.diff`](../from-tokio.diff) is the whole port: `blitz-rt` with the feature
//! `tokio-guest` beside Tokio, the attribute, and the handler `look`. Nothing else changes:
//! `axum::serve`, the pool of connections and the client run on the guest's reactor and timers.
//!
//! The handler `look` is what the port is for: it computes, and forks on the thread that runs it.
//! `axum::serve` runs handlers on the guest's one thread, which waits for the fork. That is fine
//! for a fork of microseconds. If a handler computes for longer, let it await `blitz::spawn_cpu`,
//! or serve the router by `blitz_hyper::serve`. Then other requests go on.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Keeps a word.
async fn keep(State(pool): State<SqlitePool>, Json(word): Json<String>) -> Json<i64> {
    let insert = sqlx::query("INSERT INTO words (word) VALUES (?)").bind(word);
    Json(insert.execute(&pool).await.map_or(-1, |done| done.last_insert_rowid()))
}

/// Returns a word, and how many of its letters are vowels.
async fn look(State(pool): State<SqlitePool>, Path(id): Path<i64>) -> Json<(String, usize)> {
    let found = sqlx::query_scalar("SELECT word FROM words WHERE id = ?").bind(id);
    let word: String = found.fetch_one(&pool).await.unwrap_or_default();
    let letters = word.char_indices().map(|(at, _)| at);
    let middle = letters.clone().nth(letters.count() / 2).unwrap_or(0);
    let (left, right) = word.split_at(middle);
    let (left, right) = blitz::join(|| vowels(left), || vowels(right));
    Json((word, left + right))
}

fn vowels(text: &str) -> usize {
    text.chars().filter(|letter| "aeiou".contains(*letter)).count()
}

#[blitz::main(tokio)]
async fn main() -> Result<(), Failure> {
    let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    sqlx::query("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT)").execute(&pool).await?;
    let app = Router::new()
        .route("/words", post(keep))
        .route("/words/{id}", get(look))
        .with_state(pool.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/words", listener.local_addr()?);
    let server = tokio::spawn(axum::serve(listener, app).into_future());

    let client = reqwest::Client::new();
    let id: i64 = client.post(&base).json("concurrency").send().await?.json().await?;
    let answer: (String, usize) = client.get(format!("{base}/{id}")).send().await?.json().await?;
    assert_eq!(answer, ("concurrency".to_owned(), 3));
    println!("{answer:?}");

    server.abort();
    pool.close().await;
    Ok(())
}
