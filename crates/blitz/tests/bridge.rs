//! Checks the values that `bridge::publish` sends to a recorder of the crate `metrics`.
#![cfg(feature = "metrics")]

use blitz::{Pool, bridge};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Values by name and labels.
#[derive(Clone, Default)]
struct Values(Arc<Mutex<BTreeMap<String, f64>>>);

/// One of the values, with its key.
struct Value(Values, String);

impl Value {
    fn set_to(&self, value: f64) {
        self.0.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl CounterFn for Value {
    fn increment(&self, _: u64) {
        unreachable!("the bridge sets absolute values only");
    }

    fn absolute(&self, value: u64) {
        self.set_to(value as f64);
    }
}

impl GaugeFn for Value {
    fn increment(&self, _: f64) {
        unreachable!("the bridge sets absolute values only");
    }

    fn decrement(&self, _: f64) {
        unreachable!("the bridge sets absolute values only");
    }

    fn set(&self, value: f64) {
        self.set_to(value);
    }
}

impl Values {
    fn value(&self, key: &Key) -> Arc<Value> {
        let labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(Value(self.clone(), format!("{} {}", key.name(), labels.join(" "))))
    }
}

impl Recorder for Values {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.value(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        unreachable!("the bridge registers no histograms");
    }
}

#[test]
fn a_recorder_gets_every_value_with_the_name_of_its_pool() {
    // A spare would count as a worker.
    let pool = Pool::builder().workers(2).spares(0).build().unwrap();
    pool.scope(|s| (0..10).for_each(|_| s.spawn(|_| ())));
    pool.spawn(async {}).join().unwrap();
    pool.install(|| blitz::region("sum", || ()));
    let values = Values::default();
    // The poll is counted a moment after its task has ended.
    let metrics = loop {
        let metrics = pool.metrics();
        if metrics.tasks.poll_times.count() > 0 {
            break metrics;
        }
        std::thread::yield_now();
    };
    metrics::with_local_recorder(&values, || bridge::publish(&metrics, "api"));
    let values = values.0.lock().unwrap();
    assert_eq!(values["blitz_workers pool=api"], 2.0);
    assert_eq!(values["blitz_tasks_spawned_total pool=api"], 1.0);
    assert!(values["blitz_jobs_total pool=api"] >= 10.0);
    assert!(values["blitz_poll_duration_seconds_count pool=api"] >= 1.0);
    assert!(values["blitz_poll_duration_seconds pool=api quantile=0.99"] > 0.0);
    assert!(values.contains_key("blitz_worker_state_seconds pool=api state=poll"));
    for state in ["waiting", "queued", "running"] {
        assert!(values.contains_key(&format!("blitz_tasks pool=api state={state}")), "{state}");
    }
    assert!(values.keys().all(|key| key.contains("pool=api")), "{values:?}");
    assert_eq!(published(&values), expected(&metrics.exposition().pool("api").to_prometheus()));
}

/// The published values without quantiles, which the text does not have.
fn published(values: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let kept = values.iter().filter(|(key, _)| !key.contains(" quantile="));
    kept.map(|(key, value)| (key.clone(), *value)).collect()
}

/// The values of a text for Prometheus, under the names that the bridge gives them.
///
/// Buckets and types of tasks are left out. Counters in seconds lack the suffix `_total`.
fn expected(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let is_kept = |key: &str| !key.contains("_bucket{") && !key.starts_with("blitz_type_");
    let values = lines.filter_map(|line| {
        let (key, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = key.strip_suffix('}').unwrap().split_once('{').unwrap();
        let name = match name.strip_suffix("_total") {
            Some(seconds) if seconds.ends_with("_seconds") => seconds,
            _ => name,
        };
        let key_of = || format!("{name} {}", labels.replace(',', " ").replace('"', ""));
        is_kept(key).then(|| (key_of(), value.parse().unwrap()))
    });
    values.collect()
}
