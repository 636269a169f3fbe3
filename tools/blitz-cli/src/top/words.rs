//! A view and an explanation as lines of text.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    reading::{items, number},
    view::{STATES, Sort, View, task_text},
};
use crate::units::{count, percent, plain, time};

/// How many types are listed.
const TYPES: usize = 20;
/// How many of the longest waits are listed.
const OLDEST: usize = 20;
/// How wide the bar of a worker is.
const BAR: usize = 30;
/// The letter of each state in a bar without colours.
const LETTERS: [char; 5] = ['#', '=', '~', '-', '.'];

/// Everything on one page.
pub fn page(view: &View) -> String {
    let mut text = format!("{}\n{}\n\n", view.title(), latencies(view));
    for worker in &view.workers {
        let busy = worker.shares[0] + worker.shares[1];
        let stall = worker.stall.as_ref().map_or_else(String::new, |stall| format!("  ! {stall}"));
        let (bar, state) = (bar(&worker.shares), &worker.state);
        let name = &worker.name;
        text.push_str(&format!("{name:>4} {bar} {:>4}  {state:6}{stall}\n", percent(busy)));
    }
    let legend = STATES.iter().zip(LETTERS).map(|(state, letter)| format!("{letter} {state}"));
    text.push_str(&format!("     {}\n\n", legend.collect::<Vec<_>>().join("  ")));
    text.push_str(&format!(
        "{:>6} {:>8} {:>6} {:>9} {:>9}  type\n",
        "alive", "polls/s", "busy", "p99", "oldest"
    ));
    for row in view.types_by(Sort::Cpu, "").into_iter().take(TYPES) {
        text.push_str(&format!(
            "{:>6} {:>8} {:>6} {:>9} {:>9}  {}\n",
            count(row.alive),
            count(row.polls),
            percent(row.busy),
            row.p99.map_or_else(|| "-".to_owned(), time),
            row.oldest.map_or_else(|| "-".to_owned(), time),
            row.name,
        ));
    }
    text
}

/// The times that make requests wait; the largest is marked.
pub fn latencies(view: &View) -> String {
    if view.latencies.is_empty() {
        return "p99: nothing was measured".to_owned();
    }
    let each = view.latencies.iter().map(|latency| {
        let mark = if latency.is_largest { " < largest" } else { "" };
        format!("{} {}{mark}", latency.name, time(latency.p99))
    });
    format!("p99: {}  no core {}", each.collect::<Vec<_>>().join("  "), percent(view.run_delay))
}

fn bar(shares: &[f64; 5]) -> String {
    let widths = widths(shares, BAR);
    widths.iter().zip(LETTERS).map(|(width, letter)| letter.to_string().repeat(*width)).collect()
}

/// The width of each part of a bar. Their sum is `width` if the shares add up to 1.
pub fn widths(shares: &[f64; 5], width: usize) -> [usize; 5] {
    let mut sum = 0.0;
    let mut done = 0;
    shares.map(|share| {
        sum += share;
        let end = ((sum * width as f64).round() as usize).clamp(done, width);
        let own = end - done;
        done = end;
        own
    })
}

/// An explanation in lines.
pub fn explain(explain: &Value) -> Vec<String> {
    let tasks = items(&explain["oldest"]).chain(items(&explain["tasks"]));
    let known: HashMap<&str, &Value> =
        tasks.filter_map(|task| Some((task["id"].as_str()?, task))).collect();
    let name = |task: &Value| match task.as_str().and_then(|id| known.get(id)) {
        Some(known) => task_text(known),
        None => task_text(task),
    };
    // The verdict has a line for each finding.
    let mut lines = verdict(&explain["verdict"]);
    lines.extend(items(&explain["oldest"]).take(OLDEST).map(|task| {
        let waits = items(&task["waits"]).filter_map(|edge| {
            edge["detail"].as_str().or_else(|| edge["kind"].as_str()).map(plain)
        });
        let waits = waits.collect::<Vec<_>>().join(", ");
        let what = if waits.is_empty() { String::new() } else { format!(": {waits}") };
        format!("waits {}: {}{what}", time(number(&task["idle_ms"]) * 1e6), task_text(task))
    }));
    lines.extend(stacks(explain, name));
    if lines.is_empty() {
        lines.push("The process says nothing about what its tasks wait for.".to_owned());
    }
    lines
}

