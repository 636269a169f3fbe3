//! The ring on real threads, and compared with a simple model.

use super::{Head, Pushed, Ring, RingOwner, taken};
use crate::prim::{AtomicBool, AtomicUsize, Relaxed};
use crate::queue::Chain;
use crate::queue::fixture::{Numbered, run, task};
use crate::task::Runnable;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where the indices start in tests: at zero, and shortly before they wrap around.
const STARTS: [u32; 3] = [0, u32::MAX - 2, u32::MAX - 100];

/// The owner's end of a ring that this thread alone uses.
fn owner<const N: usize>(ring: &Ring<N>) -> RingOwner<'_, N> {
    // SAFETY: in every test one thread alone calls this for one ring.
    unsafe { ring.owner() }
}

/// Pushes a task into a ring that has room.
fn push<const N: usize>(ring: &Ring<N>, task: Runnable) {
    assert!(matches!(owner(ring).push(task), Pushed::Ok));
}

/// Takes all tasks of a ring, oldest first.
fn drain<const N: usize>(ring: &Ring<N>) -> impl Iterator<Item = Runnable> + '_ {
    core::iter::from_fn(|| owner(ring).pop())
}

#[test]
fn ring_3_tasks_are_popped_oldest_first() {
    for start in STARTS {
        let tasks = Numbered::new(5);
        let ring = Ring::<8>::starting_at(start);
        tasks.give_all(0..5).for_each(|task| push(&ring, task));
        assert_eq!((ring.len(), owner(&ring).room()), (5, 3));
        let taken = tasks.take_all(drain(&ring));
        assert!(ring.is_empty() && owner(&ring).pop().is_none());
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        tasks.assert_each_once(taken);
    }
}

#[test]
fn ring_3_a_chain_enters_in_its_order_as_far_as_there_is_room() {
    for start in STARTS {
        let tasks = Numbered::new(12);
        let ring = Ring::<8>::starting_at(start);
        tasks.give_all(0..3).for_each(|task| push(&ring, task));
        let mut chain = Chain::of(tasks.give_all(3..12).collect::<Vec<_>>().into_iter());
        owner(&ring).push_from(&mut chain);
        assert_eq!((ring.len(), chain.len()), (8, 4));
        owner(&ring).push_from(&mut chain);
        assert_eq!((ring.len(), chain.len()), (8, 4), "there is no room");
        let mut taken = tasks.take_all(drain(&ring));
        owner(&ring).push_from(&mut chain);
        assert!(chain.is_empty());
        taken.extend(tasks.take_all(drain(&ring)));
        assert!(taken.is_sorted());
        tasks.assert_each_once(taken);
    }
}

#[test]
fn ring_1_a_full_ring_gives_the_task_back() {
    let tasks = Numbered::new(3);
    let ring = Ring::<2>::new();
    tasks.give_all(0..2).for_each(|task| assert!(owner(&ring).try_push(task).is_ok()));
    let third = tasks.give_all(2..3).next().unwrap();
    let mut taken = vec![tasks.take(owner(&ring).try_push(third).unwrap_err())];
    taken.extend(tasks.take_all(drain(&ring)));
    tasks.assert_each_once(taken);
}

#[test]
fn ring_2_a_thief_gets_the_older_half_rounded_up() {
    for (count, expected) in [(1, 1), (2, 1), (3, 2), (7, 4), (8, 4)] {
        let tasks = Numbered::new(count);
        let (ring, thiefs) = (Ring::<8>::starting_at(u32::MAX), Ring::<16>::new());
        tasks.give_all(0..count).for_each(|task| push(&ring, task));
        let stolen = ring.steal_into(owner(&thiefs)).expect("something to steal");
        assert_eq!(stolen.count, expected);
        let mut taken = vec![tasks.take(stolen.first)];
        taken.extend(tasks.take_all(drain(&thiefs)));
        assert_eq!(taken.len(), expected);
        taken.extend(tasks.take_all(drain(&ring)));
        assert!(ring.steal_into(owner(&thiefs)).is_none());
        assert!(taken.is_sorted());
        tasks.assert_each_once(taken);
    }
}

#[test]
fn ring_2_a_thief_takes_no_more_than_it_has_room_for() {
    let tasks = Numbered::new(10);
    let (ring, thiefs) = (Ring::<8>::new(), Ring::<2>::new());
    tasks.give_all(0..8).for_each(|task| push(&ring, task));
    tasks.give_all(8..10).for_each(|task| push(&thiefs, task));
    let stolen = ring.steal_into(owner(&thiefs)).expect("the task that is returned needs no room");
    assert_eq!(stolen.count, 1);
    let mut taken = tasks.take_all([stolen.first].into_iter().chain(owner(&thiefs).pop()));
    let stolen = ring.steal_into(owner(&thiefs)).expect("something to steal");
    assert_eq!(stolen.count, 2);
    taken.push(tasks.take(stolen.first));
    taken.extend(tasks.take_all(drain(&thiefs).chain(drain(&ring))));
    assert_eq!(taken, [0, 8, 1, 9, 2, 3, 4, 5, 6, 7]);
    tasks.assert_each_once(taken);
}

