//! `explain` beside waits that block a worker or a thread of `spawn_blocking`: deadlocks through
//! them are found, and no wait that something else could end is called a deadlock.

use super::common::{forget, pool, wait_for, watched};
use super::explain::{assert_all_can_go_on, explained};
use blitz::{Explanation, JoinHandle, Pool, WaitKind, time};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

type Handle = JoinHandle<()>;

/// Spawns a task that awaits the handle that it is sent.
fn awaits(pool: &Pool) -> (Handle, Sender<Handle>) {
    let (send, receive) = blitz::sync::oneshot::channel::<Handle>();
    let task = pool.spawn(async {
        let handle = receive.await.unwrap();
        drop(handle.await);
    });
    let (give, given) = channel();
    // The sender of a oneshot is used up by its use, so it cannot be returned as it is.
    std::thread::spawn(move || given.recv().map(|handle| send.send(handle)));
    (task, give)
}

/// Returns the only deadlock, once there is one, with the explanation.
fn deadlock(pool: &Pool) -> (Vec<blitz::task::Id>, String, Explanation) {
    let explanation = explained(pool, |explanation| !explanation.cycles().is_empty());
    let [cycle] = explanation.cycles() else { panic!("{explanation}") };
    let line = explanation.verdict().lines().next().unwrap().to_owned();
    assert!(line.starts_with("deadlock: "), "{explanation}");
    (cycle.clone(), line, explanation)
}

/// Checks that a task whose poll runs `wait` with the handle of a task that awaits it is found.
fn is_found_in_a_poll(wait: fn(Handle)) {
    let pool = pool(2);
    let (other, give) = awaits(&pool);
    let other_id = other.id();
    let blocks = pool.spawn(async move { wait(other) });
    let id = blocks.id();
    give.send(blocks).unwrap();
    let (cycle, line, explanation) = deadlock(&pool);
    assert!(cycle == [id, other_id] || cycle == [other_id, id], "{explanation}");
    assert!(line.contains(" -> blocks worker ") && line.contains(" -> join "), "{line}");
    let edge = &explanation.get(id).unwrap().waits()[0];
    assert_eq!((edge.kind(), edge.target()), (WaitKind::Join, Some(other_id)), "{edge:?}");
    assert!(edge.detail().starts_with("blocks worker "), "{edge:?}");
    // The end of the pool cancels the task that waits without blocking a worker.
    drop(pool);
}

#[test]
fn a_poll_that_joins_a_task_that_awaits_it_is_a_deadlock() {
    watched("a_poll_that_joins_a_task_that_awaits_it_is_a_deadlock", |_| {
        is_found_in_a_poll(|handle| drop(handle.join()));
    });
}

#[test]
fn a_poll_in_block_on_of_a_task_that_awaits_it_is_a_deadlock() {
    watched("a_poll_in_block_on_of_a_task_that_awaits_it_is_a_deadlock", |_| {
        is_found_in_a_poll(|handle| drop(blitz::block_on(handle)));
        is_found_in_a_poll(|handle| blitz::block_on(async { drop(handle.await) }));
    });
}

#[test]
fn a_poll_whose_stolen_half_of_a_join_waits_for_its_task_is_a_deadlock() {
    watched("a_poll_whose_stolen_half_of_a_join_waits_for_its_task_is_a_deadlock", |_| {
        let pool = Pool::builder().workers(2).spares(0).build().unwrap();
        let (other, give) = awaits(&pool);
        let (began, begun) = channel();
        let blocks = pool.spawn(async move {
            let left = move || begun.recv().unwrap();
            let right = move || {
                began.send(()).unwrap();
                drop(other.join());
            };
            blitz::join(left, right);
        });
        give.send(blocks).unwrap();
        let (cycle, line, _) = deadlock(&pool);
        assert_eq!(cycle.len(), 2, "{line}");
        assert_eq!(line.matches("blocks worker ").count(), 2, "both workers: {line}");
        drop(pool);
    });
}

