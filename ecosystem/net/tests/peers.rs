//! Servers of other projects, started for a test and ended with it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// The folder of PostgreSQL's programs in Debian.
const POSTGRES: &str = "/usr/lib/postgresql";
/// The program of RabbitMQ. Debian's script of the same name in `PATH` runs it as another user, in
/// that user's folder.
const RABBITMQ: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A server that runs until this is dropped.
pub struct Peer {
    /// The processes, in the order in which they are ended.
    children: Vec<Child>,
    /// The signal that ends them and their own child processes.
    signal: &'static str,
    place: PathBuf,
    pub port: u16,
}

impl Peer {
    /// Starts a Redis server. If it is not installed, prints that and returns `None`.
    pub fn redis() -> Option<Peer> {
        let place = place("redis");
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--dir").arg(&place).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            return skip("redis-server is not installed", &place);
        };
        let output = child.stdout.take().unwrap();
        until_ready(output, "Ready to accept connections");
        Some(Peer { children: vec![child], signal: "-TERM", place, port })
    }

    /// Starts a RabbitMQ server with the user `guest`. If it is not installed or cannot be started,
    /// prints that and returns `None`.
    pub fn rabbitmq() -> Option<Peer> {
        let place = place("rabbitmq");
        if !Path::new(RABBITMQ).exists() {
            return skip("rabbitmq-server is not installed", &place);
        }
        // Erlang's nodes find each other through a name server. If RabbitMQ started the name
        // server, the name server would keep running after the test.
        let names = free_port().to_string();
        let mut epmd = Command::new("epmd")
            .args(["-port", &names])
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .spawn()
            .unwrap();
        let (port, others) = (free_port(), free_port());
        let started = Command::new(RABBITMQ)
            .current_dir(&place)
            .env("HOME", &place)
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", &names)
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_CONFIG_FILE", place.join("none"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", place.join("plugins"))
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_LOG_BASE", &place)
            .env("RABBITMQ_MNESIA_BASE", &place)
            .env("RABBITMQ_PID_FILE", place.join("pid"))
            .env("RABBITMQ_NODENAME", format!("blitz-{port}@localhost"))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", port.to_string())
            .env("RABBITMQ_DIST_PORT", others.to_string())
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            )
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            epmd.kill().unwrap();
            epmd.wait().unwrap();
            return skip("rabbitmq-server cannot be started", &place);
        };
        let output = child.stdout.take().unwrap();
        let peer = Peer { children: vec![child, epmd], signal: "-TERM", place, port };
        until_ready(output, "Server startup complete");
        Some(peer)
    }

    /// Starts a PostgreSQL server with the user `blitz`. If it is not installed, prints that and
    /// returns `None`.
    pub fn postgres() -> Option<Peer> {
        let place = place("postgres");
        let Some(programs) = newest(Path::new(POSTGRES)) else {
            return skip("PostgreSQL is not installed", &place);
        };
        // PostgreSQL refuses to run as root, the usual user in containers.
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let program = |name: &str| {
            let path = programs.join("bin").join(name);
            if !is_root {
                return Command::new(path);
            }
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"])
                .arg(path);
            command
        };
        if is_root {
            let owned = Command::new("chown").arg("postgres").arg(&place).status();
            assert!(owned.unwrap().success(), "there is no user postgres");
        }
        let data = place.join("data");
        let made = program("initdb")
            .args(["--auth=trust", "--username=blitz", "--no-sync", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let port = free_port();
        let mut child = program("postgres")
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"])
            .arg("-k")
            .arg(&place)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stderr.take().unwrap();
        until_ready(output, "ready to accept connections");
        // After `-TERM` PostgreSQL would wait until its clients have gone.
        Some(Peer { children: vec![child], signal: "-INT", place, port })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in &mut self.children {
            // `Child::kill` would leave the child processes of PostgreSQL and RabbitMQ behind.
            let id = child.id().to_string();
            let _ = Command::new("kill").args([self.signal, &id]).status();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// Creates a folder for one server. Other users can enter it.
fn place(name: &str) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Relaxed);
    let name = format!("blitz-{name}-{}-{number}", std::process::id());
    let place = std::env::temp_dir().join(name);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Prints that a test is skipped; `cargo xtask crates` reads this line.
fn skip(why: &str, place: &Path) -> Option<Peer> {
    println!("skipped: {why}");
    fs::remove_dir_all(place).unwrap();
    None
}

/// A port that no server has at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The folder with the highest number in `parent`.
fn newest(parent: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(parent).ok()?.flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions.map(|entry| entry.path()).filter(|path| number(path).is_some()).max_by_key(number)
}

/// Returns once a server prints `ready`. Keeps reading its output, so that the server never blocks.
fn until_ready(output: impl Read + Send + 'static, ready: &str) {
    let mut lines = BufReader::new(output).lines();
    let is_ready = |line: &str| line.contains(ready);
    let mut said = String::new();
    loop {
        match lines.next() {
            Some(Ok(line)) if is_ready(&line) => break,
            Some(Ok(line)) => said = said + &line + "\n",
            _ => panic!("the server has ended: {said}"),
        }
    }
    drop(thread::spawn(move || lines.for_each(drop)));
}
