//! Two workers, their spares and a driver: a spare is on relief while both workers are blocked or
//! fork. Each schedule draws at random which stuck worker counts as blocked.

use super::driver::{Socket, Window};
use super::futures::{Event, Gate, yield_now};
use super::{Runtime, any_settings, canary, check, spawn};
use crate::team::{Owner, current};
use crate::{block_on, join};
use blitz_parts::prim::{self, AtomicUsize, Relaxed, Step, any_below, park_for, thread};
use std::sync::Arc;
use std::time::Duration;

/// A pool of two workers and `spares` spares, with a driver.
fn with_driver(spares: usize) -> (Runtime, Arc<Window>) {
    let runtime = Runtime::of(any_settings(2).spares(spares));
    let window = Window::of(&runtime);
    (runtime, window)
}

/// Jobs block both workers. Tasks that the driver wakes let them go on.
fn sockets_beside_blocked_workers() {
    let (runtime, window) = with_driver(1 + any_below(2));
    let events = [Event::new(), Event::new()];
    for event in events.clone() {
        runtime.spawn_job(move || event.wait());
    }
    let sockets = [Socket::new(), Socket::new()];
    let tasks: Vec<_> = (events.into_iter().zip(sockets.clone()))
        .map(|(event, socket)| {
            let window = window.clone();
            runtime.spawn(async move {
                socket.ready(&window).await;
                spawn(yield_now()).await.unwrap();
                event.set();
            })
        })
        .collect();
    let setter = thread::spawn(move || sockets.iter().for_each(Socket::set));
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    setter.join().unwrap();
    runtime.shut_down();
}

#[test]
fn events_of_the_driver_wake_tasks_beside_blocked_workers() {
    check(1_000, sockets_beside_blocked_workers);
}

/// Both workers are blocked, and the only spare may wait in the driver. Then a task comes from
/// outside.
fn a_task_for_the_last_spare() {
    let (runtime, _window) = with_driver(1);
    let events = [Event::new(), Event::new()];
    for event in events.clone() {
        runtime.spawn_job(move || event.wait());
    }
    // In some schedules the spare goes on relief before the task comes.
    for _ in 0..any_below(200) {
        prim::yield_now();
    }
    let sets = runtime.spawn(async move { events.iter().for_each(Event::set) });
    block_on(sets).unwrap();
    runtime.shut_down();
}

#[test]
fn the_relief_worker_is_notified_of_a_task() {
    check(1_000, a_task_for_the_last_spare);
}

#[test]
fn canary_the_relief_worker_is_not_notified_of_a_task() {
    canary(Step::SleepReliefTold, a_task_for_the_last_spare);
}

/// Jobs on both workers fork ten times each, and then block until a task that the driver wakes has
/// run. Each fork passes a place at which its worker may stand aside for the relief worker.
fn forks_beside_relief() {
    let (runtime, window) = with_driver(1 + any_below(2));
    let (over, socket, ran) = (Event::new(), Socket::new(), Arc::new(AtomicUsize::new(0)));
    let (sets, done) = (socket.clone(), [Gate::new(), Gate::new()]);
    for done in done.clone() {
        let (over, ran) = (over.clone(), ran.clone());
        runtime.spawn_job(move || {
            let count = || {
                park_for(Duration::from_millis(1));
                ran.fetch_add(1, Relaxed);
            };
            for _ in 0..10 {
                join(count, count);
            }
            over.wait();
            done.open();
        });
    }
    let task = runtime.spawn({
        let over = over.clone();
        async move {
            socket.ready(&window).await;
            yield_now().await;
            over.set();
        }
    });
    let setter = thread::spawn(move || sets.set());
    block_on(task).unwrap();
    done.iter().for_each(|gate| block_on(gate.passed()));
    assert_eq!(ran.load(Relaxed), 40, "each half of a fork runs once");
    setter.join().unwrap();
    runtime.shut_down();
}

#[test]
fn forks_run_once_beside_a_relief_worker() {
    check(1_000, forks_beside_relief);
}

/// Just when the relief ended, the watch has made a worker check at its forks for the relief worker
/// (`call_at_forks`). No relief worker ends these checks any more: the worker has to end them
/// itself, at one of its next forks. There is no spare, so the relief does not begin again.
fn called_too_late() {
    let (runtime, _window) = with_driver(0);
    let done = Gate::new();
    runtime.spawn_job({
        let done = done.clone();
        move || {
            let owner = current().expect("a job runs on a worker");
            owner.team().call_at_forks(owner.worker());
            // Time passes, so that each fork checks.
            while owner.worker().demand().is_attentive() {
                join(|| park_for(Duration::from_millis(1)), || ());
            }
            done.open();
        }
    });
    block_on(done.passed());
    runtime.shut_down();
}

#[test]
fn a_worker_that_was_called_too_late_forks_as_before() {
    check(1_000, called_too_late);
}

/// Ends the relief of a worker with a seat.
fn end_relief(owner: Owner<'_>) {
    let (team, sleep) = (owner.team(), owner.team().sleep());
    if !sleep.end_relief(owner.index()) {
        // The watch saw this worker stuck, and counted a second seat for it.
        team.seats.vacate();
    }
    sleep.relieve();
}

/// The watch has called a spare at its forks, and then that spare goes on relief. It must not stand
/// aside for itself.
#[test]
fn a_relief_worker_does_not_stand_aside_for_itself() {
    check(1_000, || {
        let (runtime, _window) = with_driver(0);
        let done = Gate::new();
        runtime.spawn_job({
            let done = done.clone();
            move || {
                let owner = current().expect("a job runs on a worker");
                let sleep = owner.team().sleep();
                assert!(sleep.begin_relief(owner.index()));
                owner.team().call_at_forks(owner.worker());
                // Time passes, so that each fork checks.
                for _ in 0..5 {
                    join(|| park_for(Duration::from_millis(1)), || ());
                }
                let is_over = sleep.on_relief().is_none();
                assert!(is_over || !owner.worker().demand().is_attentive());
                end_relief(owner);
                done.open();
            }
        });
        block_on(done.passed());
        runtime.shut_down();
    });
}

/// A task on the relief worker waits, perhaps for a worker that computes. That worker must not
/// stand aside.
#[test]
fn no_worker_stands_aside_for_a_relief_worker_that_sleeps_in_a_poll() {
    const PROCESSOR: u32 = 5;
    check(1_000, || {
        let (runtime, _window) = with_driver(0);
        let (done, begun) = (Gate::new(), Gate::new());
        runtime.spawn_job({
            let (done, begun) = (done.clone(), begun.clone());
            move || {
                let owner = current().expect("a job runs on a worker");
                let sleep = owner.team().sleep();
                assert!(sleep.begin_relief(owner.index()));
                sleep.relief_runs_on(Some(PROCESSOR));
                owner.own().measures_polls.set(true);
                begun.open();
                block_on(done.passed());
                owner.own().measures_polls.set(false);
                end_relief(owner);
            }
        });
        block_on(begun.passed());
        let team = runtime.team.upgrade().expect("the pool has not ended");
        while team.sleep().stand_aside(PROCESSOR, || false) {
            prim::yield_now();
        }
        drop(team);
        done.open();
        runtime.shut_down();
    });
}

#[test]
fn canary_the_call_at_forks_never_ends() {
    canary(Step::AttentionEnds, called_too_late);
}