#[test]
fn a_job_that_joins_the_task_that_awaits_it_is_a_deadlock() {
    watched("a_job_that_joins_the_task_that_awaits_it_is_a_deadlock", |_| {
        let pool = pool(2);
        let (task, give) = awaits(&pool);
        let id = task.id();
        let job = pool.spawn_cpu(move || drop(task.join()));
        let job_id = job.id();
        give.send(job).unwrap();
        let (cycle, line, explanation) = deadlock(&pool);
        assert_eq!(cycle, [id, job_id], "{explanation}");
        assert!(line.contains(&format!(" -> job {job_id} ")), "{line}");
        assert!(line.ends_with(&format!(" -> join {id}")), "{line}");
        drop(pool);
    });
}

#[test]
fn a_blocking_closure_that_waits_for_the_task_that_awaits_it_is_a_deadlock() {
    watched("a_blocking_closure_that_waits_for_the_task_that_awaits_it_is_a_deadlock", |_| {
        for wait in [|task: Handle| drop(task.join()), |task: Handle| drop(blitz::block_on(task))] {
            let pool = pool(1);
            let (task, give) = awaits(&pool);
            let id = task.id();
            let closure = pool.spawn_blocking(move || wait(task));
            let closure_id = closure.id();
            give.send(closure).unwrap();
            let (cycle, line, explanation) = deadlock(&pool);
            assert_eq!(cycle, [id, closure_id], "{explanation}");
            assert!(line.contains(" -> blocking closure "), "{line}");
            assert!(line.contains(" -> blocks a thread of spawn_blocking -> join "), "{line}");
            drop(pool);
        }
    });
}

#[test]
fn a_job_and_a_blocking_closure_that_join_each_other_are_a_deadlock() {
    watched("a_job_and_a_blocking_closure_that_join_each_other_are_a_deadlock", |_| {
        let pool = pool(1);
        let (give, given) = channel::<Handle>();
        let (began, begun) = channel();
        let job = pool.spawn_cpu(move || {
            began.send(()).unwrap();
            drop(given.recv().unwrap().join());
        });
        begun.recv().unwrap();
        let closure = pool.spawn_blocking(move || drop(job.join()));
        give.send(closure).unwrap();
        let (cycle, line, _) = deadlock(&pool);
        assert_eq!(cycle.len(), 2, "{line}");
        // Nothing can end it.
        forget(pool);
    });
}

#[test]
fn a_poll_on_top_of_the_poll_that_it_joins_is_a_deadlock() {
    watched("a_poll_on_top_of_the_poll_that_it_joins_is_a_deadlock", |_| {
        let pool = Pool::builder().workers(1).spares(0).build().unwrap();
        let (open, gate) = blitz::sync::oneshot::channel::<()>();
        let gate = pool.spawn(async { drop(gate.await) });
        let (tell, told) = channel::<Handle>();
        let (began, begun) = channel();
        let below = pool.spawn(async move {
            began.send(()).unwrap();
            drop(gate.join());
        });
        let id = below.id();
        begun.recv().unwrap();
        // The only worker polls this task while it waits for the gate.
        let top = pool.spawn(async move { drop(told.recv().unwrap().join()) });
        tell.send(below).unwrap();
        let is_blocked = |explanation: &Explanation| {
            explanation.get(top.id()).is_some_and(|task| !task.waits().is_empty())
        };
        explained(&pool, is_blocked);
        open.send(()).unwrap();
        let (cycle, line, _) = deadlock(&pool);
        assert_eq!(cycle, [id], "{line}");
        assert!(line.ends_with(&format!(" -> blocks worker 0 -> join {id}")), "{line}");
        forget((pool, top));
    });
}

#[test]
fn a_poll_that_joins_a_lost_task_waits_in_vain() {
    watched("a_poll_that_joins_a_lost_task_waits_in_vain", |_| {
        let pool = pool(2);
        let lost = pool.spawn(std::future::pending::<()>());
        let lost_id = lost.id();
        let waits = pool.spawn(async { drop(lost.join()) });
        let explanation = explained(&pool, |explanation| !explanation.behind().is_empty());
        assert_eq!(explanation.never_wake(), [lost_id]);
        assert_eq!(explanation.behind(), [waits.id()]);
        let line = format!("join {lost_id} ends");
        assert!(explanation.verdict().contains(&line), "{explanation}");
        drop(pool);
    });
}

