//! What the screen shows: the differences between two readings.

use serde_json::Value;

use super::reading::{Reading, items, number};
use crate::units::{count, percent, plain, time};

/// What workers do, in the order of the parts of their bars.
pub const STATES: [&str; 5] = ["poll", "job", "search", "driver", "park"];

/// The histograms of a summary whose 99th percentiles are shown.
const LATENCIES: [&str; 6] = ["poll", "delay", "wake", "blocking", "timer", "steal"];

/// The times of [`LATENCIES`] among which the largest is marked, as on the page.
///
/// Timers are late by their slack even if all is well, and idle workers search.
const JUDGED: [&str; 4] = ["poll", "delay", "wake", "blocking"];

/// The most characters of a task's name that are shown.
const NAME_MAX: usize = 200;

/// All that `blitz top` shows.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub program: String,
    pub pid: u64,
    pub pool: String,
    pub pools: Vec<String>,
    pub num_workers: f64,
    pub busy: f64,
    pub runnable: f64,
    pub alive: f64,
    /// The share of time in which workers were runnable but had no core.
    pub run_delay: f64,
    pub latencies: Vec<Latency>,
    pub workers: Vec<WorkerRow>,
    pub types: Vec<TypeRow>,
    pub stalls: Vec<String>,
}

/// A 99th percentile.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub name: &'static str,
    pub p99: f64,
    pub is_largest: bool,
}

/// A worker that is in service.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    pub name: String,
    pub state: String,
    /// The share of time in each of [`STATES`].
    pub shares: [f64; 5],
    pub stall: Option<String>,
}

/// Tasks of one type.
#[derive(Clone, Debug)]
pub struct TypeRow {
    pub name: String,
    pub alive: f64,
    /// Per second.
    pub polls: f64,
    /// How many workers the type keeps busy.
    pub busy: f64,
    /// 99 of 100 polls took less, in nanoseconds; none if no poll was timed.
    pub p99: Option<f64>,
    /// The longest current wait, in nanoseconds.
    pub oldest: Option<f64>,
}

/// The column by which the table of types is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Cpu,
    Polls,
    Alive,
}

impl View {
    /// Compares a reading with an earlier one. Without an earlier one, covers the time since the
    /// start; `run_delay` is then 0.
    pub fn of(now: &Reading, before: Option<&Reading>) -> Self {
        let (summary, old) = (&now.summary, before.map(|before| &before.summary));
        let num_workers = number(&summary["workers"]);
        let stalls: Vec<&Value> =
            items(&now.stalls["stalls"]).filter(|stall| !over(stall)).collect();
        let spent = |state: &str| since(summary, old, |reading| number(&reading["states"][state]));
        let passed = since(summary, old, |reading| number(&reading["now_ns"]));
        let busy = (spent("poll") + spent("job")) / passed.max(1.0) / num_workers.max(1.0);
        Self {
            program: text(&summary["program"]),
            pid: number(&summary["pid"]) as u64,
            pool: text(&summary["pool"]),
            // Names are kept as they are for later requests, and sanitized where they are shown.
            pools: items(&summary["pools"]).filter_map(Value::as_str).map(str::to_owned).collect(),
            num_workers,
            busy: busy.clamp(0.0, 1.0),
            runnable: number(&summary["tasks"]["runnable"]),
            alive: number(&summary["tasks"]["alive"]),
            run_delay: run_delay(now, before),
            latencies: latencies(summary, old),
            workers: workers(now, before, &stalls),
            types: types(now, before),
            stalls: stalls.iter().map(|stall| stall_line(stall)).collect(),
        }
    }

