//! The counters, the policies, the choice of the worker to wake, and a pool of real threads.

use super::{BedOwner, Counters, Demand, Driver, Idle, Sleep, SleepPolicy};
use crate::latch::{JobLatch, Latch};
use crate::prim::{AcqRel, Acquire, AtomicUsize, Relaxed};
use crate::tuning;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

fn sleep_with(policy: SleepPolicy, workers: usize) -> Sleep {
    let sleep = Sleep::new(policy, true, 2);
    (0..workers).for_each(|index| assert_eq!(sleep.add_bed().index(), index));
    sleep
}

impl Sleep {
    fn bed_of(&self, index: usize) -> BedOwner<'_> {
        self.own_bed(index)
    }

    /// Puts a worker into the state of a sleeper, without a thread.
    fn pretend_asleep(&self, index: usize) {
        let (word, bit) = self.parked_bit(index);
        word.fetch_or(bit, AcqRel);
        self.counters.add_inactive();
        assert!(self.counters.try_add_sleeping(self.counters.load()));
        let bed = self.bed_of(index);
        let core = bed.core();
        assert!(core.get_sleepy() && core.fall_asleep());
    }

    fn asleep(&self) -> Vec<usize> {
        self.beds
            .iter()
            .filter(|bed| bed.core().state_name() == "SLEEPING")
            .map(|bed| bed.index())
            .collect()
    }
}

#[test]
fn the_fields_of_the_counters_do_not_touch_each_other() {
    let counters = Counters::new();
    counters.add_inactive();
    counters.add_inactive();
    assert!(counters.try_add_sleeping(counters.load()));
    counters.add_parked();
    let counts = counters.load();
    assert_eq!((counts.sleeping(), counts.inactive(), counts.jec()), (2, 3, 0));
    assert_eq!(counts.awake_but_idle(), 1);
    counters.sub_parked();
    counters.sub_sleeping();
    assert_eq!(counters.sub_inactive().inactive(), 2);
    assert_eq!(counters.sub_inactive().inactive(), 1);
    assert!(!counters.peek().anyone_inactive());
    let always = Counters::always_demanding().peek();
    assert!(always.anyone_inactive() && always.all_wanted());
    assert!(!counters.peek().all_wanted());
}

#[test]
fn a_registration_fails_after_any_change() {
    let counters = Counters::new();
    let seen = counters.load();
    counters.add_inactive();
    assert!(!counters.try_add_sleeping(seen));
    assert!(counters.try_add_sleeping(counters.load()));
}

#[test]
fn the_event_counter_alternates_between_sleepers_and_posters() {
    let counters = Counters::new();
    for round in 0..10 {
        let snapshot = counters.announce_sleepy();
        assert!(snapshot.is_sleepy());
        assert_eq!(snapshot.jec(), 2 * round, "the value after the step");
        assert_eq!(counters.announce_sleepy(), snapshot, "another sleeper changes nothing");
        assert_eq!(counters.announce_work(), snapshot, "the value before the step");
        assert!(!counters.load().is_sleepy());
        assert_eq!(counters.announce_work().jec(), snapshot.jec() + 1, "another post adds nothing");
    }
}

/// The round in which an idle worker first tries to sleep.
fn first_attempt(policy: SleepPolicy) -> u32 {
    let sleep = sleep_with(policy, 1);
    attempt(&sleep, sleep.start_looking(sleep.bed_of(0)))
}

/// The round in which worker 0 tries to sleep.
fn attempt(sleep: &Sleep, mut idle: Idle) -> u32 {
    let bed = sleep.bed_of(0);
    let mut tried = false;
    let mut round = 0;
    loop {
        sleep.no_work_found(bed, &mut idle, None, || {
            tried = true;
            true
        });
        if tried {
            break;
        }
        round += 1;
    }
    sleep.work_found(bed, idle, || false);
    assert!(!sleep.counters.peek().anyone_inactive());
    round
}

#[test]
fn policies_try_to_sleep_in_their_round() {
    // The worker announces in round 32, yields in rounds 32 and 33, and sleeps in round 34.
    let rayon = 34;
    assert_eq!(first_attempt(SleepPolicy::rayon()), rayon);
    assert_eq!(first_attempt(SleepPolicy::low_latency()), tuning::LOW_LATENCY_ROUNDS);
    // On a busy machine a yield may take so long that the worker hurries.
    assert!(first_attempt(SleepPolicy::adaptive()) <= tuning::ADAPTIVE_SPINS + rayon);
}

