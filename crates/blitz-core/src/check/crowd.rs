//! Tasks that spawn, yield, wake and join each other.

use super::futures::yield_now;
use super::{Runtime, canary, check, spawn};
use crate::block_on;
use blitz_parts::prim::Step;
use std::future::Future;
use std::pin::Pin;

/// A tree of tasks. Each task but the leaves spawns two more, yields in between, and adds up their
/// results.
fn tree(depth: u32) -> Pin<Box<dyn Future<Output = u32> + Send>> {
    Box::pin(async move {
        if depth == 0 {
            yield_now().await;
            return 1;
        }
        let first = spawn(tree(depth - 1));
        yield_now().await;
        let second = spawn(tree(depth - 1));
        first.await.unwrap() + second.await.unwrap()
    })
}

fn trees() {
    let runtime = Runtime::new(3);
    let trees = [1, 2, 3].map(|depth| runtime.spawn(tree(depth)));
    let leaves = trees.map(|tree| block_on(tree).unwrap());
    assert_eq!(leaves, [2, 4, 8]);
    runtime.shut_down();
}

#[test]
fn trees_of_tasks_end() {
    check(2_000, trees);
}

#[test]
fn canary_two_thieves_are_in_one_ring() {
    canary(Step::RingOneThief, trees);
}

#[test]
fn canary_a_thief_gives_up() {
    canary(Step::RingNeverAbandon, trees);
}

#[test]
fn canary_slots_are_written_beside_a_thief() {
    canary(Step::RingSlotsOfThief, trees);
}

#[test]
fn canary_the_length_of_the_queue_is_written_late() {
    canary(Step::QueueCountLocked, trees);
}

#[test]
fn canary_a_sleeper_is_counted_out_twice() {
    canary(Step::SleepWakerDecrements, trees);
}

#[test]
fn canary_a_run_begins_with_a_store() {
    canary(Step::TaskStartExchange, trees);
}

#[test]
fn canary_a_task_forgets_that_it_was_woken() {
    canary(Step::TaskRestNotified, trees);
}

#[test]
fn canary_the_end_of_a_task_is_not_announced() {
    canary(Step::TaskCompleteWakes, trees);
}

#[test]
fn canary_a_join_handle_overlooks_the_end() {
    canary(Step::TaskJoinSeesEnd, trees);
}
