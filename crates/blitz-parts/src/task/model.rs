//! The tasks under the model checker.
//!
//! A panic in a poll is caught, even that of the checker itself. So models check how tasks ended.

use super::rig::{Drops, Gate, Rig, Woken, outcome};
use super::{Failure, Join, TaskRef};
use crate::prim::{self, Step, canary, check, check_without, thread};
use core::future::ready;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A task that waits for its gate, and a waker of it.
fn waiting() -> (Arc<Rig>, Arc<Gate>, Join<usize>, Waker) {
    let (rig, gate) = (Rig::new(), Gate::new());
    let join = rig.spawn(gate.pass());
    assert_eq!(rig.run_all(), 1);
    let waker = gate.waker();
    (rig, gate, join, waker)
}

/// Checks that the task passes its gate and ends.
fn passes(rig: &Rig, gate: &Gate, mut join: Join<usize>) {
    rig.run_all();
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(1))), "the task did not pass its gate");
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

/// Checks that the task ends, in any way.
fn ends(rig: &Rig, gate: &Gate, mut join: Join<usize>) -> bool {
    rig.run_all();
    let passed = match outcome(&mut join) {
        Poll::Ready(Ok(_)) => true,
        Poll::Ready(Err(Failure::Cancelled)) => false,
        other => panic!("the task did not end well: {other:?}"),
    };
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
    passed
}

/// The task is in a queue; one thread runs it, another opens its gate and wakes it. If `yields` is
/// set, a poll that finds the gate closed yields.
fn a_wake_meets_a_run(wake: fn(Waker), yields: bool) {
    let (rig, gate, join, waker) = waiting();
    waker.wake_by_ref();
    let waking = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.open();
            wake(waker);
        }
    });
    rig.yields.store(yields, Relaxed);
    rig.run_one();
    waking.join().unwrap();
    passes(&rig, &gate, join);
}

#[test]
fn task_3_a_task_that_yields_and_is_woken_has_one_queue_entry() {
    check(3_000, Some(5), || a_wake_meets_a_run(Waker::wake, true));
    check(3_000, Some(5), || a_wake_meets_a_run(by_reference, true));
}

/// A task yields. It runs again, although no thread wakes it.
fn a_yield_alone() {
    let (rig, gate, join, waker) = waiting();
    waker.wake_by_ref();
    rig.yields.store(true, Relaxed);
    rig.run_one();
    gate.open();
    passes(&rig, &gate, join);
}

#[test]
fn task_2_a_task_that_yields_is_polled_again() {
    check(1, None, a_yield_alone);
}

#[test]
fn canary_a_task_that_has_yielded_goes_idle() {
    canary(&[Step::TaskRestNotified], None, a_yield_alone);
}

fn by_reference(waker: Waker) {
    waker.wake_by_ref();
}

#[test]
fn task_2_a_wake_is_not_lost_to_a_run() {
    check(3_000, Some(5), || a_wake_meets_a_run(Waker::wake, false));
}

#[test]
fn task_2_a_wake_by_reference_is_not_lost_to_a_run() {
    check(10_000, Some(5), || a_wake_meets_a_run(by_reference, false));
}

#[test]
fn canary_a_wake_of_a_queued_task_has_no_fence() {
    canary(&[Step::TaskWakeFence], Some(3), || a_wake_meets_a_run(by_reference, false));
}

#[test]
fn canary_a_poll_begins_without_fence() {
    canary(&[Step::TaskStartFence], Some(3), || a_wake_meets_a_run(by_reference, false));
}

/// The fence at the beginning of a run acquires, too. A wake by value does not rely on it, because
/// sanitizers do not know fences.
#[test]
fn task_2_a_wake_by_value_needs_no_fence() {
    let model = || a_wake_meets_a_run(Waker::wake, false);
    check_without(Step::TaskStartFence, 3_000, Some(5), model);
}

#[test]
fn canary_a_run_begins_without_acquiring() {
    let steps = [Step::TaskStartAcquire, Step::TaskStartFence];
    canary(&steps, Some(3), || a_wake_meets_a_run(Waker::wake, false));
}

#[test]
fn canary_a_woken_task_goes_idle() {
    canary(&[Step::TaskRestNotified], Some(3), || a_wake_meets_a_run(Waker::wake, false));
}

