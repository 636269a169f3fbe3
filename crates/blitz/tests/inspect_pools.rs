//! Checks the data that the page of `Builder::inspect` shows about pools.
#![cfg(feature = "inspect")]

mod common;

use blitz::inspect::{Inspect, Token};
use blitz::{Pool, task};
use common::wait_for;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Returns the answer to a request for data of the pool `name`.
fn ask(page: SocketAddr, path: &str, name: &str) -> serde_json::Value {
    send(page, &format!("GET /api/v1/{path}?pool={name}"), None)
}

/// Returns the answer to a request with this method, target and token.
fn send(page: SocketAddr, request: &str, token: Option<&Token>) -> serde_json::Value {
    exchange(TcpStream::connect(page).unwrap(), request, token)
}

fn exchange(
    mut client: impl Read + Write,
    request: &str,
    token: Option<&Token>,
) -> serde_json::Value {
    let token = token.map(|token| format!("Authorization: Bearer {}\r\n", token.reveal()));
    let token = token.unwrap_or_default();
    let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n");
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn shown(name: &str) -> (Pool, SocketAddr) {
    let pool = Pool::builder().workers(1).build().unwrap();
    let settings = Inspect::at("127.0.0.1:0").name(name);
    let page = pool.inspect(settings).unwrap().unwrap();
    (pool, page.address())
}

#[test]
fn tasks_are_listed_as_the_pool_lists_them() {
    let (pool, page) = shown("tasks");
    let name = "<b>\"&";
    let named = task::Builder::new().name(name).spawn_on(pending::<()>(), &pool.handle()).unwrap();
    let tasks = [named, pool.spawn(pending()), pool.spawn(pending())];
    // A task may be in the list before its first poll has ended.
    wait_for(|| pool.tasks().iter().filter(|task| task.idle().is_some()).count() == tasks.len());
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
fn hundreds_of_workers_and_several_pools_are_shown() {
    let (small, page) = shown("small");
    let large = Pool::builder().workers(300).build().unwrap();
    let settings = Inspect::at("127.0.0.1:0").name("large");
    assert_eq!(large.inspect(settings).unwrap().unwrap().address(), page);
    large.broadcast(|_| ());
    small.broadcast(|_| ());
    let names = send(page, "GET /api/v1/pools", None)["pools"].to_string();
    assert!(names.contains("\"small\"") && names.contains("\"large\""), "{names}");
    for (name, workers) in [("small", 1), ("large", 300)] {
        assert_eq!(ask(page, "summary", name)["workers"], workers);
        let answer = ask(page, "workers", name);
        assert!(answer["workers"].as_array().unwrap().len() >= workers, "{name}");
        let tracks = ask(page, "timeline", name);
        assert!(tracks["tracks"].as_array().unwrap().len() >= workers, "{name}");
        for path in ["tasks", "stalls", "explain"] {
            assert_eq!(ask(page, path, name)["pool"], name, "{path}");
        }
    }
}

#[test]
fn a_pool_that_has_ended_is_not_found() {
    let (pool, page) = shown("ends");
    assert_eq!(ask(page, "summary", "ends")["pool"], "ends");
    drop(pool);
    assert!(ask(page, "summary", "ends")["error"].is_string());
}

/// Returns a free local address, for a page that no other test uses.
///
/// Another socket may take the port before the page does. So use port zero where no second pool has
/// to name the page by its address.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn a_pool_with_a_token_is_on_no_page_without_it() {
    let pool = || Pool::builder().workers(1).build().unwrap();
    let (open, closed, other) = (pool(), pool(), pool());
    let address = free_address();
    let page = open.inspect(Inspect::at(&address).name("open")).unwrap().unwrap().address();
    let token = Token::random().unwrap();
    let settings = |name: &str| Inspect::at(&address).name(name).token(token.clone());
    let refused = closed.inspect(settings("closed")).unwrap_err().to_string();
    assert!(refused.contains("is served without a token"), "{refused}");
    assert_eq!(ask(page, "summary", "open")["pool"], "open");
    let hidden = ask(page, "summary", "closed");
    assert!(hidden["error"].as_str().unwrap().contains("no pool is called"), "{hidden}");
    let names = send(page, "GET /api/v1/pools", None)["pools"].to_string();
    assert!(names.contains("open") && !names.contains("closed"), "{names}");
    // The closed pool gets a page of its own. That page also shows the open pool. The open pool did
    // not ask for a token, but on this page it is shown only to clients with the token.
    let settings = Inspect::at(free_address()).name("kept").token(token.clone());
    let own = closed.inspect(settings.clone()).unwrap().unwrap();
    assert!(own.url().contains(token.reveal()));
    let summary = "GET /api/v1/summary?pool=";
    for name in ["kept", "open"] {
        let answer = send(own.address(), &format!("{summary}{name}"), Some(&token));
        assert_eq!(answer["pool"], name);
        assert!(send(own.address(), &format!("{summary}{name}"), None)["error"].is_string());
    }
    let strange = settings.clone().token(Token::random().unwrap());
    let refused = other.inspect(strange).unwrap_err().to_string();
    assert!(refused.contains("is served with another token"), "{refused}");
    // The same token means the same page.
    assert_eq!(other.inspect(settings).unwrap().unwrap().address(), own.address());
}

#[test]
fn a_probe_needs_a_token_and_shows_where_tasks_wait() {
    const WAIT: u32 = line!() + 2;
    async fn waits_for_word(word: blitz::sync::oneshot::Receiver<()>) {
        let _ = word.await;
    }
    let pool = Pool::builder().workers(1).build().unwrap();
    let token = Token::random().unwrap();
    let settings = Inspect::at("127.0.0.1:0").name("probed").token(token.clone());
    let page = pool.inspect(settings).unwrap().unwrap().address();
    let (_word, heard) = blitz::sync::oneshot::channel();
    let task = pool.spawn(waits_for_word(heard));
    wait_for(|| pool.tasks().iter().any(|task| task.idle().is_some()));
    let request = "POST /api/v1/probe?pool=probed";
    assert!(send(page, request, None)["error"].as_str().unwrap().contains("token"));
    let answer = send(page, request, Some(&token));
    assert_eq!(answer["probed"], serde_json::json!({ "woken": 1, "polled": 1 }), "{answer}");
    assert_eq!(answer["stacks"][0]["id"], task.id().to_string());
    let frames = answer["stacks"][0]["stacks"][0].as_array().unwrap();
    // A build with line tables alone lacks full names of functions, so the test compares lines.
    let leaf = format!("inspect_pools.rs:{WAIT}:");
    let is_leaf = |frame: &serde_json::Value| frame["at"].as_str().unwrap().contains(&leaf);
    assert!(frames.iter().any(is_leaf), "{answer}");
    // A page without a token refuses requests that change something.
    let (_open, page) = shown("unprobed");
    let refusal = send(page, "POST /api/v1/probe?pool=unprobed", None);
    assert!(refusal["error"].as_str().unwrap().contains("needs a server with a token"));
}

#[test]
fn a_pool_that_asks_again_is_listed_once() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let inspect = |settings: &Inspect| pool.inspect(settings.clone()).unwrap().unwrap().address();
    let tokens = [Token::random().unwrap(), Token::random().unwrap()];
    let names = |page: SocketAddr, token: &Token| {
        let answer = send(page, "GET /api/v1/pools", Some(token));
        let names = answer["pools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        // Other tests show their pools, too.
        let own = names.filter(|name| name.starts_with("once") || name.starts_with("other"));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    // No page can be opened at the port of another listener.
    let in_the_way = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = Inspect::at(in_the_way.local_addr().unwrap().to_string()).name("once");
    pool.inspect(busy).unwrap_err();
    let settings = |token: &Token| Inspect::at(free_address()).token(token.clone());
    let [first, second] = [settings(&tokens[0]), settings(&tokens[1])];
    let pages = [inspect(&first.clone().name("once")), inspect(&second)];
    for (page, token) in pages.into_iter().zip(&tokens) {
        assert_eq!(names(page, token), ["once"]);
    }
    assert_eq!(inspect(&first.name("other")), pages[0]);
    for (page, token) in pages.into_iter().zip(&tokens) {
        assert_eq!(names(page, token), ["other"]);
    }
    // The failed attempt made the pool visible to tools, but not on pages without a token.
    let (_open, page) = shown("beside a busy port");
    let hidden = ask(page, "summary", "other");
    assert!(hidden["error"].as_str().unwrap().contains("no pool is called"), "{hidden}");
}

#[test]
fn port_zero_means_another_page_if_the_token_or_a_host_differs() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let settings = Inspect::at("127.0.0.1:0").name("zero");
    let inspect = |settings: &Inspect| pool.inspect(settings.clone()).unwrap().unwrap();
    let tokens = [Token::random().unwrap(), Token::random().unwrap()];
    let [first, second] = tokens.map(|token| settings.clone().token(token));
    let named = settings.clone().host("box.example");
    let asked = [&settings, &first, &second, &named];
    let pages = asked.map(|settings| inspect(settings).address());
    for (number, page) in pages.iter().enumerate() {
        assert!(!pages[..number].contains(page), "{pages:?}");
        assert_eq!(inspect(asked[number]).address(), *page, "the same settings, the same page");
    }
}

#[test]
fn a_page_without_the_host_of_a_second_pool_is_refused() {
    let pool = || Pool::builder().workers(1).build().unwrap();
    let (first, second) = (pool(), pool());
    let settings = Inspect::at(free_address()).host("box.example");
    let page = first.inspect(settings.clone()).unwrap().unwrap();
    let refused = second.inspect(settings.clone().host("other.example")).unwrap_err().to_string();
    assert!(refused.contains("is not served under the host name \"other.example\""), "{refused}");
    let same = second.inspect(settings.host("BOX.example")).unwrap().unwrap();
    assert_eq!(same.address(), page.address());
}

/// Returns the answer of this process at its socket for tools.
#[cfg(unix)]
fn send_as_tool(request: &str) -> serde_json::Value {
    let path = blitz::inspect::tool_socket().unwrap();
    exchange(std::os::unix::net::UnixStream::connect(path).unwrap(), request, None)
}

#[test]
#[cfg(unix)]
fn a_pool_for_tools_only_is_on_no_page() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let settings = Inspect::tools_only().name("tools");
    assert!(pool.inspect(settings).unwrap().is_none());
    let (_open, page) = shown("beside");
    let token = Token::random().unwrap();
    let settings = Inspect::at("127.0.0.1:0").name("closed").token(token.clone());
    let (closed, request) = (Pool::builder().workers(1).build().unwrap(), "GET /api/v1/pools");
    let closed_page = closed.inspect(settings).unwrap().unwrap().address();
    for (page, token, own) in [(page, None, "beside"), (closed_page, Some(&token), "closed")] {
        let names = send(page, request, token)["pools"].to_string();
        assert!(names.contains(own) && !names.contains("\"tools\""), "{names}");
        let hidden = send(page, "GET /api/v1/summary?pool=tools", token);
        assert!(hidden["error"].as_str().unwrap().contains("no pool is called"), "{hidden}");
    }
    assert_eq!(send_as_tool("GET /api/v1/summary?pool=tools")["pool"], "tools");
}

