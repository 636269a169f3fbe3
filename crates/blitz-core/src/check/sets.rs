//! Sets of tasks, jobs and closures: joined one by one, aborted, dropped.

use super::futures::{Gate, yield_now};
use super::ledger::Ledger;
use super::{Runtime, check, spawn};
use crate::{JoinSet, block_on};
use blitz_parts::prim::{any_below, thread};

/// One member of a set is aborted. All are joined in the order in which they end.
fn joined() {
    let runtime = Runtime::new(1 + any_below(2));
    let gate = Gate::new();
    let root = runtime.spawn({
        let gate = gate.clone();
        async move {
            let mut set = JoinSet::new();
            for _ in 0..2 {
                let gate = gate.clone();
                set.spawn(async move { gate.passed().await });
            }
            set.spawn(std::future::pending::<()>()).abort();
            set.spawn_cpu(Ledger::current().follow(|| ()));
            set.spawn_blocking(Ledger::current().follow(|| ()));
            let (mut ended, mut cancelled) = (0, 0);
            while let Some(result) = set.join_next().await {
                match result {
                    Ok(()) => ended += 1,
                    Err(error) => cancelled += usize::from(error.is_cancelled()),
                }
            }
            (ended, cancelled)
        }
    });
    let opener = thread::spawn(move || gate.open());
    assert_eq!(block_on(root), Some((4, 1)));
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn members_are_joined_as_they_end() {
    check(2_000, joined);
}

/// Sets are dropped, or shut down, with members in every state.
fn dropped() {
    let runtime = Runtime::new(2);
    let gate = Gate::new();
    let roots = [0, 1].map(|number| {
        let gate = gate.clone();
        runtime.spawn(async move {
            let mut set = JoinSet::new();
            for _ in 0..3 {
                let gate = gate.clone();
                set.spawn(async move {
                    let child = spawn(yield_now());
                    gate.passed().await;
                    let _ = child.await;
                });
            }
            let _ = set.try_join_next();
            yield_now().await;
            if number == 0 {
                set.shutdown().await;
                assert!(set.is_empty());
            }
        })
    });
    let opener = thread::spawn(move || gate.open());
    roots.into_iter().for_each(|root| block_on(root).unwrap());
    opener.join().unwrap();
    runtime.shut_down();
}

#[test]
fn members_of_a_set_that_is_dropped_end() {
    check(2_000, dropped);
}
