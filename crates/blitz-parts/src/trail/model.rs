//! A worker whose runs begin and end, against a follower with an old trail.

use super::{Trail, TrailOwner};
use crate::deque::{Deque, Linked, Steal};
use crate::latch::Runner;
use crate::prim::{Step, canary, check, thread};
use core::ptr::NonNull;
use std::sync::Arc;

/// An item that is only pushed, never forked.
struct Item;

// SAFETY: there are no forks, so there are no links.
unsafe impl Linked for Item {
    unsafe fn set_older(_: NonNull<Item>, _: *mut Item) {
        unreachable!("nothing is forked");
    }

    unsafe fn older(_: NonNull<Item>) -> *mut Item {
        unreachable!("nothing is forked");
    }
}

/// One worker.
struct Rig {
    trail: Trail,
    deque: Deque<Item>,
}

/// Addresses stand for items; their memory is not read.
fn item(number: usize) -> NonNull<Item> {
    NonNull::dangling().map_addr(|address: core::num::NonZero<usize>| {
        address.checked_add(number).expect("a small number")
    })
}

impl Rig {
    fn new() -> Arc<Rig> {
        Arc::new(Rig { trail: Trail::new(), deque: Deque::new() })
    }

    /// Owner: the worker's end of the trail.
    fn owner(&self) -> TrailOwner<'_> {
        // SAFETY: only the model's first thread calls the owner's methods.
        unsafe { self.trail.owner() }
    }

    /// Owner: pushes an item.
    fn push(&self, number: usize) {
        // SAFETY: as above.
        let _ = unsafe { self.deque.owner() }.push(item(number), |_| ());
    }

    /// Owner: takes the newest item.
    fn pop(&self) {
        // SAFETY: as above.
        let _ = unsafe { self.deque.owner() }.pop();
    }

    /// Follower: takes an item of `run`.
    fn follow(&self, run: u32) -> Option<NonNull<Item>> {
        taken(self.deque.steal_if(|| self.trail.is_still(run)))
    }

    /// As `follow`, but the follower checks the run before it knows the item.
    fn follow_early(&self, run: u32) -> Option<NonNull<Item>> {
        if self.trail.is_still(run) { taken(self.deque.steal()) } else { None }
    }
}

fn taken(steal: Steal<Item>) -> Option<NonNull<Item>> {
    match steal {
        Steal::Success(item) => Some(item),
        Steal::Empty | Steal::Retry => None,
    }
}

type Follow = fn(&Rig, u32) -> Option<NonNull<Item>>;

const OURS: usize = 1;
const LATER: usize = 2;

/// The worker ends the run that is followed and begins another one.
fn follow_beside_the_next_run(follow: Follow) {
    let rig = Rig::new();
    let (run, outside) = rig.owner().begin();
    let follower = thread::spawn({
        let rig = rig.clone();
        move || [follow(&rig, run), follow(&rig, run)]
    });
    rig.push(OURS);
    rig.pop();
    rig.owner().end(outside);
    let (_, outside) = rig.owner().begin();
    rig.push(LATER);
    rig.owner().end(outside);
    let taken = follower.join().unwrap();
    assert!(!taken.contains(&Some(item(LATER))), "an unrelated job was taken");
}

/// The worker runs an unrelated job inside the run that is followed.
fn follow_beside_a_run_inside(follow: Follow) {
    let rig = Rig::new();
    let (run, outside) = rig.owner().begin();
    let follower = thread::spawn({
        let rig = rig.clone();
        move || [follow(&rig, run), follow(&rig, run)]
    });
    let (_, inside) = rig.owner().begin();
    rig.push(LATER);
    rig.pop();
    rig.owner().end(inside);
    rig.push(OURS);
    rig.owner().end(outside);
    let taken = follower.join().unwrap();
    assert!(!taken.contains(&Some(item(LATER))), "an unrelated job was taken");
}

#[test]
fn trail_1_a_follower_takes_nothing_of_a_later_run() {
    check(750, Some(3), || follow_beside_the_next_run(Rig::follow));
}