#[cfg(unix)]
mod from_env {
    use blitz::inspect::{Inspect, tool_socket};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    /// A daemon may have closed its standard error.
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

    /// Blitz tries the socket for tools again each time that a pool asks for it.
    ///
    /// A pool that asks for a page gets its page even if the socket cannot be served.
    #[test]
    fn a_socket_that_could_not_be_served_is_tried_again() {
        const INSIDE: &str = "BLITZ_TEST_INSIDE";
        if std::env::var_os(INSIDE).is_some() {
            let in_the_way = blitz::inspect::tool_folder().unwrap();
            std::fs::write(&in_the_way, "a file, no folder").unwrap();
            let pool = blitz::Pool::builder().workers(1).build().unwrap();
            assert!(pool.inspect("127.0.0.1:0").unwrap().is_some(), "a page needs no socket");
            pool.inspect(Inspect::tools_only()).unwrap_err();
            std::fs::remove_file(in_the_way).unwrap();
            assert!(pool.inspect(Inspect::tools_only()).unwrap().is_none());
            assert!(tool_socket().unwrap().exists());
            return;
        }
        let name = format!("blitz-test-{}-tried", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["from_env::a_socket_that_could_not_be_served_is_tried_again", "--exact"])
            .envs([(INSIDE, "1".as_ref()), ("XDG_RUNTIME_DIR", folder.as_os_str())])
            .output()
            .unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
