//! The pair of fences under the model checker.

use super::{Reliance, after_exchange, heavy, light};
use crate::prim::{
    AcqRel, AtomicBool, AtomicUsize, Relaxed, SeqCst, Step, canary, check, fence, thread,
};
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

/// Each side exchanges its word and then reads the other's. If `ordinary`, the second side stores
/// its word and passes an ordinary fence instead.
fn neither_exchange_is_missed(ordinary: bool) {
    let words = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let first = thread::spawn({
        let words = words.clone();
        move || {
            words[0].swap(1, AcqRel);
            after_exchange();
            words[1].load(Relaxed)
        }
    });
    if ordinary {
        words[1].store(1, Relaxed);
        fence(SeqCst);
    } else {
        words[1].swap(1, AcqRel);
        after_exchange();
    }
    let seen_by_second = words[0].load(Relaxed);
    assert!(first.join().unwrap() + seen_by_second > 0, "both missed the other");
}

#[test]
fn barrier_3_neither_exchange_is_missed() {
    check(7, None, || neither_exchange_is_missed(false));
}

#[test]
fn barrier_3_an_exchange_pairs_with_an_ordinary_fence() {
    check(7, None, || neither_exchange_is_missed(true));
}

#[test]
fn canary_no_fence_after_an_exchange() {
    canary(&[Step::BarrierAfterExchange], None, || neither_exchange_is_missed(true));
}

/// Two sleepers find the pair refused. Each of them looks only after the light sides were notified.
fn told_before_the_look() {
    let (reliance, told) = (Arc::new(Reliance::new(true)), Arc::new(AtomicUsize::new(0)));
    let sleeper = || {
        let (reliance, told) = (reliance.clone(), told.clone());
        move || {
            reliance.notice(|| false, || told.store(1, Relaxed));
            assert_eq!(told.load(Relaxed), 1, "a look before the light sides are notified");
        }
    };
    let other = thread::spawn(sleeper());
    sleeper()();
    other.join().unwrap();
    assert!(!reliance.is_on());
}

#[test]
fn barrier_5_the_light_sides_are_notified_before_a_sleeper_looks() {
    check(200, None, told_before_the_look);
}

/// A light side and a sleeper. The sleeper's heavy fence is refused, so it orders only accesses of
/// the sleeper itself (`own_fence`). The light side passes an ordinary fence if it was notified.
fn told_light_side(own_fence: fn()) {
    let words = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let told = Arc::new(AtomicBool::new(false));
    let light_side = thread::spawn({
        let (words, told) = (words.clone(), told.clone());
        move || {
            words[0].store(1, Relaxed);
            let is_told = told.load(Relaxed);
            if is_told {
                fence(SeqCst);
            }
            (is_told, words[1].load(Relaxed))
        }
    });
    let reliance = Reliance::new(true);
    words[1].store(1, Relaxed);
    own_fence();
    reliance.notice(|| false, || told.store(true, Relaxed));
    let seen_by_sleeper = words[0].load(Relaxed);
    let (is_told, seen) = light_side.join().unwrap();
    assert!(!is_told || seen + seen_by_sleeper > 0, "both missed the other");
}

#[test]
fn barrier_5_a_notified_light_side_is_not_missed() {
    check(60, None, || {
        told_light_side(|| {
            heavy();
        });
    });
}

#[test]
fn canary_a_sleeper_that_passes_no_fence() {
    canary(&[], None, || told_light_side(|| ()));
}

#[test]
fn canary_a_refusal_is_announced_without_release() {
    canary(&[Step::BarrierToldRelease], None, told_before_the_look);
}
