//! The arena and the tree under the model checker.
//!
//! The workers of these models sleep in beds of a lock and a condition variable. The lock is taken
//! only by sleepers and by threads that have to wake a worker. So only the tree can make a worker
//! see a task. A lost task shows as a deadlock, or as a task that the last look does not find.

use super::{Bitmap, Cursor, Scan, SlotCache, Told};
use crate::prim::{
    AtomicUsize, Condvar, Mutex, Relaxed, SeqCst, Step, canary, check, fence, thread,
};
use crate::queue::fixture::Numbered;
use crate::task::{Place, Runnable};
use core::ptr::NonNull;
use std::sync::Arc;

/// The signal words in which models put their tasks: two of one leaf, one of the next.
const FIRST: usize = 0;
const BESIDE: usize = 1;
const ELSEWHERE: usize = 2;

/// An arena, tasks whose takers check what was written for them, and workers that sleep.
struct Rig {
    signals: Bitmap,
    tasks: Numbered,
    written: Vec<AtomicUsize>,
    /// For each worker: whether it lies in its bed.
    beds: Mutex<Vec<bool>>,
    woken: Condvar,
}

impl Rig {
    /// Creates a rig for two workers that sleep now and then. Task i is in signal word `words[i]`.
    fn new(words: &[usize]) -> Arc<Rig> {
        let rig = Rig {
            signals: Bitmap::new(2),
            tasks: Numbered::new(words.len()),
            written: words.iter().map(|_| AtomicUsize::new(0)).collect(),
            beds: Mutex::new(vec![false; 2]),
            woken: Condvar::new(),
        };
        // A cache that reserves while other caches hold slots gets the next signal word.
        let mut stocks: Vec<_> = (0..=words.iter().copied().max().unwrap_or(0))
            .map(|_| {
                let mut stock = SlotCache::of_worker(0);
                assert!(stock.refill(&rig.signals.leaves, 1));
                stock
            })
            .collect();
        for (number, &word) in words.iter().enumerate() {
            let task = rig.tasks.give(number);
            task.set_place(rig.signals.reserve(&mut stocks[word], 1, task.header()));
            assert_eq!(rig.tasks.take(task), number);
        }
        Arc::new(rig)
    }

    /// Creates a rig in which each task was signalled and taken once. So the summaries are still
    /// set.
    fn used(words: &[usize]) -> Arc<Rig> {
        let rig = Rig::new(words);
        for number in 0..words.len() {
            assert_eq!(rig.signals.signal(rig.tasks.give(number), || false).told, Told::Nobody);
            let scan = rig.signals.take_any(&Cursor::default(), 0);
            assert_eq!(rig.tasks.take_all(scan.task), [number]);
        }
        assert!(rig.signals.has_any());
        rig
    }

    /// Writes a task's word, signals the task, and wakes a worker if the tree asks for it. Returns
    /// whether the tree is closed.
    fn signal(&self, number: usize) -> bool {
        self.written[number].store(1, Relaxed);
        let told = self.signals.signal(self.tasks.give(number), || false).told;
        let closed = told == Told::Closed;
        self.act_on(told);
        closed
    }

    /// Signals all tasks, one after the other.
    fn signal_all(&self) {
        (0..self.written.len()).for_each(|number| assert!(!self.signal(number)));
    }

    fn act_on(&self, told: Told) {
        match told {
            Told::Nobody => {}
            Told::WakeOne => self.wake_one(),
            // The caller, which is this setter, takes the remaining tasks.
            Told::Closed => {}
        }
    }

    fn wake_one(&self) {
        let mut beds = self.beds.lock().unwrap();
        if let Some(bed) = beds.iter_mut().find(|bed| **bed) {
            *bed = false;
            self.woken.notify_all();
        }
    }

    fn spawn_signal(self: &Arc<Rig>, number: usize) -> thread::JoinHandle<()> {
        let rig = self.clone();
        thread::spawn(move || assert!(!rig.signal(number)))
    }

    /// Returns the number of a task, and checks that its taker sees what was written before the
    /// signal (BITMAP-2).
    fn got(&self, task: Runnable) -> usize {
        let number = self.tasks.take(task);
        assert_eq!(self.written[number].load(Relaxed), 1, "what was written before the signal");
        number
    }

    /// Looks once, and does what the result asks for.
    fn look(&self, cursor: &Cursor) -> Option<usize> {
        let Scan { task, again } = self.signals.take_any(cursor, 0);
        if let Some(marked) = again {
            self.act_on(self.signals.tell(marked, || false));
        }
        task.map(|task| self.got(task))
    }