#[test]
fn a_worker_that_hurries_announces_and_sleeps_without_further_yields() {
    let sleep = sleep_with(SleepPolicy::adaptive(), 1);
    let mut idle = sleep.start_looking(sleep.bed_of(0));
    let patient = idle.sleepy_at;
    idle.hurry();
    assert!(idle.sleepy_at < patient && idle.straight);
    // The worker announces, looks once more, and tries to sleep.
    assert_eq!(attempt(&sleep, idle), 1 + tuning::ROUNDS_AFTER_SLEEPY);
}

#[test]
fn patience_follows_experience() {
    let adaptive = SleepPolicy::adaptive();
    let long = tuning::SLEEP_SHORT;
    let full = tuning::ADAPTIVE_SPINS + tuning::ROUNDS_UNTIL_SLEEPY;
    let half = tuning::ADAPTIVE_SPINS + tuning::ROUNDS_UNTIL_SLEEPY / 2;
    assert_eq!(adaptive.patience_after(full, long), half);
    let least = (0..10).fold(full, |patience, _| adaptive.patience_after(patience, long));
    assert_eq!(least, tuning::ADAPTIVE_SPINS + tuning::PATIENCE_MIN);
    let most = (0..10).fold(least, |patience, _| adaptive.patience_after(patience, Duration::ZERO));
    assert_eq!(most, full);
    let rayon = SleepPolicy::rayon();
    let always = tuning::ROUNDS_UNTIL_SLEEPY;
    assert_eq!(rayon.patience_after(always, long), always);
    assert_eq!(rayon.patience_after(always, Duration::ZERO), always);
}

#[test]
fn sleep_1_posters_wake_as_many_as_the_posted_jobs_need() {
    // Sleepers, workers that look for work, jobs, queue was empty: how many are woken.
    let table = [
        (0, 0, 1, true, 0),
        (0, 2, 5, false, 0),
        (3, 0, 1, true, 1),
        (3, 0, 2, true, 2),
        (3, 0, 9, true, 3),
        (3, 1, 1, true, 0),
        (3, 1, 2, true, 1),
        (3, 5, 2, true, 0),
        (3, 1, 1, false, 1),
        (3, 5, 9, false, 3),
        (3, 0, 0, true, 0),
    ];
    for (sleepers, lookers, jobs, was_empty, expected) in table {
        let sleep = sleep_with(SleepPolicy::rayon(), 8);
        (0..sleepers).for_each(|index| sleep.pretend_asleep(index));
        (0..lookers).for_each(|_| {
            sleep.counters.add_inactive();
        });
        let woken = sleep.new_jobs(jobs, was_empty);
        let case = (sleepers, lookers, jobs, was_empty);
        assert_eq!(woken, expected, "{case:?}");
        assert_eq!(sleep.counters.load().sleeping(), sleepers - woken, "{case:?}");
        assert_eq!(sleep.asleep(), (woken..sleepers).collect::<Vec<_>>(), "{case:?}");
    }
}

#[test]
fn sleep_8_a_task_wakes_one_worker_if_none_searches() {
    for asymmetric in [false, true] {
        // Sleepers, workers that look for work: how many are woken.
        for (sleepers, lookers, expected) in [(0, 0, 0), (0, 1, 0), (2, 1, 0), (1, 0, 1), (3, 0, 1)]
        {
            let sleep = Sleep::new(SleepPolicy::rayon(), asymmetric, 2);
            (0..8).for_each(|_| {
                sleep.add_bed();
            });
            (0..sleepers).for_each(|index| sleep.pretend_asleep(index));
            (0..lookers).for_each(|_| {
                sleep.counters.add_inactive();
            });
            let jec = sleep.counters.load().jec();
            assert_eq!(sleep.new_task(), expected, "{sleepers} sleepers, {lookers} lookers");
            assert_eq!(sleep.asleep(), (expected..sleepers).collect::<Vec<_>>());
            assert_eq!(sleep.counters.load().jec(), jec);
        }
    }
}

