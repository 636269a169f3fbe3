//! Sizes, alignments, tasks of one thread, and lifetimes.

use super::{cancelled, ended, idle, was_cancelled};
use crate::task::join_waker::JoinWaker;
use crate::task::rig::{Gate, Rig, outcome};
use crate::task::{Header, Join, Ran, Runnable, TaskRef, new, new_local};
use core::future::{pending, poll_fn, ready};
use core::task::{Poll, Waker};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::process::Command;
use std::rc::Rc;

#[test]
fn handles_are_small() {
    assert_eq!(
        size_of::<Header>(),
        56,
        "five words, the stamp with the place, the number with the site"
    );
    assert_eq!(size_of::<Runnable>(), 8);
    assert_eq!(size_of::<Option<Runnable>>(), 8);
    assert_eq!(size_of::<TaskRef>(), 8);
    assert_eq!(size_of::<Join<[u8; 100]>>(), 8);
    assert_eq!(size_of::<JoinWaker>(), 8);
}

#[test]
fn handles_may_go_where_users_need_them() {
    fn is_free<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>(_: &T) -> bool {
        true
    }
    let rig = Rig::new();
    let join = rig.spawn(ready(std::cell::Cell::new(1)));
    assert!(is_free(&join) && is_free(&join.task()));
    assert_eq!(rig.run_all(), 1);
}

#[test]
fn a_future_of_no_size_is_a_task() {
    struct Nothing;
    impl Future for Nothing {
        type Output = ();
        fn poll(self: core::pin::Pin<&mut Self>, _: &mut core::task::Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }
    let rig = Rig::new();
    assert_eq!(size_of::<Nothing>(), 0);
    let mut join = rig.spawn(Nothing);
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(()))));
}

#[test]
fn futures_and_outputs_keep_their_alignment() {
    #[repr(align(4096))]
    struct Aligned(u8);
    fn is_aligned(aligned: &Aligned) -> bool {
        core::ptr::from_ref(aligned).addr() % 4096 == 0
    }
    let rig = Rig::new();
    let inside = Aligned(7);
    let mut join = rig.spawn(poll_fn(move |_| {
        assert!(is_aligned(&inside));
        Poll::Ready(Aligned(inside.0))
    }));
    assert!(ended(rig.run_one()));
    let Some(Ok(output)) = join.try_take() else { panic!("it has ended well") };
    assert!(is_aligned(&output));
    assert_eq!(output.0, 7);
    let unread = rig.spawn(ready(Aligned(1)));
    assert!(ended(rig.run_one()));
    drop(unread);
}

#[test]
fn an_output_may_be_much_larger_than_its_future_and_the_other_way_round() {
    const LARGE: usize = 1 << 20;
    fn run_large() {
        let rig = Rig::new();
        let mut large_output = rig.spawn(async { [7u8; LARGE] });
        let ballast = [1u8; LARGE];
        let mut large_future = rig.spawn(poll_fn(move |_| Poll::Ready(ballast[LARGE - 1])));
        drop(rig.spawn(async { [7u8; LARGE] }));
        assert_eq!(rig.run_all(), 3);
        assert!(matches!(large_output.try_take(), Some(Ok(output)) if output == [7; LARGE]));
        assert!(matches!(large_future.try_take(), Some(Ok(1))));
    }
    // Unoptimised code copies a value into the frame of each function that passes it on.
    let thread = std::thread::Builder::new().stack_size(64 * LARGE).spawn(run_large);
    thread.expect("a thread").join().expect("it went well");
}