    /// Returns the worker's next task. The worker may sleep until there is one.
    fn next(&self, worker: usize, cursor: &Cursor) -> usize {
        let mut was_idle = false;
        loop {
            if let Some(number) = self.look(cursor) {
                if was_idle {
                    self.tell_of_more();
                }
                return number;
            }
            was_idle = true;
            // Go to bed first: a permit may be for a task that is gone, and then only the wake-up
            // reaches us.
            self.lie_down(worker);
            let sleeper = self.signals.lie_down();
            if self.signals.has_task() {
                self.wake(worker);
            }
            self.sleep(worker);
            let _permit = self.signals.get_up(sleeper);
        }
    }

    /// A worker that stops searching wakes another worker if tasks are left: it may have taken the
    /// permit of that worker.
    fn tell_of_more(&self) {
        fence(SeqCst);
        if self.signals.has_task() {
            self.wake_one();
        }
    }

    /// From now on the worker can be woken.
    fn lie_down(&self, worker: usize) {
        self.beds.lock().unwrap()[worker] = true;
    }

    fn wake(&self, worker: usize) {
        self.beds.lock().unwrap()[worker] = false;
    }

    /// Blocks until the worker has been woken.
    fn sleep(&self, worker: usize) {
        let mut beds = self.beds.lock().unwrap();
        while beds[worker] {
            beds = self.woken.wait(beds).unwrap();
        }
    }

    /// Starts a worker that takes `count` tasks.
    fn spawn_worker(
        self: &Arc<Rig>,
        worker: usize,
        count: usize,
    ) -> thread::JoinHandle<Vec<usize>> {
        let rig = self.clone();
        thread::spawn(move || {
            let cursor = Cursor::default();
            (0..count).map(|_| rig.next(worker, &cursor)).collect()
        })
    }

    /// Takes all remaining tasks.
    fn take_rest(&self) -> Vec<usize> {
        let cursor = Cursor::default();
        core::iter::from_fn(|| self.look(&cursor)).collect()
    }

    /// How many signal bits are set, whatever the summaries say.
    fn count(&self) -> u32 {
        let words = self.signals.leaves.iter().flat_map(|leaf| leaf.words.iter());
        words.map(|word| word.signals.load(Relaxed).count_ones()).sum()
    }

    /// Checks that the bits above each signal bit are set, now that no setter or scanner is at work
    /// (BITMAP-3).
    fn assert_summaries(&self) {
        for (index, leaf) in self.signals.leaves.iter().enumerate() {
            for (word, row) in leaf.words.iter().enumerate() {
                let in_leaf = leaf.branch.leaf() >> word & 1 != 0;
                assert!(in_leaf || row.signals.load(Relaxed) == 0, "leaf {index}, word {word}");
            }
            assert!(leaf.branch.is_in_root() || leaf.branch.leaf() == 0, "leaf {index}");
        }
    }

    /// Called when all other threads have ended. Checks that the taken and the remaining tasks are
    /// all tasks, each once, and that the tree is empty then.
    fn finish(&self, mut taken: Vec<usize>) {
        self.assert_summaries();
        taken.extend(self.take_rest());
        assert_eq!(self.count(), 0, "a task that no look finds");
        assert!(!self.signals.has_any(), "an idle tree is empty");
        assert_eq!((self.signals.tree().sleepers(), self.signals.tree().permits()), (0, 0));
        self.tasks.assert_each_once(taken);
    }
}

/// A setter signals two tasks. Meanwhile one worker takes a task and then calls `more`, which takes
/// more tasks of the same word. Another worker takes tasks at the same time.
fn several_against_one(more: fn(&Rig, &Cursor, Place, &mut Vec<usize>)) {
    let rig = Rig::new(&[FIRST, FIRST]);
    let setter = rig.clone();
    let setter = thread::spawn(move || setter.signal_all());
    let taker = rig.clone();
    let taker = thread::spawn(move || {
        let (cursor, mut taken) = (Cursor::default(), Vec::new());
        if let Some(task) = taker.signals.take_any(&cursor, 0).task {
            let place = task.place().expect("a signalled task has a place");
            taken.push(taker.got(task));
            more(&taker, &cursor, place, &mut taken);
        }
        taken
    });
    let cursor = Cursor::default();
    let mut taken: Vec<_> = rig.look(&cursor).into_iter().collect();
    setter.join().unwrap();
    taken.extend(taker.join().unwrap());
    taken.extend(core::iter::from_fn(|| rig.look(&cursor)));
    rig.tasks.assert_each_once(taken);
}