/// Keeps a oneshot open until the test ends.
type Never = blitz::sync::oneshot::Sender<()>;

/// Runs `wait` in a poll, with the handle of a task that awaits that poll's task, and checks that
/// neither of them is called stuck while the poll waits. `wait` is also given a word that comes at
/// the end of the test.
fn is_no_deadlock(wait: impl FnOnce(Handle, blitz::sync::oneshot::Receiver<()>) + Send + 'static) {
    let pool = blitz::Runtime::builder().workers(2).build().unwrap();
    let (other, give) = awaits(&pool);
    let other_id = other.id();
    let (never, word): (Never, _) = blitz::sync::oneshot::channel();
    let blocks = pool.spawn(async move { wait(other, word) });
    let id = blocks.id();
    give.send(blocks).unwrap();
    let explanation = explained(&pool, |explanation| {
        let awaits = explanation
            .get(other_id)
            .is_some_and(|task| task.waits().iter().any(|edge| edge.kind() == WaitKind::Join));
        awaits && explanation.get(id).is_some_and(|task| !task.waits().is_empty())
    });
    assert!(explanation.possible_cycles().is_empty(), "{explanation}");
    assert_all_can_go_on(&explanation);
    assert!(explanation.to_string().contains(" blocks worker "), "{explanation}");
    drop(never);
    drop(pool);
}

/// Polls `future` once with `waker`.
fn is_ready<F: Future + Unpin>(future: &mut F, waker: &Waker) -> bool {
    Pin::new(future).poll(&mut Context::from_waker(waker)).is_ready()
}

