//! Items of size zero are counted: each is dropped once.

use super::{SEEDS, everywhere};
use crate::prelude::*;
use crate::script::play;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// How many units of each test live.
static ALIVE: [AtomicIsize; 4] = [const { AtomicIsize::new(0) }; 4];
/// How many more calls the test of panics allows.
static CALLS: AtomicIsize = AtomicIsize::new(isize::MAX);

/// An item of size zero whose lives are counted, for each test apart.
struct Unit<const TEST: usize>(());

impl<const TEST: usize> Unit<TEST> {
    fn new() -> Self {
        ALIVE[TEST].fetch_add(1, Relaxed);
        Unit(())
    }

    fn many(len: usize) -> Vec<Self> {
        assert_eq!(size_of::<Self>(), 0);
        (0..len).map(|_| Self::new()).collect()
    }
}

impl<const TEST: usize> Drop for Unit<TEST> {
    fn drop(&mut self) {
        ALIVE[TEST].fetch_sub(1, Relaxed);
        if TEST == PANICS {
            call();
        }
    }
}

const OWNED: usize = 0;
const IN_PLACE: usize = 1;
const ROPES: usize = 2;
const PANICS: usize = 3;

/// Counts a call of user code, and panics at the chosen one.
fn call() {
    if CALLS.fetch_sub(1, Relaxed) == 0 && !std::thread::panicking() {
        resume_unwind(Box::new("the chosen call"));
    }
}

/// Tests `program`, which returns units and how many there should be.
fn balanced<const TEST: usize, C>(program: impl Fn() -> (C, usize) + Sync) {
    everywhere(|| {
        let (units, expected) = program();
        assert_eq!(ALIVE[TEST].load(Relaxed), expected as isize, "the result holds all live units");
        drop(units);
        assert_eq!(ALIVE[TEST].load(Relaxed), 0);
    });
}

#[test]
fn units_that_a_loop_owns() {
    let units = || Unit::<OWNED>::many(100);
    balanced::<OWNED, _>(|| {
        units().into_par_iter().for_each(drop);
        assert_eq!(units().into_par_iter().rev().skip(7).step_by(3).count(), 31);
        assert_eq!(units().into_par_iter().with_max_len(3).chunks(7).count(), 15);
        drop(units().into_par_iter().find_any(|_| true));
        drop(units().into_par_iter());
        let array: [_; 100] = units().try_into().ok().unwrap();
        assert_eq!(array.into_par_iter().with_max_len(5).map(drop).count(), 100);
        let (mut some, mut rest, mut deque) = (units(), units(), VecDeque::from(units()));
        assert_eq!(some.par_drain(20..60).with_max_len(3).count(), 40);
        drop(rest.par_drain(90..));
        assert_eq!(deque.par_drain(..50).take(10).count(), 10);
        assert_eq!((some.len(), rest.len(), deque.len()), (60, 90, 50));
        ((some, rest, deque), 200)
    });
}

#[test]
fn units_written_in_place() {
    balanced::<IN_PLACE, _>(|| {
        let make = |_| Unit::<IN_PLACE>::new();
        let mut all: Vec<_> = (0..100).into_par_iter().with_max_len(3).map(make).collect();
        all.par_extend((0..30).into_par_iter().map(make));
        let moved: Vec<_> = Unit::<IN_PLACE>::many(50).into_par_iter().rev().collect();
        let (mut old, mut slice) = (Unit::many(9), Unit::many(20));
        (0..40).into_par_iter().map(make).collect_into_vec(&mut old);
        (0..20).into_par_iter().with_max_len(3).map(make).collect_into_slice(&mut slice);
        let pairs = (0..25).into_par_iter().map(|n| (make(n), make(n)));
        let (left, right): (Vec<_>, Vec<_>) = pairs.unzip();
        assert_eq!((all.len(), moved.len(), old.len(), left.len()), (130, 50, 40, 25));
        ((all, moved, old, slice, left, right), 130 + 50 + 40 + 20 + 2 * 25)
    });
}

#[test]
fn units_in_ropes() {
    let make = |n: u32| (n % 3 == 0).then(Unit::<ROPES>::new);
    balanced::<ROPES, _>(|| {
        let mut all: Vec<_> = (0..90).into_par_iter().with_max_len(4).filter_map(make).collect();
        all.par_extend((0..30).into_par_iter().flat_map(make));
        let parts = (0..30).into_par_iter().with_max_len(4).filter_map(make).collect_vec_list();
        let parted = Unit::<ROPES>::many(40).into_par_iter().with_max_len(3).enumerate();
        let (left, right): (Vec<_>, Vec<_>) = parted.partition(|(at, _)| at % 2 == 0);
        assert_eq!((all.len(), left.len(), right.len()), (40, 20, 20));
        ((all, parts, left, right), 40 + 10 + 40)
    });
}

#[test]
fn units_of_loops_that_panic() {
    let units = || Unit::<PANICS>::many(30);
    let programs: [fn(Vec<Unit<PANICS>>); 4] = [
        |units| {
            units.into_par_iter().for_each(|_unit| call());
        },
        |units| {
            let written = units.into_par_iter().inspect(|_| call()).collect::<Vec<_>>();
            assert_eq!(written.len(), 30);
        },
        |units| {
            units.into_par_iter().filter(|_| true).inspect(|_| call()).collect::<Vec<_>>();
        },
        |mut units| {
            units.par_drain(5..20).for_each(|_unit| call());
        },
    ];
    for program in programs {
        for seed in 0..SEEDS {
            let panics = (0..).take_while(|limit| {
                CALLS.store(isize::MAX, Relaxed);
                let units = units();
                CALLS.store(*limit, Relaxed);
                let run = AssertUnwindSafe(|| play(seed, || program(units)));
                let panicked = catch_unwind(run).is_err();
                assert_eq!(ALIVE[PANICS].load(Relaxed), 0, "call {limit}");
                panicked
            });
            // Every call was made to panic once: at least one for each drop.
            assert!(panics.count() >= 30);
        }
    }
}