#[test]
fn bitmap_1_half_of_a_word_leaves_once() {
    let half_beside = |rig: &Rig, _: &Cursor, place, taken: &mut Vec<_>| {
        rig.signals.take_beside(place, 2, |task| taken.push(rig.got(task)));
    };
    check(1_000, Some(3), move || several_against_one(half_beside));
}

#[test]
fn bitmap_1_tasks_behind_another_leave_once() {
    let behind = |rig: &Rig, cursor: &Cursor, _, taken: &mut Vec<_>| {
        rig.signals.take_behind(cursor, 1, |task| taken.push(rig.got(task)));
    };
    check(1_000, Some(3), move || several_against_one(behind));
}

/// Tasks are signalled while a scanner looks twice. At first the summaries are set although there
/// is no task.
fn set_against_clear(words: &[usize]) {
    let rig = Rig::used(words);
    let scanner = thread::spawn({
        let rig = rig.clone();
        move || {
            let cursor = Cursor::default();
            [rig.look(&cursor), rig.look(&cursor)].into_iter().flatten().collect::<Vec<_>>()
        }
    });
    rig.signal_all();
    let taken = scanner.join().unwrap();
    rig.finish(taken);
}

#[test]
fn bitmap_3_a_bit_is_not_lost_to_a_clearer_of_its_leaf() {
    check(900, Some(3), || set_against_clear(&[FIRST]));
}

#[test]
fn bitmap_3_a_bit_is_not_lost_to_a_clearer_of_its_root() {
    check(600, Some(3), || set_against_clear(&[ELSEWHERE]));
}

#[test]
fn bitmap_3_two_bits_of_one_word() {
    check(6_000, Some(3), || set_against_clear(&[FIRST, FIRST]));
}

#[test]
fn bitmap_3_two_words_of_one_leaf() {
    check(3_500, Some(3), || set_against_clear(&[FIRST, BESIDE]));
}

#[test]
fn bitmap_3_two_leaves() {
    check(7_000, Some(4), || set_against_clear(&[FIRST, ELSEWHERE]));
}

#[test]
fn canary_a_bit_is_set_without_fence() {
    canary(&[Step::SignalSetFence], Some(3), || set_against_clear(&[FIRST]));
}

#[test]
fn canary_a_leaf_is_set_without_fence() {
    canary(&[Step::SignalLeafFence], Some(3), || set_against_clear(&[ELSEWHERE]));
}

#[test]
fn canary_a_leaf_is_cleared_without_fence() {
    canary(&[Step::SignalClearFence], Some(3), || set_against_clear(&[FIRST]));
}

#[test]
fn canary_a_clearer_of_a_leaf_does_not_look() {
    canary(&[Step::SignalClearLooks], Some(3), || set_against_clear(&[FIRST]));
}

#[test]
fn canary_a_root_is_cleared_without_fence() {
    canary(&[Step::SignalRootClearFence], Some(3), || set_against_clear(&[ELSEWHERE]));
}

#[test]
fn canary_a_clearer_of_a_root_does_not_look() {
    canary(&[Step::SignalRootClearLooks], Some(3), || set_against_clear(&[ELSEWHERE]));
}

/// Two setters, and a worker that takes both of their tasks. The worker may sleep before it takes
/// the first task, or before it takes the second.
fn two_setters(words: &[usize]) {
    let rig = Rig::new(words);
    let worker = rig.spawn_worker(0, 2);
    let setter = rig.spawn_signal(1);
    assert!(!rig.signal(0));
    setter.join().unwrap();
    let taken = worker.join().unwrap();
    rig.finish(taken);
}

/// One setter and one worker.
fn one_setter(words: &[usize]) {
    let rig = Rig::new(words);
    let worker = rig.spawn_worker(0, words.len());
    rig.signal_all();
    let taken = worker.join().unwrap();
    rig.finish(taken);
}

/// A worker writes how it can be woken, and then calls `lie_down`. Beside it a setter signals a
/// task.
fn grant_beside_lying_down() {
    let rig = Rig::new(&[FIRST]);
    let can_be_woken = Arc::new(AtomicUsize::new(0));
    let worker = thread::spawn({
        let (rig, can_be_woken) = (rig.clone(), can_be_woken.clone());
        move || {
            can_be_woken.store(1, Relaxed);
            let sleeper = rig.signals.lie_down();
            let _permit = rig.signals.get_up(sleeper);
        }
    });
    rig.written[0].store(1, Relaxed);
    if rig.signals.signal(rig.tasks.give(0), || false).told == Told::WakeOne {
        assert_eq!(can_be_woken.load(Relaxed), 1, "what the sleeper did before it lay down");
    }
    worker.join().unwrap();
    rig.finish(Vec::new());
}