/// The task goes from thread to thread: each thread wakes it and runs the queue.
fn two_threads_wake_and_run() {
    let (rig, gate, join, waker) = waiting();
    let other = thread::spawn({
        let (rig, waker) = (rig.clone(), waker.clone());
        move || {
            waker.wake_by_ref();
            rig.run_one();
        }
    });
    gate.open();
    waker.wake();
    rig.run_one();
    other.join().unwrap();
    passes(&rig, &gate, join);
}

#[test]
fn task_1_one_thread_at_a_time_polls() {
    check(15_000, Some(4), two_threads_wake_and_run);
}

#[test]
fn canary_a_task_goes_idle_without_release() {
    canary(&[Step::TaskRestRelease], Some(3), two_threads_wake_and_run);
}

/// Two threads wake the task, each in its own way, while a third runs it.
fn two_wakes_meet_a_run(wake: fn(Waker)) {
    let (rig, gate, join, waker) = waiting();
    let in_vain = thread::spawn({
        let waker = waker.clone();
        move || waker.wake_by_ref()
    });
    let opening = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.open();
            wake(waker);
        }
    });
    rig.run_one();
    in_vain.join().unwrap();
    opening.join().unwrap();
    passes(&rig, &gate, join);
}

#[test]
fn task_3_two_wakes_make_one_queue_entry() {
    check(3_000, Some(3), || two_wakes_meet_a_run(Waker::wake));
}

#[test]
fn task_2_the_second_of_two_wakes_is_not_lost() {
    check(3_000, Some(3), || two_wakes_meet_a_run(by_reference));
}

#[test]
fn canary_a_wake_of_a_queued_task_is_no_exchange() {
    canary(&[Step::TaskWakeExchanges], Some(3), || two_wakes_meet_a_run(by_reference));
}

/// The task is aborted while a thread runs it.
fn an_abort_meets_a_run() {
    let (rig, gate, join, waker) = waiting();
    waker.wake();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    rig.run_one();
    aborting.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_8_an_abort_is_not_lost_to_a_run() {
    check(8_000, Some(5), an_abort_meets_a_run);
}

#[test]
fn canary_the_abort_of_an_idle_task_is_a_flag() {
    canary(&[Step::TaskAbortSchedules], Some(3), an_abort_meets_a_run);
}

#[test]
fn canary_a_run_begins_without_exchange() {
    canary(&[Step::TaskStartExchange], Some(3), an_abort_meets_a_run);
}

/// Abort, wake and run, each by a thread of its own.
fn an_abort_meets_a_wake_and_a_run() {
    let (rig, gate, join, waker) = waiting();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    let waking = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.open();
            waker.wake();
        }
    });
    rig.run_one();
    aborting.join().unwrap();
    waking.join().unwrap();
    ends(&rig, &gate, join);
}

#[test]
fn task_4_a_future_that_is_aborted_and_woken_is_dropped_once() {
    check(2_000, Some(3), an_abort_meets_a_wake_and_a_run);
}

/// Stores the value of a word when it is dropped.
struct Sees {
    word: Arc<prim::AtomicUsize>,
    seen: Arc<AtomicUsize>,
}

impl Drop for Sees {
    fn drop(&mut self) {
        self.seen.store(self.word.load(Relaxed), Relaxed);
    }
}

