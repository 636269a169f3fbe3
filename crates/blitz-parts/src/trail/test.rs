//! The trail on one thread.

use super::Trail;
use crate::latch::Runner;

#[test]
fn trail_1_each_run_has_a_number_of_its_own() {
    let trail = Trail::default();
    // SAFETY: no other thread uses the trail.
    let owner = unsafe { trail.owner() };
    assert!(!trail.is_in_run());
    let (first, outside) = owner.begin();
    assert!(trail.is_in_run() && trail.is_still(first));
    let (inner, inside) = owner.begin();
    assert!(trail.is_still(inner) && !trail.is_still(first));
    owner.end(inside);
    assert!(trail.is_still(first), "the outer run goes on");
    owner.end(outside);
    let (second, outside) = owner.begin();
    assert!(!trail.is_still(first) && second != inner);
    owner.end(outside);
    assert!(!trail.is_in_run());
}

#[test]
fn trail_1_no_run_has_the_number_zero() {
    let trail = Trail::new();
    // SAFETY: no other thread uses the trail.
    let owner = unsafe { trail.owner() };
    trail.begun.store(u32::MAX, crate::prim::Relaxed);
    let (run, outside) = owner.begin();
    assert_eq!(run, 1);
    owner.end(outside);
}

#[test]
fn trail_2_inner_waits_hide_outer_ones() {
    let trail = Trail::new();
    // SAFETY: no other thread uses the trail.
    let owner = unsafe { trail.owner() };
    let runner = |run| Runner { index: 2, run };
    let (first, outside) = owner.begin();
    assert_eq!(trail.next(first), None);
    let none = owner.wait();
    owner.wait_for(runner(7));
    assert_eq!(trail.next(first), Some(runner(7)));
    let (inner, inside) = owner.begin();
    assert_eq!((trail.next(first), trail.next(inner)), (None, None));
    owner.wait_for(runner(8));
    assert_eq!(trail.next(inner), Some(runner(8)));
    owner.end(inside);
    assert_eq!((trail.next(first), trail.next(inner)), (Some(runner(7)), None));
    owner.end_wait(none);
    assert_eq!(trail.next(first), None);
    owner.end(outside);
}

#[test]
fn trail_3_a_worker_that_pushes_is_not_stuck() {
    let trail = Trail::new();
    assert!(trail.is_stuck(0) && trail.is_stuck(0));
    assert!(!trail.is_stuck(5));
    assert!(trail.is_stuck(5));
    assert!(!trail.is_stuck(6));
}