    /// The rows whose type contains `filter`, sorted.
    pub fn types_by(&self, sort: Sort, filter: &str) -> Vec<&TypeRow> {
        let filter = filter.to_lowercase();
        let matches = |row: &&TypeRow| row.name.to_lowercase().contains(&filter);
        let mut rows: Vec<_> = self.types.iter().filter(matches).collect();
        let key = |row: &TypeRow| match sort {
            Sort::Cpu => row.busy,
            Sort::Polls => row.polls,
            Sort::Alive => row.alive,
        };
        rows.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    /// The pool's name and a summary.
    pub fn title(&self) -> String {
        let Self { program, pid, pool, .. } = self;
        format!(
            "{program} {pid}  pool {pool}  {} workers  busy {}  runnable {}  tasks {}  stalls {}",
            self.num_workers,
            percent(self.busy),
            count(self.runnable),
            count(self.alive),
            self.stalls.len(),
        )
    }
}

/// Text without control characters.
fn text(value: &Value) -> String {
    plain(value.as_str().unwrap_or_default())
}

fn over(stall: &Value) -> bool {
    stall["over"].as_bool().unwrap_or(false)
}

/// The increase of a field since `before`.
fn since(now: &Value, before: Option<&Value>, field: impl Fn(&Value) -> f64) -> f64 {
    (field(now) - before.map_or(0.0, field)).max(0.0)
}

fn latencies(now: &Value, before: Option<&Value>) -> Vec<Latency> {
    let measured = LATENCIES.iter().filter_map(|name| {
        let p99 = quantile(&now["hist"][name], before.map(|before| &before["hist"][name]), 0.99)?;
        Some(Latency { name, p99, is_largest: false })
    });
    let mut found: Vec<_> = measured.collect();
    let judged = found.iter_mut().filter(|latency| JUDGED.contains(&latency.name));
    if let Some(largest) = judged.max_by(|a, b| a.p99.total_cmp(&b.p99)) {
        largest.is_largest = true;
    }
    found
}

/// The `q` quantile of the times measured since `before`.
fn quantile(now: &Value, before: Option<&Value>, q: f64) -> Option<f64> {
    let old = |end: &Value| {
        let buckets = before.into_iter().flat_map(|before| items(&before["buckets"]));
        buckets.filter(|bucket| bucket[0] == *end).map(|bucket| number(&bucket[1])).sum::<f64>()
    };
    let new = items(&now["buckets"])
        .map(|bucket| (number(&bucket[0]), (number(&bucket[1]) - old(&bucket[0])).max(0.0)));
    let buckets: Vec<(f64, f64)> = new.collect();
    let all: f64 = buckets.iter().map(|(_, count)| count).sum();
    let mut seen = 0.0;
    let found = buckets.iter().find(|(_, count)| {
        seen += count;
        all > 0.0 && seen >= q * all
    });
    found.map(|(end, _)| *end)
}

/// The same worker, on the same thread, in an older reading.
fn earlier<'a>(before: Option<&'a Reading>, worker: &Value) -> Option<&'a Value> {
    let same = |old: &&Value| old["index"] == worker["index"] && old["tid"] == worker["tid"];
    items(&before?.workers["workers"]).find(same)
}

fn run_delay(now: &Reading, before: Option<&Reading>) -> f64 {
    let reading = |reading: &Reading| number(&reading.workers["now_ns"]);
    let passed = reading(now) - before.map_or(0.0, reading);
    let delays = items(&now.workers["workers"]).filter_map(|worker| {
        let old = earlier(before, worker)?;
        worker["run_delay_ns"].as_str()?;
        Some(number(&worker["run_delay_ns"]) - number(&old["run_delay_ns"]))
    });
    let delays: Vec<f64> = delays.collect();
    if delays.is_empty() || passed <= 0.0 {
        return 0.0;
    }
    (delays.iter().sum::<f64>() / passed / delays.len() as f64).clamp(0.0, 1.0)
}

fn workers(now: &Reading, before: Option<&Reading>, stalls: &[&Value]) -> Vec<WorkerRow> {
    let serving = items(&now.workers["workers"]).filter(|worker| worker["state"] != "rest");
    let row = |worker: &Value| {
        let old = earlier(before, worker);
        let spent =
            STATES.map(|state| since(worker, old, |worker| number(&worker["states"][state])));
        let all = spent.iter().sum::<f64>().max(1.0);
        let is_spare = worker["spare"].as_bool().unwrap_or(false);
        let stall = stalls.iter().find(|stall| stall["worker"] == worker["index"]);
        WorkerRow {
            name: format!("{}{}", if is_spare { 's' } else { 'w' }, worker["index"]),
            state: text(&worker["state"]),
            shares: spent.map(|spent| spent / all),
            stall: stall.map(|stall| stall_text(stall)),
        }
    };
    serving.map(row).collect()
}

fn types(now: &Reading, before: Option<&Reading>) -> Vec<TypeRow> {
    let (tasks, old) = (&now.tasks, before.map(|before| &before.tasks));
    let passed = since(tasks, old, |reading| number(&reading["now_ns"])).max(1.0);
    let row = |row: &Value| {
        let rows = old.into_iter().flat_map(|old| items(&old["types"]));
        let old = rows.into_iter().find(|old| old["type"] == row["type"]);
        let per = |field: &str| since(row, old, |row| number(&row[field])) / passed;
        TypeRow {
            name: short(&text(&row["type"])),
            alive: number(&row["alive"]),
            polls: per("polls") * 1e9,
            busy: per("busy_ns"),
            p99: Some(number(&row["p99_ns"])).filter(|&p99| p99 > 0.0),
            oldest: oldest(tasks, row),
        }
    };
    items(&tasks["types"]).map(row).collect()
}

