//! The ring under the model checker.

use super::{Pushed, Ring};
use crate::prim::{AtomicUsize, Relaxed, Step, canary, check, thread};
use crate::queue::fixture::Numbered;
use crate::task::Runnable;
use std::sync::Arc;

/// A ring of four, and tasks whose takers check the owner's writes. The tasks themselves are not
/// touched while threads run, so that the checker spends its time on the ring.
struct Rig {
    ring: Ring<4>,
    tasks: Numbered,
    written: Vec<AtomicUsize>,
}

impl Rig {
    /// A ring whose first index is `start`, with the first `filled` of `count` tasks inside.
    fn new(start: u32, count: usize, filled: usize) -> Arc<Rig> {
        let rig = Rig {
            ring: Ring::starting_at(start),
            tasks: Numbered::new(count),
            written: (0..count).map(|_| AtomicUsize::new(0)).collect(),
        };
        (0..filled).for_each(|number| assert!(rig.push(number).is_empty()));
        Arc::new(rig)
    }

    /// Owner: marks a task as written and pushes it; returns the tasks that did not go into the
    /// ring.
    fn push(&self, number: usize) -> Vec<usize> {
        self.written[number].store(1, Relaxed);
        // SAFETY: only the model's first thread calls the owner's methods.
        match unsafe { self.ring.owner() }.push(self.tasks.give(number)) {
            Pushed::Ok => Vec::new(),
            Pushed::Overflow(chain) => self.tasks.take_all(chain),
            Pushed::Busy(task) => self.tasks.take_all([task]),
        }
    }

    /// Owner: pops.
    fn pop(&self) -> Option<usize> {
        // SAFETY: as in `push`.
        unsafe { self.ring.owner() }.pop().map(|task| self.tasks.take(task))
    }

    /// Thief: steals `times` times and returns all tasks that it got, in order.
    fn steal(&self, times: usize) -> Vec<usize> {
        let mine = Ring::starting_at(u32::MAX);
        (0..times).flat_map(|_| self.steal_into(&mine)).collect()
    }

    /// Thief: steals once into its own ring, and empties its own ring.
    fn steal_into(&self, mine: &Ring<4>) -> Vec<usize> {
        // SAFETY: the thief's thread alone has its ring.
        let own = unsafe { mine.owner() };
        let Some(stolen) = self.ring.steal_into(own) else { return Vec::new() };
        let rest = core::iter::from_fn(|| own.pop());
        let got: Vec<_> =
            [stolen.first].into_iter().chain(rest).map(|task| self.got(task)).collect();
        assert_eq!(got.len(), stolen.count, "what was claimed is delivered");
        got
    }

    /// Thief: returns the number of a task, and checks that it sees the owner's writes (RING-4).
    fn got(&self, task: Runnable) -> usize {
        let number = self.tasks.take(task);
        let written = self.written[number].load(Relaxed);
        assert_eq!(written, 1, "what the owner wrote before it pushed");
        number
    }

    fn spawn_thief(self: &Arc<Rig>, times: usize) -> thread::JoinHandle<Vec<usize>> {
        let rig = self.clone();
        thread::spawn(move || rig.steal(times))
    }

    /// Checks that each task is in one place: taken by the owner, taken by a thief or in the ring.
    fn finish<const T: usize>(
        &self,
        mut taken: Vec<usize>,
        thieves: [thread::JoinHandle<Vec<usize>>; T],
    ) {
        thieves.into_iter().for_each(|thief| taken.extend(thief.join().unwrap()));
        taken.extend(core::iter::from_fn(|| self.pop()));
        assert!(self.ring.is_empty());
        self.tasks.assert_each_once(taken);
    }
}

/// The owner pops, pushes and pops while a thief steals twice.
fn pop_against_steal(start: u32) {
    let rig = Rig::new(start, 4, 3);
    let thief = rig.spawn_thief(2);
    let mut taken: Vec<_> = rig.pop().into_iter().collect();
    taken.extend(rig.push(3));
    taken.extend(rig.pop());
    rig.finish(taken, [thief]);
}

#[test]
fn ring_1_pop_against_steal_takes_each_once() {
    check(27_000, Some(4), || pop_against_steal(0));
}

#[test]
fn ring_8_pop_against_steal_while_the_indices_wrap_around() {
    check(27_000, Some(4), || pop_against_steal(u32::MAX - 2));
}

#[test]
fn ring_2_a_thief_delivers_all_claimed_tasks() {
    check(27_000, Some(4), || pop_against_steal(u32::MAX));
}

#[test]
fn canary_a_thief_gives_up() {
    canary(&[Step::RingNeverAbandon], Some(4), || pop_against_steal(0));
}

#[test]
fn canary_a_head_without_its_tail() {
    canary(&[Step::RingHeadRelease], Some(4), || pop_against_steal(0));
}

