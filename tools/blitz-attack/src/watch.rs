//! The watchdog: notices a lack of progress, prints what is under way, and aborts.
//!
//! Every operation of a mix reports its start and its end here. A thread outside all pools watches
//! the count of ends: if it does not change for too long, a runtime hangs.

use crate::ledger::Ledger;
use blitz::Handle;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of tables for operations under way. Several tables mean less contention.
const SHARDS: usize = 16;
/// How the watchdog's report of a hang begins.
pub const HANG: &str = "HANG:";
/// How long the watchdog waits for one dump. A broken runtime may not answer.
const DUMP_LIMIT: Duration = Duration::from_secs(5);
/// How many of the operations under way are printed.
const SHOWN: usize = 200;

/// How often there was progress: ends of operations, late calls, beginnings and ends of rounds.
static DONE: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);
static UNDER_WAY: [Mutex<BTreeMap<u64, Entry>>; SHARDS] =
    [const { Mutex::new(BTreeMap::new()) }; SHARDS];
/// The runtimes of the current round, and its description.
static ROUND: Mutex<Round> =
    Mutex::new(Round { text: String::new(), runtimes: Vec::new(), ledger: None });

struct Round {
    text: String,
    runtimes: Vec<Handle>,
    ledger: Option<Ledger>,
}

struct Entry {
    name: &'static str,
    home: usize,
    since: Instant,
}

/// Notes progress.
pub fn progress() {
    DONE.fetch_add(1, Relaxed);
}

/// How often there was progress since the program began. Nearly always it is the end of an
/// operation.
#[must_use]
pub fn done() -> u64 {
    DONE.load(Relaxed)
}

/// Notes that an operation begins; it ends when the guard is dropped.
#[must_use]
pub fn begin(name: &'static str, home: usize) -> Doing {
    let id = NEXT.fetch_add(1, Relaxed);
    let entry = Entry { name, home, since: Instant::now() };
    lock(&UNDER_WAY[id as usize % SHARDS]).insert(id, entry);
    Doing { id }
}

/// An operation that is under way.
pub struct Doing {
    id: u64,
}

impl Drop for Doing {
    fn drop(&mut self) {
        lock(&UNDER_WAY[self.id as usize % SHARDS]).remove(&self.id);
        progress();
    }
}

/// Notes that a round begins; `text` describes it.
pub fn begin_round(text: String, ledger: Ledger) {
    *lock(&ROUND) = Round { text, runtimes: Vec::new(), ledger: Some(ledger) };
    progress();
}

/// Makes the watchdog dump this runtime, too.
pub fn add_runtime(handle: Handle) {
    lock(&ROUND).runtimes.push(handle);
}

/// Ends the round and forgets its runtimes.
pub fn end_round() {
    let empty = Round { text: String::new(), runtimes: Vec::new(), ledger: None };
    let gone = std::mem::replace(&mut *lock(&ROUND), empty);
    drop(gone);
    progress();
}

/// Starts the watchdog, which aborts the process if nothing gets done for `patience`.
///
/// # Panics
/// If the system starts no thread.
pub fn start(patience: Duration) {
    let name = "watchdog".to_owned();
    let dog = std::thread::Builder::new().name(name).spawn(move || {
        let (mut seen, mut since) = (done(), Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let now = done();
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                report(&format!("{HANG} nothing got done for {} s", patience.as_secs()));
                std::process::abort();
            }
        }
    });
    drop(dog.expect("the watchdog's thread starts"));
}

/// Prints `why`, the round, the operations that are under way, the complaints of the ledger, and a
/// dump of every live runtime.
pub fn report(why: &str) {
    let mut out = std::io::stderr().lock();
    let round = lock(&ROUND);
    let _ = writeln!(out, "\nattack: {why}\n{}", round.text);
    let mut all = Vec::new();
    for shard in &UNDER_WAY {
        let shard = lock(shard);
        all.extend(shard.iter().map(|(id, entry)| {
            let age = entry.since.elapsed().as_millis();
            (*id, format!("  {} on runtime {}, for {age} ms", entry.name, entry.home))
        }));
    }
    all.sort();
    let _ = writeln!(out, "{} operations under way, oldest first:", all.len());
    for (_, line) in all.iter().take(SHOWN) {
        let _ = writeln!(out, "{line}");
    }
    for complaint in round.ledger.iter().flat_map(Ledger::complaints).take(SHOWN) {
        let _ = writeln!(out, "  {complaint}");
    }
    let _ = out.flush();
    let runtimes = round.runtimes.clone();
    drop((out, round));
    for (index, handle) in runtimes.into_iter().enumerate() {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let text = format!("{}\n{}", handle.dump(), handle.metrics());
            // The receiver is gone if the watchdog has stopped waiting.
            let _ = send.send(text);
        });
        let text = receive.recv_timeout(DUMP_LIMIT);
        let text = text.unwrap_or_else(|_| "its dump does not return".to_owned());
        eprintln!("runtime {index}:\n{text}");
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
