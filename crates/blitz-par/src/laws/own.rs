//! Methods that Rayon does not have, and where loops run.

use super::{everywhere, ignore, scripted};
use crate::CancelToken;
use crate::iter::{repeat, split, walk_tree_postfix, walk_tree_prefix};
use crate::prelude::*;
use crate::script::play;
use blitz_core::{Pool, WaitPolicy};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

#[test]
fn maps_and_sets_are_cut_where_a_loop_asks_for_it() {
    everywhere(|| {
        let map: HashMap<u32, String> = (0..1000).map(|n| (n, n.to_string())).collect();
        let sequential: Vec<_> = map.iter().collect();
        assert_eq!(map.par_iter().collect::<Vec<_>>(), sequential);
        assert_eq!(map.par_iter().with_max_len(7).collect::<Vec<_>>(), sequential);
        assert_eq!(map.par_iter().fixed_shape().collect::<Vec<_>>(), sequential);
        let mut in_order = Vec::new();
        map.par_iter().for_each_in_order_within(10, |entry| in_order.push(entry));
        assert_eq!(in_order, sequential);
        let some = map.par_iter().with_max_len(7).find_last(|(n, _)| **n % 2 == 0);
        assert_eq!(some, map.iter().filter(|(n, _)| **n % 2 == 0).last());
        let set: HashSet<String> = map.values().cloned().collect();
        let sequential: Vec<_> = set.clone().into_iter().collect();
        assert_eq!(set.clone().into_par_iter().collect::<HashSet<_>>(), set);
        let parts =
            sequential.into_par_iter().with_max_len(7).map(|text| text.len()).sum::<usize>();
        let owned = set.into_par_iter().with_max_len(7).take_any(1000).map(|text| text.len());
        assert_eq!(owned.sum::<usize>(), parts);
        assert_eq!(HashMap::<u8, u8>::new().into_par_iter().count(), 0);
    });
}

#[test]
fn a_fixed_shape_gives_the_same_bits_for_any_number_of_workers() {
    let numbers: Vec<f64> = (1..100_000).map(|n| (f64::from(n)).sin() / f64::from(n)).collect();
    let sum = || {
        let all = numbers.par_iter().map(|n| n * 1.1).fixed_shape().sum::<f64>();
        let some = numbers.par_iter().filter(|n| **n > 0.0).fixed_shape().map(|n| n.sqrt());
        let deep = numbers.par_chunks(100).flat_map(|part| part).copied().fixed_shape();
        let limited = numbers.par_iter().fixed_shape().max_workers(2).sum::<f64>();
        (all.to_bits(), some.sum::<f64>().to_bits(), deep.sum::<f64>().to_bits(), limited.to_bits())
    };
    let expected = pool(1).install(sum);
    for workers in [1, 2, 3, 8] {
        let pool = pool(workers);
        (0..5).for_each(|_| assert_eq!(pool.install(sum), expected, "{workers} workers"));
    }
    scripted(|| assert_eq!(sum(), expected));
}