/// A thread writes a word and then cancels a task that is polled meanwhile: the drop of the future
/// sees the write.
fn a_cancellation_hands_over(prepare: fn(&TaskRef), cancel: fn(&TaskRef)) {
    let rig = Rig::new();
    let (word, seen) = (Arc::new(prim::AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let sees = Sees { word: word.clone(), seen: seen.clone() };
    let join = rig.spawn(core::future::poll_fn(move |_| {
        let _moved = &sees;
        Poll::<()>::Pending
    }));
    prepare(&join.task());
    let cancelling = thread::spawn({
        let task = join.task();
        move || {
            word.store(1, Relaxed);
            cancel(&task);
        }
    });
    rig.run_all();
    cancelling.join().unwrap();
    rig.run_all();
    assert_eq!(seen.load(Relaxed), 1, "the future's drop does not see the earlier write");
    drop(join);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_8_the_drop_of_a_future_sees_the_aborters_writes() {
    check(50, Some(5), || a_cancellation_hands_over(|_| (), |task| task.abort()));
}

#[test]
fn task_8_the_drop_of_a_future_sees_writes_under_its_shield() {
    let shield_and_abort = |task: &TaskRef| {
        task.add_shield().unwrap();
        task.abort();
    };
    check(50, Some(5), move || {
        a_cancellation_hands_over(shield_and_abort, |task| task.remove_shield())
    });
}

/// The last shield of an idle task goes while it is aborted.
fn an_abort_meets_the_removal_of_the_shield() {
    let (rig, gate, join, _waker) = waiting();
    join.task().add_shield().unwrap();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    join.task().remove_shield();
    aborting.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_9_an_abort_is_effective_when_the_last_shield_goes() {
    check(7_000, Some(5), an_abort_meets_the_removal_of_the_shield);
}

#[test]
fn canary_the_removal_of_the_last_shield_schedules_nothing() {
    canary(&[Step::TaskUnshieldSchedules], Some(3), an_abort_meets_the_removal_of_the_shield);
}

/// The task removes its own shield in a poll while it is aborted.
fn an_abort_meets_a_poll_that_removes_the_shield() {
    let (rig, gate, join, waker) = waiting();
    join.task().add_shield().unwrap();
    gate.unshield_in_poll(join.task());
    waker.wake();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    rig.run_one();
    aborting.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_9_an_abort_is_effective_at_the_end_of_the_poll() {
    check(20_000, Some(4), an_abort_meets_a_poll_that_removes_the_shield);
}

/// The last shield of an aborted task goes while a thread runs it.
fn a_run_meets_the_removal_of_the_shield() {
    let (rig, gate, join, waker) = waiting();
    join.task().add_shield().unwrap();
    join.abort();
    waker.wake();
    let removing = thread::spawn({
        let task = join.task();
        move || task.remove_shield()
    });
    rig.run_one();
    removing.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_9_the_last_shield_may_go_during_a_run() {
    check(8_000, Some(5), a_run_meets_the_removal_of_the_shield);
}

#[test]
fn canary_an_aborted_task_goes_idle() {
    canary(&[Step::TaskRestCancels], Some(3), a_run_meets_the_removal_of_the_shield);
}

/// A shielded task is aborted, and woken to finish its section.
fn an_abort_meets_the_wake_of_a_shielded_task() {
    let (rig, gate, join, waker) = waiting();
    join.task().add_shield().unwrap();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    gate.open();
    waker.wake_by_ref();
    aborting.join().unwrap();
    drop(waker);
    passes(&rig, &gate, join);
}

#[test]
fn task_9_a_shielded_task_is_woken() {
    check(200, Some(5), an_abort_meets_the_wake_of_a_shielded_task);
}

#[test]
fn canary_aborted_tasks_are_not_woken() {
    canary(&[Step::TaskWakeShielded], Some(3), an_abort_meets_the_wake_of_a_shielded_task);
}

/// A task with an output that counts its drops, and the count.
fn ready_with_drops(rig: &Rig) -> (Join<Drops>, Drops) {
    let drops = Drops::new();
    (rig.spawn(ready(drops.clone())), drops)
}

/// A thread polls the handle while the task ends.
fn a_join_meets_the_end() {
    let rig = Rig::new();
    let (mut join, drops) = ready_with_drops(&rig);
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let woken = Woken::new();
    let polled = join.poll(&mut Context::from_waker(&woken.waker()));
    running.join().unwrap();
    let ended = match polled {
        Poll::Pending => {
            assert_eq!(woken.count(), 1, "the waiter is woken");
            outcome(&mut join)
        }
        ended => ended,
    };
    assert!(matches!(ended, Poll::Ready(Ok(_))));
    assert_eq!(drops.count(), 0);
    drop(ended);
    drop(join);
    assert_eq!(drops.count(), 1);
    assert_eq!(woken.wakers(), 0, "no waker is left behind");
    assert!(rig.is_well_and_done());
}

#[test]
fn task_5_the_handle_gets_the_output_once() {
    check(2_000, Some(5), a_join_meets_the_end);
}

#[test]
fn task_7_a_waiter_for_the_end_is_woken() {
    check(2_000, Some(5), a_join_meets_the_end);
}

#[test]
fn canary_the_end_does_not_release() {
    canary(&[Step::TaskCompleteRelease], Some(3), a_join_meets_the_end);
}

#[test]
fn canary_the_end_wakes_no_waiter() {
    canary(&[Step::TaskCompleteWakes], Some(3), a_join_meets_the_end);
}

#[test]
fn canary_the_end_is_seen_without_acquire() {
    canary(&[Step::TaskJoinAcquire], Some(3), a_join_meets_the_end);
}

#[test]
fn canary_a_waker_is_announced_without_release() {
    canary(&[Step::TaskJoinWakerRelease], Some(3), a_join_meets_the_end);
}

#[test]
fn canary_a_waker_is_announced_after_the_end() {
    canary(&[Step::TaskJoinSeesEnd], Some(3), a_join_meets_the_end);
}

/// A thread polls the handle with one waker. While the task ends, it polls again with another.
fn a_new_waker_meets_the_end() {
    let rig = Rig::new();
    let (mut join, drops) = ready_with_drops(&rig);
    let wakers = [Woken::new(), Woken::new()];
    assert!(join.poll(&mut Context::from_waker(&wakers[0].waker())).is_pending());
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let polled = join.poll(&mut Context::from_waker(&wakers[1].waker()));
    running.join().unwrap();
    if polled.is_pending() {
        assert_eq!(wakers[1].count(), 1, "the waker of the last poll is woken");
    }
    assert!(wakers.iter().all(|woken| woken.wakers() == 0), "no waker is left behind");
    drop((polled, join));
    assert_eq!(drops.count(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_7_a_new_waker_replaces_the_old() {
    check(10_000, Some(5), a_new_waker_meets_the_end);
}

#[test]
fn canary_a_waker_is_overwritten() {
    canary(&[Step::TaskJoinTakesBack], Some(3), a_new_waker_meets_the_end);
}

/// The handle is dropped while the task ends.
fn the_handle_goes_while_the_task_ends(registered: bool) {
    let rig = Rig::new();
    let (mut join, drops) = ready_with_drops(&rig);
    let woken = Woken::new();
    if registered {
        assert!(join.poll(&mut Context::from_waker(&woken.waker())).is_pending());
    }
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    drop(join);
    running.join().unwrap();
    assert_eq!(drops.count(), 1);
    assert_eq!(woken.wakers(), 0, "no waker is left behind");
    assert!(rig.is_well_and_done());
}

#[test]
fn task_5_an_unwanted_output_is_dropped_once() {
    check(400, Some(5), || the_handle_goes_while_the_task_ends(false));
}

#[test]
fn task_7_a_handle_that_goes_takes_its_waker_along() {
    check(4_000, Some(5), || the_handle_goes_while_the_task_ends(true));
}

#[test]
fn canary_the_end_does_not_look_for_the_handle() {
    canary(&[Step::TaskCompleteUnwanted], Some(3), || the_handle_goes_while_the_task_ends(false));
}

/// A task has ended, and the threads that still have references give them up, each in its own way.
fn the_last_references_go() {
    let (rig, gate, join, waker) = waiting();
    gate.open();
    waker.wake_by_ref();
    rig.run_all();
    let task = join.task();
    let others = [thread::spawn(move || waker.wake()), thread::spawn(move || drop(task))];
    drop(join);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_6_a_task_is_freed_after_the_last_reference() {
    check(2_000, Some(3), the_last_references_go);
}

#[test]
fn canary_a_reference_is_given_up_without_release() {
    canary(&[Step::TaskReleaseRelease], Some(3), the_last_references_go);
}

#[test]
fn canary_the_last_reference_does_not_acquire() {
    canary(&[Step::TaskFreeAcquire], Some(3), the_last_references_go);
}

/// References go while the task ends.
fn references_go_while_the_task_ends() {
    let (rig, gate, join, waker) = waiting();
    gate.open();
    waker.wake_by_ref();
    drop(join);
    let dropping = thread::spawn(move || drop(waker));
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    dropping.join().unwrap();
    running.join().unwrap();
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_6_a_task_is_freed_by_its_end_or_by_a_waker() {
    check(1_000, Some(5), references_go_while_the_task_ends);
}

/// A queue entry is dropped while the task is woken.
fn an_entry_is_dropped_while_the_task_is_woken() {
    let (rig, gate, join, waker) = waiting();
    waker.wake_by_ref();
    let entry = rig.pop().expect("the task is in the queue");
    let waking = thread::spawn(move || waker.wake());
    drop(entry);
    waking.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_8_a_dropped_entry_ends_its_task() {
    check(1_000, Some(5), an_entry_is_dropped_while_the_task_is_woken);
}

/// The list is closed while a task is polled for the first time. The task would join the list.
fn closing_meets_joining() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let join = rig.spawn(gate.pass());
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let _left = rig.owned.close_and_cancel();
    running.join().unwrap();
    gate.forget_waker();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_10_a_task_that_would_join_a_closed_list_ends() {
    check(30, Some(5), closing_meets_joining);
}

#[test]
fn canary_a_task_joins_a_closed_list() {
    canary(&[Step::TaskLinkLooks], Some(3), closing_meets_joining);
}

#[test]
fn canary_a_task_joins_after_it_went_idle() {
    canary(&[Step::TaskLinkFirst], Some(3), closing_meets_joining);
}

/// The list is closed while a task in it, which has a shield, is polled. The poll would leave the
/// task waiting.
fn closing_meets_a_poll() {
    let (rig, gate, join, waker) = waiting();
    join.task().add_shield().unwrap();
    waker.wake();
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let _left = rig.owned.close_and_cancel();
    running.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_10_a_task_that_is_polled_while_its_list_is_closed_ends() {
    check(400, Some(5), closing_meets_a_poll);
}

#[test]
fn canary_tasks_that_other_threads_have_are_not_marked() {
    canary(&[Step::TaskKillMarks], Some(3), closing_meets_a_poll);
}

/// The list is closed while a task in it is woken and polled. The poll leaves the task waiting.
fn closing_meets_a_wake_and_a_poll() {
    let (rig, gate, join, waker) = waiting();
    let running = thread::spawn({
        let rig = rig.clone();
        move || {
            waker.wake_by_ref();
            rig.run_all();
        }
    });
    let _left = rig.owned.close_and_cancel();
    running.join().unwrap();
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_1_the_closer_of_a_list_sees_the_last_run() {
    check(400, Some(5), closing_meets_a_wake_and_a_poll);
}

/// The list is closed while a task in it is woken. The task ends by itself or is cancelled.
fn closing_meets_an_end() {
    let (rig, gate, join, waker) = waiting();
    drop(join);
    gate.open();
    let running = thread::spawn({
        let rig = rig.clone();
        move || {
            waker.wake();
            rig.run_all();
        }
    });
    let _left = rig.owned.close_and_cancel();
    running.join().unwrap();
    assert_eq!(gate.futures_dropped(), 1);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_10_a_task_is_ended_by_its_runner_or_by_the_closer_of_its_list() {
    check(2_000, Some(5), closing_meets_an_end);
}

#[test]
fn canary_a_task_is_in_its_list_when_it_is_freed() {
    canary(&[Step::TaskUnlinkFirst], Some(3), closing_meets_an_end);
}

/// The list is closed while a task in it is aborted.
fn closing_meets_an_abort() {
    let (rig, gate, join, _waker) = waiting();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    let left = rig.owned.close_and_cancel();
    aborting.join().unwrap();
    assert_eq!(left, rig.owned.len(), "what is left is in the list until it is run");
    assert!(!ends(&rig, &gate, join));
}

#[test]
fn task_10_an_aborted_task_is_left_to_its_queue_or_ended() {
    check(4_000, Some(5), closing_meets_an_abort);
}

/// A thread polls the handle while the task is aborted and run.
fn a_join_meets_an_abort_and_a_run() {
    let (rig, gate, mut join, waker) = waiting();
    waker.wake();
    let aborting = thread::spawn({
        let task = join.task();
        move || task.abort()
    });
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_all()
    });
    let woken = Woken::new();
    let polled = join.poll(&mut Context::from_waker(&woken.waker()));
    aborting.join().unwrap();
    running.join().unwrap();
    rig.run_all();
    let ended = if polled.is_pending() {
        assert_eq!(woken.count(), 1, "the waiter is woken");
        outcome(&mut join)
    } else {
        polled
    };
    assert!(matches!(ended, Poll::Ready(Err(Failure::Cancelled))));
    drop(join);
    assert_eq!((gate.futures_dropped(), woken.wakers()), (1, 0));
    assert!(rig.is_well_and_done());
}

#[test]
fn task_7_a_waiter_for_an_aborted_task_is_woken() {
    check(5_000, Some(2), a_join_meets_an_abort_and_a_run);
}

/// A task waits for another, and two threads run the queue.
fn a_task_waits_for_a_task() {
    let rig = Rig::new();
    let mut inner = rig.spawn(ready(1));
    let outer = rig.spawn(core::future::poll_fn(move |context| inner.poll(context)));
    let running = thread::spawn({
        let rig = rig.clone();
        move || rig.run_one()
    });
    rig.run_one();
    let _ran = running.join().unwrap();
    rig.run_all();
    let mut outer = outer;
    assert!(matches!(outcome(&mut outer), Poll::Ready(Ok(Ok(1)))));
    drop(outer);
    assert!(rig.is_well_and_done());
}

#[test]
fn task_7_a_task_that_waits_for_a_task_goes_on() {
    check(20_000, Some(5), a_task_waits_for_a_task);
}
