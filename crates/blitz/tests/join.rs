//! `join`: results, order, panics, depth, sizes, where it is called from.

mod common;

use common::{fib, pool, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

fn panic_text(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => *payload.downcast::<String>().unwrap(),
    }
}

#[test]
fn results_come_back_in_order() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        assert_eq!(pool.join(|| "a", || 'b'), ("a", 'b'));
        assert_eq!(pool.install(|| fib(20)), 6_765);
    }
    assert_eq!(blitz::join(|| 1, || 2), (1, 2));
}

#[test]
fn borrows_reach_both_sides() {
    let pool = pool(3);
    let mut data: Vec<u32> = (0..10_000).rev().collect();
    fn sort(data: &mut [u32]) {
        if data.len() > 1 {
            let middle = data.len() / 2;
            data.select_nth_unstable(middle);
            let (low, high) = data.split_at_mut(middle);
            blitz::join(|| sort(low), || sort(&mut high[1..]));
        }
    }
    pool.install(|| sort(&mut data));
    assert!(data.is_sorted());
}

#[test]
fn both_halves_run_exactly_once_even_if_one_panics() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        for (a_panics, b_panics) in [(true, false), (false, true), (true, true)] {
            for _ in 0..200 {
                let runs = (AtomicUsize::new(0), AtomicUsize::new(0));
                let result = catch_unwind(AssertUnwindSafe(|| {
                    pool.join(
                        || {
                            runs.0.fetch_add(1, Relaxed);
                            assert!(!a_panics, "a panics");
                        },
                        || {
                            runs.1.fetch_add(1, Relaxed);
                            assert!(!b_panics, "b panics");
                        },
                    )
                }));
                let expected = if a_panics { "a panics" } else { "b panics" };
                assert_eq!(panic_text(result.unwrap_err()), expected);
                assert_eq!((runs.0.into_inner(), runs.1.into_inner()), (1, 1));
            }
        }
        assert_eq!(pool.install(|| fib(12)), 144, "the pool works on after panics");
    }
}

#[test]
fn panic_waits_for_a_stolen_half() {
    watched("panic_waits_for_a_stolen_half", |watch| {
        let pool = watch.pool(pool(2));
        let finished = AtomicUsize::new(0);
        let finished_ref = &finished;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let (send, receive) = channel();
            let (release, released) = channel::<()>();
            pool.join(
                // `a` waits until `b` runs on the other worker. Then it lets `b` go on, and panics.
                move || {
                    receive.recv().unwrap();
                    drop(release);
                    panic!("a panics first");
                },
                move || {
                    send.send(()).unwrap();
                    let _ = released.recv();
                    finished_ref.fetch_add(1, Relaxed);
                },
            )
        }));
        assert_eq!(panic_text(result.unwrap_err()), "a panics first");
        assert_eq!(finished.into_inner(), 1, "b completed before the panic went on");
    });
}

#[test]
fn blocking_halves_run_on_two_workers() {
    watched("blocking_halves_run_on_two_workers", |watch| {
        for workers in [2, 3, 8] {
            let pool = watch.pool(pool(workers));
            for _ in 0..300 {
                // Each half waits for the other: sequential execution would never end.
                let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
                let (a, b) = pool.join(
                    move || {
                        to_b.send(1).unwrap();
                        from_b.recv().unwrap()
                    },
                    move || {
                        to_a.send(2).unwrap();
                        from_a.recv().unwrap()
                    },
                );
                assert_eq!((a, b), (2, 1));
            }
        }
    });
}

#[test]
fn a_job_that_was_kept_after_vain_offers_is_found() {
    watched("a_job_that_was_kept_after_vain_offers_is_found", |watch| {
        let pool = watch.pool(pool(2));
        pool.install(|| {
            for _ in 0..200 {
                // These forks are so small that the other worker nearly always comes too late. So
                // this worker stops offering them.
                for _ in 0..2_000 {
                    blitz::join(|| (), || ());
                }
                let (done, is_done) = channel::<()>();
                blitz::join(move || is_done.recv().unwrap(), move || done.send(()).unwrap());
            }
        });
        assert!(pool.metrics().total().steals_succeeded >= 200);
    });
}

