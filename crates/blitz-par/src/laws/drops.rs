//! Each item is dropped once, whatever panics.
//!
//! The closures here drop the values that they do not return, and then return: the compiler loses a
//! result if a drop at the end of a function panics. For the same reason values that a loop keeps
//! besides its items do not panic when they are dropped.

#![allow(clippy::mutable_key_type, reason = "the order of items depends only on their numbers")]

use super::{SEEDS, ignore};
use crate::iter::{Either, repeat_n, split, walk_tree, walk_tree_postfix, walk_tree_prefix};
use crate::prelude::*;
use crate::script::play;
use blitz_core::Pool;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Counts calls, and panics at one of them; knows which items live.
struct Ledger {
    calls: AtomicUsize,
    limit: usize,
    next: AtomicUsize,
    alive: Mutex<HashSet<usize>>,
}

impl Ledger {
    fn new(limit: usize) -> Ledger {
        let (calls, next) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ledger { calls, limit, next, alive: Mutex::default() }
    }

    /// Counts a call of user code, and panics at the chosen one.
    fn call(&self) {
        if self.calls.fetch_add(1, Relaxed) == self.limit && !std::thread::panicking() {
            // Skip the panic hook: there are many panics.
            resume_unwind(Box::new(self.limit));
        }
    }

    fn item(&self) -> Item<'_> {
        self.make(true)
    }

    /// An item whose drop does not panic. The drops of its clones do not panic either.
    fn kept(&self) -> Item<'_> {
        self.make(false)
    }

    fn make(&self, drop_calls: bool) -> Item<'_> {
        let id = self.next.fetch_add(1, Relaxed);
        self.alive.lock().unwrap().insert(id);
        Item { ledger: self, id, drop_calls, _aligned: Aligned }
    }

    fn items(&self, len: usize) -> Vec<Item<'_>> {
        (0..len).map(|_| self.item()).collect()
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned;

/// An item that has to be dropped once. Its clone and its drop count as calls.
struct Item<'a> {
    ledger: &'a Ledger,
    id: usize,
    drop_calls: bool,
    _aligned: Aligned,
}

impl Clone for Item<'_> {
    fn clone(&self) -> Self {
        self.ledger.call();
        self.ledger.make(self.drop_calls)
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        assert!(self.ledger.alive.lock().unwrap().remove(&self.id), "dropped twice");
        if self.drop_calls {
            self.ledger.call();
        }
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Item<'_> {}

impl PartialOrd for Item<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item<'_> {
    /// Many items are equal, so that sets drop some.
    fn cmp(&self, other: &Self) -> Ordering {
        self.ledger.call();
        (self.id % 16).cmp(&(other.id % 16))
    }
}

impl Hash for Item<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ledger.call();
        (self.id % 16).hash(state);
    }
}

/// A collection that puts its own items before and after the given ones.
struct Framed<'a> {
    ledger: &'a Ledger,
    all: Vec<Item<'a>>,
}

impl<'a> ParallelExtend<Item<'a>> for Framed<'a> {
    fn par_extend<I: IntoParallelIterator<Item = Item<'a>>>(&mut self, iter: I) {
        let (head, tail) = (self.ledger.items(9), self.ledger.items(3));
        self.all.par_extend(head.into_par_iter().chain(iter.into_par_iter()).chain(tail));
    }
}

/// Runs `program` with a panic at one of its calls, again and again: at call 0, at call 1, and then
/// at later calls, with growing gaps, until no call panics.
fn balanced(program: impl Fn(&Ledger) + Sync) {
    // A worker that is alone takes all items in one block.
    let pools = [1, 4].map(|workers| Pool::builder().workers(workers).build().unwrap());
    let mut limit = 0;
    loop {
        let mut panicked = false;
        let mut check = |run: &dyn Fn(&(dyn Fn() + Sync))| {
            let ledger = Ledger::new(limit);
            let run = || run(&|| program(&ledger));
            panicked |= catch_unwind(AssertUnwindSafe(run)).is_err();
            let alive = ledger.alive.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            assert!(alive.is_empty(), "{} items leak at call {limit}", alive.len());
        };
        for seed in (0..SEEDS).step_by(if limit < 4 { 3 } else { 7 }) {
            check(&|program| play(seed, program));
        }
        for pool in &pools {
            check(&|program| pool.install(program));
        }
        if !panicked {
            return;
        }
        limit += 1 + limit / 3;
    }
}

/// Drops an item before the result is made.
fn done<T>(item: T) -> Result<(), T> {
    drop(item);
    Ok(())
}

