//! Wakes coalesce, no wake is lost, and tasks that yield and tasks that are woken take turns.

use crate::common::{wait_for, watched};
use crate::{
    WORKERS, bells, rounds, signal_runtime, signals, storm, wait_until_empty, wait_until_idle,
};
use blitz::task::yield_now;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};

#[test]
fn wakes_of_a_signalled_task_coalesce() {
    watched("wakes coalesce", |watch| {
        let runtime = signal_runtime(watch, 1);
        let bell = bells(&runtime, 1).remove(0);
        let (go, wait) = mpsc::channel::<()>();
        let (started, is_started) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            started.send(()).unwrap();
            wait.recv().unwrap();
        });
        is_started.recv().unwrap();
        let (signals_before, polls) = (signals(&runtime).signals, bell.polls.load(SeqCst));
        (0..1_000).for_each(|_| bell.ring());
        assert_eq!(signals(&runtime).signals, signals_before + 1);
        let dump = runtime.pool().dump();
        assert_eq!(dump.queued, 1);
        assert!(dump.tasks.iter().any(|task| task.state.starts_with("SCHEDULED")), "{dump}");
        go.send(()).unwrap();
        blocks.join().unwrap();
        wait_until_idle(&runtime);
        assert!(bell.is_heard());
        assert_eq!(bell.polls.load(SeqCst), polls + 1);
        bell.be_silent();
        wait_until_empty(&runtime);
    });
}

#[test]
fn each_wake_of_ten_thousand_tasks_is_followed_by_a_poll() {
    watched("ten thousand tasks", |watch| {
        for workers in WORKERS {
            let runtime = signal_runtime(watch, workers);
            let bells = bells(&runtime, 10_000);
            for _ in 0..4 {
                storm(&bells, rounds(50_000));
                wait_for(|| bells.iter().all(|bell| bell.is_heard()));
            }
            bells.iter().for_each(|bell| bell.be_silent());
            wait_until_empty(&runtime);
        }
    });
}

#[test]
fn yielding_and_signalled_tasks_do_not_starve_each_other() {
    watched("yielding and signalled", |watch| {
        for workers in [1, 2] {
            let runtime = signal_runtime(watch, workers);
            let bells = bells(&runtime, 8);
            let stop = Arc::new(AtomicBool::new(false));
            let turns: Vec<_> = (0..8)
                .map(|_| {
                    let (turns, stop) = (Arc::new(AtomicUsize::new(0)), stop.clone());
                    let count = turns.clone();
                    drop(runtime.spawn(async move {
                        while !stop.load(SeqCst) {
                            count.fetch_add(1, SeqCst);
                            yield_now().await;
                        }
                    }));
                    turns
                })
                .collect();
            // Each ring is heard while eight tasks yield for ever.
            for _ in 0..rounds(1_000) {
                bells.iter().for_each(|bell| bell.ring());
                wait_for(|| bells.iter().all(|bell| bell.is_heard()));
            }
            // Each yielding task goes on while the ringing never stops.
            let before: Vec<_> = turns.iter().map(|turns| turns.load(SeqCst)).collect();
            let has_gone_on = |at: usize| turns[at].load(SeqCst) >= before[at] + rounds(1_000);
            while !(0..8).all(has_gone_on) {
                bells.iter().for_each(|bell| bell.ring());
            }
            stop.store(true, SeqCst);
            bells.iter().for_each(|bell| bell.be_silent());
            wait_until_empty(&runtime);
        }
    });
}
