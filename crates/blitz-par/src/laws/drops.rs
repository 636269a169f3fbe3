//! Each item is dropped once, whatever panics.
//!
//! The closures here drop the values that they do not return, and then return: the compiler loses a
//! result if a drop at the end of a function panics. For the same reason values that a loop keeps
//! besides its items do not panic when they are dropped.

use super::{SEEDS, ignore};
use crate::iter::{repeat_n, walk_tree_postfix};
use crate::prelude::*;
use crate::script::play;
use blitz_core::Pool;
use std::collections::{HashSet, LinkedList};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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