#[test]
fn ring_7_a_full_ring_gives_away_its_older_half_and_the_new_task() {
    for start in STARTS {
        let tasks = Numbered::new(5);
        let ring = Ring::<4>::starting_at(start);
        tasks.give_all(0..4).for_each(|task| push(&ring, task));
        let Pushed::Overflow(chain) = owner(&ring).push(tasks.give(4)) else {
            panic!("a full ring without a thief overflows");
        };
        assert_eq!((chain.len(), ring.len()), (3, 2));
        let taken = tasks.take_all(chain.chain(drain(&ring)));
        assert_eq!(taken, [0, 1, 4, 2, 3]);
        tasks.assert_each_once(taken);
    }
}

/// A thief enters and claims the oldest task.
fn enter<const N: usize>(ring: &Ring<N>) -> Head {
    ring.claim(1).expect("something to claim").0
}

/// The thief leaves with the task that it claimed.
fn leave<const N: usize>(ring: &Ring<N>, claimed: Head) -> Option<Runnable> {
    let task = taken(ring.slot(claimed.steal).read());
    assert!(ring.release(claimed));
    task
}

#[test]
fn ring_5_a_full_ring_has_no_room_while_a_thief_is_inside() {
    for start in STARTS {
        let tasks = Numbered::new(5);
        let ring = Ring::<4>::starting_at(start);
        tasks.give_all(0..4).for_each(|task| push(&ring, task));
        let claimed = enter(&ring);
        assert_eq!((ring.len(), owner(&ring).room()), (3, 0));
        let Pushed::Busy(fifth) = owner(&ring).push(tasks.give(4)) else {
            panic!("the thief's slot counted as free, or the ring overflowed");
        };
        // A pop of the owner makes no room as long as the thief is inside.
        let mut all = tasks.take_all(owner(&ring).pop());
        assert_eq!(owner(&ring).room(), 0);
        all.extend(tasks.take_all(leave(&ring, claimed)));
        assert_eq!(owner(&ring).room(), 2);
        push(&ring, fifth);
        all.extend(tasks.take_all(drain(&ring)));
        assert_eq!(all, [1, 0, 2, 3, 4]);
        tasks.assert_each_once(all);
    }
}

#[test]
fn ring_6_a_second_thief_finds_nothing_while_one_is_inside() {
    let tasks = Numbered::new(3);
    let (ring, thiefs) = (Ring::<4>::new(), Ring::<4>::new());
    tasks.give_all(0..3).for_each(|task| push(&ring, task));
    let claimed = enter(&ring);
    assert!(ring.steal_into(owner(&thiefs)).is_none());
    assert_eq!(ring.len(), 2, "the tasks that are not claimed are still there");
    let mut all = tasks.take_all(leave(&ring, claimed));
    all.extend(ring.steal_into(owner(&thiefs)).map(|stolen| tasks.take(stolen.first)));
    all.extend(tasks.take_all(drain(&ring)));
    assert_eq!(all, [0, 1, 2]);
    tasks.assert_each_once(all);
}

#[test]
fn ring_10_tasks_that_were_not_taken_are_cancelled() {
    let alive = Arc::new(());
    let ring = Ring::<4>::default();
    for _ in 0..3 {
        let held = alive.clone();
        push(&ring, task(move || drop(held)));
    }
    assert_eq!(Arc::strong_count(&alive), 4);
    drop(ring);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push,
    Pop,
    Steal,
    PopStolen,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => Just(Op::Push),
        2 => Just(Op::Pop),
        1 => Just(Op::Steal),
        2 => Just(Op::PopStolen),
    ];
    proptest::collection::vec(op, 0..400)
}

