//! Programs that once broke the pool, or might. Each is a few lines long.

mod ends;
mod filters;
mod identity;
mod load;
mod nest;
mod uring;
mod waits;
mod wakers;

use crate::watch;
use blitz::{Builder, Runtime, WaitPolicy};
use std::time::Duration;

/// A program that runs in a process of its own.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// The property that it checks.
    pub what: &'static str,
    /// A program that takes longer counts as hung.
    pub limit: Duration,
    /// How it should end.
    pub end: Wanted,
    /// The program. A panic is a failure.
    pub run: fn(),
}

/// How the process of a scenario should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// By returning.
    Success,
    /// By aborting, with this text on standard error.
    Abort(&'static str),
}

impl Scenario {
    /// A scenario that should return within half a minute.
    #[must_use]
    pub const fn new(name: &'static str, what: &'static str, run: fn()) -> Scenario {
        Scenario { name, what, limit: Duration::from_secs(30), end: Wanted::Success, run }
    }

    /// Runs the program in this process. After `patience`, the watchdog dumps the pools and aborts.
    pub fn run_here(&self, patience: Duration) {
        watch::start(patience);
        (self.run)();
    }
}

/// Every scenario.
#[must_use]
pub fn all() -> Vec<Scenario> {
    let groups = [
        uring::ALL,
        nest::ALL,
        waits::ALL,
        identity::ALL,
        wakers::ALL,
        ends::ALL,
        load::ALL,
        filters::ALL,
    ];
    groups.concat()
}

/// By which factor the limits are longer, because a program with a sanitizer is slower. The
/// variable `BLITZ_ATTACK_SLOWER` sets the factor; otherwise it is 1.
#[must_use]
pub fn slower() -> u32 {
    let told = std::env::var("BLITZ_ATTACK_SLOWER");
    told.ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Builds a runtime that the watchdog dumps.
fn build(builder: Builder) -> Runtime {
    let runtime = builder.build().expect("the runtime is built");
    watch::add_runtime(runtime.handle());
    runtime
}

/// A runtime of `workers` workers.
fn runtime(workers: usize) -> Runtime {
    build(Runtime::builder().workers(workers))
}

/// A runtime whose workers run only descendants of the job they wait for.
fn confined(workers: usize) -> Runtime {
    build(Runtime::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly))
}

/// Waits until `done` returns true.
fn wait_for(done: impl Fn() -> bool) {
    while !done() {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::all;
    use std::collections::BTreeSet;

    #[test]
    fn each_scenario_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = all().iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), all().len());
    }
}
