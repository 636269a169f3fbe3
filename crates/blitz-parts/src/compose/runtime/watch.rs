//! The watch comes by although nobody is stuck: it takes tasks out of LIFO slots that their owners use.

use super::futures::{Gate, yield_now};
use super::wait::block_on;
use super::worker::Worker;
use super::{Runtime, spawn};
use crate::prim::{Step, canary, check, thread};

/// Two pairs of tasks open gates for each other; each lands in the LIFO slot of who opened its gate.
fn eager() {
    let runtime = Runtime::new(2);
    let watch = thread::spawn({
        let team = runtime.team.clone();
        move || {
            for round in 0..8 {
                Worker::new(&team, round % 2).rescue();
            }
        }
    });
    let pairs = [0, 1].map(|_| {
        runtime.spawn(async {
            let gates: [Gate; 3] = core::array::from_fn(|_| Gate::new());
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
    watch.join().unwrap();
    runtime.shut_down();
}

#[test]
fn lifo_1_the_watch_takes_tasks_beside_their_owners() {
    check(4_000, Some(3), eager);
}

#[test]
fn canary_a_task_is_evicted_without_an_exchange() {
    canary(&[Step::LifoEvictExchange], Some(3), eager);
}

#[test]
fn canary_a_task_is_taken_without_an_exchange() {
    canary(&[Step::LifoTakeExchange], Some(3), eager);
}
