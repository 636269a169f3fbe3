//! How often functions of the user are called.

use super::{everywhere, ignore};
use crate::iter::repeat_n;
use crate::piece::Piece;
use crate::prelude::*;
use blitz_core::Pool;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many times a program calls its argument.
fn calls(program: impl FnOnce(&(dyn Fn() + Sync))) -> usize {
    let count = AtomicUsize::new(0);
    program(&|| ignore(count.fetch_add(1, Relaxed)));
    count.into_inner()
}

#[test]
fn skipped_items_are_computed() {
    everywhere(|| {
        let computed = calls(|call| {
            let all = (0..1000).into_par_iter().inspect(|_| call());
            assert_eq!(all.skip(700).count(), 300);
        });
        assert_eq!(computed, 1000);
        let computed = calls(|call| {
            let all = (0..100).into_par_iter().inspect(|_| call()).skip(1000);
            assert_eq!(all.zip(0..10).count(), 0);
        });
        assert_eq!(computed, 100);
    });
}

#[test]
fn a_worker_that_is_alone_makes_one_state() {
    let pool = Pool::builder().workers(1).build().unwrap();
    let made = calls(|call| {
        let items = (0..10_000_u64).into_par_iter().map_init(call, |(), n| n);
        assert_eq!(pool.install(|| items.sum::<u64>()), 49_995_000);
    });
    assert_eq!(made, 1);
}

/// An item whose clones are counted.
struct Counted<'a>(&'a AtomicUsize);

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Counted(self.0)
    }
}

#[test]
fn skipped_items_are_not_cloned() {
    for workers in [1, 2, 8] {
        let pool = Pool::builder().workers(workers).build().unwrap();
        let clones = |step, min| {
            let count = AtomicUsize::new(0);
            let items = repeat_n(Counted(&count), 100).step_by(step).with_min_len(min);
            assert_eq!(pool.install(|| items.count()), 2);
            count.into_inner()
        };
        // A cut makes one clone. In each part, the last item is the part's own copy, and each
        // earlier item that is not skipped is a clone. A worker that is alone cuts nothing.
        let cuts = usize::from(workers > 1);
        assert_eq!((clones(99, 1), clones(50, 1)), (1 + cuts, 2 + cuts));
        // With a minimum of two items per part there is no cut, and the second item is the
        // original.
        assert_eq!(clones(99, 2), 1);
    }
    let count = AtomicUsize::new(0);
    let mut block = repeat_n(Counted(&count), 10).piece().block(10);
    assert!(block.nth(3).is_some() && block.nth_back(2).is_some());
    assert_eq!((count.load(Relaxed), block.len()), (2, 3));
    assert!(block.nth(3).is_none() && block.next().is_none());
    assert_eq!(count.into_inner(), 2);
}

#[test]
fn separators_are_looked_for_once() {
    let numbers: Vec<u32> = (0..1000).collect();
    everywhere(|| {
        for rare in [1, 3, 10, 999, 5000] {
            let is = |n: &u32| n % rare == rare - 1;
            let compared = calls(|call| {
                let chunks = numbers.par_chunk_by(|n, _| {
                    call();
                    !is(n)
                });
                let expected: Vec<_> = numbers.chunk_by(|n, _| !is(n)).collect();
                assert_eq!(chunks.collect::<Vec<_>>(), expected);
            });
            assert_eq!(compared, 999, "chunks of {rare}");
            let asked = calls(|call| {
                let parts = numbers.par_split(|n| {
                    call();
                    is(n)
                });
                assert_eq!(parts.collect::<Vec<_>>(), numbers.split(is).collect::<Vec<_>>());
            });
            assert_eq!(asked, 1000, "parts of {rare}");
        }
    });
}
