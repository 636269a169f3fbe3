//! The watch comes by although nobody is stuck: it takes tasks out of LIFO slots that their owners
//! use.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, canary, check, spawn};
use crate::block_on;
use blitz_parts::prim::Step;

/// Two pairs of tasks open gates for each other; each lands in the LIFO slot of who opened its
/// gate.
fn eager() {
    let runtime = Runtime::new(2);
    let pairs = [0, 1].map(|_| {
        runtime.spawn(async {
            let gates: [Gate; 3] = std::array::from_fn(|_| Gate::new());
            let partner = spawn({
                let gates = gates.clone();
                async move {
                    gates[0].passed().await;
                    gates[1].open();
                    gates[2].passed().await;
                }
            });
            yield_now().await;
            gates[0].open();
            gates[1].passed().await;
            gates[2].open();
            partner.await.unwrap();
        })
    });
    pairs.into_iter().for_each(|pair| block_on(pair).unwrap());
    runtime.shut_down();
}

#[test]
fn lifo_1_the_watch_takes_tasks_beside_their_owners() {
    check(4_000, eager);
}

#[test]
fn canary_a_task_is_evicted_without_an_exchange() {
    canary(Step::LifoEvictExchange, eager);
}

#[test]
fn canary_a_task_is_taken_without_an_exchange() {
    canary(Step::LifoTakeExchange, eager);
}

/// The watch turns itself off again and again beside a worker that fills its slot and blocks.
fn on_and_off() {
    let runtime = Runtime::new(2);
    let root = runtime.spawn(async {
        for _ in 0..2 {
            let event = Event::new();
            let sets = spawn({
                let event = event.clone();
                async move { event.set() }
            });
            event.wait();
            sets.await.unwrap();
        }
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn a_task_behind_its_spawner_is_rescued() {
    check(4_000, on_and_off);
}

#[test]
fn canary_the_watch_turns_itself_off_without_a_look() {
    canary(Step::WatchRestLooks, on_and_off);
}