/// Where tasks wait, if they were probed.
fn stacks(explain: &Value, name: impl Fn(&Value) -> String) -> Vec<String> {
    // Tasks with the same stacks stand together.
    let mut groups = Vec::<(&Value, Vec<&Value>)>::new();
    for task in items(&explain["stacks"]) {
        match groups.iter_mut().find(|(stacks, _)| **stacks == task["stacks"]) {
            Some((_, tasks)) => tasks.push(&task["id"]),
            None => groups.push((&task["stacks"], vec![&task["id"]])),
        }
    }
    let mut lines = Vec::new();
    for (stacks, tasks) in groups {
        let wait = match tasks.len() - 1 {
            0 => "waits".to_owned(),
            more => format!("and {more} more of them wait"),
        };
        lines.push(format!("{} {wait} in", name(tasks[0])));
        for (number, stack) in items(stacks).enumerate() {
            if number > 0 {
                lines.push("  and in".to_owned());
            }
            lines.extend(items(stack).map(|frame| {
                let place = frame["at"].as_str().map(|place| format!(" at {}", plain(place)));
                let function = plain(frame["fn"].as_str().unwrap_or_default());
                format!("    {function}{}", place.unwrap_or_default())
            }));
        }
    }
    let probed = &explain["probed"];
    if !probed.is_null() {
        let (polled, woken) = (&probed["polled"], &probed["woken"]);
        lines.push(format!("probed: {polled} of {woken} tasks were polled in time"));
    }
    lines
}

/// A verdict is one text or several.
fn verdict(verdict: &Value) -> Vec<String> {
    let texts: Vec<&str> = match verdict {
        Value::String(text) => text.lines().collect(),
        list => items(list).filter_map(Value::as_str).collect(),
    };
    texts.into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::top::view::tests::reading;

    #[test]
    fn a_page_has_workers_types_and_the_stall() {
        let page = page(&View::of(&reading(3), Some(&reading(1))));
        let times = "p99: poll 2.00 ms  delay 4.00 ms < largest  timer 8.00 ms  steal 3.00 us";
        assert!(page.contains(&format!("{times}  no core 10%")), "{page}");
        assert!(page.contains("  w0 ###############========-------  75%  busy  \n"), "{page}");
        assert!(page.contains("busy    ! 840 ms · blocked · futex"), "{page}");
        assert!(
            page.contains("     2     1000    50%   2.10 ms    2.50 s  handler::{closure}\n"),
            "{page}"
        );
    }

    #[test]
    fn bars_are_full() {
        assert_eq!(widths(&[0.5, 0.25, 0.0, 0.25, 0.0], 10), [5, 3, 0, 2, 0]);
        assert_eq!(widths(&[0.0; 5], 10), [0; 5]);
        assert_eq!(widths(&[1.0, 1.0, 0.0, 0.0, 0.0], 10), [10, 0, 0, 0, 0]);
        assert_eq!(widths(&[0.2; 5], 7).iter().sum::<usize>(), 7);
    }

    #[test]
    fn explanations_name_tasks() {
        let task = |id: &str, name: &str| {
            json!({ "id": id, "type": "app::x", "name": name, "site": "a.rs:1", "idle_ms": "93000",
                    "waits": [{ "kind": "io", "detail": "read fd 7 10.0.0.3:5432" }] })
        };
        let lines = explain(&json!({
            "verdict": "deadlock: A\u{7}\nnever wakes: C", "cycles": [["0x1", "0x2"]],
            "never": ["0x3"], "oldest": [task("0x1", "A"), task("0x2", "B\u{7}")], "edges": [],
        }));
        assert_eq!(lines[..2], ["deadlock: A?", "never wakes: C"]);
        assert_eq!(lines[2], "waits 93.0 s: A (a.rs:1): read fd 7 10.0.0.3:5432");
        assert_eq!((lines[3].contains("B? (a.rs:1)"), lines.len()), (true, 4));
        let probed = explain(&json!({
            "verdict": "fine", "oldest": [], "probed": { "woken": 2, "polled": 1 },
            "stacks": [
                { "id": "0x1", "stacks": [[{ "fn": "app::x", "at": "a.rs:2:3" }]] },
                { "id": "0x2", "stacks": [[{ "fn": "app::x", "at": "a.rs:2:3" }]] },
            ],
        }));
        let expected = ["0x1 and 1 more of them wait in", "    app::x at a.rs:2:3"];
        assert_eq!(probed[1..3], expected);
        assert_eq!(probed[3], "probed: 1 of 2 tasks were polled in time");
        assert!(explain(&json!({ "verdict": null }))[0].contains("says nothing"));
    }
}