/// The longest wait of a task of this type.
fn oldest(tasks: &Value, row: &Value) -> Option<f64> {
    if !row["oldest_ms"].is_null() {
        return Some(number(&row["oldest_ms"]) * 1e6);
    }
    let own = items(&tasks["tasks"]).filter(|task| task["type"] == row["type"]);
    let waits = own.filter(|task| !task["idle_ms"].is_null());
    waits.map(|task| number(&task["idle_ms"]) * 1e6).max_by(f64::total_cmp)
}

/// The name of a task, or its type, and where it was spawned.
pub fn task_text(task: &Value) -> String {
    let name = match (task["name"].as_str(), task["type"].as_str()) {
        (Some(name), _) => plain(name),
        (None, Some(name)) => short(&plain(name)),
        (None, None) => match task {
            Value::String(id) => plain(id),
            _ => "a job".to_owned(),
        },
    };
    let name: String = name.chars().take(NAME_MAX).collect();
    match task["site"].as_str() {
        Some(site) => format!("{name} ({})", plain(site)),
        None => name,
    }
}

/// A stall without its worker.
fn stall_text(stall: &Value) -> String {
    let place = ["syscall", "wchan"].iter().find_map(|field| stall[field].as_str());
    let words = [
        Some(time(number(&stall["since_ns"]))),
        stall["kind"].as_str().map(plain),
        place.map(plain),
        Some(task_text(&stall["task"])),
        Some(number(&stall["behind"])).filter(|n| *n > 0.0).map(|n| format!("{} behind", count(n))),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn stall_line(stall: &Value) -> String {
    format!("worker {}: {}", number(&stall["worker"]), stall_text(stall))
}

/// The future of a named task, without the runtime's wrapper.
fn unwrapped(name: &str) -> &str {
    let inner = || {
        let (wrapper, rest) = name.split_once("Named<")?;
        let (local, rest) = rest.split_once("TaskLocalFuture<")?;
        let (_, rest) = rest.split_once("Arc<str>, ")?;
        let is_path = |text: &str| text.is_empty() || text.ends_with("::");
        rest.strip_suffix(">>").filter(|_| is_path(wrapper) && is_path(local))
    };
    inner().unwrap_or(name)
}

/// A type as people call it: its last names, without the modules before them.
pub fn short(name: &str) -> String {
    let name = unwrapped(name);
    let is_path = |letter: char| letter.is_alphanumeric() || "_:{}#".contains(letter);
    let mut shortened = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_path(letter)).unwrap_or(rest.len());
        shortened.push_str(&last_names(&rest[..end]));
        let after = rest[end..].find(is_path).map_or(rest.len(), |next| end + next);
        shortened.push_str(&rest[end..after]);
        rest = &rest[after..];
    }
    shortened.replace("{{closure}}", "{closure}")
}

