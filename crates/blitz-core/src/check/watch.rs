//! The watch takes tasks out of LIFO slots. In most of these programs no worker is blocked, so the
//! owners use the slots at the same time.

use super::futures::{Event, Gate, yield_now};
use super::{Runtime, canary, check, spawn};
use crate::block_on;
use blitz_parts::prim::Step;

/// There are two pairs of tasks. The two tasks of a pair open gates for each other. A task lands in
/// the LIFO slot of the worker that opened its gate.
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

/// One poll fills the slot again and again: each woken task evicts the task before it. So the watch
/// may find the owner in the same poll twice, and take a task concurrently with the next eviction.
fn evicting() {
    let runtime = Runtime::new(2);
    let root = runtime.spawn(async {
        let gates: [Gate; 4] = std::array::from_fn(|_| Gate::new());
        let partners = gates.clone().map(|gate| spawn(async move { gate.passed().await }));
        yield_now().await;
        gates.iter().for_each(Gate::open);
        for partner in partners {
            partner.await.unwrap();
        }
    });
    block_on(root).unwrap();
    runtime.shut_down();
}

#[test]
fn lifo_1_the_watch_takes_a_task_beside_an_eviction() {
    check(4_000, evicting);
}

#[test]
fn canary_a_task_is_evicted_without_an_exchange() {
    canary(Step::LifoEvictExchange, evicting);
}

#[test]
fn canary_a_task_is_taken_without_an_exchange() {
    canary(Step::LifoTakeExchange, eager);
}

/// The watch turns itself off again and again, while a worker fills its slot and blocks.
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

/// Sets an event when it is dropped.
struct SetsOnDrop(Event);

impl Drop for SetsOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// A task blocks its worker until the task in the slot of that worker is dropped. The runtime ends
/// while the watch takes that task to the queue, perhaps after the other worker has left.
fn rescue_at_the_end() {
    let runtime = Runtime::new(2);
    let begun = Event::new();
    let stuck = runtime.spawn({
        let begun = begun.clone();
        async move {
            let dropped = Event::new();
            let sets = SetsOnDrop(dropped.clone());
            let other = spawn(async move {
                let _sets = sets;
                Gate::new().passed().await;
            });
            begun.set();
            dropped.wait();
            drop(other);
        }
    });
    begun.wait();
    runtime.shut_down();
    drop(stuck);
}

#[test]
fn a_task_that_is_rescued_at_the_end_is_cancelled() {
    check(4_000, rescue_at_the_end);
}
