//! A parallel loop has the same result as a sequential one.

use super::everywhere;
use crate::iter::walk_tree_prefix;
use crate::iter::{Either, empty, once, repeat, repeat_n, split, walk_tree, walk_tree_postfix};
use crate::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

/// Lengths with something special about them.
const LENS: [usize; 8] = [0, 1, 2, 3, 7, 64, 257, 1000];

type Sorted<T> = (Vec<T>, (Vec<T>, Vec<T>));

/// Compares the results of a parallel and a sequential expression, for numbers below each length.
macro_rules! same {
    ($($name:ident: |$n:ident| $parallel:expr => $sequential:expr;)*) => {$(
        #[test]
        fn $name() {
            everywhere(|| {
                for len in LENS {
                    let $n = 0..len as u32;
                    let expected = { let $n = $n.clone(); $sequential };
                    assert_eq!($parallel, expected, "length {len}");
                }
            });
        }
    )*};
}

fn v<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    items.into_iter().collect()
}

/// A collection with a number before its items, and another one behind them.
#[derive(Debug, Clone, PartialEq)]
struct Framed(Vec<u32>);

impl FromParallelIterator<u32> for Framed {
    fn from_par_iter<I: IntoParallelIterator<Item = u32>>(iter: I) -> Self {
        Framed(once(7).chain(iter.into_par_iter()).chain(once(8)).collect())
    }
}

/// A collection that takes its items in order, with a number before them.
#[derive(Debug, Clone, PartialEq)]
struct Log(Vec<u32>);

impl FromParallelIterator<u32> for Log {
    fn from_par_iter<I: IntoParallelIterator<Item = u32>>(iter: I) -> Self {
        let mut all = Vec::new();
        once(7).chain(iter.into_par_iter()).for_each_in_order_within(10, |n| all.push(n));
        Log(all)
    }
}

/// Calls a function with its items in order.
struct InOrder<F>(F);

impl<F: FnMut(u32) + Send> ParallelExtend<u32> for InOrder<F> {
    fn par_extend<I: IntoParallelIterator<Item = u32>>(&mut self, iter: I) {
        iter.into_par_iter().for_each_in_order_within(10, &mut self.0);
    }
}

/// The first of its items that is divisible by three.
#[derive(Debug, Clone, PartialEq)]
struct FirstThird(Option<u32>);

impl FromParallelIterator<u32> for FirstThird {
    fn from_par_iter<I: IntoParallelIterator<Item = u32>>(iter: I) -> Self {
        let none = once(1).filter(|n| n % 3 == 0);
        FirstThird(none.chain(iter.into_par_iter()).find_first(|n| *n > 0 && n % 3 == 0))
    }
}

