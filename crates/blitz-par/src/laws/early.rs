//! Loops that end early: how many items they visit, and what they find.

use super::{everywhere, ignore};
use crate::CancelToken;
use crate::iter::{once, repeat};
use crate::prelude::*;
use blitz_core::Pool;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn first_and_last_are_those_of_a_sequential_loop() {
    everywhere(|| {
        for step in [1, 2, 7, 100, 999, 2000] {
            let is = |n: &u32| n % step == step - 1;
            let all = || (0..1000u32).into_par_iter();
            let seq = || 0..1000u32;
            assert_eq!(all().find_first(is), seq().find(is), "{step}");
            assert_eq!(all().find_last(is), seq().rev().find(is), "{step}");
            let some = || all().filter(|n| n % 3 == 0);
            assert_eq!(some().find_first(is), seq().filter(|n| n % 3 == 0).find(is), "{step}");
            assert_eq!(some().find_last(is), seq().filter(|n| n % 3 == 0).rfind(is), "{step}");
            let deep = || all().flat_map(|n| (0..n % 5).into_par_iter().map(move |m| n + m));
            let seq_deep = || seq().flat_map(|n| (0..n % 5).map(move |m| n + m));
            assert_eq!(deep().find_first(is), seq_deep().find(is), "{step}");
            assert_eq!(deep().find_last(is), seq_deep().rfind(is), "{step}");
            let long = || some().chain(deep()).chain(once(step - 1)).chain(some());
            let seq_long = || {
                let some = || seq().filter(|n| n % 3 == 0);
                some().chain(seq_deep()).chain([step - 1]).chain(some())
            };
            assert_eq!(long().find_first(is), seq_long().find(is), "{step}");
            assert_eq!(long().find_last(is), seq_long().rfind(is), "{step}");
            let found = long().find_map_first(|n| is(&n).then(|| n.to_string()));
            assert_eq!(found, seq_long().find(is).map(|n| n.to_string()));
            let found = some().intersperse(step - 1).find_last(|n| *n == step - 1);
            assert_eq!(found, Some(step - 1));
        }
    });
}

/// A collection that keeps only the last of its items that is a multiple of 10,000 or one less.
#[derive(Debug, PartialEq)]
struct Last(Option<u32>);

impl FromParallelIterator<u32> for Last {
    fn from_par_iter<I: IntoParallelIterator<Item = u32>>(items: I) -> Self {
        Last(items.into_par_iter().find_last(|n| matches!(n % 10_000, 0 | 9_999)))
    }
}

#[test]
fn two_collections_of_loops_inside_of_items_find_the_last() {
    everywhere(|| {
        // The last match is in the left half of the second loop. The first loop has one in its
        // right half.
        let deep = [1..10_000, 10_000..19_999].into_par_iter().flat_map(|range| range);
        let found: (Last, Last) = deep.map(|n| (n, n)).collect();
        assert_eq!(found, (Last(Some(10_000)), Last(Some(10_000))));
    });
}

/// How many items a loop visits on a pool of one worker.
fn visits(run: impl Fn(&(dyn Fn() + Sync)) + Sync) -> usize {
    let count = AtomicUsize::new(0);
    let pool = Pool::builder().workers(1).build().unwrap();
    pool.install(|| run(&|| ignore(count.fetch_add(1, Relaxed))));
    count.into_inner()
}

#[test]
fn one_worker_visits_nothing_behind_a_match() {
    let all = || (0..1_000_000u32).into_par_iter();
    assert_eq!(visits(|visit| ignore(all().inspect(|_| visit()).find_any(|n| *n == 10))), 11);
    assert_eq!(visits(|visit| ignore(all().inspect(|_| visit()).find_first(|n| *n == 10))), 11);
    assert_eq!(visits(|visit| ignore(all().inspect(|_| visit()).all(|n| n < 10))), 11);
    let check = |n| if n < 10 { Ok(()) } else { Err(()) };
    assert_eq!(visits(|visit| ignore(all().inspect(|_| visit()).try_for_each(check))), 11);
    let some = |n| (n < 10).then_some(n);
    assert_eq!(
        visits(|visit| ignore(all().inspect(|_| visit()).map(some).while_some().count())),
        11
    );
    let deep = || all().flat_map(|n| [n; 2]);
    assert_eq!(visits(|visit| ignore(deep().inspect(|_| visit()).find_any(|n| *n == 10))), 21);
    let taken = visits(|visit| ignore(all().inspect(|_| visit()).take_any(10).count()));
    assert!((10..=11).contains(&taken), "{taken}");
}

