//! `blitz top`, `explain`, `trace`, `stacks` and `demo` with real processes.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// An expected event that takes longer counts as failed.
const LIMIT: Duration = Duration::from_secs(120);

/// The folder with the sockets of one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("blitz-live-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The program, which looks for sockets here.
    fn blitz(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blitz"));
        command.env("XDG_RUNTIME_DIR", &self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.blitz().args(words).output().unwrap()
    }

    /// Returns what the program prints. It must succeed.
    fn printed(&self, words: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.run(words);
        assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// Returns the error that the program prints. It must fail.
    fn complaint(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?} did not fail");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A running `blitz demo`, ended with the test.
struct Demo {
    child: Child,
    page: String,
    server: String,
    // Kept open, so that the program can print more.
    _output: BufReader<ChildStdout>,
}

impl Demo {
    fn start(folder: &Folder) -> Self {
        // The demo ends by itself, even if this test is killed.
        Self::start_for(folder, "600")
    }

    fn start_for(folder: &Folder, seconds: &str) -> Self {
        Self::start_with(folder, &["--seconds", seconds])
    }

    fn start_with(folder: &Folder, more: &[&str]) -> Self {
        let mut command = folder.blitz();
        command.args(["demo", "--port", "0", "--workers", "3"]).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line.split_whitespace().last().unwrap_or_default().to_owned()
        };
        let (page, server) = (line(), line());
        assert!(page.starts_with("http://127.0.0.1:"), "{page:?}");
        Self { child, page, server, _output: output }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn post(&self, path: &str) -> String {
        let address = self.server.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let request = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn wait_until(what: &str, mut look: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !look() {
        assert!(begin.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        thread::yield_now();
    }
}

fn snapshot(folder: &Folder, target: &str) -> Value {
    let text = folder.printed(&["top", target, "--once", "--json"]);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn top_shows_a_process_by_number_by_address_and_if_it_is_the_only_one() {
    let folder = Folder::new();
    let demo = Demo::start(&folder);
    for target in [&demo.pid(), &demo.page] {
        let found = snapshot(&folder, target);
        assert_eq!(found["summary"]["pid"], demo.child.id(), "{found}");
        assert_eq!(found["summary"]["pools"], serde_json::json!(["api", "batch"]));
        assert_eq!(found["summary"]["workers"], 3);
        assert!(found["workers"]["workers"].as_array().unwrap().len() >= 3, "{found}");
        for part in ["tasks", "stalls", "explain"] {
            assert_eq!(found[part]["v"], 1, "{part}: {found}");
        }
    }
    let text = folder.printed(&["top", "--once"]);
    assert!(text.contains(&format!("blitz {}  pool api  3 workers", demo.pid())), "{text}");
    assert!(text.contains(" w0 ") && text.contains("p99: "), "{text}");
    // The demo's tasks wait for timers all the time.
    let shows_timers = || folder.printed(&["top", "--once"]).contains("  timer ");
    wait_until("top shows how late timers fired", shows_timers);
    let text = folder.printed(&["top", "--once", "--pool", "batch"]);
    assert!(text.contains("pool batch  2 workers"), "{text}");
    let absent = folder.complaint(&["top", "--once", "--pool", "none"]);
    assert!(absent.contains("no pool is called \"none\""), "{absent}");

    let second = Demo::start(&folder);
    let list = folder.complaint(&["top", "--once"]);
    assert!(list.contains("say which process you mean"), "{list}");
    for pid in [demo.pid(), second.pid()] {
        assert!(list.contains(&format!("{pid}  blitz  (api, batch)")), "{list}");
    }
}

#[test]
fn a_stall_is_seen_and_a_free_pool_goes_on() {
    let folder = Folder::new();
    let demo = Demo::start(&folder);
    assert_eq!(demo.post("/stall?seconds=600"), "HTTP/1.1 303");
    let stalls = || snapshot(&folder, &demo.pid())["stalls"]["total"].as_str().unwrap() != "0";
    wait_until("the stall is counted", stalls);
    assert_eq!(demo.post("/deadlock"), "HTTP/1.1 303");
    assert_eq!(demo.post("/spin?seconds=600"), "HTTP/1.1 303");
    assert_eq!(demo.post("/stall"), "HTTP/1.1 409", "one worker is left");
    assert_eq!(demo.post("/free"), "HTTP/1.1 303");
    wait_until("workers are free", || demo.post("/stall?seconds=0") == "HTTP/1.1 303");
    assert_eq!(demo.post("/nothing"), "HTTP/1.1 404");
}

#[test]
fn a_trace_is_written_in_both_formats() {
    let folder = Folder::new();
    let demo = Demo::start(&folder);
    let file = folder.0.join("demo.pftrace");
    let save = |more: &[&str]| {
        let mut words = vec!["trace"];
        let (pid, path) = (demo.pid(), file.to_str().unwrap().to_owned());
        words.extend([pid.as_str(), "-o", &path]);
        words.extend(more);
        folder.printed(&words);
        fs::read(&file).unwrap()
    };
    // A trace begins with a packet: the byte 0x0a announces field 1, with its length.
    wait_until("workers have recorded", || save(&["--seconds", "60"]).len() > 2_000);
    assert_eq!(save(&[])[0], 0x0a);
    let chrome: Value = serde_json::from_slice(&save(&["--format", "chrome"])).unwrap();
    let events = chrome["traceEvents"].as_array().or_else(|| chrome.as_array()).unwrap();
    assert!(events.len() > 10, "{} events", events.len());
    let stdout = folder.run(&["trace", &demo.pid(), "-o", "-"]).stdout;
    assert_eq!(stdout.first(), Some(&0x0a));
    let lost = folder.complaint(&["trace", &demo.pid(), "-o", "/nowhere/x"]);
    assert!(lost.contains("cannot write /nowhere/x"), "{lost}");
}

/// Whether this program is there.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn stacks_of_workers_are_printed_with_the_function_that_blocks() {
    if !is_installed("gdb") && !is_installed("eu-stack") {
        println!("skipped: neither gdb nor eu-stack is installed");
        return;
    }
    let folder = Folder::new();
    let demo = Demo::start(&folder);
    assert_eq!(demo.post("/stall?seconds=600"), "HTTP/1.1 303");
    let is_stuck = || {
        let found = snapshot(&folder, &demo.pid());
        found["stalls"]["stalls"].as_array().is_some_and(|stalls| !stalls.is_empty())
    };
    wait_until("the worker is stuck", is_stuck);
    let found = snapshot(&folder, &demo.pid());
    let (worker, thread) = {
        let stall = &found["stalls"]["stalls"][0];
        (stall["worker"].clone(), stall["tid"].clone())
    };
    let output = folder.run(&["stacks", &demo.pid()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    if !output.status.success() && complaint.contains("ptrace") {
        println!("skipped: this process may not trace another: {complaint}");
        return;
    }
    assert!(output.status.success(), "{complaint}");
    let title = format!("worker {worker} of pool api, thread {thread} ");
    let own = text.split("\n\n").find(|stack| stack.starts_with(&title));
    let own = own.unwrap_or_else(|| panic!("{title}: {text}"));
    assert!(own.lines().count() > 5 && own.contains("#0 "), "{own}");
    assert!(own.contains("trouble"), "the module that blocks: {own}");
    assert!(text.contains("worker 0 of pool batch"), "{text}");
    assert!(!text.contains("thread 0"), "{text}");
    // The process goes on after the debugger.
    assert_eq!(demo.post("/free"), "HTTP/1.1 303");
}

#[test]
fn an_explanation_names_the_deadlock_and_a_probe_its_functions() {
    let folder = Folder::new();
    let demo = Demo::start(&folder);
    assert_eq!(demo.post("/deadlock"), "HTTP/1.1 303");
    wait_until("the deadlock is explained", || {
        folder.printed(&["explain", &demo.pid()]).contains("deadlock: ")
    });
    let text = folder.printed(&["explain", &demo.pid(), "--probe"]);
    assert!(text.contains(" waits in\n    "), "{text}");
    assert!(text.contains("trouble"), "the functions of the deadlock: {text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("probed: ") && last.ends_with("tasks were polled in time"), "{text}");
    let json = folder.printed(&["explain", "--json", "--pool", "batch"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["pool"], &json["v"]), (&"batch".into(), &1.into()));
    // Through its page, a process explains, too; a probe there needs a token.
    assert!(folder.printed(&["explain", &demo.page]).contains("deadlock: "));
    let refused = folder.complaint(&["explain", &demo.page, "--probe"]);
    assert!(refused.contains("needs a server with a token"), "{refused}");
}

#[test]
fn a_demo_with_a_token_may_be_probed_by_its_page() {
    let folder = Folder::new();
    let demo = Demo::start_with(&folder, &["--seconds", "600", "--token"]);
    assert!(demo.page.contains("/#token="), "{}", demo.page);
    let text = folder.printed(&["explain", &demo.page, "--probe"]);
    assert!(text.contains("tasks were polled in time"), "{text}");
    let bare = demo.page.split('#').next().unwrap();
    assert!(folder.complaint(&["explain", bare]).contains("the token is missing or wrong"));
}

#[test]
fn stacks_name_the_missing_debugger() {
    let folder = Folder::new();
    let mut command = folder.blitz();
    command.args(["stacks", "1"]).env("PATH", "");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("stacks need gdb or eu-stack"), "{text}");
    assert!(text.contains("apt-get install gdb"), "{text}");
}

#[test]
fn a_process_that_is_not_there_gets_advice() {
    let folder = Folder::new();
    let none = folder.complaint(&["top", "--once"]);
    assert!(none.contains("no process of this user can be looked at"), "{none}");
    let absent = folder.complaint(&["top", "4294967295", "--once"]);
    assert!(absent.contains("process 4294967295 has no socket"), "{absent}");
    assert!(folder.complaint(&["trace", "nonsense"]).contains("is neither"));
    let sockets = folder.0.join("blitz");
    assert!(!sockets.exists(), "asking makes no folder");
    // A file in the place of a socket: no process answers there.
    fs::create_dir(&sockets).unwrap();
    fs::write(sockets.join("7.sock"), "").unwrap();
    assert!(folder.complaint(&["top", "--once"]).contains("no process of this user"));
    assert!(folder.complaint(&["top", "7", "--once"]).contains("cannot reach process 7"));
}

#[test]
fn the_demo_ends_by_itself_even_while_a_worker_is_stuck() {
    let folder = Folder::new();
    let mut demo = Demo::start_for(&folder, "2");
    assert_eq!(demo.post("/stall?seconds=600"), "HTTP/1.1 303");
    wait_until("the demo ends", || demo.child.try_wait().unwrap().is_some());
    assert!(demo.child.wait().unwrap().success());
}