macro_rules! balanced {
    ($($name:ident: |$ledger:ident, $items:ident| $program:expr;)*) => {$(
        #[test]
        fn $name() {
            balanced(|$ledger| {
                let $items = || $ledger.items(40);
                ignore($program);
            });
        }
    )*};
}

balanced! {
    map_collect: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    filter_collect: |ledger, items| items().into_par_iter().filter(|item| { ledger.call(); item.id % 3 > 0 }).collect::<Vec<_>>();
    flat_map_collect: |ledger, items| items().into_par_iter().flat_map(|item| { ledger.call(); vec![item.clone(), item] }).collect::<Vec<_>>();
    cloned: |_ledger, items| items().par_iter().cloned().collect::<Vec<_>>();
    chain: |ledger, items| items().into_par_iter().chain(items()).map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    zip: |ledger, items| items().into_par_iter().zip(ledger.items(30)).map(|pair| { ledger.call(); pair }).collect::<Vec<_>>();
    rev_skip_take: |ledger, items| items().into_par_iter().rev().skip(5).take(20).step_by(2)
        .map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    chunks: |ledger, items| items().into_par_iter().chunks(7).map(|chunk| { ledger.call(); chunk }).collect::<Vec<_>>();
    interleave: |ledger, items| items().into_par_iter().interleave(ledger.items(9)).map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    intersperse: |ledger, items| items().into_par_iter().filter(|item| item.id % 3 > 0).intersperse(ledger.kept()).collect::<Vec<_>>();
    intersperse_exact: |ledger, items| items().into_par_iter().intersperse(ledger.kept()).rev().collect::<Vec<_>>();
    map_with: |ledger, items| items().into_par_iter().map_with(ledger.kept(), |_, item| { ledger.call(); item }).collect::<Vec<_>>();
    map_init: |ledger, items| items().into_par_iter().map_init(|| ledger.kept(), |_, item| { ledger.call(); item }).zip(0..100).collect::<Vec<_>>();
    fold: |ledger, items| items().into_par_iter().fold(Vec::new, |mut all, item| { ledger.call(); all.push(item); all }).collect::<Vec<_>>();
    fold_with: |ledger, items| items().into_par_iter().fold_with(ledger.kept(), |old, item| { ledger.call(); drop(old); item }).collect::<LinkedList<_>>();
    try_fold: |ledger, items| items().into_par_iter().try_fold(|| ledger.item(), |old, item| { ledger.call(); drop(old); (item.id != 17).then_some(item) })
        .collect::<Vec<_>>();
    reduce: |ledger, items| items().into_par_iter().reduce(|| ledger.item(), |old, item| { ledger.call(); drop(old); item });
    reduce_with: |ledger, items| items().into_par_iter().reduce_with(|item, other| { ledger.call(); drop(other); item });
    try_reduce: |ledger, items| items().into_par_iter().map(Some).try_reduce(|| ledger.item(), |item, other| { ledger.call(); let go_on = other.id != 17; drop(other); go_on.then_some(item) });
    min_by: |ledger, items| items().into_par_iter().min_by(|a, b| { ledger.call(); a.id.cmp(&b.id) });
    find_first: |ledger, items| items().into_par_iter().find_first(|item| { ledger.call(); item.id == 20 });
    find_last: |ledger, items| items().into_par_iter().find_last(|item| { ledger.call(); item.id % 10 == 3 });
    find_any: |ledger, items| items().into_par_iter().find_any(|item| { ledger.call(); item.id == 20 });
    take_any: |_ledger, items| items().into_par_iter().take_any(10).collect::<Vec<_>>();
    while_some: |_ledger, items| items().into_par_iter().map(|item| (item.id != 20).then_some(item)).collect::<Option<Vec<_>>>();
    results: |_ledger, items| items().into_par_iter().map(|item| if item.id % 10 < 9 { Ok(item) } else { Err(item) }).collect::<Result<Vec<_>, _>>();
    unzip: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); (item, ledger.item()) }).unzip::<_, _, Vec<_>, Vec<_>>();
    unzip_framed: |ledger, items| {
        let framed = || Framed { ledger, all: Vec::new() };
        let pairs = || items().into_par_iter().map(|item| { ledger.call(); (item, ledger.item()) });
        let (mut first, mut second) = ((framed(), Vec::new()), (Vec::new(), framed()));
        first.par_extend(pairs());
        second.par_extend(pairs());
        assert_eq!([first.0.all.len(), first.1.len(), second.0.len(), second.1.all.len()], [52, 40, 40, 52]);
        (first, second)
    };
    partition: |ledger, items| items().into_par_iter().partition::<Vec<_>, Vec<_>, _>(|item| { ledger.call(); item.id % 2 == 0 });
    for_each: |ledger, items| items().into_par_iter().for_each(|_item| ledger.call());
    panic_fuse: |ledger, items| items().into_par_iter().panic_fuse().for_each(|_item| ledger.call());
    in_order: |ledger, items| items().into_par_iter().for_each_in_order_within(9, |_item| ledger.call());
    bridge: |ledger, items| items().into_iter().inspect(|_| ledger.call()).par_bridge().map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    repeat: |ledger, _items| repeat_n(ledger.kept(), 30).collect::<Vec<_>>();
    drain: |ledger, items| {
        let mut all = items();
        all.par_drain(5..30).for_each(|_item| ledger.call());
        all
    };
    drain_unused: |_ledger, items| {
        let mut all = items();
        drop(all.par_drain(5..30));
        all
    };
    trees: |ledger, _items| walk_tree_postfix(ledger.item(), |item| {
        ledger.call();
        if item.id < 20 { ledger.items(2) } else { Vec::new() }
    }).collect::<Vec<_>>();
    sort: |ledger, items| {
        let mut all = items();
        all.par_sort_by(|a, b| { ledger.call(); b.id.cmp(&a.id) });
        all.par_sort_by_cached_key(|item| { ledger.call(); item.id % 7 });
        all
    };
    scan: |ledger, items| items().into_par_iter().scan_inclusive(|_, item| { ledger.call(); item.clone() });
    fixed_shape: |ledger, items| items().into_par_iter().fixed_shape().map(|item| { ledger.call(); item }).collect::<Vec<_>>();
}