/// `c::D` of `a::b::c::D`, `c::{{closure}}` of `a::b::c::{{closure}}`.
fn last_names(path: &str) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    let named = parts.iter().rposition(|part| !part.starts_with('{')).unwrap_or(0);
    let first = if named + 1 < parts.len() { named } else { named.saturating_sub(1) };
    parts[first..].join("::")
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;

    /// A reading after `seconds` of a pool with two workers. The second worker is stuck.
    pub fn reading(seconds: u64) -> Reading {
        let ns = |share: f64| format!("{:.0}", seconds as f64 * 1e9 * share);
        let states = |poll: f64| {
            json!({ "poll": ns(poll), "job": ns(0.25), "search": "0", "driver": ns(0.75 - poll),
                    "park": "0" })
        };
        let worker = |index: u64, state: &str, poll: f64| {
            json!({ "index": index, "spare": false, "tid": 100 + index, "state": state, "states":
                    states(poll), "run_delay_ns": ns(0.1), "tasks": "3" })
        };
        let bucket = |end: &str, per_second: u64| json!([end, (per_second * seconds).to_string()]);
        let kind = "app::api::handler::{{closure}}";
        Reading {
            summary: json!({
                "v": 1, "pid": 42, "program": "api", "pools": ["main", "batch"], "pool": "main",
                "now_ns": ns(1.0), "scheduler": "stealing", "workers": 2,
                "states": { "poll": ns(0.5), "job": ns(0.5) },
                "tasks": { "runnable": "5", "alive": "12345" },
                "hist": {
                    "poll": { "buckets": [bucket("1000", 98), bucket("2000000", 2)] },
                    "delay": { "buckets": [bucket("4000000", 7)] },
                    "timer": { "buckets": [bucket("8000000", 1)] },
                    "steal": { "buckets": [bucket("3000", 1)] },
                },
            }),
            workers: json!({ "now_ns": ns(1.0), "workers": [
                worker(0, "busy", 0.5), worker(1, "busy", 0.25), worker(2, "rest", 0.0),
            ] }),
            tasks: json!({ "now_ns": ns(1.0), "total": "2", "types": [
                { "type": kind, "alive": "2", "polls": (1000 * seconds).to_string(),
                  "busy_ns": ns(0.5), "p99_ns": "2097152" },
                { "type": "app::Quiet", "alive": "90", "polls": "0", "busy_ns": "0" },
            ], "tasks": [
                { "id": "0x1", "type": kind, "state": "waiting", "idle_ms": "1500" },
                { "id": "0x2", "type": kind, "state": "waiting", "idle_ms": "2500" },
            ] }),
            stalls: json!({ "stalls": [
                { "worker": 1, "tid": 101, "since_ns": "840000000", "kind": "blocked",
                  "syscall": "futex", "behind": 7,
                  "task": { "id": "0x9", "type": kind, "site": "api.rs:88" }, "events": [] },
                { "worker": 0, "since_ns": "1", "over": true },
            ] }),
        }
    }

    #[test]
    fn two_readings_give_rates() {
        let view = View::of(&reading(3), Some(&reading(1)));
        assert_eq!(
            view.title(),
            "api 42  pool main  2 workers  busy 50%  runnable 5  tasks 12 k  stalls 1"
        );
        assert!((view.run_delay - 0.1).abs() < 1e-6, "{}", view.run_delay);
        let handler = view.types_by(Sort::Cpu, "HANDLER")[0];
        assert_eq!(handler.name, "handler::{closure}");
        assert!((handler.polls - 1000.0).abs() < 1.0 && (handler.busy - 0.5).abs() < 1e-6);
        assert_eq!(handler.oldest, Some(2.5e9));
    }

    #[test]
    fn the_largest_time_is_named() {
        let view = View::of(&reading(3), Some(&reading(1)));
        let largest = |name, p99, is_largest| Latency { name, p99, is_largest };
        let expected = [
            largest("poll", 2e6, false),
            largest("delay", 4e6, true),
            largest("timer", 8e6, false),
            largest("steal", 3e3, false),
        ];
        assert_eq!(view.latencies, expected, "timers and steals are shown, but not judged");
    }

    #[test]
    fn stalls_name_the_culprit() {
        let view = View::of(&reading(2), None);
        let text = "840 ms · blocked · futex · handler::{closure} (api.rs:88) · 7 behind";
        assert_eq!(view.stalls, [format!("worker 1: {text}")]);
        assert_eq!(view.workers.len(), 2, "a spare at rest is not shown");
        assert_eq!(view.workers[1].stall.as_deref(), Some(text));
        assert_eq!(view.workers[0].stall, None);
        assert_eq!(view.workers[0].shares, [0.5, 0.25, 0.0, 0.25, 0.0]);
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let view = View::of(&reading(2), None);
        let first = |sort| view.types_by(sort, "")[0].name.clone();
        assert_eq!(first(Sort::Cpu), "handler::{closure}");
        assert_eq!(first(Sort::Polls), "handler::{closure}");
        assert_eq!(first(Sort::Alive), "app::Quiet");
        assert!(view.types_by(Sort::Cpu, "nothing").is_empty());
    }

    #[test]
    fn an_answer_with_nothing_in_it_is_shown() {
        let empty = Reading {
            summary: json!({}),
            workers: json!({}),
            tasks: json!({}),
            stalls: json!({ "stalls": [{}, { "task": "0x7" }] }),
        };
        let view = View::of(&empty, Some(&empty));
        assert_eq!(view.stalls[0], "worker 0: 0.00 ns · a job");
        assert_eq!(view.stalls[1], "worker 0: 0.00 ns · 0x7");
        assert!(view.workers.is_empty() && view.types.is_empty());
    }

    #[test]
    fn types_are_shortened() {
        for (long, expected) in [
            ("app::api::handler::{{closure}}", "handler::{closure}"),
            ("a::b::{{closure}}::{{closure}}", "b::{closure}::{closure}"),
            ("alloc::vec::Vec<core::option::Option<u8>>", "vec::Vec<option::Option<u8>>"),
            ("a::Named<b::TaskLocalFuture<c::Arc<str>, d::e::f::{{closure}}>>", "f::{closure}"),
            ("u8", "u8"),
            ("<a::B as c::d::E>::f", "<a::B as d::E>::f"),
            ("", ""),
        ] {
            assert_eq!(short(long), expected);
        }
    }
}