#[test]
fn a_local_task_may_hold_values_that_are_not_send() {
    let rig = Rig::new();
    let count = Rc::new(());
    let inside = count.clone();
    // SAFETY: the task, its entries and its list stay on this thread.
    let (task, mut join) =
        unsafe { new_local(Location::caller(), async move { inside }, rig.scheduler()) };
    assert!(matches!(task.run(), Ran::Complete));
    assert_eq!(Rc::strong_count(&count), 2);
    drop(join.try_take());
    let inside = count.clone();
    let waits = async move {
        pending::<()>().await;
        drop(inside);
    };
    // SAFETY: as above.
    let (task, _join) = unsafe { new_local(Location::caller(), waits, rig.scheduler()) };
    assert!(matches!(task.run(), Ran::Idle));
    assert_eq!(Rc::strong_count(&count), 2);
    assert_eq!(rig.owned.close_and_cancel(), 0);
    assert_eq!(Rc::strong_count(&count), 1);
}

#[test]
fn task_12_handles_outlive_the_scheduler() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let mut join = rig.spawn(gate.pass());
    let mut panicked = rig.spawn(async { panic!("unread") });
    assert_eq!(rig.run_all(), 2);
    let (waker, task) = (gate.waker(), join.task());
    assert_eq!(rig.owned.close_and_cancel(), 0);
    drop(rig);
    waker.wake_by_ref();
    task.add_shield().expect("one fits");
    task.abort();
    task.remove_shield();
    assert!(was_cancelled(&mut join));
    drop(waker.clone());
    waker.wake();
    drop(join);
    assert!(task.is_finished());
    drop(task);
    assert!(!was_cancelled::<()>(&mut panicked));
}

#[test]
fn task_6_the_last_reference_may_be_of_any_kind() {
    let rig = Rig::new();
    for last in 0..3 {
        let gate = Gate::new();
        let join = rig.spawn(gate.pass());
        assert!(idle(rig.run_one()));
        let mut parts = (Some(join), Some(gate.waker()), None);
        parts.2 = parts.0.as_ref().map(Join::task);
        parts.0.as_ref().expect("the handle").abort();
        assert!(cancelled(rig.run_one()));
        let drop_part = |parts: &mut (Option<Join<usize>>, Option<Waker>, Option<TaskRef>),
                         which| {
            match which {
                0 => drop(parts.0.take()),
                1 => drop(parts.1.take()),
                _ => drop(parts.2.take()),
            }
        };
        (0..3).filter(|which| *which != last).for_each(|which| drop_part(&mut parts, which));
        assert_eq!(gate.futures_dropped(), 1);
        drop_part(&mut parts, last);
    }
    assert!(rig.is_well_and_done());
}

/// The most references that a task may have, as the documentation of `blitz::spawn` says.
const MOST_REFERENCES: usize = 8_388_608;

/// The environment variable that makes the child process take too many references.
const OVERFLOW: &str = "BLITZ_TEST_TOO_MANY_REFERENCES";

#[test]
fn too_many_references_end_the_process_and_it_says_why() {
    let rig = Rig::new();
    let (task, _join) = new(Location::caller(), pending::<()>(), rig.scheduler());
    if std::env::var_os(OVERFLOW).is_some() {
        // SAFETY: the entry keeps the task alive.
        let reference = unsafe { TaskRef::from_header(task.header()) };
        // The entry, the join handle and `reference` hold one reference each.
        for _ in 0..MOST_REFERENCES - 3 {
            core::mem::forget(reference.clone());
        }
        eprintln!("{MOST_REFERENCES} references");
        core::mem::forget(reference.clone());
        unreachable!("that was one more than there may be");
    }
    let program = std::env::current_exe().expect("this program");
    let name = "task::test::memory::too_many_references_end_the_process_and_it_says_why";
    let mut command = Command::new(program);
    command.args(["--exact", name, "--nocapture"]).env(OVERFLOW, "1");
    let ended = command.output().expect("it starts");
    assert!(!ended.status.success(), "the child ends before the count wraps");
    let said = String::from_utf8_lossy(&ended.stderr);
    let why = said.split_once("8388608 references\n").map(|(_, why)| why);
    assert!(
        why.is_some_and(
            |why| why.contains("more than 8,388,608 references") && why.ends_with("aborting\n")
        ),
        "{said}"
    );
}