// Adaptors.
balanced! {
    inspect: |ledger, items| items().into_par_iter().inspect(|_| ledger.call()).collect::<Vec<_>>();
    update: |ledger, items| items().into_par_iter().update(|_| ledger.call()).collect::<Vec<_>>();
    filter_map: |ledger, items| items().into_par_iter().filter_map(|item| { ledger.call(); (item.id % 3 > 0).then_some(item) }).collect::<Vec<_>>();
    flat_map_iter: |ledger, items| items().into_par_iter().flat_map_iter(|item| { ledger.call(); [item.clone(), item] }).collect::<Vec<_>>();
    flatten: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); vec![item.clone(), item] }).flatten().collect::<Vec<_>>();
    flatten_iter: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); Some(item) }).flatten_iter().collect::<Vec<_>>();
    try_fold_with: |ledger, items| items().into_par_iter().try_fold_with(ledger.kept(), |old, item| { ledger.call(); drop(old); (item.id != 17).then_some(item) })
        .collect::<Vec<_>>();
    skip_any: |ledger, items| items().into_par_iter().skip_any(10).map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    take_any_while: |ledger, items| items().into_par_iter().take_any_while(|item| { ledger.call(); item.id != 20 }).collect::<Vec<_>>();
    skip_any_while: |ledger, items| items().into_par_iter().skip_any_while(|item| { ledger.call(); item.id != 20 }).collect::<Vec<_>>();
    fold_chunks: |ledger, items| items().into_par_iter().fold_chunks(7, || ledger.item(), |old, item| { ledger.call(); drop(old); item }).collect::<Vec<_>>();
    fold_chunks_with: |ledger, items| items().into_par_iter().fold_chunks_with(7, ledger.kept(), |old, item| { ledger.call(); drop(old); item }).collect::<Vec<_>>();
    positions: |ledger, items| items().into_par_iter().positions(|item| { ledger.call(); item.id % 3 > 0 }).collect::<Vec<_>>();
    on_progress: |ledger, items| items().into_par_iter().on_progress(|_| ledger.call()).collect::<Vec<_>>();
    interleave_shortest: |ledger, items| items().into_par_iter().interleave_shortest(ledger.items(9)).map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    zip_eq: |ledger, items| items().into_par_iter().zip_eq(ledger.items(40)).map(|pair| { ledger.call(); pair }).collect::<Vec<_>>();
    uniform_blocks: |ledger, items| items().into_par_iter().by_uniform_blocks(9).map(|item| { ledger.call(); item }).collect::<Vec<_>>();
}

