//! A dump as JSON.

#![forbid(unsafe_code)]

use super::{Dump, SignalDump, TaskDump, WorkerDump};
use std::fmt::{Display, Write};

impl Dump {
    /// Returns the dump as one line of JSON.
    ///
    /// ```
    /// let builder = blitz::Pool::builder().workers(2).scheduler(blitz::Scheduler::Signal);
    /// let json = builder.build().unwrap().dump().to_json();
    /// assert!(json.contains("\"permits\":0"));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        object([
            ("scheduler", string(self.scheduler.name())),
            ("sleeping", self.sleeping.to_string()),
            ("inactive", self.inactive.to_string()),
            ("all_sleep", self.all_sleep.to_string()),
            ("jec", self.jec.to_string()),
            ("alive", self.alive.to_string()),
            ("task_holds", self.task_holds.to_string()),
            ("stopping", self.stopping.to_string()),
            ("injected", self.injected.to_string()),
            ("queued", self.queued.to_string()),
            ("watch", self.watch.to_string()),
            ("signal", self.signal.as_ref().map_or_else(null, signal)),
            ("workers", list(self.workers.iter().map(worker))),
            ("tasks", list(self.tasks.iter().map(task))),
        ])
    }
}

fn signal(signal: &SignalDump) -> String {
    object([
        ("permits", signal.permits.to_string()),
        ("sleepers", signal.sleepers.to_string()),
        ("roots", list(signal.roots.iter().map(bits))),
        ("leaves", list(signal.leaves.iter().map(bits))),
        ("owners", list(&signal.owners)),
    ])
}

fn worker(worker: &WorkerDump) -> String {
    let metrics = &worker.metrics;
    object([
        ("index", worker.index.to_string()),
        ("in_service", worker.in_service.to_string()),
        ("seat_lost", worker.seat_lost.to_string()),
        ("word", string(worker.word)),
        ("parked", worker.parked.to_string()),
        ("deque", string(&worker.deque)),
        ("mail", worker.mail.to_string()),
        ("queues", string(&worker.queues)),
        ("queued", worker.queued.to_string()),
        ("status", worker.status.map_or_else(null, |status| status.to_string())),
        ("partition_summary", worker.partition_summary.as_ref().map_or_else(null, bits)),
        ("jobs", metrics.jobs.to_string()),
        ("parks", metrics.parks.to_string()),
        ("wakes_sent", metrics.wakes_sent.to_string()),
        ("wakes_received", metrics.wakes_received.to_string()),
    ])
}

fn task(task: &TaskDump) -> String {
    let slot = task.slot.map_or_else(null, |(leaf, word, bit, generation)| {
        object([
            ("leaf", leaf.to_string()),
            ("word", word.to_string()),
            ("bit", bit.to_string()),
            ("generation", generation.to_string()),
        ])
    });
    object([
        ("id", task.id.map_or_else(null, |id| string(&id.to_string()))),
        ("name", task.name.as_deref().map_or_else(null, string)),
        ("slot", slot),
        ("state", string(&task.state)),
        ("type", task.type_name.map_or_else(null, string)),
        ("site", task.site.map_or_else(null, |site| string(&site.to_string()))),
    ])
}

pub(in crate::door) fn null() -> String {
    "null".to_owned()
}

/// A 64-bit number as text: many JSON readers cannot hold it as a number.
fn bits(word: &u64) -> String {
    format!("\"{word:#018x}\"")
}

pub(in crate::door) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    format!("{{{}}}", inner(fields))
}

/// The fields of an object, without its braces.
pub(in crate::door) fn inner<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}"));
    fields.collect::<Vec<_>>().join(",")
}

pub(in crate::door) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(","))
}

pub(in crate::door) fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            // Writing to a string does not fail.
            control if control.is_control() => drop(write!(quoted, "\\u{:04x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{bits, list, object, string};

    #[test]
    fn strings_are_quoted() {
        assert_eq!(string("a \"b\" \\ \n"), r#""a \"b\" \\ \u000a""#);
    }

    #[test]
    fn objects_and_lists_nest() {
        let inner = list([1, 2]);
        assert_eq!(
            object([("a", inner), ("b", bits(&3))]),
            r#"{"a":[1,2],"b":"0x0000000000000003"}"#
        );
        assert_eq!(list(Vec::<u8>::new()), "[]");
    }
}
