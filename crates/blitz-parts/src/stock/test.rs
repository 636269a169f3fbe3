//! Blocks come back as they were put in, within the limit, and are freed with the stock.

use super::depot::{Depot, bundle_bytes};
use super::{BLOCKS, Block, Blocks, GRAIN, Guest, Kind, Stock, UNKEPT, alloc, class, dealloc};
use crate::job::{HeapJob, Work};
use crate::prim::STOCKED;
use crate::task::Join;
use crate::task::rig::{Rig, outcome};
use crate::tuning::{DEPOT_BYTES, STOCK_BUNDLE, STOCK_BYTES, STOCK_CELL_MAX};
use core::alloc::Layout;
use core::cell::RefCell;
use core::ptr::NonNull;
use core::task::Poll;
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;

fn layout(class: usize) -> Layout {
    Layout::from_size_align(class * GRAIN, GRAIN).unwrap()
}

/// A closed stock, for a test that does not fill it. A full stock would put blocks into the depot,
/// which all these tests share.
fn closed() -> Blocks {
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    Blocks::closed(&DEPOT)
}

/// Puts new blocks in until one is refused; returns the accepted ones.
fn fill(blocks: &Blocks, class: usize) -> HashSet<NonNull<Block>> {
    core::iter::from_fn(|| put_new(blocks, class)).collect()
}

/// A new block, from the allocator.
fn block(class: usize) -> NonNull<Block> {
    // SAFETY: a block is not empty.
    NonNull::new(unsafe { std::alloc::alloc(layout(class)) }).unwrap().cast()
}

/// Puts a new block in; returns it if there was room.
fn put_new(blocks: &Blocks, class: usize) -> Option<NonNull<Block>> {
    let block = block(class);
    // SAFETY: it is new, and of this class.
    if unsafe { blocks.put(block, class) } {
        return Some(block);
    }
    // SAFETY: as above.
    if unsafe { blocks.put_beyond(block, class) } {
        return Some(block);
    }
    free(block, class);
    None
}

fn free(block: NonNull<Block>, class: usize) {
    // SAFETY: it was allocated for this class, and is in no stock.
    unsafe { std::alloc::dealloc(block.as_ptr().cast(), layout(class)) };
}

/// Returns the output of an ended task, and frees the task.
fn output<T>(mut join: Join<T>) -> T {
    match outcome(&mut join) {
        Poll::Ready(Ok(output)) => output,
        _ => panic!("the task has not returned"),
    }
}

#[test]
fn stock_1_a_block_is_taken_once_and_the_newest_comes_first() {
    let blocks = closed();
    assert!(blocks.open());
    let put = [(); 3].map(|()| put_new(&blocks, 8).unwrap());
    for expected in put.into_iter().rev() {
        let taken = blocks.take(8).unwrap();
        assert_eq!(taken, expected);
        free(taken, 8);
    }
    assert!(blocks.take(8).is_none());
    blocks.close();
}

#[test]
fn stock_2_a_block_is_for_its_own_size_only() {
    let blocks = closed();
    blocks.open();
    let put = put_new(&blocks, 9).unwrap();
    assert!(blocks.take(8).is_none() && blocks.take(10).is_none());
    assert_eq!(blocks.take(9), Some(put));
    free(put, 9);
    blocks.close();
}

#[test]
fn stock_2_two_layouts_never_share_a_class() {
    assert_eq!(class(layout(8)), 8);
    assert_eq!(class(Layout::from_size_align(64, 16).unwrap()), UNKEPT);
    assert_eq!(class(Layout::from_size_align(64, 4).unwrap()), UNKEPT);
    let largest = Layout::from_size_align(STOCK_CELL_MAX, GRAIN).unwrap();
    assert_eq!(class(largest), STOCK_CELL_MAX / GRAIN);
    let larger = Layout::from_size_align(STOCK_CELL_MAX + GRAIN, GRAIN).unwrap();
    assert_eq!(class(larger), UNKEPT);
}

#[test]
fn stock_2_blocks_without_a_class_are_not_kept() {
    let blocks = closed();
    blocks.open();
    let block = block(8);
    // SAFETY: it is new, and `UNKEPT` stands for no class.
    assert!(!unsafe { blocks.put(block, UNKEPT) });
    // SAFETY: as above.
    assert!(!unsafe { blocks.put_beyond(block, UNKEPT) });
    free(block, 8);
    blocks.close();
}

#[test]
fn stock_1_surplus_blocks_move_to_another_stock() {
    const CLASS: usize = 16;
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let (giver, taker) = (Blocks::closed(&DEPOT), Blocks::closed(&DEPOT));
    assert!(giver.open() && taker.open());
    assert!(taker.take(CLASS).is_none(), "no stock has a block yet");
    let put = fill(&giver, CLASS);
    assert!(put.len() > STOCK_BYTES / (CLASS * GRAIN), "more than a stock holds");
    let asked = (0..=STOCK_BUNDLE).take_while(|_| taker.take(CLASS + 1).is_none()).count();
    assert_eq!(asked, STOCK_BUNDLE + 1, "there are none of that size");
    let mut taken = HashSet::new();
    for _ in 0..2 * STOCK_BUNDLE {
        // After the depot had no block, it is not asked each time.
        taken.extend(taker.take(CLASS));
    }
    assert!(taken.len() >= STOCK_BUNDLE, "{} blocks", taken.len());
    taken.extend(core::iter::from_fn(|| giver.take(CLASS)));
    taken.extend(core::iter::from_fn(|| taker.take(CLASS)));
    assert_eq!(taken, put, "each block is in exactly one place");
    taken.into_iter().for_each(|block| free(block, CLASS));
    giver.close();
    taker.close();
}