#[test]
fn sleep_7_the_bitmap_reaches_beyond_one_word() {
    let sleep = sleep_with(SleepPolicy::rayon(), 200);
    let sleepers = [3, 63, 64, 130, 199];
    sleepers.iter().for_each(|&index| sleep.pretend_asleep(index));
    let bits: u32 = (0..4).map(|word| sleep.parked_word(word).count_ones()).sum();
    assert_eq!(bits, 5);
    assert_eq!(sleep.new_jobs(2, false), 2);
    assert_eq!(sleep.asleep(), [64, 130, 199], "the two lowest indices are woken");
    // The bits of the woken workers are still set, because only these workers clear them.
    assert_eq!(sleep.new_jobs(9, false), 3);
    assert_eq!(sleep.counters.load().sleeping(), 0);
}

#[test]
fn sleep_3_a_worker_that_found_work_wakes_one_if_it_was_the_last_to_look() {
    for (lookers, more, expected) in [(1, true, 1), (1, false, 0), (2, true, 0)] {
        let sleep = sleep_with(SleepPolicy::rayon(), 4);
        sleep.pretend_asleep(2);
        let mut idles: Vec<_> =
            (0..lookers).map(|index| sleep.start_looking(sleep.bed_of(index))).collect();
        let idle = idles.pop().expect("at least one");
        assert_eq!(sleep.work_found(sleep.bed_of(lookers - 1), idle, || more), expected);
    }
}

#[test]
fn sleep_6_no_worker_sleeps_after_stop() {
    let sleep = sleep_with(SleepPolicy::rayon(), 3);
    sleep.pretend_asleep(1);
    sleep.stop();
    assert!(sleep.is_stopping() && sleep.asleep().is_empty());
    assert_eq!(sleep.counters.load().sleeping(), 0);
    let bed = sleep.bed_of(0);
    let mut idle = sleep.start_looking(bed);
    // Without `stop`, the worker would block for ever here.
    (0..200).for_each(|_| drop(sleep.no_work_found(bed, &mut idle, None, || false)));
    assert_eq!(bed.stats().parks.get(), 0);
}

#[test]
fn sleep_5_a_worker_whose_latch_is_set_does_not_sleep() {
    let sleep = sleep_with(SleepPolicy::rayon(), 1);
    let bed = sleep.bed_of(0);
    let latch = JobLatch::new(NonNull::from(&*bed));
    // SAFETY: the latch is alive.
    unsafe { JobLatch::set(&raw const latch) };
    assert!(matches!(sleep.wait_parked(bed, &latch, || false, || false), (0, None)));
    let mut idle = sleep.start_looking(bed);
    (0..200).for_each(|_| drop(sleep.no_work_found(bed, &mut idle, Some(&latch), || false)));
    assert_eq!(bed.stats().parks.get(), 0);
}

/// Real workers, a queue that is a number, and a poster that waits for each of its jobs: most of
/// the time all workers sleep, so nearly every job needs a wake-up.
#[test]
fn sleep_2_the_books_are_right_after_thousands_of_wake_ups() {
    const JOBS: usize = 3_000;
    for workers in [1, 2, 6] {
        let sleep = Arc::new(sleep_with(SleepPolicy::adaptive(), workers));
        let queue = Arc::new(AtomicUsize::new(0));
        let ran = Arc::new(AtomicUsize::new(0));
        let take = |queue: &AtomicUsize| {
            queue.fetch_update(AcqRel, Acquire, |jobs| jobs.checked_sub(1)).is_ok()
        };
        let threads: Vec<_> = (0..workers)
            .map(|index| {
                let (sleep, queue, ran) = (sleep.clone(), queue.clone(), ran.clone());
                std::thread::spawn(move || {
                    let bed = sleep.bed_of(index);
                    let any = || queue.load(Relaxed) > 0;
                    loop {
                        let mut idle = sleep.start_looking(bed);
                        let found = loop {
                            if sleep.is_stopping() {
                                break false;
                            }
                            if take(&queue) {
                                break true;
                            }
                            sleep.no_work_found(bed, &mut idle, None, any);
                        };
                        sleep.work_found(bed, idle, any);
                        if !found {
                            return;
                        }
                        ran.fetch_add(1, AcqRel);
                    }
                })
            })
            .collect();
        for job in 0..JOBS {
            let was_empty = queue.fetch_add(1, AcqRel) == 0;
            sleep.new_jobs(1, was_empty);
            while ran.load(Acquire) <= job {
                std::thread::yield_now();
            }
        }
        sleep.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ran.load(Acquire), JOBS);
        assert_eq!(sleep.counters.load().sleeping(), 0);
        assert!(!sleep.counters.peek().anyone_inactive());
        assert_eq!(sleep.parked_word(0), 0);
        let parks: u64 = sleep.beds.iter().map(|bed| bed.stats().parks.get()).sum();
        let wakes: u64 = sleep.beds.iter().map(|bed| bed.stats().wakes_received.get()).sum();
        assert!(wakes >= parks, "{parks} sleeps ended by {wakes} wake-ups");
    }
}

