//! What the page says about a pool: `Builder::inspect`.
#![cfg(feature = "inspect")]

mod common;

use blitz::{Pool, task};
use common::wait_for;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The answer to a request for data of the pool `name`.
fn ask(page: SocketAddr, path: &str, name: &str) -> serde_json::Value {
    let mut client = TcpStream::connect(page).unwrap();
    let head = format!("GET /api/v1/{path}?pool={name} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn shown(name: &str) -> (Pool, SocketAddr) {
    let pool = Pool::builder().workers(1).build().unwrap();
    let settings = blitz::inspect::Inspect::at("127.0.0.1:0").name(name);
    let page = pool.inspect(settings).unwrap().unwrap();
    (pool, page.address())
}

#[test]
fn tasks_are_listed_as_the_pool_lists_them() {
    let (pool, page) = shown("tasks");
    let name = "<b>\"&";
    let named = task::Builder::new().name(name).spawn_on(pending::<()>(), &pool.handle()).unwrap();
    let tasks = [named, pool.spawn(pending()), pool.spawn(pending())];
    wait_for(|| pool.tasks().len() == tasks.len());
    let answer = ask(page, "tasks", "tasks");
    assert_eq!(answer["total"], "3");
    let listed = answer["tasks"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{answer}");
    for task in &tasks {
        let found = listed.iter().find(|listed| listed["id"] == task.id().to_string());
        let found = found.unwrap_or_else(|| panic!("{} is not in {answer}", task.id()));
        assert!(found["site"].as_str().unwrap().contains("inspect_pools.rs:"), "{found}");
        assert_eq!(found["state"], "waiting");
        let has_name = task.id() == tasks[0].id();
        assert_eq!(found.get("name").and_then(|name| name.as_str()), has_name.then_some(name));
    }
    let idle = |task: &serde_json::Value| task["idle_ms"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(listed.is_sorted_by(|a, b| idle(a) >= idle(b)), "the longest wait first: {answer}");
    let types = answer["types"].as_array().unwrap();
    let alive = types.iter().map(|row| row["alive"].as_str().unwrap().parse::<u64>().unwrap());
    assert_eq!(alive.sum::<u64>(), 3, "{answer}");
    assert!(types.iter().all(|row| row["oldest_ms"].is_string()), "{answer}");
}

#[test]
fn a_pool_that_has_ended_is_not_found() {
    let (pool, page) = shown("ends");
    assert_eq!(ask(page, "summary", "ends")["pool"], "ends");
    drop(pool);
    assert!(ask(page, "summary", "ends")["error"].is_string());
}

#[cfg(unix)]
mod from_env {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    /// A daemon may have closed what reads its standard error.
    #[test]
    fn a_page_needs_no_standard_error() {
        const INSIDE: &str = "BLITZ_TEST_INSIDE";
        if std::env::var_os(INSIDE).is_some() {
            drop(blitz::Pool::builder().workers(1).build().unwrap());
            assert_eq!(blitz::inspect::pages().len(), 1);
            return;
        }
        let (unread, error) = UnixStream::pair().unwrap();
        drop(unread);
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["from_env::a_page_needs_no_standard_error", "--exact", "--nocapture"])
            .envs([(INSIDE, "1"), ("BLITZ_INSPECT", "127.0.0.1:0")])
            .stderr(OwnedFd::from(error))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