/// Does `ops` on a ring of eight and a thief's ring of four, and on their models, and compares.
fn compare_with_model(start: u32, ops: &[Op]) {
    let tasks = Numbered::new(ops.len());
    let (ring, thiefs) = (Ring::<8>::starting_at(start), Ring::<4>::starting_at(start));
    let (mut expected, mut with_thief) = (VecDeque::new(), VecDeque::new());
    let mut gone = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let (left, should_have): (Vec<_>, Vec<_>) = match op {
            Op::Push => match owner(&ring).push(tasks.give(number)) {
                Pushed::Ok => {
                    assert!(expected.len() < 8);
                    expected.push_back(number);
                    Default::default()
                }
                Pushed::Overflow(chain) => {
                    assert_eq!(expected.len(), 8);
                    (tasks.take_all(chain), expected.drain(..4).chain([number]).collect())
                }
                Pushed::Busy(_) => panic!("no thief is inside"),
            },
            Op::Pop => (tasks.take_all(owner(&ring).pop()), Vec::from_iter(expected.pop_front())),
            Op::Steal => {
                let count = expected.len().div_ceil(2).min(4 - with_thief.len() + 1);
                let stolen = ring.steal_into(owner(&thiefs));
                assert_eq!(stolen.as_ref().map_or(0, |stolen| stolen.count), count);
                let mut moved = expected.drain(..count);
                let first = Vec::from_iter(moved.next());
                with_thief.extend(moved);
                (tasks.take_all(stolen.map(|stolen| stolen.first)), first)
            }
            Op::PopStolen => {
                (tasks.take_all(owner(&thiefs).pop()), Vec::from_iter(with_thief.pop_front()))
            }
        };
        assert_eq!(left, should_have);
        gone.extend(left);
        if !matches!(op, Op::Push) {
            // No task was pushed in this step: count the task with the step's number as gone.
            gone.push(number);
        }
        assert_eq!((ring.len(), ring.is_empty()), (expected.len(), expected.is_empty()));
        assert_eq!(owner(&ring).room(), 8 - expected.len());
        assert_eq!(thiefs.len(), with_thief.len());
    }
    gone.extend(tasks.take_all(drain(&ring).chain(drain(&thiefs))));
    tasks.assert_each_once(gone);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn ring_8_a_ring_is_a_queue_wherever_the_indices_start(steps in ops(), before in 0u32..500) {
        compare_with_model(0u32.wrapping_sub(before), &steps);
    }

    #[test]
    fn ring_1_random_owner_beside_thieves(steps in ops(), before in 0u32..500) {
        owner_beside_thieves(0u32.wrapping_sub(before), &steps);
    }
}

/// An owner that does `ops` on a small ring, beside two thieves that steal until it is done.
fn owner_beside_thieves(start: u32, ops: &[Op]) {
    let pushes = ops.iter().filter(|op| matches!(op, Op::Push)).count();
    let tasks = Numbered::new(pushes);
    let ring = Ring::<4>::starting_at(start);
    let done = AtomicBool::new(false);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let steal_until_done = || {
            let mine = Ring::<2>::starting_at(start);
            let mut got = Vec::new();
            while !done.load(Relaxed) {
                match ring.steal_into(owner(&mine)) {
                    Some(stolen) => {
                        got.push(tasks.take(stolen.first));
                        got.extend(tasks.take_all(drain(&mine)));
                    }
                    None => std::thread::yield_now(),
                }
            }
            got
        };
        let thieves = [(); 2].map(|()| scope.spawn(steal_until_done));
        let mut waiting = tasks.give_all(0..pushes);
        for op in ops {
            match op {
                Op::Push => match owner(&ring).push(waiting.next().expect("as many as pushes")) {
                    Pushed::Ok => {}
                    Pushed::Overflow(chain) => all.extend(tasks.take_all(chain)),
                    Pushed::Busy(task) => all.push(tasks.take(task)),
                },
                Op::Pop => all.extend(tasks.take_all(owner(&ring).pop())),
                Op::Steal | Op::PopStolen => std::thread::yield_now(),
            }
        }
        done.store(true, Relaxed);
        thieves.into_iter().for_each(|thief| all.extend(thief.join().unwrap()));
    });
    all.extend(tasks.take_all(drain(&ring)));
    tasks.assert_each_once(all);
}

#[test]
fn ring_1_a_storm_runs_every_task_once() {
    const TASKS: usize = 200_000;
    const THIEVES: usize = 3;
    let ring = Ring::<256>::starting_at(u32::MAX - 1_000);
    let ran: Arc<Vec<_>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let left = Arc::new(AtomicUsize::new(TASKS));
    let make = |number: usize| {
        let (ran, left) = (ran.clone(), left.clone());
        task(move || {
            ran[number].fetch_add(1, Relaxed);
            left.fetch_sub(1, Relaxed);
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..THIEVES {
            scope.spawn(|| {
                let mine = Ring::<32>::new();
                while left.load(Relaxed) > 0 {
                    match ring.steal_into(owner(&mine)) {
                        Some(stolen) => {
                            assert_eq!(mine.len(), stolen.count - 1);
                            run(stolen.first);
                            drain(&mine).for_each(run);
                        }
                        None => std::thread::yield_now(),
                    }
                }
            });
        }
        for number in 0..TASKS {
            match owner(&ring).push(make(number)) {
                Pushed::Ok => {}
                Pushed::Overflow(chain) => {
                    assert_eq!(chain.len(), 129);
                    chain.for_each(run);
                }
                Pushed::Busy(task) => run(task),
            }
            if number % 5 == 0 {
                owner(&ring).pop().into_iter().for_each(run);
            }
        }
        drain(&ring).for_each(run);
    });
    assert!(ring.is_empty());
    assert!(ran.iter().all(|times| times.load(Relaxed) == 1));
}
