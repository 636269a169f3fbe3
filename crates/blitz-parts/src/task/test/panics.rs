//! Panics wherever user code runs: none of them unwinds out of `run`.

use super::{cancelled, ended, idle};
use crate::task::rig::{Drops, Gate, Rig, ToRig, Woken, outcome, text};
use crate::task::{Failure, Join, Owned, Payload, Place, Ran, Runnable, Scheduler, new};
use core::future::{pending, poll_fn, ready};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any};

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(self.0);
    }
}

/// A future that is ready at once, and whose drop panics.
fn ready_but_bomb() -> impl Future<Output = u32> + Send {
    let bomb = Bomb("drop");
    poll_fn(move |_| {
        let _inside = &bomb;
        Poll::Ready(3)
    })
}

/// A future that waits for ever, and whose drop panics.
fn waiting_bomb() -> impl Future<Output = ()> + Send {
    let bomb = Bomb("drop");
    poll_fn(move |_| {
        let _inside = &bomb;
        Poll::Pending
    })
}

/// The panic that a handle returns.
fn panicked<T>(join: &mut Join<T>) -> String {
    match outcome(join) {
        Poll::Ready(Err(Failure::Panicked(payload))) => text(&payload),
        _ => panic!("the task did not panic"),
    }
}

#[test]
fn task_11_a_panic_goes_to_the_handle_or_is_reported() {
    let rig = Rig::new();
    let mut heard = rig.spawn(async { panic!("heard") });
    drop(rig.spawn(async { panic!("nobody waits") }));
    let unread = rig.spawn(async { panic!("unread") });
    assert_eq!(rig.run_all(), 3);
    assert_eq!(panicked::<()>(&mut heard), "heard");
    assert_eq!(rig.panics(), ["nobody waits"]);
    drop::<Join<()>>(heard);
    assert!(rig.late_panics().is_empty());
    drop::<Join<()>>(unread);
    assert_eq!(rig.late_panics(), ["unread"]);
}

#[test]
fn task_11_a_future_that_panics_in_poll_and_in_drop_gives_the_first_to_the_handle() {
    let rig = Rig::new();
    let bomb = Bomb("drop");
    let mut join = rig.spawn(poll_fn(move |_| -> Poll<()> {
        let _inside = &bomb;
        panic!("poll")
    }));
    assert!(ended(rig.run_one()));
    assert_eq!(panicked(&mut join), "poll");
    assert_eq!(rig.panics(), ["drop"]);
}

#[test]
fn task_11_a_future_whose_drop_panics_after_its_end_keeps_its_output() {
    let rig = Rig::new();
    let mut join = rig.spawn(ready_but_bomb());
    assert!(ended(rig.run_one()));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(3))));
    assert_eq!(rig.panics(), ["drop"]);
}

#[test]
fn task_11_a_drop_that_panics_during_a_cancellation_is_reported() {
    let rig = Rig::new();
    let mut aborted = rig.spawn(waiting_bomb());
    let mut closed = rig.spawn(waiting_bomb());
    assert_eq!(rig.run_all(), 2);
    let (entry, mut dropped) = rig.task(waiting_bomb());
    drop(entry);
    aborted.abort();
    assert!(cancelled(rig.run_one()));
    assert_eq!(rig.owned.close_and_cancel(), 0);
    let mut late = rig.spawn(waiting_bomb());
    assert!(cancelled(rig.run_one()));
    for join in [&mut aborted, &mut closed, &mut dropped, &mut late] {
        assert_eq!(panicked(join), "drop");
    }
    assert!(rig.panics().is_empty());
    let (entry, detached) = rig.task(waiting_bomb());
    drop(detached);
    drop(entry);
    assert_eq!(rig.panics(), ["drop"]);
}

#[test]
fn task_11_an_unwanted_output_whose_drop_panics_is_reported() {
    let rig = Rig::new();
    drop(rig.spawn(async { Bomb("output") }));
    assert!(ended(rig.run_one()));
    assert_eq!(rig.panics(), ["output"]);
}

#[test]
fn a_panic_in_an_outputs_drop_unwinds_to_the_dropper_of_the_handle() {
    let rig = Rig::new();
    let join = rig.spawn(ready(Bomb("output")));
    let task = join.task();
    assert!(ended(rig.run_one()));
    let outcome = catch_unwind(AssertUnwindSafe(|| drop(join)));
    assert_eq!(text(&outcome.expect_err("it panics")), "output");
    assert!(task.is_finished());
    assert!(rig.is_well_and_done());
}

/// A waker that panics on every use, except for those that `allowed` names.
fn angry_waker(allowed: &'static &'static [&'static str]) -> Waker {
    static VTABLE: RawWakerVTable = RawWakerVTable::new(
        |data| use_of(data, "clone", RawWaker::new(data, &VTABLE)),
        |data| use_of(data, "wake", ()),
        |data| use_of(data, "wake_by_ref", ()),
        |data| use_of(data, "drop", ()),
    );
    fn use_of<T>(data: *const (), name: &'static str, result: T) -> T {
        // SAFETY: the data points to the list from which the waker was made.
        let allowed = unsafe { *data.cast::<&'static [&'static str]>() };
        assert!(allowed.contains(&name), "{name}");
        result
    }
    let data = core::ptr::from_ref(allowed).cast();
    // SAFETY: the functions may be called from any thread, and the data is never freed.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

#[test]
fn task_11_a_waker_of_the_handle_that_panics_is_reported() {
    let rig = Rig::new();
    let waker = angry_waker(&(&["clone", "drop"] as _));
    let mut join = rig.spawn(ready(1));
    assert!(join.poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(ended(rig.run_one()));
    assert_eq!(rig.panics(), ["wake"]);
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(1))));
}