#[test]
fn data_is_split_for_every_worker() {
    let halves = |range: Range<u64>| {
        let middle = range.start + (range.end - range.start) / 2;
        let is_short = range.end - range.start < 2;
        if is_short { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
    };
    let len = 1 << 24;
    // Each part takes long enough to be worth a cut.
    let work = |part: Range<u64>| {
        let len = part.end - part.start;
        assert!(part.fold(0, |sum, n| black_box(sum | n)) < u64::MAX);
        len
    };
    let longest = pool(8).install(|| split(0..len, halves).map(work).max()).unwrap();
    assert!(longest <= len / 8, "{longest} of {len} in one part");
}

#[test]
fn no_more_workers_than_allowed_take_part() {
    let pool = pool(8);
    for limit in [1, 2, 3] {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: i32| {
            most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
            (0..100).for_each(|_| std::thread::yield_now());
            now.fetch_sub(1, Relaxed);
        };
        pool.install(|| {
            let all = || (0..64).into_par_iter();
            all().max_workers(limit).flat_map(|_| 0..4).for_each(work);
            all().chain(all()).chain(all()).max_workers(limit).for_each(work);
        });
        assert!(most.into_inner() <= limit, "limit {limit}");
    }
}

#[test]
fn a_state_is_made_for_each_part_and_need_not_be_sent() {
    for workers in [1, 4] {
        let (inits, parts) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool(workers).install(|| {
            let init = || Rc::new(inits.fetch_add(1, Relaxed));
            let all = (0..100_000u32).into_par_iter().map_init(init, |_, n| n);
            let count = || ignore(parts.fetch_add(1, Relaxed));
            all.fold(count, |(), _| ()).for_each(|()| ());
        });
        let (inits, parts) = (inits.into_inner(), parts.into_inner());
        assert!(inits == parts, "{inits} values for {parts} parts");
        // In a pool of one worker, only a spare thread could ask for a cut.
        assert!(workers > 1 || parts <= 8, "{parts} parts on one worker");
    }
}

#[test]
fn results_in_order_come_on_one_thread() {
    let pool = pool(4);
    let (mut seen, mut threads) = (Vec::new(), Vec::new());
    pool.install(|| {
        (0..5_000u32).into_par_iter().map(|n| n * 2).for_each_in_order(|n| {
            seen.push(n);
            threads.push(std::thread::current().id());
        });
    });
    threads.dedup();
    assert!(seen.into_iter().eq((0..5_000).map(|n| n * 2)));
    assert_eq!(threads.len(), 1);
}

#[test]
fn at_most_two_windows_are_ahead_of_the_sink() {
    let (made, mut taken) = (AtomicUsize::new(0), 0);
    pool(4).install(|| {
        let items = (0..1_000)
            .into_par_iter()
            .map(|n: u32| ignore(made.fetch_add(1, Relaxed) + n as usize));
        items.for_each_in_order_within(10, |()| {
            taken += 1;
            let ahead = made.load(Relaxed) - taken;
            assert!(ahead <= 20, "{ahead} items wait");
        });
    });
    assert_eq!(taken, 1_000);
}

#[test]
fn windows_are_pulled_out_of_unmeasured_pieces() {
    fn check<I: ParallelIterator<Item: Send>>(made: &AtomicUsize, items: I) -> usize {
        let (before, mut taken) = (made.load(Relaxed), 0);
        items.for_each_in_order_within(10, |_| {
            taken += 1;
            let ahead = made.load(Relaxed) - before - taken;
            assert!(ahead <= 20, "{ahead} items wait");
        });
        taken
    }
    everywhere(|| {
        let made = AtomicUsize::new(0);
        let count = || ignore(made.fetch_add(1, Relaxed));
        assert_eq!(check(&made, (0..1_000).inspect(|_| count()).par_bridge()), 1_000);
        let children = |&n: &u32| if n < 500 { vec![2 * n, 2 * n + 1] } else { vec![] };
        let counted = |n: &u32| {
            count();
            children(n)
        };
        assert_eq!(check(&made, walk_tree_prefix(1, counted)), 999);
        assert_eq!(check(&made, walk_tree_postfix(1, children).inspect(|_| count())), 999);
        assert!(check(&made, repeat(()).inspect(|()| count()).take_any(500)) == 500);
    });
    let mut order = Vec::new();
    (0..1_000).par_bridge().for_each_in_order_within(7, |n| order.push(n));
    assert!(order.into_iter().eq(0..1_000));
    repeat(1).take_any(3).for_each_in_order_within(usize::MAX, |n| assert_eq!(n, 1));
}

#[test]
fn progress_comes_to_the_end_and_a_deadline_ends_a_loop() {
    let most = AtomicUsize::new(0);
    let done: Vec<u32> =
        (0..10_000).into_par_iter().on_progress(|n| ignore(most.fetch_max(n, Relaxed))).collect();
    assert_eq!((done.len(), most.into_inner()), (10_000, 10_000));
    let token = CancelToken::at(std::time::Instant::now());
    assert_eq!((0..10_000).into_par_iter().cancel_on(&token).count(), 0);
}

#[test]
fn a_bridge_whose_iterator_forks_ends() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let sum = pool.install(|| {
            let inner = |n: u64| (0..n % 50).into_par_iter().sum::<u64>();
            (0..500u64)
                .map(inner)
                .par_bridge()
                .map(|n| n + (0..n).into_par_iter().count() as u64)
                .sum::<u64>()
        });
        assert_eq!(sum, (0..500u64).map(|n| (0..n % 50).sum::<u64>() * 2).sum());
    }
}

#[test]
fn a_bridge_never_runs_its_iterator_twice_at_once() {
    let pool = pool(8);
    let busy = AtomicBool::new(false);
    let items = (0..20_000).inspect(|_| {
        assert!(!busy.swap(true, Relaxed), "two workers pull at once");
        busy.store(false, Relaxed);
    });
    let seen = Mutex::new(vec![false; 20_000]);
    pool.install(|| {
        items
            .par_bridge()
            .for_each(|n| assert!(!std::mem::replace(&mut seen.lock().unwrap()[n], true)))
    });
    assert!(seen.into_inner().unwrap().into_iter().all(|seen| seen));
}

#[test]
fn a_bridge_inside_of_an_item_loses_no_items() {
    // A bridge pulls in rounds. After a round that forked, a round without a fork is rare. It
    // happens in these scripts, which want about every second fork.
    for seed in 0..300 {
        let len = 1_500 + seed as usize * 37 % 3_000;
        let bridge = |n| (0..if n == 9 { len } else { 0 }).par_bridge();
        let count = play(4 * seed + 2, || (0..10).into_par_iter().flat_map(bridge).count());
        assert_eq!(count, len, "seed {seed}");
    }
}

