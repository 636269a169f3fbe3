//! Checks the page of a pool that is stuck, very large, ended, or that asked for no page.
#![cfg(feature = "inspect")]

mod common;

use blitz::inspect::Inspect;
use blitz::{Pool, task};
use common::{wait_for, watched};
use serde_json::Value;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};

/// Returns the status and the body of the answer to a request.
fn get(page: SocketAddr, target: &str) -> (String, String) {
    let mut client = TcpStream::connect(page).unwrap();
    write!(client, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    // A trace is no text.
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

/// Returns the data of the pool `name` at `path`, which may end with further parameters.
fn ask(page: SocketAddr, path: &str, name: &str) -> Value {
    let separator = if path.contains('?') { '&' } else { '?' };
    let (status, body) = get(page, &format!("/api/v1/{path}{separator}pool={name}"));
    assert_eq!(status, "200", "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap_or_else(|| panic!("{field} is no list: {value}"))
}

/// The number that a field has as text.
fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// A gate that blocks threads until it is opened.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// Opens the gate even if the test fails, so that the pool can end.
struct Opens(Arc<Gate>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[test]
fn a_hung_pool_answers_every_request() {
    for spares in [0, 2] {
        watched("the page of a hung pool", |watch| {
            const WORKERS: usize = 2;
            let name = format!("hung-{spares}");
            let pool = Pool::builder().workers(WORKERS).spares(spares).build().unwrap();
            let pool = watch.pool(pool);
            let page = pool.inspect(Inspect::at("127.0.0.1:0").name(&name)).unwrap().unwrap();
            let page = page.address();
            // This task waits before the pool hangs.
            let waits = pool.spawn(pending::<()>());
            wait_for(|| pool.metrics().tasks.waiting == 1);
            let gate = Arc::new(Gate::default());
            let opens = Opens(gate.clone());
            let (begun, begins) = channel();
            // Each thread of the pool blocks, and one task more is left over.
            let threads = WORKERS + spares;
            for _ in 0..=threads {
                let (gate, begun) = (gate.clone(), begun.clone());
                let blocks = async move {
                    let _ = begun.send(());
                    gate.wait();
                };
                let culprit = task::Builder::new().name("culprit");
                drop(culprit.spawn_on(blocks, &pool.handle()).unwrap());
            }
            for _ in 0..threads {
                begins.recv().unwrap();
            }
            // No thread of the pool can run anything now. The page's server lists the stuck workers
            // anew for each request. That needs no thread of the pool, and no watch.
            let are_listed = |stalls: &Value| {
                let now = list(stalls, "stalls").iter().filter(|stall| stall["over"] != true);
                now.count() >= WORKERS
            };
            wait_for(|| are_listed(&ask(page, "stalls", &name)));
            let stalls = ask(page, "stalls", &name);
            for stall in list(&stalls, "stalls") {
                assert_eq!(stall["task"]["name"], "culprit", "{stalls}");
            }
            let summary = ask(page, "summary", &name);
            assert_eq!(summary["workers"], WORKERS);
            assert_eq!(number(&summary["tasks"]["alive"]), threads as u64 + 2, "{summary}");
            assert!(number(&summary["tasks"]["runnable"]) >= 1, "{summary}");
            let workers = ask(page, "workers", &name);
            let busy = list(&workers, "workers").iter().filter(|worker| worker["state"] == "busy");
            assert_eq!(busy.count(), threads, "{workers}");
            let tasks = ask(page, "tasks", &name);
            assert_eq!(number(&tasks["total"]), threads as u64 + 2, "{tasks}");
            for (path, field) in [("tasks", "tasks"), ("explain", "oldest")] {
                let answer = ask(page, path, &name);
                let id = waits.id().to_string();
                assert!(list(&answer, field).iter().any(|task| task["id"] == id), "{answer}");
            }
            assert!(ask(page, "explain", &name)["verdict"].is_string());
            assert!(list(&ask(page, "timeline", &name), "tracks").len() >= threads);
            for target in ["/", "/app.js", &format!("/metrics?pool={name}")] {
                assert_eq!(get(page, target).0, "200", "{target}");
            }
            drop(opens);
            begins.recv().unwrap();
            drop(waits);
        });
    }
}

#[test]
fn ten_thousand_tasks_and_two_hundred_workers_are_shown() {
    const TASKS: usize = 10_000;
    const WORKERS: usize = 200;
    watched("the page of a large pool", |watch| {
        let pool = watch.pool(Pool::builder().workers(WORKERS).build().unwrap());
        let page = pool.inspect(Inspect::at("127.0.0.1:0").name("crowd")).unwrap().unwrap();
        let page = page.address();
        // A chain: each task awaits the task before it.
        let mut last = pool.spawn(pending::<()>());
        for _ in 1..TASKS {
            let before = last;
            last = pool.spawn(async move { drop(before.await) });
        }
        wait_for(|| pool.metrics().tasks.waiting == TASKS as u64);
        wait_for(|| pool.tasks().iter().filter(|task| task.idle().is_some()).count() == TASKS);
        let tasks = ask(page, "tasks", "crowd");
        assert_eq!(number(&tasks["total"]), TASKS as u64);
        assert_eq!(list(&tasks, "tasks").len(), 1_000, "the limit of a request that names none");
        let alive: u64 = list(&tasks, "types").iter().map(|row| number(&row["alive"])).sum();
        assert_eq!(alive, TASKS as u64, "types count all tasks, listed or not");
        let all = ask(page, "tasks?limit=100000", "crowd");
        assert_eq!(list(&all, "tasks").len(), TASKS);
        let ids = list(&all, "tasks").iter().map(|task| task["id"].as_str().unwrap());
        assert_eq!(
            ids.collect::<std::collections::HashSet<_>>().len(),
            TASKS,
            "each is listed once"
        );
        let explain = ask(page, "explain", "crowd");
        assert!(explain["verdict"].is_string(), "{}", explain["verdict"]);
        assert!(list(&explain, "cycles").is_empty(), "a chain is no deadlock");
        let lengths = ["oldest", "edges"].map(|field| list(&explain, field).len());
        assert_eq!(lengths, [100, 1_000], "the answer has a limit, however many tasks wait");
        let edges = list(&explain, "edges");
        assert!(edges.iter().all(|edge| edge["kind"] == "join"), "{}", edges[0]);
        let workers = ask(page, "workers", "crowd");
        assert!(list(&workers, "workers").len() >= WORKERS);
        drop(last);
    });
}

#[test]
fn a_pool_that_ends_between_two_requests_is_over_for_all_of_them() {
    const PATHS: [&str; 7] =
        ["summary", "workers", "tasks", "stalls", "explain", "timeline", "trace"];
    watched("the page of a pool that ends", |_| {
        let pool = Pool::builder().workers(2).build().unwrap();
        let stays = Pool::builder().workers(1).build().unwrap();
        let page = pool.inspect(Inspect::at("127.0.0.1:0").name("goes")).unwrap().unwrap();
        let other = stays.inspect(Inspect::at("127.0.0.1:0").name("stays")).unwrap().unwrap();
        assert_eq!(other.address(), page.address());
        let page = page.address();
        let waits = pool.spawn(pending::<()>());
        pool.install(|| blitz::region("load", || ()));
        let regions = ask(page, "summary", "goes")["regions"].take();
        assert_eq!((&regions[0]["name"], &regions[0]["runs"]), (&"load".into(), &"1".into()));
        for path in PATHS {
            assert_eq!(get(page, &format!("/api/v1/{path}?pool=goes")).0, "200", "{path}");
        }
        let mut stream = TcpStream::connect(page).unwrap();
        stream
            .write_all(b"GET /api/v1/stream?pool=goes HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&text).contains("event: stalls\n") {
            let read = stream.read(&mut piece).unwrap();
            assert_ne!(read, 0, "the stream ended before its pool");
            text.extend_from_slice(&piece[..read]);
        }
        drop(waits);
        drop(pool);
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("event: ended\ndata: {}\n\n"), "{rest}");
        for path in PATHS.into_iter().chain(["stream"]) {
            let (status, body) = get(page, &format!("/api/v1/{path}?pool=goes"));
            assert_eq!(status, "404", "{path}: {body}");
            assert!(body.contains("or it has ended"), "{path}: {body}");
        }
        assert_eq!(ask(page, "summary", "stays")["pool"], "stays", "the other pool goes on");
    });
}

#[cfg(target_os = "linux")]
mod listeners {
    use blitz::Pool;
    use blitz::time::sleep;
    use std::collections::HashSet;
    use std::process::Command;
    use std::time::Duration;

    /// Set in the process that looks for its own listeners.
    const INSIDE: &str = "BLITZ_TEST_INSIDE";

    /// The inodes of the sockets that this process has open.
    fn own_sockets() -> HashSet<String> {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = descriptors.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        let inode = |link: std::path::PathBuf| {
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        };
        links.filter_map(inode).collect()
    }

    /// Counts the sockets of this process that other processes could call.
    ///
    /// The system's tables list them: listeners of TCP, all sockets of UDP, and listeners of Unix
    /// sockets.
    fn listeners() -> [usize; 3] {
        let own = own_sockets();
        let count = |tables: &[&str], inode: usize, is_open: fn(&[&str]) -> bool| {
            let read = |table: &&str| std::fs::read_to_string(format!("/proc/self/net/{table}"));
            // A system without IPv6 lacks a table.
            let texts: Vec<_> = tables.iter().filter_map(|table| read(table).ok()).collect();
            assert!(!texts.is_empty(), "the system has none of {tables:?}");
            let rows = texts.iter().flat_map(|text| text.lines().skip(1));
            let rows = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
            rows.filter(|row| row.len() > inode && own.contains(row[inode]) && is_open(row)).count()
        };
        [
            // The state LISTEN.
            count(&["tcp", "tcp6"], 9, |row| row[3] == "0A"),
            count(&["udp", "udp6"], 9, |_| true),
            // The flag `__SO_ACCEPTCON`.
            count(&["unix"], 6, |row| row[3] == "00010000"),
        ]
    }

    /// The counts of a process are its own only if no other test runs in it.
    #[test]
    fn nothing_listens_unless_a_pool_asks_for_it() {
        if std::env::var_os(INSIDE).is_some() {
            let pool = Pool::builder().workers(2).build().unwrap();
            pool.block_on(pool.spawn(async { sleep(Duration::from_millis(1)).await })).unwrap();
            pool.join(|| (), || ());
            pool.spawn_blocking(|| ()).join().unwrap();
            assert!(blitz::inspect::pages().is_empty());
            assert_eq!(blitz::inspect::tool_socket(), None);
            assert_eq!(listeners(), [0; 3], "a pool that did not ask");
            // `listeners` does find the page and the socket for tools of a pool that asks.
            pool.inspect("127.0.0.1:0").unwrap().unwrap();
            assert_eq!(listeners(), [1, 0, 1], "a pool that asked");
            return;
        }
        let name = format!("blitz-test-{}-listens", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["listeners::nothing_listens_unless_a_pool_asks_for_it", "--exact"])
            .env_remove("BLITZ_INSPECT")
            .envs([(INSIDE, "1".as_ref()), ("XDG_RUNTIME_DIR", folder.as_os_str())])
            .output()
            .unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