// Ends of loops.
balanced! {
    for_each_with: |ledger, items| items().into_par_iter().for_each_with(ledger.kept(), |_, _item| ledger.call());
    for_each_init: |ledger, items| items().into_par_iter().for_each_init(|| { ledger.call(); ledger.kept() }, |_, _item| ledger.call());
    try_for_each: |ledger, items| items().into_par_iter().try_for_each(|item| { ledger.call(); if item.id == 17 { Err(item) } else { done(item) } });
    try_for_each_with: |ledger, items| items().into_par_iter()
        .try_for_each_with(ledger.kept(), |_, item| { ledger.call(); if item.id == 17 { Err(item) } else { done(item) } });
    try_for_each_init: |ledger, items| items().into_par_iter()
        .try_for_each_init(|| { ledger.call(); ledger.kept() }, |_, item| { ledger.call(); if item.id == 17 { Err(item) } else { done(item) } });
    try_reduce_with: |ledger, items| items().into_par_iter().map(Some)
        .try_reduce_with(|item, other| { ledger.call(); let go_on = other.id != 17; drop(other); go_on.then_some(item) });
    min: |_ledger, items| items().into_par_iter().min();
    max: |_ledger, items| items().into_par_iter().max();
    max_by: |ledger, items| items().into_par_iter().max_by(|a, b| { ledger.call(); a.id.cmp(&b.id) });
    min_by_key: |ledger, items| items().into_par_iter().min_by_key(|item| { ledger.call(); item.id % 7 });
    max_by_key: |ledger, items| items().into_par_iter().max_by_key(|item| { ledger.call(); item.id % 7 });
    min_by_key_with_drop: |_ledger, items| items().into_par_iter().min_by_key(|item| item.clone());
    max_by_key_with_drop: |_ledger, items| items().into_par_iter().max_by_key(|item| item.clone());
    find_map_any: |ledger, items| items().into_par_iter().find_map_any(|item| { ledger.call(); (item.id == 20).then_some(item) });
    find_map_first: |ledger, items| items().into_par_iter().find_map_first(|item| { ledger.call(); (item.id % 10 == 3).then_some(item) });
    find_map_last: |ledger, items| items().into_par_iter().find_map_last(|item| { ledger.call(); (item.id % 10 == 3).then_some(item) });
    any: |ledger, items| items().into_par_iter().any(|item| { ledger.call(); item.id == 20 });
    all: |ledger, items| items().into_par_iter().all(|item| { ledger.call(); item.id != 20 });
    position_any: |ledger, items| items().into_par_iter().position_any(|item| { ledger.call(); item.id == 20 });
    position_first: |ledger, items| items().into_par_iter().position_first(|item| { ledger.call(); item.id % 10 == 3 });
    position_last: |ledger, items| items().into_par_iter().position_last(|item| { ledger.call(); item.id % 10 == 3 });
    partition_map: |ledger, items| items().into_par_iter().partition_map::<Vec<_>, Vec<_>, _, _, _>(|item| {
        ledger.call();
        if item.id % 2 == 0 { Either::Left(item) } else { Either::Right((item, 1)) }
    });
    compare: |ledger, items| items().into_par_iter().cmp(ledger.items(40));
    equal: |ledger, items| items().into_par_iter().eq(ledger.items(40));
}

// Sources whose functions panic.
balanced! {
    par_split: |ledger, items| {
        let all = items();
        let parts: Vec<_> = all.par_split(|item| { ledger.call(); item.id % 7 == 3 }).map(<[_]>::to_vec).collect();
        (all, parts)
    };
    par_split_inclusive: |ledger, items| {
        let all = items();
        let parts: Vec<_> = all.par_split_inclusive(|item| { ledger.call(); item.id % 7 == 3 }).map(<[_]>::to_vec).collect();
        (all, parts)
    };
    par_chunk_by: |ledger, items| {
        let all = items();
        let parts: Vec<_> = all.par_chunk_by(|item, _| { ledger.call(); item.id % 7 != 3 }).map(<[_]>::to_vec).collect();
        (all, parts)
    };
    par_split_mut: |ledger, items| {
        let mut all = items();
        all.par_split_mut(|item| { ledger.call(); item.id % 7 == 3 }).for_each(|part| { ledger.call(); part.reverse() });
        all.par_split_inclusive_mut(|item| { ledger.call(); item.id % 7 == 3 }).for_each(|part| { ledger.call(); part.reverse() });
        all
    };
    par_chunk_by_mut: |ledger, items| {
        let mut all = items();
        all.par_chunk_by_mut(|item, _| { ledger.call(); item.id % 7 != 3 }).for_each(|part| { ledger.call(); part.reverse() });
        all
    };
    splits: |ledger, items| split(items(), |mut all: Vec<_>| {
        ledger.call();
        let right = (all.len() > 1).then(|| all.split_off(all.len() / 2));
        (all, right)
    }).map(|all| { ledger.call(); all }).collect::<Vec<_>>();
    trees_in_any_order: |ledger, _items| walk_tree(ledger.item(), |item| {
        ledger.call();
        if item.id < 20 { ledger.items(2) } else { Vec::new() }
    }).collect::<Vec<_>>();
    trees_from_the_root: |ledger, _items| walk_tree_prefix(ledger.item(), |item| {
        ledger.call();
        if item.id < 20 { ledger.items(2) } else { Vec::new() }
    }).collect::<Vec<_>>();
    par_matches: |ledger, _items| "1a22b333c".repeat(9).par_matches(|c: char| { ledger.call(); c.is_ascii_digit() })
        .map(|_| ledger.item()).collect::<Vec<_>>();
    array: |ledger, _items| [0; 40].map(|_| ledger.item()).into_par_iter().map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    deque: |ledger, items| VecDeque::from(items()).into_par_iter().map(|item| { ledger.call(); item }).collect::<Vec<_>>();
    deque_drain: |ledger, items| {
        let mut all = VecDeque::from(items());
        all.par_drain(5..30).for_each(|_item| ledger.call());
        all
    };
}

