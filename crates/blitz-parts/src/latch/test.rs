//! The latches, state by state, and on real threads.

use super::{CoreLatch, CountLatch, JobLatch, Latch, Notice, OnceLatch, Runner};
use crate::prim::{AtomicU64, Relaxed};
use crate::sleep::{Sleep, SleepPolicy};
use core::ptr::NonNull;
use proptest::prelude::{any, prop_assert_eq, prop_assert_ne, proptest};
use std::sync::Arc;

#[test]
fn latch_5_every_state_of_a_word_gives_its_duty() {
    let in_state = |steps: usize| {
        let core = CoreLatch::new();
        assert!(steps < 1 || core.get_sleepy());
        assert!(steps < 2 || core.fall_asleep());
        core
    };
    let duties = [Notice::NotNeeded, Notice::CaughtSleepy, Notice::MustWake];
    for (steps, name) in ["UNSET", "SLEEPY", "SLEEPING"].into_iter().enumerate() {
        let notified = in_state(steps);
        assert_eq!(notified.state_name(), name);
        assert_eq!(notified.notify(), duties[steps]);
        assert_eq!(notified.probe(), steps > 0, "notify changes nothing if the worker is awake");
        assert_eq!(notified.notify(), Notice::NotNeeded, "only the first notifier gets the duty");
        let set = in_state(steps);
        assert_eq!(set.set(), duties[steps]);
        assert!(set.probe());
        assert!(!set.get_sleepy() && !set.fall_asleep(), "a notice is pending");
        assert_eq!(set.set(), Notice::NotNeeded);
        for core in [notified, set] {
            core.wait();
            core.wake_up();
            assert_eq!(core.state_name(), "UNSET");
        }
    }
}

#[test]
fn latch_1_a_job_latch_is_set_once_and_stays_set() {
    let sleep = Sleep::new(SleepPolicy::default(), true, 1);
    let latch = JobLatch::new(NonNull::from(sleep.add_bed()));
    assert!(!latch.probe());
    assert!(latch.mark_sleeping());
    assert!(!latch.mark_sleeping(), "the latch is marked already");
    latch.unmark();
    assert!(latch.mark_sleeping());
    // SAFETY: the latch is alive.
    unsafe { JobLatch::set(&raw const latch) };
    assert!(latch.probe());
    latch.unmark();
    assert!(latch.probe() && !latch.mark_sleeping());
}

#[test]
fn latch_3_a_foreign_thread_goes_on_once_the_latch_is_set() {
    for round in 0..2_000u64 {
        let written = Arc::new((OnceLatch::new(), AtomicU64::new(0)));
        let setter = std::thread::spawn({
            let written = written.clone();
            move || {
                written.1.store(round, Relaxed);
                // SAFETY: the closure keeps the latch alive.
                unsafe { OnceLatch::set(&raw const written.0) };
            }
        });
        written.0.wait();
        assert_eq!(written.1.load(Relaxed), round);
        setter.join().unwrap();
    }
}

#[test]
fn latch_4_a_count_latch_needs_every_decrement() {
    let latch = CountLatch::new(1, OnceLatch::new());
    latch.increment();
    latch.increment();
    for left in (0..3).rev() {
        assert!(!latch.inner().probe());
        // SAFETY: the latch is alive.
        unsafe { Latch::set(&raw const latch) };
        assert_eq!(latch.left(), left);
    }
    assert!(latch.inner().probe());
}

proptest! {
    #[test]
    fn a_runner_survives_its_bits(index in any::<u16>(), run in any::<u32>()) {
        let runner = Runner { index, run };
        prop_assert_ne!(runner.to_bits(), 0);
        prop_assert_eq!(Runner::from_bits(runner.to_bits()), Some(runner));
    }
}

#[test]
fn zero_means_no_runner() {
    assert_eq!(Runner::from_bits(0), None);
}