/// The owner pushes into a full ring while a thief steals. Each push finds room, overflows or
/// finds a thief that is about to make room.
fn overflow_against_steal(start: u32) {
    let rig = Rig::new(start, 6, 4);
    let thief = rig.spawn_thief(2);
    let mut taken = rig.push(4);
    taken.extend(rig.push(5));
    rig.finish(taken, [thief]);
}

#[test]
fn ring_7_an_overflow_against_a_thief() {
    check(4_000, Some(4), || overflow_against_steal(0));
}

#[test]
fn ring_5_slots_that_a_thief_copies_are_not_written() {
    check(4_000, Some(4), || overflow_against_steal(u32::MAX - 4));
}

#[test]
fn canary_a_thiefs_slots_are_written() {
    canary(&[Step::RingSlotsOfThief], Some(4), || overflow_against_steal(0));
}

#[test]
fn canary_a_slot_is_written_too_early() {
    canary(&[Step::RingRoomAcquire], Some(4), || overflow_against_steal(0));
}

/// Two thieves, and an owner that pops and pushes.
fn two_thieves() {
    let rig = Rig::new(u32::MAX - 1, 5, 4);
    let thieves = [rig.spawn_thief(1), rig.spawn_thief(1)];
    let mut taken: Vec<_> = rig.pop().into_iter().collect();
    taken.extend(rig.push(4));
    rig.finish(taken, thieves);
}

#[test]
fn ring_6_two_thieves_take_turns() {
    check(45_000, Some(3), two_thieves);
}

#[test]
fn canary_two_thieves_inside() {
    canary(&[Step::RingOneThief], Some(3), two_thieves);
}

/// Two thieves, and an owner that overflows.
fn two_thieves_and_an_overflow() {
    let rig = Rig::new(0, 6, 4);
    let thieves = [rig.spawn_thief(1), rig.spawn_thief(1)];
    let mut taken = rig.push(4);
    taken.extend(rig.push(5));
    taken.extend(rig.pop());
    rig.finish(taken, thieves);
}

#[test]
fn ring_1_two_thieves_and_an_overflow_take_each_once() {
    check(18_000, Some(2), two_thieves_and_an_overflow);
}

/// The owner pushes while a thief steals, and a second thief steals from the first one's ring.
fn stolen_twice() {
    let rig = Rig::new(0, 3, 0);
    let between = Arc::new(Ring::<4>::new());
    let first = thread::spawn({
        let (rig, between) = (rig.clone(), between.clone());
        move || {
            // SAFETY: this thread alone calls the owner's methods of that ring.
            let own = unsafe { between.owner() };
            rig.ring.steal_into(own).map(|stolen| rig.got(stolen.first))
        }
    });
    let second = thread::spawn({
        let (rig, between) = (rig.clone(), between.clone());
        move || {
            let mine = Ring::<2>::new();
            // SAFETY: this thread alone has the ring.
            between.steal_into(unsafe { mine.owner() }).map(|stolen| rig.got(stolen.first))
        }
    });
    let mut taken = rig.push(0);
    taken.extend(rig.push(1));
    taken.extend(rig.push(2));
    for thief in [first, second] {
        taken.extend(thief.join().unwrap());
    }
    // SAFETY: its owner's thread has ended, and was joined.
    let between = unsafe { between.owner() };
    taken.extend(rig.tasks.take_all(core::iter::from_fn(|| between.pop())));
    rig.finish(taken, []);
}

#[test]
fn ring_4_thieves_see_writes_from_before_push() {
    check(3_500, Some(3), stolen_twice);
}

#[test]
fn canary_push_without_release() {
    canary(&[Step::RingPushRelease], Some(3), stolen_twice);
}

/// The owner pushes a second task before it pops the first, so the ring is never empty.
fn never_empty() {
    let rig = Rig::new(5, 2, 1);
    let observer = thread::spawn({
        let rig = rig.clone();
        move || assert!(!rig.ring.is_empty(), "there is always a task")
    });
    let mut taken = rig.push(1);
    taken.extend(rig.pop());
    observer.join().unwrap();
    rig.finish(taken, []);
}

#[test]
fn ring_9_a_ring_that_is_never_empty_never_looks_empty() {
    check(100, None, never_empty);
}

#[test]
fn canary_the_length_is_read_tail_first() {
    canary(&[Step::RingLenHeadFirst], None, never_empty);
}

/// A thief claims while another thread reads the length. Three tasks are pushed in all, so the
/// length is at most three.
fn length_beside_a_thief() {
    let rig = Rig::new(u32::MAX, 3, 1);
    let thief = rig.spawn_thief(1);
    let observer = thread::spawn({
        let rig = rig.clone();
        move || assert!(rig.ring.len() <= 3)
    });
    let mut taken = rig.push(1);
    taken.extend(rig.push(2));
    observer.join().unwrap();
    rig.finish(taken, [thief]);
}

#[test]
fn ring_9_a_length_beside_a_thief() {
    check(12_000, Some(3), length_beside_a_thief);
}