same! {
    // One item for one item.
    map: |n| n.into_par_iter().map(|n| n * 3).collect::<Vec<_>>() => v(n.map(|n| n * 3));
    map_with: |n| n.into_par_iter().map_with(5, |m, n| *m + n).collect::<Vec<_>>() => v(n.map(|n| n + 5));
    map_init: |n| n.into_par_iter().map_init(|| 5, |m, n| *m + n).collect::<Vec<_>>() => v(n.map(|n| n + 5));
    cloned_and_copied: |n| {
        let all = v(n);
        let a: Vec<u32> = all.par_iter().cloned().collect();
        let b: Vec<u32> = all.par_iter().copied().rev().collect();
        (a, b)
    } => (v(n.clone()), v(n.rev()));
    inspect_and_update: |n| n.into_par_iter().inspect(|n| assert!(*n < 1000)).update(|n| *n += 1)
        .collect::<Vec<_>>() => v(n.map(|n| n + 1));
    pulled_through_zip: |n| {
        let left = n.clone().into_par_iter().map(|n| n + 1).inspect(|_| ()).update(|n| *n *= 2);
        let right = n.into_par_iter().map_with(1, |m, n| *m + n).map_init(|| 1, |m, n| *m + n);
        left.zip(right.panic_fuse()).collect::<Vec<_>>()
    } => v(n.map(|n| ((n + 1) * 2, n + 2)));
    // Fewer items, or more.
    filter: |n| n.into_par_iter().filter(|n| n % 3 == 0).collect::<Vec<_>>() => v(n.filter(|n| n % 3 == 0));
    filter_map: |n| n.into_par_iter().filter_map(|n| (n % 3 == 0).then_some(n + 1)).collect::<Vec<_>>()
        => v(n.filter_map(|n| (n % 3 == 0).then_some(n + 1)));
    flat_map: |n| n.into_par_iter().flat_map(|n| 0..n % 5).collect::<Vec<_>>() => v(n.flat_map(|n| 0..n % 5));
    flat_map_deep: |n| n.into_par_iter().flat_map(|n| (0..n % 4).into_par_iter().flat_map(move |m| 0..m))
        .map(|n| n + 1).filter(|n| n % 2 == 1).collect::<Vec<_>>()
        => v(n.flat_map(|n| (0..n % 4).flat_map(move |m| 0..m)).map(|n| n + 1).filter(|n| n % 2 == 1));
    flat_map_iter: |n| n.into_par_iter().flat_map_iter(|n| 0..n % 5).collect::<Vec<_>>() => v(n.flat_map(|n| 0..n % 5));
    flatten: |n| n.into_par_iter().map(|n| vec![n; 3]).flatten().collect::<Vec<_>>() => v(n.flat_map(|n| [n; 3]));
    flatten_iter: |n| n.into_par_iter().map(|n| [n; 3]).flatten_iter().collect::<Vec<_>>() => v(n.flat_map(|n| [n; 3]));
    fold: |n| n.into_par_iter().fold(|| 0, |a, b| a + b).sum::<u32>() => n.sum();
    fold_with: |n| n.into_par_iter().fold_with(0, |a, b| a + b).sum::<u32>() => n.sum();
    fold_inside: |n| n.into_par_iter().flat_map(|n| (0..n % 5).into_par_iter().fold(|| 0, |a, b| a + b)).sum::<u32>()
        => n.map(|n| (0..n % 5).sum::<u32>()).sum();
    try_fold: |n| n.into_par_iter().try_fold(|| 0u32, |a, b| a.checked_add(b)).try_reduce(|| 0, u32::checked_add)
        => Some(n.sum());
    try_fold_with: |n| n.into_par_iter().try_fold_with(0, |a, b| if b < 500 { Ok(a + b) } else { Err(()) })
        .try_reduce(|| 0, |a, b| Ok(a + b)) => n.clone().all(|n| n < 500).then(|| n.sum::<u32>()).ok_or(());
    chain: |n| n.clone().into_par_iter().chain(n.into_par_iter().filter(|n| n % 2 == 0)).collect::<Vec<_>>()
        => v(n.clone().chain(n.filter(|n| n % 2 == 0)));
    chain_exact: |n| n.clone().into_par_iter().chain(once(7)).chain(n).collect::<Vec<_>>()
        => v(n.clone().chain([7]).chain(n));
    chain_pulled: |n| n.clone().into_par_iter().chain(once(7)).chain(n).rev().enumerate().collect::<Vec<_>>()
        => v(v(n.clone().chain([7]).chain(n)).into_iter().rev().enumerate());
    while_some: |n| n.into_par_iter().map(Some).while_some().collect::<Vec<_>>() => v(n);
    intersperse: |n| n.into_par_iter().intersperse(9).collect::<Vec<_>>() => separated(v(n));
    intersperse_pulled: |n| n.into_par_iter().intersperse(9).rev().collect::<Vec<_>>()
        => v(separated(v(n)).into_iter().rev());
    intersperse_some: |n| n.into_par_iter().filter(|n| n % 7 == 3).intersperse(9).collect::<Vec<_>>()
        => separated(v(n.filter(|n| n % 7 == 3)));
    panic_fuse: |n| n.into_par_iter().panic_fuse().collect::<Vec<_>>() => v(n);
    any_items: |n| {
        let taken = n.clone().into_par_iter().take_any(5).count();
        let left = n.into_par_iter().skip_any(5).count();
        (taken, left)
    } => (n.clone().take(5).count(), n.skip(5).count());
    any_while: |n| {
        let taken = n.clone().into_par_iter().take_any_while(|n| *n < 50).all(|n| n < 50);
        let left = n.into_par_iter().skip_any_while(|n| *n < 50).filter(|n| *n >= 50).count();
        (taken, left)
    } => (true, n.filter(|n| *n >= 50).count());
    // Where the index of each item is known.
    rev: |n| n.into_par_iter().rev().collect::<Vec<_>>() => v(n.rev());
    enumerate: |n| n.into_par_iter().map(|n| n + 1).enumerate().collect::<Vec<_>>() => v(n.map(|n| n + 1).enumerate());
    step_by: |n| n.into_par_iter().step_by(3).rev().collect::<Vec<_>>() => v(v(n.step_by(3)).into_iter().rev());
    skip_and_take: |n| n.into_par_iter().skip(3).take(40).rev().skip(2).collect::<Vec<_>>()
        => v(v(n.skip(3).take(40)).into_iter().rev().skip(2));
    zip: |n| n.clone().into_par_iter().zip(n.into_par_iter().skip(1)).collect::<Vec<_>>() => v(n.clone().zip(n.skip(1)));
    zip_eq: |n| n.clone().into_par_iter().zip_eq(n.into_par_iter().rev()).collect::<Vec<_>>() => v(n.clone().zip(n.rev()));
    multizip: |n| (n.clone(), n.clone().into_par_iter().rev(), n.into_par_iter().skip(1)).into_par_iter()
        .rev().collect::<Vec<_>>() => {
            let all = v(n.clone().zip(n.clone().rev()).zip(n.skip(1)).map(|((a, b), c)| (a, b, c)));
            v(all.into_iter().rev())
        };
    interleave: |n| n.clone().into_par_iter().interleave(n.into_par_iter().skip(10)).rev().collect::<Vec<_>>()
        => v(interleaved(v(n.clone()), v(n.skip(10))).into_iter().rev());
    interleave_longer: |n| n.clone().into_par_iter().skip(10).interleave(n).collect::<Vec<_>>()
        => interleaved(v(n.clone().skip(10)), v(n));
    interleave_shortest: |n| n.clone().into_par_iter().interleave_shortest(n.into_par_iter().skip(10))
        .collect::<Vec<_>>() => {
            let b = v(n.clone().skip(10));
            let a = v(n.clone().take(if n.len() > b.len() { b.len() + 1 } else { b.len() }));
            interleaved(a, b)
        };
    chunks: |n| n.into_par_iter().chunks(7).rev().collect::<Vec<_>>()
        => v(v(n).chunks(7).rev().map(<[u32]>::to_vec));
    fold_chunks: |n| n.into_par_iter().fold_chunks(7, || 1, |a, b| a + b).rev().collect::<Vec<_>>()
        => v(v(n).chunks(7).rev().map(|chunk| 1 + chunk.iter().sum::<u32>()));
    fold_chunks_with: |n| n.into_par_iter().fold_chunks_with(7, 1, |a, b| a + b).collect::<Vec<_>>()
        => v(v(n).chunks(7).map(|chunk| 1 + chunk.iter().sum::<u32>()));
    positions: |n| n.into_par_iter().rev().positions(|n| n % 3 == 0).collect::<Vec<_>>()
        => v(n.rev().enumerate().filter(|(_, n)| n % 3 == 0).map(|(at, _)| at));
    blocks: |n| {
        let a = n.clone().into_par_iter().by_exponential_blocks().collect::<Vec<_>>();
        let b = n.clone().into_par_iter().by_uniform_blocks(10).filter(|n| n % 3 == 0).collect::<Vec<_>>();
        (a, b, n.into_par_iter().by_uniform_blocks(5).find_first(|n| n % 10 == 9))
    } => (v(n.clone()), v(n.clone().filter(|n| n % 3 == 0)), n.clone().find(|n| n % 10 == 9));
    compare: |n| {
        let p = || n.clone().into_par_iter();
        let more = || p().map(|n| if n == 100 { n + 1 } else { n });
        (p().cmp(more()), p().partial_cmp(more()), p().eq(more()), p().ne(p()), p().lt(more()),
         p().le(p()), more().gt(p()), more().ge(p()), p().cmp(p().skip(1)))
    } => {
        let p = || n.clone();
        let more = || p().map(|n| if n == 100 { n + 1 } else { n });
        (p().cmp(more()), p().partial_cmp(more()), p().eq(more()), p().ne(p()), p().lt(more()),
         p().le(p()), more().gt(p()), more().ge(p()), p().cmp(p().skip(1)))
    };
    position: |n| {
        let p = || n.clone().into_par_iter();
        let is = |n: u32| n % 100 == 5;
        (p().position_first(is), p().position_last(is), p().position_any(is).is_some(), p().len())
    } => (n.clone().position(|n| n % 100 == 5),
          v(n.clone()).iter().rposition(|n| n % 100 == 5), n.clone().any(|n| n % 100 == 5), n.len());
    // One value.
    sums: |n| {
        let p = || n.clone().into_par_iter();
        (p().sum::<u32>(), p().map(|n| n % 2 + 1).map(f64::from).product::<f64>() > 0.0, p().count(),
         p().reduce(|| 0, |a, b| a.max(b)), p().reduce_with(|a, b| a.max(b)))
    } => (n.clone().sum(), true, n.clone().count(), n.clone().max().unwrap_or(0), n.max());
    extremes: |n| {
        // Pairs with equal keys: the order decides.
        let p = || n.clone().into_par_iter().map(|n| (n % 10, n));
        (p().min(), p().max(), p().min_by(|a, b| a.0.cmp(&b.0)), p().max_by(|a, b| a.0.cmp(&b.0)),
         p().min_by_key(|p| p.0), p().max_by_key(|p| p.0))
    } => {
        let p = || n.clone().map(|n| (n % 10, n));
        (p().min(), p().max(), p().min_by(|a, b| a.0.cmp(&b.0)), p().max_by(|a, b| a.0.cmp(&b.0)),
         p().min_by_key(|p| p.0), p().max_by_key(|p| p.0))
    };
    tries: |n| {
        let p = || n.clone().into_par_iter();
        let check = |n| if n < 999 { Ok(()) } else { Err(n) };
        (p().try_for_each(check), p().try_for_each_with(0, |_, n| check(n)), p().try_for_each_init(|| 0, |_, n| check(n)),
         p().map(Some).try_reduce_with(|a, b| Some(a.max(b))))
    } => {
        let check = |n| if n < 999 { Ok(()) } else { Err(n) };
        (n.clone().try_for_each(check), n.clone().try_for_each(check), n.clone().try_for_each(check),
         n.max().map(Some))
    };
    all_and_any: |n| {
        let p = || n.clone().into_par_iter();
        (p().any(|n| n == 63), p().all(|n| n < 257), p().find_any(|n| *n == 2))
    } => (n.clone().any(|n| n == 63), n.clone().all(|n| n < 257), n.clone().find(|n| *n == 2));
    for_each: |n| {
        let (send, receive) = std::sync::mpsc::channel();
        let p = || n.clone().into_par_iter();
        p().for_each_with(send, |send, n| send.send(n).unwrap());
        p().for_each_init(|| 0, |_, n| assert!(n < 1000));
        p().for_each(|n| assert!(n < 1000));
        receive.iter().collect::<BTreeSet<_>>()
    } => n.collect();
    in_order: |n| {
        let mut seen = Vec::new();
        n.into_par_iter().filter(|n| n % 3 != 0).flat_map(|n| [n; 2]).chain(once(5))
            .for_each_in_order_within(10, |n| seen.push(n));
        seen
    } => v(n.filter(|n| n % 3 != 0).flat_map(|n| [n; 2]).chain([5]));
    scan: |n| n.into_par_iter().map(|n| n.to_string()).scan_inclusive(|a, b| format!("{a}{b}")).collect::<Vec<_>>()
        => { let mut sum = String::new(); v(n.map(|n| { sum += &n.to_string(); sum.clone() })) };
    // Collections.
    pairs_of_pairs: |n| {
        let side = |n| if n % 3 == 0 { Either::Left(n) } else { Either::Right(n) };
        let p = || n.clone().into_par_iter();
        let sorted: Sorted<_> = p().map(|n| (n, side(n))).collect();
        let turned: (Sorted<_>, Vec<_>) = p().map(|n| ((n, side(n)), n)).unzip();
        let whole: (Vec<_>, Option<Vec<_>>) = p().map(|n| (n, Some(n))).collect();
        let broken: (Vec<_>, Result<Vec<_>, _>) =
            p().map(|n| (n, if n == 3 { Err(n) } else { Ok(n) })).collect();
        (sorted, turned, whole, broken)
    } => {
        let all = v(n.clone());
        let sorted = (all.clone(), n.partition(|n| n % 3 == 0));
        let broken = if all.len() > 3 { Err(3) } else { Ok(all.clone()) };
        (sorted.clone(), (sorted, all.clone()), (all.clone(), Some(all.clone())), (all, broken))
    };
    pairs_with_items_of_their_own: |n| {
        let p = || n.clone().into_par_iter().map(|n| (n, n));
        let first: (Framed, Vec<_>) = p().collect();
        let second: (Vec<_>, Framed) = p().collect();
        let two: (Framed, Framed) = p().collect();
        let parted: (Framed, Framed) = n.clone().into_par_iter()
            .map(|n| if n % 2 == 0 { Either::Left(n) } else { Either::Right(n) }).collect();
        let deep: (Framed, (Vec<_>, Framed)) = p().map(|(n, m)| (n, (m, n))).collect();
        let found: (FirstThird, (Framed, FirstThird)) = p().map(|(n, m)| (n, (m, n))).collect();
        (first, second, two, parted, deep, found)
    } => {
        let framed = |all: Vec<u32>| Framed(v([7].into_iter().chain(all).chain([8])));
        let (all, one) = (v(n.clone()), framed(v(n.clone())));
        let (even, odd) = n.clone().partition(|n| n % 2 == 0);
        let third = FirstThird(n.clone().find(|n| *n > 0 && n % 3 == 0));
        ((one.clone(), all.clone()), (all.clone(), one.clone()), (one.clone(), one.clone()),
         (framed(even), framed(odd)), (one.clone(), (all, one.clone())), (third.clone(), (one, third)))
    };
    pairs_in_order: |n| {
        let p = || n.clone().into_par_iter().map(|n| (n, n));
        let (first, second): ((Log, Vec<_>), (Vec<_>, Log)) = (p().collect(), p().collect());
        let two: (Log, Log) = p().collect();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut sinks = (InOrder(|n| a.push(n)), InOrder(|n| b.push(n)));
        sinks.par_extend(p());
        (first, second, two, a, b)
    } => {
        let (all, log) = (v(n.clone()), Log(v([7].into_iter().chain(n))));
        ((log.clone(), all.clone()), (all.clone(), log.clone()), (log.clone(), log), all.clone(), all)
    };
    collect: |n| {
        let p = || n.clone().into_par_iter();
        let some = || p().filter(|n| n % 3 == 0);
        (some().collect::<VecDeque<_>>(), p().collect::<LinkedList<_>>(), some().collect::<BTreeSet<_>>(),
         p().map(|n| (n, n)).collect::<BTreeMap<_, _>>(), some().map(|n| (n, n)).collect::<HashMap<_, _>>(),
         p().collect::<HashSet<_>>(), some().collect::<BinaryHeap<_>>().into_sorted_vec(), p().collect::<Box<[_]>>(),
         some().collect::<std::sync::Arc<[_]>>())
    } => {
        let some = || n.clone().filter(|n| n % 3 == 0);
        (some().collect(), n.clone().collect(), some().collect(), n.clone().map(|n| (n, n)).collect(),
         some().map(|n| (n, n)).collect(), n.clone().collect(), v(some()), n.clone().collect(), some().collect())
    };
    strings: |n| {
        let p = || n.clone().into_par_iter().map(|n| char::from(b'a' + (n % 26) as u8));
        (p().collect::<String>(), p().map(|c| c.to_string()).collect::<Box<str>>(), p().filter(|c| *c < 'k').collect::<String>())
    } => {
        let p = || n.clone().map(|n| char::from(b'a' + (n % 26) as u8));
        (p().collect(), p().collect(), p().filter(|c| *c < 'k').collect())
    };
    unzip: |n| {
        let p = || n.clone().into_par_iter();
        let a: (Vec<_>, HashSet<_>) = p().map(|n| (n, n + 1)).unzip();
        let b: (Vec<_>, Vec<_>) = p().partition(|n| n % 3 == 0);
        let c: (Vec<_>, Vec<_>) = p().partition_map(|n| if n % 2 == 0 { Either::Left(n) } else { Either::Right(n) });
        let d: (Vec<_>, (Vec<_>, Vec<_>)) = p().map(|n| (n, (n + 1, n + 2))).collect();
        let mut e = (vec![1], vec![2]);
        p().map(|n| (n, n)).unzip_into_vecs(&mut e.0, &mut e.1);
        (a, b, c, d, e)
    } => {
        let s = |f: &dyn Fn(u32) -> bool| v(n.clone().filter(|n| f(*n)));
        ((v(n.clone()), n.clone().map(|n| n + 1).collect()), (s(&|n| n % 3 == 0), s(&|n| n % 3 != 0)),
         (s(&|n| n % 2 == 0), s(&|n| n % 2 == 1)),
         (v(n.clone()), (v(n.clone().map(|n| n + 1)), v(n.clone().map(|n| n + 2)))), (v(n.clone()), v(n.clone())))
    };
    collect_tries: |n| {
        let p = || n.clone().into_par_iter();
        (p().map(|n| (n < 999).then_some(n)).collect::<Option<Vec<_>>>(),
         p().map(|n| if n < 999 { Ok(n) } else { Err(n) }).collect::<Result<Vec<_>, _>>())
    } => (n.clone().map(|n| (n < 999).then_some(n)).collect::<Option<Vec<_>>>(),
          n.clone().map(|n| if n < 999 { Ok(n) } else { Err(n) }).collect::<Result<Vec<_>, _>>());
    extend: |n| {
        let p = || n.clone().into_par_iter();
        let (mut vec, mut slice) = (vec![1], vec![0; n.len()]);
        vec.par_extend(p().filter(|n| n % 3 == 0));
        vec.par_extend(&v(n.clone()));
        p().collect_into(&mut vec);
        p().collect_into_slice(&mut slice);
        (vec, slice, p().collect_vec_list().into_iter().flatten().collect::<Vec<_>>())
    } => {
        let all = v(n.clone());
        let mut vec = vec![1];
        vec.extend(n.clone().filter(|n| n % 3 == 0).chain(n.clone()).chain(n.clone()));
        (vec, all.clone(), all)
    };
    // Sources.
    vectors: |n| {
        let (mut all, range) = (v(n.clone()), n.len() / 4..n.len() / 2);
        let drained: Vec<u32> = all.par_drain(range.clone()).rev().collect();
        drop(all.par_drain(..range.start / 2));
        let mut deque: VecDeque<u32> = n.clone().collect();
        deque.rotate_left(n.len() / 3);
        let some: Vec<u32> = deque.par_drain(range).collect();
        let again: Vec<u32> = deque.par_iter().copied().rev().collect();
        deque.par_iter_mut().for_each(|n| *n += 1);
        (drained, all, some, again, deque.into_par_iter().collect::<Vec<_>>())
    } => {
        let (mut all, range) = (v(n.clone()), n.len() / 4..n.len() / 2);
        let drained = v(all.drain(range.clone()).rev());
        drop(all.drain(..range.start / 2));
        let mut deque: VecDeque<u32> = n.clone().collect();
        deque.rotate_left(n.len() / 3);
        let some = v(deque.drain(range));
        let again = v(deque.iter().copied().rev());
        (drained, all, some, again, v(deque.into_iter().map(|n| n + 1)))
    };
    collections: |n| {
        let set: BTreeSet<u32> = n.clone().collect();
        let mut map: BTreeMap<u32, u32> = n.clone().map(|n| (n, n)).collect();
        map.par_iter_mut().for_each(|(_, n)| *n += 1);
        let mut hash: HashMap<u32, u32> = n.clone().map(|n| (n, n)).collect();
        hash.par_iter_mut().for_each(|(_, n)| *n += 1);
        let mut heap: BinaryHeap<u32> = n.clone().collect();
        (set.par_iter().sum::<u32>(), map.par_iter().map(|(_, n)| n).sum::<u32>(), map.into_par_iter().count(),
         hash.par_drain().map(|(_, n)| n).sum::<u32>(), hash.len(), heap.par_iter().count(),
         heap.par_drain().sum::<u32>(), n.clone().collect::<LinkedList<u32>>().into_par_iter().collect::<Vec<_>>())
    } => {
        let (sum, len) = (n.clone().sum::<u32>(), n.len());
        (sum, sum + len as u32, len, sum + len as u32, 0, len, sum, v(n))
    };
    small_sources: |n| {
        let len = n.len();
        (repeat_n(5, len).sum::<usize>(), repeat(1).take(len).rev().collect::<Vec<_>>(), empty::<u32>().count(),
         repeat(2).zip(n).map(|(two, n)| two * n).sum::<u32>(), Some(3).into_par_iter().chain(Ok::<_, ()>(4)).sum::<i32>(),
         [1, 2, 3].into_par_iter().rev().collect::<Vec<_>>())
    } => (n.len() * 5, vec![1; n.len()], 0, n.map(|n| 2 * n).sum(), 7, vec![3, 2, 1]);
    trees: |n| {
        let size = n.len() as u32;
        let children = move |&n: &u32| [2 * n, 2 * n + 1].into_iter().filter(|m| *m < size).collect::<Vec<_>>();
        (walk_tree_prefix(1, children).collect::<Vec<_>>(), walk_tree_postfix(1, children).collect::<Vec<_>>(),
         walk_tree(1, children).sum::<u32>())
    } => {
        let (mut pre, mut post) = (vec![], vec![]);
        fn walk(n: u32, size: u32, pre: &mut Vec<u32>, post: &mut Vec<u32>) {
            pre.push(n);
            [2 * n, 2 * n + 1].into_iter().filter(|m| *m < size).for_each(|m| walk(m, size, pre, post));
            post.push(n);
        }
        walk(1, n.len() as u32, &mut pre, &mut post);
        let sum = pre.iter().sum();
        (pre, post, sum)
    };
    split_data: |n| {
        let halves = |r: std::ops::Range<u32>| {
            let middle = r.start + (r.end - r.start) / 2;
            if r.end - r.start < 2 { (r, None) } else { (r.start..middle, Some(middle..r.end)) }
        };
        split(n, halves).flat_map_iter(|part| part).collect::<Vec<_>>()
    } => v(n);
    bridge: |n| n.par_bridge().map(|n| n + 1).collect::<BTreeSet<_>>() => n.map(|n| n + 1).collect();
    slices: |n| {
        let all = v(n);
        let owned = |part: &[u32]| part.to_vec();
        (all.par_chunks(7).rev().map(owned).collect::<Vec<_>>(), all.par_rchunks(7).rev().map(owned).collect::<Vec<_>>(),
         all.par_chunks_exact(7).map(owned).collect::<Vec<_>>(), all.par_rchunks_exact(7).rev().map(owned).collect::<Vec<_>>(),
         all.par_windows(3).rev().map(owned).collect::<Vec<_>>(), all.par_array_windows::<3>().map(|w| w.to_vec()).collect::<Vec<_>>(),
         all.par_split(|n| n % 10 == 3).map(owned).collect::<Vec<_>>(), all.par_split_inclusive(|n| n % 10 == 3).map(owned).collect::<Vec<_>>(),
         all.par_chunk_by(|a, b| a / 9 == b / 9).map(owned).collect::<Vec<_>>())
    } => {
        let all = v(n);
        let owned = |part: &[u32]| part.to_vec();
        (v(all.chunks(7).rev().map(owned)), v(all.rchunks(7).rev().map(owned)), v(all.chunks_exact(7).map(owned)),
         v(all.rchunks_exact(7).rev().map(owned)), v(all.windows(3).rev().map(owned)), v(all.windows(3).map(owned)),
         v(all.split(|n| n % 10 == 3).map(owned)), v(all.split_inclusive(|n| n % 10 == 3).map(owned)),
         v(all.chunk_by(|a, b| a / 9 == b / 9).map(owned)))
    };
    slices_mut: |n| {
        let mut all = v(n);
        all.par_iter_mut().for_each(|n| *n += 1);
        all.par_chunks_mut(7).for_each(<[u32]>::reverse);
        all.par_rchunks_mut(6).for_each(<[u32]>::reverse);
        all.par_chunks_exact_mut(5).for_each(<[u32]>::reverse);
        all.par_rchunks_exact_mut(4).for_each(<[u32]>::reverse);
        all.par_split_mut(|n| n % 10 == 3).for_each(<[u32]>::reverse);
        all.par_split_inclusive_mut(|n| n % 10 == 3).for_each(<[u32]>::reverse);
        all.par_chunk_by_mut(|a, b| a <= b).for_each(<[u32]>::reverse);
        all
    } => {
        let mut all = v(n);
        all.iter_mut().for_each(|n| *n += 1);
        all.chunks_mut(7).for_each(<[u32]>::reverse);
        all.rchunks_mut(6).for_each(<[u32]>::reverse);
        all.chunks_exact_mut(5).for_each(<[u32]>::reverse);
        all.rchunks_exact_mut(4).for_each(<[u32]>::reverse);
        all.split_mut(|n| n % 10 == 3).for_each(<[u32]>::reverse);
        all.split_inclusive_mut(|n| n % 10 == 3).for_each(<[u32]>::reverse);
        all.chunk_by_mut(|a, b| a <= b).for_each(<[u32]>::reverse);
        all
    };
    texts: |n| {
        let text = text(n);
        let mut drained = text.clone();
        let taken: String = drained.par_drain(..0).collect();
        (text.par_chars().collect::<String>(), text.par_char_indices().map(|(at, c)| (at, c)).collect::<Vec<_>>(),
         text.par_bytes().collect::<Vec<_>>(), text.par_encode_utf16().collect::<Vec<_>>(),
         [text.par_split(',').map(str::to_owned).collect::<Vec<_>>(), text.par_split(['ß', '\n']).map(str::to_owned).collect(),
          text.par_split_inclusive(&['ß', ','][..]).map(str::to_owned).collect(),
          text.par_split_terminator(|c| c == '\n').map(str::to_owned).collect(), text.par_lines().map(str::to_owned).collect(),
         text.par_split_terminator('\n').map(str::to_owned).collect(), text.par_split_inclusive(',').map(str::to_owned).collect(),
         text.par_split('ß').map(str::to_owned).collect(),
          text.par_split_whitespace().map(str::to_owned).collect(), text.par_split_ascii_whitespace().map(str::to_owned).collect(),
          text.par_matches(char::is_alphabetic).map(str::to_owned).collect()],
         text.par_match_indices(',').map(|(at, text)| (at, text.to_owned())).collect::<Vec<_>>(), taken)
    } => {
        let text = text(n);
        (text.clone(), v(text.char_indices()), v(text.bytes()), v(text.encode_utf16()),
         [v(text.split(',').map(str::to_owned)), v(text.split(['ß', '\n']).map(str::to_owned)),
          v(text.split_inclusive(['ß', ',']).map(str::to_owned)), v(text.split_terminator('\n').map(str::to_owned)),
          v(text.lines().map(str::to_owned)),
         v(text.split_terminator('\n').map(str::to_owned)), v(text.split_inclusive(',').map(str::to_owned)),
         v(text.split('ß').map(str::to_owned)), v(text.split_whitespace().map(str::to_owned)),
          v(text.split_ascii_whitespace().map(str::to_owned)), v(text.matches(char::is_alphabetic).map(str::to_owned))],
         v(text.match_indices(',').map(|(at, text)| (at, text.to_owned()))), String::new())
    };
    tuned: |n| {
        let p = || n.clone().into_par_iter().map(|n| n + 1);
        (p().with_min_len(10).collect::<Vec<_>>(), p().filter(|n| n % 2 == 0).with_max_len(3).collect::<Vec<_>>(),
         p().max_workers(2).rev().collect::<Vec<_>>(), p().fixed_shape().flat_map(|n| [n; 2]).max_workers(1).count(),
         p().on_progress(|_| ()).cancel_on(&crate::CancelToken::new()).collect::<Vec<_>>())
    } => {
        let all = v(n.map(|n| n + 1));
        (all.clone(), v(all.iter().copied().filter(|n| n % 2 == 0)), v(all.iter().copied().rev()), 2 * all.len(), all)
    };
}

/// A text with separators of all kinds, also side by side and at its ends.
fn text(n: std::ops::Range<u32>) -> String {
    let parts = ["a", "ß", ",", "\n", " ", "\r\n", "𝄞", "bc", "\u{2003}", ",,"];
    n.map(|n| parts[(n.wrapping_mul(2_654_435_761) >> 7) as usize % parts.len()]).collect()
}

fn separated(all: Vec<u32>) -> Vec<u32> {
    let mut with: Vec<u32> = all.into_iter().flat_map(|n| [n, 9]).collect();
    with.pop();
    with
}

fn interleaved(a: Vec<u32>, b: Vec<u32>) -> Vec<u32> {
    let both = a.len().min(b.len());
    let mut all: Vec<u32> = a.iter().zip(&b).flat_map(|(a, b)| [*a, *b]).collect();
    all.extend(&a[both..]);
    all.extend(&b[both..]);
    all
}