// Sorts.
balanced! {
    sort_by_key: |ledger, items| {
        let mut all = items();
        all.par_sort_by_key(|item| { ledger.call(); item.id % 7 });
        all.par_sort_unstable_by_key(|item| { ledger.call(); item.id % 5 });
        all
    };
    sort_by_key_with_drop: |_ledger, items| {
        let mut all = items();
        all.par_sort_by_key(Clone::clone);
        all.par_sort_unstable_by_key(Clone::clone);
        all.par_sort_by_cached_key(Clone::clone);
        all
    };
    sort_without_key: |ledger, items| {
        let mut all = items();
        all.par_sort_unstable();
        all.par_sort_unstable_by(|a, b| { ledger.call(); b.id.cmp(&a.id) });
        all.par_sort();
        all
    };
}

// Targets. An item that panics in its drop makes a hash table of the standard library leak the
// others, so the items of hash tables panic in their other functions only.
balanced! {
    into_vec: |ledger, items| {
        let mut all = ledger.items(9);
        items().into_par_iter().map(|item| { ledger.call(); item }).collect_into_vec(&mut all);
        all
    };
    into_slice: |ledger, items| {
        let mut all = ledger.items(40);
        items().into_par_iter().map(|item| { ledger.call(); item }).collect_into_slice(&mut all);
        all
    };
    unzip_into_vecs: |ledger, items| {
        let (mut left, mut right) = (ledger.items(9), ledger.items(3));
        items().into_par_iter().map(|item| { ledger.call(); (item, ledger.item()) }).unzip_into_vecs(&mut left, &mut right);
        (left, right)
    };
    into_deque: |ledger, items| {
        let mut all = VecDeque::from(ledger.items(3));
        all.par_extend(items().into_par_iter().filter(|item| { ledger.call(); item.id % 3 > 0 }));
        all
    };
    into_list: |ledger, items| items().into_par_iter().filter(|item| { ledger.call(); item.id % 3 > 0 }).collect::<LinkedList<_>>();
    into_heap: |_ledger, items| items().into_par_iter().collect::<BinaryHeap<_>>();
    into_shared_slice: |ledger, items| items().into_par_iter().filter(|item| { ledger.call(); item.id % 3 > 0 }).collect::<Arc<[_]>>();
    into_vec_list: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); item }).collect_vec_list();
    into_tree_set: |_ledger, items| items().into_par_iter().collect::<BTreeSet<_>>();
    into_tree_map: |ledger, items| items().into_par_iter().map(|item| { ledger.call(); (item, ledger.item()) }).collect::<BTreeMap<_, _>>();
    into_hash_set: |ledger, _items| (0..40).into_par_iter().map(|_| { ledger.call(); ledger.kept() }).collect::<HashSet<_>>();
    into_hash_map: |ledger, _items| {
        let mut all = HashMap::from([(ledger.kept(), ledger.kept())]);
        all.par_extend((0..40).into_par_iter().map(|_| { ledger.call(); (ledger.kept(), ledger.kept()) }));
        all
    };
    out_of_hash_map: |ledger, _items| {
        let mut all: HashMap<_, _> = (0..40).map(|n| (n, ledger.kept())).collect();
        all.par_drain().for_each(|_entry| ledger.call());
        all
    };
    out_of_hash_set: |ledger, _items| {
        let all: HashSet<_> = (0..40).map(|_| ledger.kept()).collect();
        all.into_par_iter().map(|item| { ledger.call(); item }).collect::<Vec<_>>()
    };
}