#[test]
fn at_most_half_search_unless_they_are_about_to_sleep() {
    let sleep = sleep_with(SleepPolicy::rayon(), 4);
    let mut idle: Vec<_> = (0..4).map(|index| sleep.start_looking(sleep.bed_of(index))).collect();
    let searching: Vec<_> = idle.iter().map(super::Idle::may_search).collect();
    assert_eq!(searching, [true, true, false, false]);
    // A worker must take the work that its last look finds, so it searches before that look, too.
    let last = idle.last_mut().expect("four");
    while !last.is_sleepy() {
        assert!(!last.may_search());
        sleep.no_work_found(sleep.bed_of(3), last, None, || true);
    }
    assert!(last.may_search());
    // A worker that stops looking makes room for another.
    sleep.work_found(sleep.bed_of(0), idle.remove(0), || false);
    sleep.work_found(sleep.bed_of(1), idle.remove(0), || false);
    sleep.work_found(sleep.bed_of(2), idle.remove(0), || false);
    assert!(sleep.start_looking(sleep.bed_of(0)).may_search());
}

/// A driver that is a pair of flags.
#[derive(Default)]
struct Window {
    happened: Mutex<(bool, bool)>,
    news: Condvar,
}

impl Window {
    fn change(&self, change: impl FnOnce(&mut (bool, bool))) {
        change(&mut self.happened.lock().unwrap());
        self.news.notify_all();
    }
}

impl Driver for Window {
    fn block(&self) -> bool {
        let seen = self.happened.lock().unwrap();
        let mut seen = self.news.wait_while(seen, |seen| *seen == (false, false)).unwrap();
        std::mem::take(&mut *seen).0
    }

    fn wake(&self) {
        self.change(|seen| seen.1 = true);
    }

    fn poll(&self) -> bool {
        false
    }

    fn dispatch(&self) -> bool {
        false
    }
}

#[test]
fn sleep_10_one_worker_at_a_time_has_the_lease_once_there_is_a_driver() {
    let sleep = sleep_with(SleepPolicy::rayon(), 2);
    assert!(sleep.try_lease(sleep.bed_of(0)).is_none(), "there is no driver");
    assert!(!sleep.lease_is_free());
    assert!(sleep.plug(Arc::new(Window::default())));
    assert!(!sleep.plug(Arc::new(Window::default())), "there is a driver already");
    let lease = sleep.try_lease(sleep.bed_of(0));
    assert!(lease.is_some() && !sleep.lease_is_free());
    assert!(sleep.try_lease(sleep.bed_of(1)).is_none());
    drop(lease);
    let left_at = sleep.lease_free_since();
    assert!(left_at.is_some() && left_at == sleep.lease_free_since(), "no worker was there");
    assert!(sleep.try_lease(sleep.bed_of(1)).is_some());
    assert!(sleep.lease_is_free() && sleep.lease_free_since() != left_at, "a worker was there");
}

