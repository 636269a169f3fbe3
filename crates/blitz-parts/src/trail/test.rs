//! The trail on one thread.

use super::Trail;
use crate::latch::Runner;

#[test]
fn trail_1_each_run_has_a_number_of_its_own() {
    let trail = Trail::default();
    assert!(!trail.is_in_run());
    let (first, outside) = trail.begin();
    assert!(trail.is_in_run() && trail.is_still(first));
    let (inner, inside) = trail.begin();
    assert!(trail.is_still(inner) && !trail.is_still(first));
    trail.end(inside);
    assert!(trail.is_still(first), "the outer run goes on");
    trail.end(outside);
    let (second, outside) = trail.begin();
    assert!(!trail.is_still(first) && second != inner);
    trail.end(outside);
    assert!(!trail.is_in_run());
}

#[test]
fn trail_1_no_run_has_the_number_zero() {
    let trail = Trail::new();
    trail.begun.store(u32::MAX, crate::prim::Relaxed);
    let (run, outside) = trail.begin();
    assert_eq!(run, 1);
    trail.end(outside);
}

#[test]
fn trail_2_waits_inside_hide_those_outside() {
    let trail = Trail::new();
    let runner = |run| Runner { index: 2, run };
    let (first, outside) = trail.begin();
    assert_eq!(trail.next(first), None);
    let none = trail.wait();
    trail.wait_for(runner(7));
    assert_eq!(trail.next(first), Some(runner(7)));
    let (inner, inside) = trail.begin();
    assert_eq!((trail.next(first), trail.next(inner)), (None, None));
    trail.wait_for(runner(8));
    assert_eq!(trail.next(inner), Some(runner(8)));
    trail.end(inside);
    assert_eq!((trail.next(first), trail.next(inner)), (Some(runner(7)), None));
    trail.end_wait(none);
    assert_eq!(trail.next(first), None);
    trail.end(outside);
}

#[test]
fn trail_3_a_worker_that_pushes_is_not_stuck() {
    let trail = Trail::new();
    assert!(trail.is_stuck(0) && trail.is_stuck(0));
    assert!(!trail.is_stuck(5));
    assert!(trail.is_stuck(5));
    assert!(!trail.is_stuck(6));
}
