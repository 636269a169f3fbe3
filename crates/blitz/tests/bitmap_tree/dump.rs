//! What dumps show of the tree and of tasks.

use crate::common::{wait_for_parked, watched};
use crate::{bells, signal_runtime, storm, wait_until_empty, wait_until_idle};
use blitz::Handle;
use blitz::task::yield_now;
use std::collections::{HashMap, HashSet};
use std::future::pending;

#[test]
fn a_dump_shows_where_tasks_wait() {
    watched("where tasks wait", |watch| {
        let runtime = signal_runtime(watch, 1);
        let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(pending::<()>())).collect();
        wait_for_parked(&runtime.handle(), 100);
        wait_until_idle(&runtime);
        let dump = runtime.pool().dump();
        assert!(dump.to_string().contains("permits 0, sleepers 1"), "{dump}");
        assert_eq!(dump.tasks.len(), 100);
        let slots: HashSet<_> = dump.tasks.iter().map(|task| task.slot.unwrap()).collect();
        assert_eq!(slots.len(), 100);
        for task in &tasks {
            let shown = dump.tasks.iter().find(|shown| shown.id == Some(task.id())).unwrap();
            assert!(shown.state.starts_with("IDLE"), "{}", shown.state);
        }
        tasks.iter().for_each(|task| task.abort());
        wait_until_empty(&runtime);
    });
}

#[test]
fn a_dump_shows_how_many_tasks_had_a_slot_before() {
    watched("how many had a slot before", |watch| {
        let runtime = signal_runtime(watch, 1);
        let slots = runtime.spawn(async {
            let handle = Handle::current();
            let mut slots = Vec::new();
            while slots.len() < 10 {
                let waits = blitz::spawn(pending::<()>());
                let slot = loop {
                    let shown = handle.dump().tasks;
                    let shown = shown.iter().find(|task| task.id == Some(waits.id()));
                    match shown {
                        Some(task) => break task.slot.unwrap(),
                        None => yield_now().await,
                    }
                };
                slots.push(slot);
                waits.abort();
                assert!(waits.await.unwrap_err().is_cancelled());
            }
            slots
        });
        let mut tenants: HashMap<(usize, usize, usize), u32> = HashMap::new();
        for (leaf, word, bit, generation) in slots.join().unwrap() {
            if let Some(before) = tenants.insert((leaf, word, bit), generation) {
                assert!(generation > before, "{generation} after {before}");
            }
        }
        assert!(tenants.len() < 10, "at least one slot was used twice: {tenants:?}");
        wait_until_empty(&runtime);
    });
}

/// Parses the JSON value at the start of a text.
///
/// Returns the text after the value, or the wrong part as the error.
fn after_value(text: &str) -> Result<&str, &str> {
    match text.as_bytes().first() {
        Some(b'{') => after_items(&text[1..], '}', |item| {
            after_value(after_string(item)?.strip_prefix(':').ok_or(item)?)
        }),
        Some(b'[') => after_items(&text[1..], ']', after_value),
        Some(b'"') => after_string(text),
        Some(b'0'..=b'9') => Ok(text.trim_start_matches(|c: char| c.is_ascii_digit())),
        _ => ["true", "false", "null"].iter().find_map(|word| text.strip_prefix(word)).ok_or(text),
    }
}

fn after_items<'a>(
    text: &'a str,
    end: char,
    after_item: impl Fn(&'a str) -> Result<&'a str, &'a str>,
) -> Result<&'a str, &'a str> {
    if let Some(rest) = text.strip_prefix(end) {
        return Ok(rest);
    }
    let mut rest = after_item(text)?;
    while let Some(next) = rest.strip_prefix(',') {
        rest = after_item(next)?;
    }
    rest.strip_prefix(end).ok_or(rest)
}

fn after_string(text: &str) -> Result<&str, &str> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' if text.starts_with('"') => return Ok(&text[at + 1..]),
            0..0x20 => return Err(&text[at..]),
            _ => {}
        }
    }
    Err(text)
}

#[test]
fn a_dump_in_json_is_json() {
    watched("a dump in JSON", |watch| {
        let runtime = signal_runtime(watch, 3);
        let bells = bells(&runtime, 20);
        assert_eq!(after_value(&runtime.pool().dump().to_json()), Ok(""));
        storm(&bells, 1_000);
        assert_eq!(after_value(&runtime.pool().dump().to_json()), Ok(""));
        assert!(after_value("{\"a\":[1,]}").is_err() && after_value("[\"\\\"]").is_err());
    });
}