#[test]
fn trail_1_a_follower_takes_nothing_of_a_run_inside() {
    check(550, Some(3), || follow_beside_a_run_inside(Rig::follow));
}

#[test]
fn canary_a_run_inside_has_no_number() {
    canary(&[Step::TrailInnerNumber], Some(3), || follow_beside_a_run_inside(Rig::follow));
}

#[test]
fn canary_a_follower_judges_before_it_knows_the_job() {
    canary(&[], Some(3), || follow_beside_the_next_run(Rig::follow_early));
}

fn runner(run: u32) -> Runner {
    Runner { index: 0, run }
}

/// The worker has two runs, 1 and 2. Outside them it waits for runner 9. In the first run it waits
/// for runner 1, in the second for runner 2 and then for runner 3.
fn follow_waits(followed: u32) {
    let rig = Rig::new();
    rig.owner().wait_for(runner(9));
    let follower = thread::spawn({
        let rig = rig.clone();
        move || {
            let waits: &[u32] = if followed == 1 { &[1] } else { &[2, 3] };
            if let Some(next) = rig.trail.next(followed) {
                assert!(waits.contains(&next.run), "run {followed} does not wait for {next:?}");
            }
        }
    });
    let (_, outside) = rig.owner().begin();
    rig.owner().wait_for(runner(1));
    rig.owner().end(outside);
    let (_, outside) = rig.owner().begin();
    let none = rig.owner().wait();
    rig.owner().wait_for(runner(2));
    let outer = rig.owner().wait();
    rig.owner().wait_for(runner(3));
    rig.owner().end_wait(outer);
    rig.owner().end_wait(none);
    rig.owner().end(outside);
    follower.join().unwrap();
}

/// The worker waits for runner 1 in the run that is followed, and for runner 2 in an inner run.
fn follow_beside_a_wait_inside() {
    let rig = Rig::new();
    let (run, outside) = rig.owner().begin();
    rig.owner().wait_for(runner(1));
    let follower = thread::spawn({
        let rig = rig.clone();
        move || {
            if let Some(next) = rig.trail.next(run) {
                assert_eq!(next.run, 1, "an inner run waits for this runner");
            }
        }
    });
    let (_, inside) = rig.owner().begin();
    let none = rig.owner().wait();
    rig.owner().wait_for(runner(2));
    rig.owner().end_wait(none);
    rig.owner().end(inside);
    rig.owner().end(outside);
    follower.join().unwrap();
}

fn follow_first() {
    follow_waits(1);
}

fn follow_second() {
    follow_waits(2);
}

#[test]
fn trail_2_a_follower_sees_the_wait_of_the_run() {
    check(1_700, Some(3), follow_first);
    check(600, Some(3), follow_second);
}

#[test]
fn trail_2_a_follower_does_not_see_the_wait_of_an_inner_run() {
    check(800, Some(3), follow_beside_a_wait_inside);
}

#[test]
fn canary_a_run_begins_with_the_wait_outside() {
    canary(&[Step::TrailBeginClears], Some(3), follow_second);
}

#[test]
fn canary_the_number_does_not_release() {
    canary(&[Step::TrailBeginRelease], Some(3), follow_second);
}

#[test]
fn canary_the_end_does_not_release() {
    canary(&[Step::TrailEndRelease], Some(3), follow_first);
}

#[test]
fn canary_a_wait_does_not_release() {
    canary(&[Step::TrailWaitRelease], Some(3), follow_first);
}

#[test]
fn canary_the_end_of_a_wait_does_not_release() {
    canary(&[Step::TrailEndWaitRelease], Some(3), follow_first);
}

#[test]
fn canary_a_follower_does_not_look_again() {
    canary(&[Step::TrailNextLooksAgain], Some(3), follow_first);
}

#[test]
fn canary_a_follower_does_not_count_runs() {
    canary(&[Step::TrailNextCounts], Some(3), follow_beside_a_wait_inside);
}