#[test]
fn sleep_12_a_worker_notified_on_its_way_into_the_driver_has_the_lease() {
    let sleep = sleep_with(SleepPolicy::rayon(), 2);
    sleep.plug(Arc::new(Window::default()));
    let bed = sleep.bed_of(0);
    let mut idle = sleep.start_looking(bed);
    let mut looks = 0;
    let lease = loop {
        let look = || {
            looks += 1;
            assert!(bed.notify(), "the worker is about to sleep");
            false
        };
        let lease = sleep.no_work_found(bed, &mut idle, None, look);
        if looks > 0 {
            break lease;
        }
    };
    assert!(lease.is_some() && bed.stats().parks.get() == 0);
    drop(lease);
    sleep.work_found(bed, idle, || false);

    let latch = JobLatch::new(NonNull::from(&*bed));
    let (_, lease) = sleep.wait_parked(bed, &latch, || !bed.notify(), || false);
    assert!(lease.is_some() && bed.stats().parks.get() == 0);
    drop(lease);
    let counts = sleep.counters().load();
    assert_eq!((counts.sleeping(), counts.inactive()), (0, 0));
    assert!(sleep.lease_is_free());
}

#[test]
fn a_worker_whose_work_comes_from_the_driver_goes_straight_there() {
    let sleep = sleep_with(SleepPolicy::adaptive(), 2);
    let bed = sleep.bed_of(0);
    // Compares rounds instead of attempts to sleep: a yield may take so long that the worker
    // hurries.
    let patience = |idle: Idle| {
        let sleepy_at = idle.sleepy_at;
        sleep.work_found(bed, idle, || false);
        sleepy_at
    };
    let patient = patience(sleep.start_looking(bed));
    assert_eq!(patient, tuning::ADAPTIVE_SPINS + tuning::ROUNDS_UNTIL_SLEEPY);
    let outside = || sleep.start_looking_outside(bed);
    sleep.plug(Arc::new(Window::default()));
    assert_eq!(patience(outside()), patient, "no event has come from the driver yet");
    bed.found_in_driver();
    assert_eq!(attempt(&sleep, outside()), 1 + tuning::ROUNDS_AFTER_SLEEPY);
    assert_eq!(patience(sleep.start_looking(bed)), patient, "with a latch, the worker is patient");
    let lease = sleep.try_lease(sleep.bed_of(1));
    assert_eq!(patience(outside()), patient, "another worker is in the driver");
    drop(lease);

    for policy in [SleepPolicy::rayon(), SleepPolicy::low_latency()] {
        let sleep = sleep_with(policy, 1);
        sleep.plug(Arc::new(Window::default()));
        sleep.bed_of(0).found_in_driver();
        let idle = sleep.start_looking_outside(sleep.bed_of(0));
        assert_eq!(attempt(&sleep, idle), first_attempt(policy), "these policies do not adapt");
    }
}

#[test]
fn a_worker_expects_its_next_work_from_where_the_last_came() {
    let sleep = sleep_with(SleepPolicy::adaptive(), 1);
    let window = Arc::new(Window::default());
    sleep.plug(window.clone());
    let bed = sleep.bed_of(0);
    let pays_after = |wake: &dyn Fn()| {
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let bed = sleep.bed_of(0);
                let mut idle = sleep.start_looking_outside(bed);
                while sleep.no_work_found(bed, &mut idle, None, || false).is_none() {}
                sleep.work_found(bed, idle, || false);
            });
            while sleep.asleep().is_empty() {
                std::thread::yield_now();
            }
            wake();
            sleeper.join().unwrap();
        });
        bed.driver_pays()
    };
    assert!(pays_after(&|| window.change(|seen| seen.0 = true)), "an event came in the driver");
    assert!(!pays_after(&|| assert!(bed.notify())), "another thread woke the worker");
}

#[test]
fn sleep_11_the_worker_in_the_driver_is_woken_last_and_by_its_events() {
    let sleep = sleep_with(SleepPolicy::rayon(), 2);
    let window = Arc::new(Window::default());
    sleep.plug(window.clone());
    // Worker `index` idles until it has slept once; returns whether it slept in the driver.
    let sleeper = |index| {
        let bed = sleep.bed_of(index);
        let mut idle = sleep.start_looking(bed);
        let slept = loop {
            let parks = bed.stats().parks.get();
            let lease = sleep.no_work_found(bed, &mut idle, None, || false);
            if bed.stats().parks.get() > parks {
                break lease.is_some();
            }
        };
        sleep.work_found(bed, idle, || false);
        slept
    };
    let wait_for_sleepers = |count| {
        while sleep.asleep().len() < count {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| sleeper(0));
        wait_for_sleepers(1);
        let second = scope.spawn(|| sleeper(1));
        wait_for_sleepers(2);
        assert_eq!(sleep.new_jobs(1, false), 1);
        assert!(!second.join().unwrap(), "worker 0 is in the driver, so it is woken last");
        window.change(|seen| seen.0 = true);
        assert!(first.join().unwrap());
        let third = scope.spawn(|| sleeper(1));
        wait_for_sleepers(1);
        assert_eq!(sleep.relieve(), 1, "no other worker sleeps");
        assert!(third.join().unwrap());
    });
    assert_eq!(sleep.counters().load().sleeping(), 0);
    assert_eq!(sleep.relieve(), 0, "no worker sleeps");
}