/// Frees all blocks of a class in a stock, and returns how many there were.
fn drain(blocks: &Blocks, class: usize) -> usize {
    let taken = core::iter::from_fn(|| blocks.take_top(class));
    taken.map(|block| free(block, class)).count()
}

#[test]
fn stock_1_a_guest_takes_surplus_blocks_and_keeps_what_it_frees() {
    const CLASS: usize = 16;
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let (worker, guest) = (Blocks::closed(&DEPOT), Blocks::closed(&DEPOT));
    assert!(worker.open());
    let put = fill(&worker, CLASS);
    let taken = guest.take(CLASS);
    assert_eq!(taken.is_some(), STOCKED, "the worker has too many");
    if let Some(taken) = taken {
        assert!(put.contains(&taken));
        // SAFETY: the guest has taken it.
        assert!(unsafe { guest.put(taken, CLASS) }, "there is room for as many as it has taken");
        assert_eq!(guest.take_top(CLASS), Some(taken));
        free(taken, CLASS);
        assert_eq!(drain(&guest, CLASS), STOCK_BUNDLE - 1);
    }
    worker.close();
    assert!(guest.take(CLASS).is_none(), "the last worker has freed the depot's blocks");
}

#[test]
fn stock_3_a_guest_that_frees_other_sizes_than_it_takes_keeps_few() {
    const TAKEN: usize = 32;
    const FREED: usize = 8;
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let (worker, guest) = (Blocks::closed(&DEPOT), Blocks::closed(&DEPOT));
    worker.open();
    fill(&worker, TAKEN);
    let mut most = 0;
    for _ in 0..8 * STOCK_BUNDLE {
        let Some(taken) = guest.take(TAKEN) else { break };
        free(taken, TAKEN);
        // A block that was taken makes room for four of the smaller blocks.
        most = most.max((0..5).map_while(|_| put_new(&guest, FREED)).count());
    }
    assert_eq!(most, if STOCKED { 4 } else { 0 });
    let kept = drain(&guest, FREED);
    // Less than a bundle is left from before, and the bundle that was taken last made room for
    // four smaller blocks for each of its blocks.
    assert!(kept < STOCK_BUNDLE + 4 * STOCK_BUNDLE, "{kept}");
    drain(&guest, TAKEN);
    worker.close();
}

#[test]
fn stock_4_the_blocks_of_a_guest_end_with_its_thread() {
    BLOCKS.with(|blocks| blocks.tops[8].set(block(8).as_ptr()));
    // SAFETY: the block is new.
    BLOCKS.with(|blocks| unsafe { (*blocks.tops[8].get()).below = core::ptr::null_mut() });
    drop(Guest);
    assert!(BLOCKS.with(|blocks| blocks.take_top(8)).is_none());
}

#[test]
fn stock_3_there_is_room_for_so_many_bytes_and_no_more() {
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let blocks = Blocks::closed(&DEPOT);
    blocks.open();
    let class = STOCK_CELL_MAX / GRAIN;
    let kept = fill(&blocks, class).len();
    let bundles = DEPOT_BYTES / bundle_bytes(class);
    assert_eq!(kept, STOCK_BYTES / STOCK_CELL_MAX + bundles * STOCK_BUNDLE);
    free(blocks.take(class).unwrap(), class);
    assert!(put_new(&blocks, class).is_some(), "what is taken makes room");
    blocks.close();
}

#[test]
fn stock_3_unused_blocks_make_room_for_used_ones() {
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let blocks = Blocks::closed(&DEPOT);
    blocks.open();
    let (old, new) = (STOCK_CELL_MAX / GRAIN, 8);
    fill(&blocks, old);
    let all = 10 * STOCK_BUNDLE;
    let kept = (0..all).filter(|_| put_new(&blocks, new).is_some()).count();
    // After a refusal, the stock refuses a bundle of blocks before it looks for room again.
    assert!(kept >= all - STOCK_BUNDLE, "{kept} of {all}");
    let take_all = |class: usize| {
        let mut bytes = 0;
        // From an empty stack, `take` would ask the depot.
        while !blocks.tops[class].get().is_null() {
            free(blocks.take(class).unwrap(), class);
            bytes += class * GRAIN;
        }
        bytes
    };
    let bytes = take_all(old) + take_all(new);
    assert!(bytes <= STOCK_BYTES && bytes + 2 * bundle_bytes(old) > STOCK_BYTES, "{bytes}");
    assert_eq!(blocks.room.get(), STOCK_BYTES);
    blocks.close();
}

