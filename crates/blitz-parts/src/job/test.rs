//! Jobs: results, panics and the order of drops.

use super::{Armed, Header, HeapJob, StackJob};
use crate::latch::{OnceLatch, Runner};
use crate::sleep::{Sleep, SleepPolicy};
use core::cell::Cell;
use core::ptr::NonNull;
use std::sync::Arc;

#[test]
fn job_1_a_heap_job_runs_once_and_is_freed() {
    let token = Arc::new(());
    let held = token.clone();
    // SAFETY: the closure borrows nothing and does not unwind.
    let work = unsafe { HeapJob::into_work(move || drop(held)) };
    assert_eq!(Arc::strong_count(&token), 2);
    work.run(None);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn job_1_a_heap_job_is_moved_out_before_it_runs_whatever_its_alignment() {
    #[repr(align(128))]
    struct Wide([u8; 200]);
    let wide = Wide([7; 200]);
    // SAFETY: the closure borrows nothing and does not unwind.
    let work = unsafe {
        HeapJob::into_work(move || {
            assert_eq!((&raw const wide).addr() % 128, 0);
            assert!(wide.0.iter().all(|byte| *byte == 7));
        })
    };
    work.run(None);
}

#[test]
fn job_1_run_inline_calls_the_closure_as_not_migrated() {
    let job = StackJob::new(Armed, |migrated: bool| !migrated);
    // SAFETY: no other thread ever had the job.
    assert!(unsafe { job.run_inline() });
}

#[test]
fn job_3_a_result_passes_through_the_latch_between_threads() {
    for size in [0, 1, 1_000] {
        let job = StackJob::new(OnceLatch::new(), |migrated: bool| vec![migrated; size]);
        // SAFETY: the job stays in this frame until its latch was seen set.
        let work = unsafe { job.as_work() };
        let runner = std::thread::spawn(move || work.run(None));
        job.latch().wait();
        // SAFETY: the latch was seen set, and this is the only taking.
        let result = unsafe { job.take_result() };
        assert_eq!(result.unwrap(), vec![true; size]);
        runner.join().unwrap();
    }
}

#[test]
fn job_4_a_panic_is_the_result() {
    let job = StackJob::new(OnceLatch::new(), |_: bool| -> u32 { std::panic::panic_any(17u8) });
    // SAFETY: the job stays in this frame until its latch was seen set.
    unsafe { job.as_work() }.run(None);
    assert!(job.latch().probe());
    // SAFETY: the latch was seen set, and this is the only taking.
    let panic = unsafe { job.take_result() }.unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&17u8));
}

#[test]
fn job_5_an_armed_fork_notes_its_runner_and_sets_the_latch() {
    let sleep = Sleep::new(SleepPolicy::default(), true, 1);
    let bed = NonNull::from(sleep.add_bed());
    let runner = Runner { index: 3, run: 7 };
    let seen = Cell::new(None);
    let job = StackJob::new(Armed, |_: bool| {
        let header = seen.get().unwrap();
        // SAFETY: the job was armed below and lives until the end.
        let latch = unsafe { Header::latch(header) };
        assert!(!latch.probe(), "the latch is set only after this closure has returned");
        assert_eq!(latch.runner(), Some(runner));
        17
    });
    seen.set(Some(job.header()));
    // SAFETY: no other thread sees the job.
    unsafe { Header::arm(job.header(), bed) };
    // SAFETY: the job was armed above and lives until the end.
    let latch = unsafe { Header::latch(job.header()) };
    assert!(!latch.probe() && latch.runner().is_none());
    assert_eq!(latch.bed(), bed);
    // SAFETY: the job stays in this frame until its latch was seen set.
    unsafe { job.as_work() }.run(Some(runner));
    assert!(latch.probe());
    assert_eq!(latch.runner(), None, "the runner has finished the job");
    // SAFETY: the latch was seen set, and this is the only taking.
    assert_eq!(unsafe { job.take_result() }.unwrap(), 17);
}
