//! Workers against the watch that goes to rest, under the model checker.

use super::{Need, Next, Watch};
use crate::park::parker::Parker;
use crate::prim::{AtomicBool, AtomicUsize, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

/// A watch, the slots that it checks, and where threads park.
struct Rig {
    watch: Watch,
    slots: [AtomicBool; 2],
    /// Where the watch parks.
    parker: Parker,
    /// Where stuck workers park until their slots are empty.
    stuck: [Parker; 2],
    wakes: AtomicUsize,
}

impl Rig {
    fn new(asymmetric: bool) -> Arc<Rig> {
        Arc::new(Rig {
            watch: Watch::new(true, asymmetric),
            slots: Default::default(),
            parker: Parker::new(),
            stuck: [Parker::new(), Parker::new()],
            wakes: AtomicUsize::new(0),
        })
    }

    fn wake(&self, need: Need) {
        if need == Need::Wake {
            self.wakes.fetch_add(1, Relaxed);
            self.parker.unpark();
        }
    }

    /// A worker puts a task into its slot and is stuck until the watch has taken it.
    fn be_stuck(&self, worker: usize) {
        self.slots[worker].store(true, Relaxed);
        self.wake(self.watch.need());
        self.stuck[worker].park();
    }

    /// The watch thread: it rests as soon as it finds nothing.
    fn run(&self) {
        loop {
            match self.watch.next() {
                Next::End => return,
                Next::Park => self.parker.park(),
                Next::Look => {
                    let mut found = false;
                    for (slot, stuck) in self.slots.iter().zip(&self.stuck) {
                        if slot.load(Relaxed) {
                            slot.store(false, Relaxed);
                            stuck.unpark();
                            found = true;
                        }
                    }
                    if !found {
                        self.watch.rest(|| self.slots.iter().any(|slot| slot.load(Relaxed)));
                    }
                }
            }
        }
    }

    fn stop(&self) {
        self.watch.stop();
        self.parker.unpark();
    }

    fn start(self: &Arc<Rig>, f: impl FnOnce(&Rig) + 'static) -> thread::JoinHandle<()> {
        let rig = self.clone();
        thread::spawn(move || f(&rig))
    }
}

/// A worker gets stuck while the watch, which is on, goes to rest.
fn stuck_beside_rest(asymmetric: bool) {
    let rig = Rig::new(asymmetric);
    rig.wake(rig.watch.need());
    let watch = rig.start(Rig::run);
    rig.be_stuck(0);
    rig.stop();
    watch.join().unwrap();
}

fn stuck_symmetric() {
    stuck_beside_rest(false);
}

fn stuck_asymmetric() {
    stuck_beside_rest(true);
}

/// A worker gets stuck twice; in between the watch may rest.
fn stuck_again() {
    let rig = Rig::new(true);
    let watch = rig.start(Rig::run);
    rig.be_stuck(0);
    rig.be_stuck(0);
    rig.stop();
    watch.join().unwrap();
}

/// Two workers get stuck beside a watch that is off.
fn two_are_stuck() {
    let rig = Rig::new(true);
    let watch = rig.start(Rig::run);
    let other = rig.start(|rig| rig.be_stuck(1));
    rig.be_stuck(0);
    other.join().unwrap();
    rig.stop();
    watch.join().unwrap();
}

#[test]
fn watch_1_the_slot_of_a_stuck_worker_is_checked() {
    check(3_000, Some(3), stuck_symmetric);
    check(3_000, Some(3), stuck_asymmetric);
    check(2_000, Some(2), stuck_again);
}

#[test]
fn watch_1_the_slots_of_two_stuck_workers_are_checked() {
    check(30_000, Some(2), two_are_stuck);
}

#[test]
fn canary_a_need_without_its_fence() {
    canary(&[Step::WatchNeedFence], Some(3), stuck_symmetric);
}

#[test]
fn canary_a_need_without_the_light_fence() {
    canary(&[Step::BarrierLight], Some(3), stuck_asymmetric);
}

#[test]
fn canary_a_rest_without_its_fence() {
    canary(&[Step::WatchRestFence], Some(3), stuck_asymmetric);
}

#[test]
fn canary_a_rest_without_a_last_look() {
    canary(&[Step::WatchRestLooks], Some(3), stuck_asymmetric);
}

/// Two workers need a watch that is off.
fn two_needs() {
    let rig = Rig::new(true);
    let need = |rig: &Rig| rig.wake(rig.watch.need());
    let other = rig.start(need);
    need(&rig);
    other.join().unwrap();
    assert_eq!(rig.wakes.load(Relaxed), 1);
    assert!(rig.watch.is_on());
}

#[test]
fn watch_2_one_need_wakes_the_watch() {
    check(70, None, two_needs);
}

#[test]
fn canary_a_need_turns_the_watch_on_without_exchange() {
    canary(&[Step::WatchNeedExchange], None, two_needs);
}

/// The pool ends while a worker needs the watch.
fn stop_beside_need() {
    let rig = Rig::new(true);
    let watch = rig.start(Rig::run);
    let worker = rig.start(|rig| rig.wake(rig.watch.need()));
    rig.stop();
    worker.join().unwrap();
    watch.join().unwrap();
    assert_eq!((rig.watch.need(), rig.watch.next()), (Need::Met, Next::End));
}

#[test]
fn watch_3_the_watch_ends_with_the_pool() {
    check(3_000, Some(3), stop_beside_need);
}
