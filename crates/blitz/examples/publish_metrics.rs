//! Publishes the metrics of a pool to a recorder of the crate `metrics`. This recorder prints them.
//!
//! ```text
//! cargo run --features metrics --example publish_metrics
//! ```

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};
use std::sync::Arc;

/// Prints each value. A real program would use the recorder of an exporter instead.
struct Print;

/// Prints the values of one key.
struct Line(Key);

impl CounterFn for Line {
    fn increment(&self, value: u64) {
        println!("{} +{value}", self.0);
    }

    fn absolute(&self, value: u64) {
        println!("{} {value}", self.0);
    }
}

impl GaugeFn for Line {
    fn increment(&self, value: f64) {
        println!("{} +{value}", self.0);
    }

    fn decrement(&self, value: f64) {
        println!("{} -{value}", self.0);
    }

    fn set(&self, value: f64) {
        println!("{} {value}", self.0);
    }
}

impl Recorder for Print {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Line(key.clone())))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(Line(key.clone())))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = blitz::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() -> Result<(), blitz::BuildError> {
    let pool = blitz::Pool::builder().workers(2).build()?;
    assert_eq!(pool.install(|| fib(20)), 6_765);
    pool.block_on(blitz::time::sleep(std::time::Duration::from_millis(2)));
    metrics::with_local_recorder(&Print, || blitz::bridge::publish(&pool.metrics(), "example"));
    Ok(())
}