#[test]
fn sleep_13_a_worker_reads_the_counters_of_its_demand() {
    let pool = CachePadded::new(Counters::new());
    let always = CachePadded::new(Counters::always_demanding());
    // SAFETY: both counters are dropped after `demand`.
    let demand = unsafe { Demand::new(&pool) };
    assert!(!demand.peek().anyone_inactive());
    pool.add_inactive();
    assert!(demand.peek().anyone_inactive() && !demand.peek().all_wanted());
    // SAFETY: as above.
    unsafe { demand.tell_by(&always) };
    pool.sub_inactive();
    assert!(demand.peek().anyone_inactive() && demand.peek().all_wanted());
}

#[test]
fn sleep_13_attentive_counters_do_not_replace_always_wanting_ones() {
    let pool = CachePadded::new(Counters::new());
    let always = CachePadded::new(Counters::always_demanding());
    let attentive = CachePadded::new(Counters::attentive());
    // SAFETY: all counters are dropped after `demand`.
    let demand = unsafe { Demand::new(&pool) };
    assert!(!demand.peek().asks_every_fork());
    // SAFETY: as above.
    assert!(unsafe { demand.change(&pool, &attentive) });
    let called = demand.peek();
    assert!(called.anyone_inactive() && called.is_attentive() && called.asks_every_fork());
    assert!(!called.all_wanted());
    // SAFETY: as above.
    assert!(unsafe { demand.change(&attentive, &pool) });
    // SAFETY: as above.
    unsafe { demand.tell_by(&always) };
    // SAFETY: as above.
    assert!(!unsafe { demand.change(&pool, &attentive) });
    assert!(demand.peek().all_wanted() && demand.peek().asks_every_fork());
}

#[test]
fn sleep_15_a_spare_is_in_service_between_coming_and_leaving() {
    let sleep = Sleep::new(SleepPolicy::rayon(), false, 2);
    sleep.add_bed();
    sleep.add_spare_bed();
    let spare = sleep.bed_of(1);
    assert!(sleep.in_service() == 1 && !spare.serves());
    let idle = sleep.enter_service(spare);
    assert!(sleep.in_service() == 2 && spare.serves());
    assert_eq!(sleep.counters().load().inactive(), 1);
    assert_eq!(sleep.leave_service(spare, idle, || false), 0);
    assert!(sleep.in_service() == 1 && !spare.serves());
    assert_eq!(sleep.counters().load().inactive(), 0);
}

#[test]
fn sleep_16_one_worker_is_on_relief_and_is_not_notified_while_it_works() {
    let sleep = Sleep::new(SleepPolicy::rayon(), false, 2);
    sleep.add_bed();
    let bed = sleep.bed_of(0);
    assert_eq!(sleep.on_relief(), None);
    assert!(sleep.begin_relief(bed.index()) && !sleep.begin_relief(7));
    assert_eq!(sleep.on_relief(), Some(bed.index()));
    assert!(!sleep.tell_relief() && !sleep.relief_waits());
    assert!(sleep.wait_on_relief(bed, || true).is_none(), "there is no driver");
    assert!(
        !sleep.end_relief(7) && sleep.end_relief(bed.index()) && !sleep.end_relief(bed.index())
    );
}

#[test]
fn sleep_17_a_relief_that_has_ended_does_not_end_again() {
    let sleep = Sleep::new(SleepPolicy::rayon(), false, 2);
    assert!(sleep.begin_relief(3) && sleep.end_relief(3) && !sleep.end_relief(3));
    assert!(sleep.begin_relief(4));
}