#[test]
fn bitmap_4_a_setter_finds_the_sleeper_that_it_is_to_wake() {
    check(150, None, grant_beside_lying_down);
}

#[test]
fn bitmap_4_a_sleeper_misses_nothing() {
    check(300, Some(4), || one_setter(&[FIRST]));
}

#[test]
fn bitmap_4_a_sleeper_misses_no_second_task() {
    check(15_000, Some(4), || one_setter(&[FIRST, FIRST]));
}

#[test]
fn bitmap_4_two_setters_in_one_word() {
    check(10_000, Some(3), || two_setters(&[FIRST, FIRST]));
}

#[test]
fn bitmap_4_two_setters_in_one_leaf() {
    check(10_000, Some(3), || two_setters(&[FIRST, BESIDE]));
}

#[test]
fn bitmap_4_two_setters_in_two_leaves() {
    check(8_000, Some(3), || two_setters(&[FIRST, ELSEWHERE]));
}

#[test]
fn canary_a_root_is_set_without_fence() {
    canary(&[Step::SignalRootFence], Some(3), || one_setter(&[FIRST]));
}

#[test]
fn canary_a_last_look_without_fence() {
    canary(&[Step::SignalSleeperFence], Some(3), || one_setter(&[FIRST]));
}

#[test]
fn canary_a_task_is_signalled_without_release() {
    canary(&[Step::SignalSetRelease], Some(2), || two_setters(&[FIRST, FIRST]));
}

#[test]
fn canary_more_permits_than_sleepers() {
    canary(&[Step::SignalPermitCap], Some(2), || two_setters(&[FIRST, FIRST]));
}

#[test]
fn canary_a_permit_stays() {
    canary(&[Step::SignalPermitTaken], Some(2), || two_setters(&[FIRST, FIRST]));
}

/// Two workers. Each takes one task and waits until the other worker has got its own. One thread
/// signals both tasks, or each of two threads signals one.
fn together(rig: Arc<Rig>, setters: usize) {
    let met = Arc::new((Mutex::new(0), Condvar::new()));
    let workers = [0, 1].map(|worker| {
        let (rig, met) = (rig.clone(), met.clone());
        thread::spawn(move || {
            let number = rig.next(worker, &Cursor::default());
            let mut count = met.0.lock().unwrap();
            *count += 1;
            met.1.notify_all();
            while *count < 2 {
                count = met.1.wait(count).unwrap();
            }
            number
        })
    });
    if setters == 1 {
        rig.signal_all();
    } else {
        let setter = rig.spawn_signal(1);
        assert!(!rig.signal(0));
        setter.join().unwrap();
    }
    let taken = workers.map(|worker| worker.join().unwrap());
    rig.finish(taken.to_vec());
}

#[test]
fn bitmap_5_two_tasks_of_one_word_run_at_the_same_time() {
    check(40_000, Some(2), || together(Rig::used(&[FIRST, FIRST]), 1));
}

#[test]
fn bitmap_5_two_tasks_of_one_leaf_run_at_the_same_time() {
    check(40_000, Some(2), || together(Rig::used(&[FIRST, BESIDE]), 1));
}

#[test]
fn bitmap_5_two_tasks_of_two_leaves_run_at_the_same_time() {
    check(10_000, Some(2), || together(Rig::used(&[FIRST, ELSEWHERE]), 1));
}

#[test]
fn bitmap_5_two_setters_tasks_run_at_the_same_time() {
    check(9_000, Some(2), || together(Rig::new(&[ELSEWHERE, ELSEWHERE]), 2));
}

#[test]
fn canary_a_bit_that_is_set_again_is_not_announced() {
    canary(&[Step::SignalAgainTells], Some(2), || together(Rig::used(&[FIRST, FIRST]), 1));
}

#[test]
fn canary_a_setter_leaves_the_root_to_others() {
    canary(&[Step::SignalRootSet], Some(1), || one_setter(&[ELSEWHERE]));
}

