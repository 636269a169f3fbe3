//! Shielded sections and the end of the pool.

use super::futures::{Gate, yield_now};
use super::{Runtime, canary, check, spawn};
use crate::block_on;
use crate::task::{Shield, shield};
use blitz_parts::prim::{Mutex, Step, any_below, thread};
use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Keeps sections that their tasks left unfinished. To the pool they look like sections that were
/// passed to `mem::forget`.
type Left = Arc<Mutex<Vec<Pin<Box<Shield<Pending<()>>>>>>>;

/// Begins a section and leaves it before its end.
async fn forgets(left: Left) {
    let mut section = Box::pin(shield(pending::<()>()));
    let begun = section.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending());
    left.lock().unwrap().push(section);
}

/// Tasks forget their sections while the pool ends.
fn forgotten() {
    let runtime = Runtime::new(1 + any_below(2));
    let (gate, left) = (Gate::new(), Left::default());
    for number in 0..2 {
        let (gate, left) = (gate.clone(), left.clone());
        drop(runtime.spawn(async move {
            forgets(left).await;
            if number == 0 {
                yield_now().await;
            } else {
                gate.passed().await;
            }
        }));
    }
    let opener = thread::spawn(move || gate.open());
    runtime.shut_down_beside([opener]);
}

#[test]
fn a_forgotten_section_ends_with_its_task() {
    check(4_000, forgotten);
}

#[test]
fn canary_workers_do_not_look_for_forgotten_sections() {
    canary(Step::SectionsWorkersLook, forgotten);
}

/// The task has ended before the pool is dropped, and the pool's workers may sleep.
fn forgotten_before() {
    let runtime = Runtime::new(1 + any_below(2));
    let left = Left::default();
    block_on(runtime.spawn(forgets(left.clone()))).unwrap();
    runtime.shut_down();
}

#[test]
fn a_section_that_was_forgotten_before_the_drop_does_not_keep_the_pool() {
    check(2_000, forgotten_before);
}

#[test]
fn canary_the_drop_of_the_pool_does_not_look_for_forgotten_sections() {
    canary(Step::SectionsDropLooks, forgotten_before);
}

/// Sections begin while the pool ends. A section that has begun runs to its end, and the work that
/// it waits for does, too.
fn begin_at_the_end() {
    let runtime = Runtime::new(2);
    let gate = Gate::new();
    let sections = [0, 1, 2].map(|_| {
        let (gate, begun, done) = (gate.clone(), Gate::new(), Gate::new());
        let section = (begun.clone(), done.clone());
        drop(runtime.spawn(async move {
            shield(async move {
                begun.open();
                let child = spawn(yield_now());
                yield_now().await;
                // The child is not part of the section, and still ends.
                let _ = child.await;
                gate.passed().await;
                done.open();
            })
            .await;
        }));
        section
    });
    let opener = thread::spawn(move || gate.open());
    runtime.shut_down_beside([opener]);
    for (begun, done) in sections {
        assert_eq!(begun.is_open(), done.is_open(), "a section was cut off");
    }
}

#[test]
fn a_section_that_has_begun_ends() {
    check(3_000, begin_at_the_end);
}

/// The pool does not end before a section that has begun.
fn is_waited_for() {
    let runtime = Runtime::new(2);
    let (begun, gate, done) = (Gate::new(), Gate::new(), Gate::new());
    drop(runtime.spawn({
        let (begun, gate, done) = (begun.clone(), gate.clone(), done.clone());
        async move {
            shield(async move {
                begun.open();
                gate.passed().await;
                done.open();
            })
            .await;
        }
    }));
    block_on(begun.passed());
    let opener = thread::spawn(move || gate.open());
    runtime.shut_down();
    assert!(done.is_open(), "the section was cut off");
    opener.join().unwrap();
}

#[test]
fn the_end_waits_for_sections() {
    check(2_000, is_waited_for);
}

#[test]
fn canary_a_section_holds_no_tasks() {
    canary(Step::ShieldHoldsTasks, is_waited_for);
}
