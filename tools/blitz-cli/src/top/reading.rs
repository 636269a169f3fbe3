//! A snapshot of one pool of a process.

use serde_json::{Value, json};

use crate::{Failure, ask::Peer};

/// How many tasks are requested. The table shows types; tasks only supply waits that types lack.
const TASKS: &str = "1000";

/// The answers of a process, unchanged.
#[derive(Clone, Debug)]
pub struct Reading {
    pub summary: Value,
    pub workers: Value,
    pub tasks: Value,
    pub stalls: Value,
}

impl Reading {
    /// Asks about the pool named `pool`, or about the oldest one.
    pub fn take(peer: &Peer, pool: Option<&str>) -> Result<Self, Failure> {
        Ok(Self {
            summary: ask(peer, pool, "summary", &[])?,
            workers: ask(peer, pool, "workers", &[])?,
            tasks: ask(peer, pool, "tasks", &[("limit", TASKS)])?,
            stalls: ask(peer, pool, "stalls", &[])?,
        })
    }

    /// All answers in one object, for other programs.
    pub fn to_json(&self, explain: &Value) -> Value {
        let Self { summary, workers, tasks, stalls } = self;
        json!({
            "summary": summary, "workers": workers, "tasks": tasks, "stalls": stalls,
            "explain": explain,
        })
    }
}

/// Asks which tasks wait for what.
pub fn explain(peer: &Peer, pool: Option<&str>) -> Result<Value, Failure> {
    ask(peer, pool, "explain", &[])
}

fn ask(
    peer: &Peer,
    pool: Option<&str>,
    what: &str,
    query: &[(&str, &str)],
) -> Result<Value, Failure> {
    let mut query = query.to_vec();
    query.extend(pool.map(|pool| ("pool", pool)));
    peer.json(&format!("/api/v1/{what}"), &query)
}

/// Returns the number in `value`, or 0. The server sends numbers that may need 64 bits as text.
pub fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap_or(0.0),
        value => value.as_f64().unwrap_or(0.0),
    }
}

/// The items of a list; empty if the value is not a list.
pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_or_text() {
        let values = [json!("12"), json!(3), json!(null), json!("x"), json!([])];
        assert_eq!(values.map(|value| number(&value)), [12.0, 3.0, 0.0, 0.0, 0.0]);
        assert_eq!(items(&json!([1, 2])).count(), 2);
        assert_eq!(items(&json!({ "a": 1 })).count(), 0);
    }
}