/// Two setters, and two workers in their beds. Only worker 1 counts as a sleeper. But `wake_one`
/// finds worker 0 first, so worker 0 takes the permit and looks, and worker 1 may sleep on. The
/// main thread takes tasks, too: perhaps that for which the permit was granted.
fn a_permit_is_taken_by_another() {
    let rig = Rig::new(&[FIRST, BESIDE]);
    let sleeper = rig.signals.lie_down();
    (0..2).for_each(|worker| rig.lie_down(worker));
    let woken = thread::spawn({
        let rig = rig.clone();
        move || {
            rig.sleep(0);
            let _permit = rig.signals.try_acquire();
            rig.take_rest()
        }
    });
    let setter = rig.spawn_signal(1);
    assert!(!rig.signal(0));
    let mut taken = rig.take_rest();
    setter.join().unwrap();
    taken.extend(woken.join().unwrap());
    let sleeps = rig.beds.lock().unwrap()[1];
    assert!(!sleeps || rig.count() == 0, "a task is left, and all sleep");
    let _permit = rig.signals.get_up(sleeper);
    rig.finish(taken);
}

#[test]
fn bitmap_6_the_taker_of_a_permit_sees_the_tasks_left_to_it() {
    check(60_000, Some(2), a_permit_is_taken_by_another);
}

#[test]
fn canary_the_taker_of_a_permit_looks_without_fence() {
    canary(&[Step::SignalUpFence], Some(1), a_permit_is_taken_by_another);
}

/// Each task has a setter, which signals the task. At the same time the main thread closes the
/// tree. `sleepers` workers count as sleepers.
fn close_against_signal(words: &[usize], sleepers: usize) {
    let rig = Rig::new(words);
    let sleepers: Vec<_> = (0..sleepers).map(|_| rig.signals.lie_down()).collect();
    let setter = |number| {
        let rig = rig.clone();
        thread::spawn(move || if rig.signal(number) { rig.take_rest() } else { Vec::new() })
    };
    let setters: Vec<_> = (0..words.len()).map(setter).collect();
    rig.signals.close();
    let mut taken = rig.take_rest();
    setters.into_iter().for_each(|setter| taken.extend(setter.join().unwrap()));
    assert_eq!(rig.count(), 0, "no thread cancels this task");
    for sleeper in sleepers {
        let _permit = rig.signals.get_up(sleeper);
    }
    rig.finish(taken);
}

#[test]
fn bitmap_10_a_task_signalled_during_the_close_ends_once() {
    check(18_000, Some(4), || close_against_signal(&[FIRST], 0));
}

#[test]
fn bitmap_10_sleepers_do_not_keep_the_tree_open() {
    check(18_000, Some(4), || close_against_signal(&[FIRST], 1));
}

#[test]
fn bitmap_10_two_tasks_signalled_during_the_close_end_once() {
    check(500, Some(1), || close_against_signal(&[FIRST, ELSEWHERE], 0));
}

#[test]
fn canary_a_look_after_closing_without_fence() {
    canary(&[Step::SignalCloseFence], Some(3), || close_against_signal(&[FIRST], 0));
}

/// Two threads, each with a slot cache of its own, reserve and free slots of one partition, and
/// keep one slot.
fn two_stocks() {
    let rig = Rig::new(&[]);
    // Create all slots first: the checker does not see which thread creates them (a `OnceLock`).
    (0..4).for_each(|_| rig.signals.add_leaf());
    let mut stock = SlotCache::of_worker(1);
    let all: Vec<_> =
        (0..12).map(|_| rig.signals.reserve(&mut stock, 2, NonNull::dangling())).collect();
    for place in all {
        assert!(rig.signals.free(&mut stock, rig.signals.identity(place)));
    }
    let use_slots = |rig: &Rig| {
        let mut stock = SlotCache::of_worker(1);
        let reserve = |stock: &mut SlotCache| rig.signals.reserve(stock, 2, NonNull::dangling());
        let places: [_; 3] = core::array::from_fn(|_| reserve(&mut stock));
        for place in places {
            assert!(rig.signals.free(&mut stock, rig.signals.identity(place)));
        }
        reserve(&mut stock)
    };
    let other = thread::spawn({
        let rig = rig.clone();
        move || use_slots(&rig)
    });
    let mine = use_slots(&rig);
    assert_ne!(mine, other.join().unwrap(), "a slot has one tenant");
    assert_eq!((rig.signals.tenants().len(), rig.signals.tree().leaf_count()), (2, 6));
}

#[test]
fn bitmap_8_slots_go_from_stock_to_stock() {
    check(8_000, Some(4), two_stocks);
}

#[test]
fn canary_a_slot_is_given_back_without_release() {
    canary(&[Step::SignalGiveBackRelease], Some(4), two_stocks);
}