#[test]
fn deep_trees_do_not_make_deep_stacks() {
    // Each node has a leaf and another such node below it.
    let children = |&(depth, is_leaf): &(u32, bool)| match depth {
        0 => vec![],
        _ if is_leaf => vec![],
        _ => vec![(depth, true), (depth - 1, false)],
    };
    let tree = || walk_tree_prefix((10_000, false), children);
    let shape = || {
        let parts = tree().fixed_shape().fold(|| 0, |count, _| count + 1);
        parts.collect::<Vec<u32>>()
    };
    let expected = shape();
    assert_eq!(expected.iter().sum::<u32>(), 20_001);
    for seed in 0..4 {
        play(seed, || {
            assert_eq!(tree().with_max_len(1).count(), 20_001);
            assert_eq!(shape(), expected);
        });
    }
}

#[test]
fn no_part_waits_for_the_clone_of_another() {
    /// A value whose clone runs a loop, and so may run other parts of the outer loop.
    struct Forks;

    impl Clone for Forks {
        fn clone(&self) -> Forks {
            assert_eq!((0..500u32).into_par_iter().filter(|n| n % 2 == 0).count(), 250);
            Forks
        }
    }

    let pool = pool(4);
    for _ in 0..100 {
        let all = || (0..2_000u32).into_par_iter();
        let mapped =
            pool.install(|| all().map_with(Forks, |_, n| n).filter(|n| n % 2 == 0).count());
        let folded = pool.install(|| all().fold_with(Forks, |forks, _| forks).count());
        assert!(mapped == 1_000 && folded > 0);
    }
}

#[test]
fn loops_run_in_scopes_tasks_and_each_other() {
    for policy in [WaitPolicy::DescendantsOnly, WaitPolicy::StealAnything] {
        let pool = Pool::builder().workers(3).wait_policy(policy).build().unwrap();
        let sum = |n: u64| {
            (0..n).into_par_iter().map(|n| (0..n % 10).into_par_iter().sum::<u64>()).sum::<u64>()
        };
        let expected = (0..1000u64).map(|n| (0..n % 10).sum::<u64>()).sum::<u64>();
        let found = Mutex::new(Vec::new());
        pool.scope(|s| {
            // Compute the sum before taking the lock: a worker that waits for parts of it may run
            // another job.
            let job = || {
                let sum = sum(1000);
                found.lock().unwrap().push(sum);
            };
            (0..8).for_each(|_| s.spawn(move |_| job()));
        });
        assert_eq!(found.into_inner().unwrap(), [expected; 8]);
        let tasks: Vec<_> = (0..8).map(|_| pool.spawn(async move { sum(1000) })).collect();
        for task in tasks {
            assert_eq!(pool.block_on(task).unwrap(), expected);
        }
    }
}

#[test]
fn a_piece_that_lies_about_its_length_is_caught() {
    use crate::iter::{Piece, from_piece};

    /// A piece whose blocks have one item more or less than it reports.
    struct Liar(usize, isize);

    impl Piece for Liar {
        type Item = String;
        type Block = std::vec::IntoIter<String>;

        fn steps(&self) -> usize {
            self.0
        }

        fn split_off(&mut self, at: usize) -> Option<Liar> {
            let right = Liar(self.0 - at, self.1);
            self.0 = at;
            Some(right)
        }

        fn block(&mut self, steps: usize) -> Self::Block {
            self.0 -= steps;
            vec!["item".to_owned(); steps.saturating_add_signed(self.1)].into_iter()
        }

        fn exact_len(&self) -> Option<usize> {
            Some(self.0)
        }
    }

    /// A piece that first reports three items, and then many.
    struct Changing(Cell<bool>, usize);

    impl Piece for Changing {
        type Item = u64;
        type Block = std::vec::IntoIter<u64>;

        fn steps(&self) -> usize {
            self.1
        }

        fn split_off(&mut self, at: usize) -> Option<Changing> {
            let right = Changing(self.0.clone(), self.1 - at);
            self.1 = at;
            Some(right)
        }

        fn block(&mut self, _steps: usize) -> Self::Block {
            self.1 = 0;
            vec![1; 2].into_iter()
        }

        fn exact_len(&self) -> Option<usize> {
            Some(if self.0.replace(true) { usize::MAX } else { 3 })
        }
    }

    scripted(|| {
        // This piece makes places far beyond the end of the memory.
        let changing = || Changing(Cell::new(false), usize::MAX - 1);
        let short = std::panic::catch_unwind(|| from_piece(changing()).collect::<Vec<_>>());
        assert!(short.unwrap_err().downcast::<String>().unwrap().starts_with("expected 3 total"));
        // Surplus items are dropped, and missing items are detected.
        assert_eq!(from_piece(Liar(50, 1)).collect::<Vec<_>>().len(), 50);
        let short = std::panic::catch_unwind(|| from_piece(Liar(50, -1)).collect::<Vec<_>>());
        assert!(short.unwrap_err().downcast::<String>().unwrap().starts_with("expected 50 total"));
    });
}