#[test]
fn a_waker_that_cannot_be_cloned_leaves_the_handle_as_it_was() {
    let rig = Rig::new();
    let (waker, woken) = (angry_waker(&(&["drop"] as _)), Woken::new());
    let mut join = rig.spawn(ready(1));
    let try_it = |join: &mut Join<u32>| {
        let polled = catch_unwind(AssertUnwindSafe(|| join.poll(&mut Context::from_waker(&waker))));
        assert_eq!(text(&polled.expect_err("it panics")), "clone");
    };
    try_it(&mut join);
    assert!(join.poll(&mut Context::from_waker(&woken.waker())).is_pending());
    try_it(&mut join);
    assert!(ended(rig.run_one()));
    assert_eq!((woken.count(), woken.wakers()), (1, 0));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(1))));
}

#[test]
fn a_waker_whose_drop_panics_does_so_where_it_is_replaced() {
    let rig = Rig::new();
    let (waker, woken) = (angry_waker(&(&["clone"] as _)), Woken::new());
    let waker = core::mem::ManuallyDrop::new(waker);
    let mut join = rig.spawn(ready(1));
    assert!(join.poll(&mut Context::from_waker(&waker)).is_pending());
    let polled = catch_unwind(AssertUnwindSafe(|| {
        join.poll(&mut Context::from_waker(&woken.waker())).is_pending()
    }));
    assert_eq!(text(&polled.expect_err("it panics")), "drop");
    assert_eq!(woken.wakers(), 1, "the new waker is in the header all the same");
    assert!(ended(rig.run_one()));
    assert_eq!((woken.count(), woken.wakers()), (1, 0));

    let mut join = rig.spawn(ready(1));
    assert!(join.poll(&mut Context::from_waker(&waker)).is_pending());
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(join)));
    assert_eq!(text(&dropped.expect_err("it panics")), "drop");
    assert!(ended(rig.run_one()));
    assert!(rig.panics().is_empty());
}

/// A scheduler without a late report.
#[derive(Clone, Copy)]
struct Taciturn(ToRig);

// SAFETY: as for the rig.
unsafe impl Scheduler for Taciturn {
    fn schedule(&self, task: Runnable) {
        self.0.schedule(task);
    }

    fn owned(&self, place: Place) -> &Owned {
        self.0.owned(place)
    }

    fn report_panic(&self, payload: Payload) {
        self.0.report_panic(payload);
    }
}

/// Panics with another of its kind when it is dropped, `.0` times over.
struct Nested(usize, Drops);

impl Drop for Nested {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Nested(self.0 - 1, self.1.clone()));
        }
    }
}

#[test]
fn task_11_a_payload_whose_drop_panics_does_not_unwind_from_the_handle() {
    let rig = Rig::new();
    for nested in [0, 1, 5] {
        let drops = Drops::new();
        let bomb = Nested(nested, drops.clone());
        let (task, join) = new(
            Location::caller(),
            async move {
                panic_any(bomb);
            },
            Taciturn(rig.scheduler()),
        );
        assert!(matches!(task.run(), Ran::Complete));
        drop(join);
        assert_eq!(drops.count(), nested + 1);
    }
    assert!(rig.is_well_and_done());
}

/// Panics with another of its kind when it is dropped, without an end. It has no size, so leaking
/// it leaks no memory.
struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        panic_any(Endless);
    }
}

#[test]
fn task_11_a_payload_whose_drop_panics_without_end_is_given_up() {
    let rig = Rig::new();
    let (task, join) =
        new(Location::caller(), async { panic_any(Endless) }, Taciturn(rig.scheduler()));
    assert!(matches!(task.run(), Ran::Complete));
    drop::<Join<()>>(join);
    assert!(rig.is_well_and_done());
}

#[test]
fn a_panic_in_a_task_that_waited_takes_it_out_of_its_list() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let mut pass = Box::pin(gate.pass());
    let mut join = rig.spawn(poll_fn(move |context| -> Poll<()> {
        match pass.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => panic!("after a wait"),
        }
    }));
    assert!(idle(rig.run_one()));
    gate.open();
    gate.waker().wake();
    assert!(ended(rig.run_one()));
    assert_eq!(panicked(&mut join), "after a wait");
    assert!(rig.is_well_and_done());
}

#[test]
fn a_future_is_never_polled_again_after_it_panicked() {
    let rig = Rig::new();
    let mut polls = 0;
    let mut join = rig.spawn(poll_fn(move |context| -> Poll<()> {
        polls += 1;
        context.waker().wake_by_ref();
        panic!("poll {polls}")
    }));
    assert!(ended(rig.run_one()));
    assert_eq!(rig.queued(), 0, "a wake during the last poll is no reason for another");
    assert_eq!(panicked(&mut join), "poll 1");
    drop(rig.spawn(pending::<()>()));
    assert_eq!(rig.run_all(), 1);
    assert_eq!(rig.owned.close_and_cancel(), 0);
}
