//! The interface for `blitz-par`: the worker that runs a loop, and forks that know their worker.

mod common;

use blitz_core::{Here, enter};
use common::{pool, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Barrier;

fn sum(here: Here<'_>, numbers: &[u64]) -> u64 {
    if numbers.len() < 8 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = here.join(|here| sum(here, left), |here, _| sum(here, right));
    left + right
}

#[test]
fn forks_return_both_results_from_everywhere() {
    let numbers: Vec<u64> = (0..10_000).collect();
    assert_eq!(enter(|here| sum(here, &numbers)), 49_995_000);
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let found = pool.install(|| enter(|here| (here.workers(), sum(here, &numbers))));
        assert_eq!(found, (workers, 49_995_000));
    }
}

#[test]
fn the_first_half_need_not_be_sent() {
    let pool = pool(2);
    let length = pool.install(|| {
        enter(|here| {
            let here_only = Rc::new(3);
            here.join(|_| *here_only, |_, _| 4)
        })
    });
    assert_eq!(length, (3, 4));
}

#[test]
fn a_fork_knows_whether_it_was_stolen_and_which_worker_runs_it() {
    watched("stolen", |watch| {
        let pool = watch.pool(pool(2));
        let both = Barrier::new(2);
        let (_, (stolen, index)) = pool.install(|| {
            enter(|here| {
                here.join(
                    |_| both.wait().is_leader(),
                    |here, stolen| {
                        both.wait();
                        let inner = here.join(|_| (), |_, _| blitz::current_worker_index());
                        (stolen, inner.1)
                    },
                )
            })
        });
        assert!(stolen, "both halves were at the barrier at once");
        assert!(index.is_some());
    });
    let alone = pool(1).install(|| enter(|here| here.join(|_| (), |_, stolen| stolen).1));
    assert!(!alone, "a pool of one worker has no thief");
}

#[test]
fn a_pool_of_one_worker_wants_no_parts() {
    assert!(!pool(1).install(|| enter(|here| here.wanted())));
}

#[test]
fn a_panic_comes_after_the_other_half() {
    let pool = pool(2);
    let mut ran = false;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        pool.install(|| enter(|here| here.join(|_| panic!("left"), |_, _| ran = true)))
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "left");
    assert!(ran);
}