#[test]
fn a_fork_is_found_although_its_owner_forks_no_more() {
    watched("a_fork_is_found_although_its_owner_forks_no_more", |watch| {
        let pool = watch.pool(pool(2));
        for _ in 0..200 {
            // The other worker is kept busy while the inner fork is pushed, so that the fork stays
            // private. Then the other worker goes idle, and must find the fork although its owner
            // never forks again.
            let ((busy, is_busy), (free, is_free)) = (channel::<()>(), channel::<()>());
            let (done, is_done) = channel::<()>();
            pool.join(
                move || {
                    is_busy.recv().unwrap();
                    blitz::join(
                        move || {
                            drop(free);
                            is_done.recv().unwrap();
                        },
                        move || done.send(()).unwrap(),
                    );
                },
                move || {
                    busy.send(()).unwrap();
                    let _ = is_free.recv();
                },
            );
        }
        assert!(pool.metrics().total().steals_succeeded >= 200);
    });
}

#[test]
fn deep_nesting_grows_the_stack_linearly() {
    fn nest(depth: u32, shallowest: usize) -> usize {
        let here = &raw const depth as usize;
        if depth == 0 {
            return shallowest - here;
        }
        blitz::join(|| nest(depth - 1, shallowest), || ()).0
    }
    let pool = blitz::Pool::builder().workers(1).stack_size(256 << 20).build().unwrap();
    let stack_of = |depth| {
        pool.install(|| {
            let here = 0u8;
            nest(depth, &raw const here as usize)
        })
    };
    let (small, large) = (stack_of(10_000), stack_of(40_000));
    assert!(large < small * 5, "10,000 deep: {small} bytes, 40,000 deep: {large} bytes");
}

#[test]
fn closures_of_any_size() {
    let pool = blitz::Pool::builder().workers(2).stack_size(64 << 20).build().unwrap();
    assert_eq!(pool.join(|| (), || ()), ((), ()));
    // The closures lie in the caller's frame first, so the caller needs a large stack as well.
    let caller = move || {
        let (a, b) = ([7u8; 1 << 20], [9u8; 1 << 20]);
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        pool.join(move || sum(&a), move || sum(&b))
    };
    let caller = std::thread::Builder::new().stack_size(64 << 20).spawn(caller).unwrap();
    assert_eq!(caller.join().unwrap(), (7 << 20, 9 << 20));
}

#[test]
fn context_says_whether_a_half_moved() {
    watched("context_says_whether_a_half_moved", |watch| {
        let one = watch.pool(pool(1));
        one.install(|| {
            let (a, b) = blitz::join_context(|a| a.migrated(), |b| b.migrated());
            assert_eq!((a, b), (false, false), "with one worker, no half can move");
        });
        let two = watch.pool(pool(2));
        let stolen = two.install(|| {
            let (send, receive) = channel();
            blitz::join_context(
                move |_| receive.recv().unwrap(),
                move |b| {
                    send.send(b.migrated()).unwrap();
                    b.migrated()
                },
            )
        });
        assert_eq!(stolen, (true, true), "`a` waited for `b`, so `b` was stolen");
        let (a, _) = blitz::join_context(|a| a.migrated(), |_| ());
        assert!(a, "called outside of the pool, `a` changes threads");
    });
}

#[test]
fn spawned_jobs_above_a_fork_do_not_confuse_it() {
    for workers in [1, 2] {
        let pool = pool(workers);
        let ran = std::sync::Arc::new(AtomicUsize::new(0));
        let runs = AtomicUsize::new(0);
        for _ in 0..500 {
            pool.join(
                || {
                    for _ in 0..3 {
                        let ran = ran.clone();
                        drop(blitz::spawn_cpu(move || ran.fetch_add(1, Relaxed)));
                    }
                    // Runs the other half of this fork, if that half is the oldest job. Then a
                    // later job may lie in the place of that half.
                    blitz::yield_job();
                    let ran = ran.clone();
                    drop(blitz::spawn_cpu(move || ran.fetch_add(1, Relaxed)));
                },
                || runs.fetch_add(1, Relaxed),
            );
        }
        drop(pool);
        assert_eq!(runs.into_inner(), 500);
        assert_eq!(ran.load(Relaxed), 2_000);
    }
}