#[test]
fn results_in_order_end_when_the_loop_does() {
    everywhere(|| {
        let mut seen = 0;
        repeat(1).take_any(10).for_each_in_order(|n| seen += n);
        std::iter::repeat(1).par_bridge().take_any(10).for_each_in_order(|n| seen += n);
        assert_eq!(seen, 20);
        let token = CancelToken::new();
        let all = || (0..1_u64 << 50).into_par_iter();
        all().cancel_on(&token).for_each_in_order_within(10, |n| {
            if n == 25 {
                token.cancel()
            }
        });
        let some = all().map(|n| (n != 1000).then_some(n)).while_some();
        some.for_each_in_order_within(10, |n| assert_ne!(n, 1000));
        // Each part of these loops is given a clone.
        let given = || all().map_with(0, |_, n| n);
        given().cancel_on(&token).for_each_in_order(|_| unreachable!("cancelled before"));
        let some = given().map(|n| (n != 1000).then_some(n)).while_some();
        some.for_each_in_order_within(10, |n| assert_ne!(n, 1000));
        given().take_any(10).for_each_in_order_within(3, |_| seen += 1);
        all().intersperse(7).take_any(10).for_each_in_order_within(3, |_| seen += 1);
        assert_eq!(seen, 40);
        // A part passes on one item, at its end. The sink gets each such item once, and nothing
        // else.
        let pass = AtomicUsize::new(0);
        let part = || all().take_any(100).fold(|| 0, |sum, n| sum + n);
        let ends = || part().inspect(|_| ignore(pass.fetch_add(1, Relaxed)));
        let mut sums = 0;
        ends().for_each_in_order_within(10, |_| sums += 1);
        assert_eq!(pass.into_inner(), sums);
        let parts = || (0..100).into_par_iter().try_fold(|| 0, |_, n| (n != 25).then_some(n));
        let mut taken = 0;
        parts().take_any(5).for_each_in_order_within(10, |_| taken += 1);
        assert_eq!(taken, 5);
        // Here only parts of the loop end early.
        let sums = (0..100).into_par_iter().try_fold(|| 0, |_, n| (n != 25).then_some(n));
        let mut none = 0;
        sums.for_each_in_order_within(10, |sum| none += usize::from(sum.is_none()));
        assert_eq!(none, 1);
    });
}

#[test]
fn a_match_ends_parts_of_loops_inside_of_items() {
    let some = || (0..1_000_000u32).into_par_iter().with_max_len(100);
    let all = || some().flat_map(|n| some().map(move |m| (n, m)));
    let visited = visits(|visit| {
        let found = all().inspect(|_| visit()).find_first(|_| true);
        assert_eq!(found, Some((0, 0)));
    });
    assert_eq!(visited, 1);
    let pool = Pool::builder().workers(2).build().unwrap();
    let found = pool.install(|| all().find_first(|(n, m)| n + m >= 1000));
    assert_eq!(found, Some((0, 1000)));
}

#[test]
fn a_fuse_is_blown_by_panics_of_its_own_loop_only() {
    struct Counts<'a>(&'a AtomicUsize);

    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            let all = || (0..1000).into_par_iter().panic_fuse();
            self.0.fetch_add(all().count() + all().zip(0..1000).count(), Relaxed);
        }
    }

    everywhere(|| {
        let count = AtomicUsize::new(0);
        let unwind = || {
            let _counts = Counts(&count);
            std::panic::resume_unwind(Box::new("not the loop's"));
        };
        assert!(std::panic::catch_unwind(unwind).is_err());
        assert_eq!(count.into_inner(), 2000);
    });
}

#[test]
fn a_loop_of_fixed_shape_without_an_end_can_be_ended() {
    everywhere(|| {
        let token = CancelToken::new();
        let endless = repeat(1).fixed_shape().cancel_on(&token).inspect(|_| token.cancel());
        assert!(endless.count() > 0);
    });
}

#[test]
fn a_match_ends_parts_everywhere() {
    let pool = Pool::builder().workers(8).build().unwrap();
    // If each item were visited, this would never end.
    let found = pool.install(|| (0..u64::MAX).into_par_iter().find_any(|n| n % 1000 == 999));
    assert!(found.is_some());
    let token = CancelToken::new();
    let cancel = |n: u64| {
        if n == 5000 {
            token.cancel()
        }
    };
    pool.install(|| (0..u64::MAX).into_par_iter().cancel_on(&token).for_each(cancel));
    assert!(token.is_cancelled());
    let fused = std::panic::catch_unwind(|| {
        pool.install(|| {
            (0..u64::MAX).into_par_iter().panic_fuse().for_each(|n| assert_ne!(n, 5000))
        });
    });
    assert!(fused.is_err());
}

#[test]
fn a_merge_that_fails_ends_the_loop() {
    let pool = Pool::builder().workers(1).build().unwrap();
    // 128 parts of 100 items. No part fails by itself, but the first merge does.
    let add = |a: u32, b: u32| (a + b <= 100).then_some(a + b);
    let made = AtomicUsize::new(0);
    let ones = || {
        let one = |_| {
            made.fetch_add(1, Relaxed);
            Some(1)
        };
        (0..12_800u32).into_par_iter().fixed_shape().map(one)
    };
    pool.install(|| {
        assert_eq!(ones().try_reduce(|| 0, add), None);
        assert_eq!(made.swap(0, Relaxed), 200);
        assert_eq!(ones().try_reduce_with(add), Some(None));
        assert_eq!(made.swap(0, Relaxed), 200);
    });
}