#[test]
fn stock_3_the_depot_makes_room_for_used_blocks_too() {
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let [first, second] = [(); 2].map(|()| Blocks::closed(&DEPOT));
    assert!(first.open() && second.open());
    let (old, new) = (STOCK_CELL_MAX / GRAIN, 8);
    fill(&first, old);
    assert!(!DEPOT.lock().unwrap().has_room(old));
    let kept = fill(&second, new).len();
    assert_eq!(kept * new * GRAIN, STOCK_BYTES + DEPOT_BYTES, "the depot evicts the other class");
    let bundle = first.take_bundle(new);
    assert!(bundle.is_none(), "a stock that is full takes none");
    first.close();
    second.close();
}

#[test]
fn stock_4_the_last_stock_frees_the_depots_blocks() {
    const CLASS: usize = 16;
    static DEPOT: Mutex<Depot> = Mutex::new(Depot::new());
    let stocks = [(); 2].map(|()| Blocks::closed(&DEPOT));
    stocks.iter().for_each(|stock| assert!(stock.open()));
    assert!(!fill(&stocks[0], CLASS).is_empty());
    stocks[0].close();
    let first = stocks[1].take(CLASS).expect("the open stock finds what the closed one gave");
    free(first, CLASS);
    stocks[1].close();
    // The sanitizer checks that they are freed.
    assert!(DEPOT.lock().unwrap().take(CLASS).is_none());
    assert!(stocks[1].open() && stocks[1].take(CLASS).is_none());
    stocks[1].close();
}

#[test]
fn stock_4_a_closed_stock_has_nothing_and_takes_nothing() {
    let blocks = closed();
    assert!(put_new(&blocks, 8).is_none());
    assert!(blocks.open());
    assert!(!blocks.open(), "open already");
    for class in [8, 8, 9, 64] {
        assert!(put_new(&blocks, class).is_some());
    }
    // The sanitizer checks that they are freed.
    blocks.close();
    assert!([8, 9, 64].iter().all(|&class| blocks.take(class).is_none()));
    assert!(put_new(&blocks, 8).is_none());
    assert!(blocks.open(), "a closed stock can be opened again");
    blocks.close();
}

#[test]
fn stock_4_only_the_opener_closes_a_stock() {
    thread::spawn(|| {
        let outer = Stock::open();
        drop(Stock::open());
        static KIND: Kind = Kind::of::<[u64; 8]>();
        let first = alloc(KIND);
        // SAFETY: it was allocated above, and of this kind.
        unsafe { dealloc(first, &KIND) };
        let second = alloc(KIND);
        assert!(first == second || !STOCKED, "the stock is open, although the inner one is gone");
        // SAFETY: as above.
        unsafe { dealloc(second, &KIND) };
        drop(outer);
    })
    .join()
    .unwrap();
}

#[test]
fn stock_4_tasks_of_thread_locals_end_after_the_stock() {
    /// Calls its closure when the thread's locals are destroyed.
    struct Late(RefCell<Option<Box<dyn FnOnce()>>>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.take().into_iter().for_each(|late| late());
        }
    }
    thread_local!(static LATE: Late = const { Late(RefCell::new(None)) });

    let rig = Rig::new();
    let rigs = rig.clone();
    thread::spawn(move || {
        let _stock = Stock::open();
        let joins: Vec<_> = (0..8).map(|number| rigs.spawn(async move { number })).collect();
        assert_eq!(rigs.run_all(), 8);
        let late = move || {
            // The tasks are freed here, and one more is made and freed.
            let sum: i32 = joins.into_iter().map(output).sum();
            let last = rigs.spawn(async move { sum });
            rigs.run_all();
            assert_eq!(output(last), 28);
        };
        LATE.with(|at_end| at_end.0.replace(Some(Box::new(late))));
    })
    .join()
    .unwrap();
    assert!(rig.is_well_and_done());
}

#[test]
fn stock_1_a_job_that_has_begun_leaves_its_memory_to_the_next() {
    let _stock = Stock::open();
    // SAFETY: the closure borrows nothing and does not unwind.
    let job = || unsafe { HeapJob::into_work(|| ()) }.into_raw();
    // SAFETY: it has not been run.
    let run = |job| unsafe { Work::new(job) }.run(None);
    let first = job();
    run(first);
    let (second, third) = (job(), job());
    assert!(second == first || !STOCKED);
    assert_ne!(second, third);
    run(second);
    run(third);
}

#[test]
fn stock_1_tasks_of_many_threads_end_where_they_were_not_made() {
    const TASKS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let rig = Rig::new();
    thread::scope(|scope| {
        let threads = [1, 2].map(|first| {
            let rig = &rig;
            scope.spawn(move || {
                let _stock = Stock::open();
                for number in 0..TASKS {
                    // Each thread runs and frees the oldest task, which the other may have made.
                    drop(rig.spawn(async move { [first; 4].map(|part| part * number) }));
                    if number % 3 != 0 {
                        rig.run_one();
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    rig.run_all();
    assert!(rig.is_well_and_done());
}