/// Wakes another waker, as the combinators do that make wakers of their own.
struct Relay(Waker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

fn ready_if(is_ready: bool) -> Poll<()> {
    if is_ready { Poll::Ready(()) } else { Poll::Pending }
}

#[test]
fn a_timeout_around_a_blocking_wait_saves_it() {
    watched("a_timeout_around_a_blocking_wait_saves_it", |_| {
        is_no_deadlock(|handle, _| {
            blitz::block_on(async {
                drop(time::timeout(Duration::from_secs(3_600), handle).await);
            });
        });
    });
}

#[test]
fn a_second_waker_of_a_block_on_saves_it() {
    watched("a_second_waker_of_a_block_on_saves_it", |_| {
        static KEPT: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
        is_no_deadlock(|mut handle, _| {
            blitz::block_on(poll_fn(|cx| {
                KEPT.lock().unwrap().push(cx.waker().clone());
                ready_if(is_ready(&mut handle, cx.waker()))
            }));
        });
        KEPT.lock().unwrap().clear();
    });
}

#[test]
fn a_handle_that_was_polled_before_saves_a_block_on_of_something_else() {
    watched("a_handle_that_was_polled_before_saves_a_block_on_of_something_else", |_| {
        // The handle first has a waker of the `block_on`, then one of a relay. The only waker of
        // the `block_on` is in the relay, which something else wakes, too.
        is_no_deadlock(|mut handle, mut word| {
            blitz::block_on(poll_fn(|cx| {
                let relay = Waker::from(Arc::new(Relay(cx.waker().clone())));
                ready_if(
                    is_ready(&mut handle, cx.waker())
                        || is_ready(&mut handle, &relay)
                        || is_ready(&mut word, &relay),
                )
            }));
        });
        // The handle is kept and not polled again. The only waker is that of the word.
        is_no_deadlock(|mut handle, word| {
            blitz::block_on(async {
                poll_fn(|cx| {
                    let _ = is_ready(&mut handle, cx.waker());
                    let _ = is_ready(&mut handle, Waker::noop());
                    Poll::Ready(())
                })
                .await;
                drop(word.await);
            });
        });
    });
}

#[test]
fn a_blocking_wait_for_two_tasks_is_saved_by_each() {
    watched("a_blocking_wait_for_two_tasks_is_saved_by_each", |_| {
        is_no_deadlock(|mut handle, word| {
            let mut alive = blitz::spawn(async { drop(word.await) });
            blitz::block_on(poll_fn(|cx| {
                ready_if(is_ready(&mut alive, cx.waker()) || is_ready(&mut handle, cx.waker()))
            }));
        });
    });
}

#[test]
fn an_abort_handle_makes_a_blocked_circle_only_possible() {
    watched("an_abort_handle_makes_a_blocked_circle_only_possible", |_| {
        let pool = pool(2);
        let (other, give) = awaits(&pool);
        let abort = other.abort_handle();
        let blocks = pool.spawn(async move { drop(other.join()) });
        give.send(blocks).unwrap();
        let explanation = explained(&pool, |found| !found.possible_cycles().is_empty());
        assert_all_can_go_on(&explanation);
        drop(abort);
        assert_eq!(explained(&pool, |found| !found.cycles().is_empty()).cycles().len(), 1);
        drop(pool);
    });
}

#[test]
fn a_possible_deadlock_names_the_task_outside_of_it_that_could_end_it() {
    watched("a_possible_deadlock_names_the_task_outside_of_it_that_could_end_it", |_| {
        let pool = pool(1);
        let (mut other, give) = awaits(&pool);
        let mut outside = pool.spawn(std::future::pending::<()>());
        let (id, abort) = (outside.id(), outside.abort_handle());
        let task = pool.spawn(poll_fn(move |cx| {
            ready_if(is_ready(&mut other, cx.waker()) || is_ready(&mut outside, cx.waker()))
        }));
        give.send(task).unwrap();
        let explanation = explained(&pool, |found| !found.possible_cycles().is_empty());
        assert!(!explanation.possible_cycles()[0].contains(&id), "{explanation}");
        let verdict = explanation.verdict();
        assert!(verdict.contains(&format!(" a waker of {id} could end it")), "{verdict}");
        drop(abort);
        drop(pool);
    });
}

#[test]
fn a_job_whose_wait_is_over_when_the_look_is_taken_is_alive() {
    watched("a_job_whose_wait_is_over_when_the_look_is_taken_is_alive", |_| {
        let pool = pool(2);
        let (done, is_done) = channel();
        let busy = pool.spawn(async move {
            for round in 0..300 {
                let (tell, told): (Sender<()>, Receiver<()>) = channel();
                let job = blitz::spawn_cpu(move || {
                    let _ = told.recv();
                });
                let waits = blitz::spawn(async { drop(job.join()) });
                let closure = blitz::spawn_blocking(move || drop(waits.join()));
                let forks = blitz::spawn(async { blitz::join(|| (), || ()) });
                let last = blitz::spawn(async move {
                    drop(closure.await);
                    blitz::block_on(forks).unwrap();
                    blitz::block_on(blitz::task::yield_now());
                });
                if round % 2 == 0 {
                    blitz::task::yield_now().await;
                }
                drop(tell);
                last.await.unwrap();
            }
            done.send(()).unwrap();
        });
        while is_done.try_recv().is_err() {
            assert_all_can_go_on(&pool.explain());
        }
        busy.join().unwrap();
        wait_for(|| pool.explain().tasks().is_empty());
    });
}

#[test]
fn the_same_task_pinned_elsewhere_is_no_deadlock() {
    watched("the_same_task_pinned_elsewhere_is_no_deadlock", |_| {
        let pool = pool(2);
        let (open, gate) = blitz::sync::oneshot::channel::<()>();
        let waits = pool.spawn(async {
            let gate = pin!(async { drop(gate.await) });
            blitz::block_on(gate);
        });
        let is_blocked = |explanation: &Explanation| {
            explanation.get(waits.id()).is_some_and(|task| !task.waits().is_empty())
        };
        let explanation = explained(&pool, is_blocked);
        let edge = &explanation.get(waits.id()).unwrap().waits()[0];
        assert_eq!((edge.kind(), edge.target()), (WaitKind::Unknown, None));
        assert_all_can_go_on(&explanation);
        open.send(()).unwrap();
        waits.join().unwrap();
    });
}
