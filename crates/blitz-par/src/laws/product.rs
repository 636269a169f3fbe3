//! Each source with each adaptor and each end of a loop has the result of a sequential loop.
//!
//! The chains are instances of two generic functions, so a line here adds a row of the product.

use super::everywhere;
use crate::iter::once;
use crate::prelude::*;
use std::collections::VecDeque;

const LENS: [u32; 3] = [0, 1, 53];

fn v(items: impl Iterator<Item = u32>) -> Vec<u32> {
    items.collect()
}

/// Checks each way to end a loop, on the loop that `make` makes. Its items are `expected`.
fn ends<I: ParallelIterator<Item = u32>>(make: impl Fn() -> I, expected: &[u32], chain: &str) {
    let is = |n: &u32| n % 5 == 3;
    assert_eq!(make().collect::<Vec<_>>(), expected, "{chain}, collect");
    assert_eq!(make().count(), expected.len(), "{chain}, count");
    assert_eq!(make().sum::<u32>(), expected.iter().sum::<u32>(), "{chain}, sum");
    let greatest = expected.iter().copied().max();
    assert_eq!(make().reduce_with(u32::max), greatest, "{chain}, reduce_with");
    let found = expected.iter().copied().find(is);
    assert_eq!(make().find_first(is), found, "{chain}, find_first");
    assert_eq!(make().find_any(is).is_some(), found.is_some(), "{chain}, find_any");
    let texts = make().fold(String::new, |text, n| format!("{text}{n},")).collect::<String>();
    assert_eq!(
        texts,
        expected.iter().map(|n| format!("{n},")).collect::<String>(),
        "{chain}, fold"
    );
    let parted: (Vec<_>, Vec<_>) = make().partition(is);
    assert_eq!(parted, expected.iter().partition(|n| is(n)), "{chain}, partition");
    let mut seen = Vec::new();
    make().for_each_in_order_within(7, |n| seen.push(n));
    assert_eq!(seen, expected, "{chain}, for_each_in_order");
}

/// Puts each adaptor on the source that `make` makes. Its items are `all`.
fn adapted<I>(make: impl Fn() -> I, all: &[u32], source: &str)
where
    I: IndexedParallelIterator<Item = u32>,
{
    macro_rules! adaptors {
        ($($name:literal: |$p:ident| $parallel:expr, |$s:ident| $sequential:expr;)*) => {$({
            let expected = { let $s = all.iter().copied(); v($sequential) };
            let make = || { let $p = make(); $parallel };
            ends(make, &expected, &format!("{source}, {}", $name));
        })*};
    }
    adaptors! {
        "map": |p| p.map(|n| n * 3), |s| s.map(|n| n * 3);
        "map_init": |p| p.map_init(|| 2, |m, n| n + *m), |s| s.map(|n| n + 2);
        "filter": |p| p.filter(|n| n % 3 != 0), |s| s.filter(|n| n % 3 != 0);
        "flat_map": |p| p.flat_map(|n| 0..n % 4), |s| s.flat_map(|n| 0..n % 4);
        "flat_map_iter": |p| p.flat_map_iter(|n| [n; 2]), |s| s.flat_map(|n| [n; 2]);
        "while_some": |p| p.map(Some).while_some(), |s| s;
        "chain": |p| p.chain(once(8)), |s| s.chain([8]);
        "rev": |p| p.rev(), |s| s.rev();
        "enumerate": |p| p.enumerate().map(|(at, n)| at as u32 * 2 + n),
            |s| (0..).zip(s).map(|(at, n): (u32, u32)| at * 2 + n);
        "skip, step_by": |p| p.skip(3).step_by(2), |s| s.skip(3).step_by(2);
        "zip": |p| p.zip(5..40_u32).map(|(a, b)| a * b), |s| s.zip(5..40).map(|(a, b)| a * b);
        "chunks": |p| p.chunks(4).map(|chunk| chunk.into_iter().sum()),
            |s| v(s).chunks(4).map(|chunk| chunk.iter().sum()).collect::<Vec<_>>().into_iter();
        "intersperse": |p| p.intersperse(3), |s| v(s.flat_map(|n| [3, n])).into_iter().skip(1);
        "with_max_len": |p| p.with_max_len(3), |s| s;
    }
}

#[test]
fn every_source_with_every_adaptor_and_end() {
    everywhere(|| {
        for len in LENS {
            let all: Vec<u32> = (0..len).map(|n| n * 7 % 31).collect();
            adapted(|| (10..10 + len).into_par_iter(), &Vec::from_iter(10..10 + len), "range");
            adapted(|| all.clone().into_par_iter(), &all, "vector");
            adapted(|| all.par_iter().copied(), &all, "slice");
            adapted(|| VecDeque::from(all.clone()).into_par_iter(), &all, "deque");
            let maxima: Vec<u32> =
                all.windows(3).filter_map(|three| three.iter().copied().max()).collect();
            let max = |three: &[u32]| three.iter().copied().max().unwrap();
            adapted(|| all.par_windows(3).map(max), &maxima, "windows");
        }
    });
}
