//! The pair of fences under the model checker.

use super::{heavy, light};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use std::sync::Arc;

/// Each side writes its word and then reads the other's.
fn neither_misses_the_other() {
    let words = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let frequent = thread::spawn({
        let words = words.clone();
        move || {
            words[0].store(1, Relaxed);
            light();
            words[1].load(Relaxed)
        }
    });
    words[1].store(1, Relaxed);
    heavy();
    let seen_by_rare = words[0].load(Relaxed);
    let seen_by_frequent = frequent.join().unwrap();
    assert!(seen_by_rare + seen_by_frequent > 0, "both missed the other");
}

#[test]
fn barrier_1_neither_side_misses_the_other() {
    check(7, None, neither_misses_the_other);
}

#[test]
fn canary_no_light_half() {
    canary(&[Step::BarrierLight], None, neither_misses_the_other);
}
