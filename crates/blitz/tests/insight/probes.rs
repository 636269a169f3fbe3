//! Polls that show in which functions tasks wait.

use super::common::{runtime, tcp_pair, wait_for, watched};
use blitz::{Explanation, Pool, TaskState, WaitKind, sync, task, time};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

/// Returns once these tasks wait.
fn wait_for_waits(pool: &Pool, ids: &[task::Id]) {
    let waits = |id| pool.tasks().get(id).is_some_and(|task| task.state() == TaskState::Waiting);
    wait_for(|| ids.iter().all(|&id| waits(id)));
}

/// Returns the functions of all stacks of a task, each stack in one text.
fn functions(explanation: &Explanation, id: task::Id) -> Vec<String> {
    let task = explanation.get(id).unwrap();
    task.stacks().iter().map(ToString::to_string).collect()
}

/// Returns a line of this file, as stacks show it.
///
/// Only builds with full debug information have whole names of functions, so the tests compare
/// lines.
fn here(line: u32) -> String {
    format!("insight/probes.rs:{line}:")
}

const PERMIT: u32 = line!() + 2;
async fn waits_for_a_permit(permits: Arc<sync::Semaphore>) {
    drop(permits.acquire().await);
}

const CALL: u32 = line!() + 2;
async fn calls_another(permits: Arc<sync::Semaphore>) {
    waits_for_a_permit(permits).await;
}

#[test]
fn the_functions_in_which_a_task_waits_are_named_from_the_innermost_on() {
    watched("the_functions_in_which_a_task_waits_are_named", |watch| {
        let runtime = watch.workers(2);
        let permits = Arc::new(sync::Semaphore::new(0));
        let task = runtime.spawn(calls_another(permits.clone()));
        wait_for_waits(&runtime, &[task.id()]);
        let explanation = runtime.probe();
        let [stack] = &functions(&explanation, task.id())[..] else { panic!("{explanation}") };
        let at = |part: &str| stack.find(part).unwrap_or_else(|| panic!("{part}: {stack}"));
        assert!(at("batch_semaphore::Acquire") < at(&here(PERMIT)), "{stack}");
        assert!(at(&here(PERMIT)) < at(&here(CALL)), "{stack}");
        assert!(!stack.contains("blitz_parts::") && !stack.contains("blitz_core::"), "{stack}");
        let text = explanation.to_string();
        assert!(text.contains("probed: 1 of 1 tasks were polled in time\n"), "{text}");
        assert!(text.contains(" waits in\n    "), "{text}");
        let json = explanation.to_json();
        assert!(json.contains("\"probed\":{\"woken\":1,\"polled\":1}"), "{json}");
        assert!(json.contains(&format!("\"stacks\":[{{\"id\":\"{}\"", task.id())), "{json}");
        // After the probe a permit still wakes the task.
        permits.add_permits(1);
        task.join().unwrap();
    });
}

const READ: u32 = line!() + 3;
async fn reads(mut stream: blitz::net::TcpStream) {
    use blitz::io::AsyncReadExt;
    let _ = stream.read(&mut [0]).await;
}

const SLEEP: u32 = line!() + 2;
async fn sleeps() {
    time::sleep(Duration::from_secs(7_200)).await;
}

const AWAIT: u32 = line!() + 2;
async fn awaits(other: blitz::JoinHandle<()>) {
    let _ = other.await;
}

const AWAIT_JOB: u32 = line!() + 2;
async fn awaits_a_job(job: blitz::JoinHandle<()>) {
    let _ = job.await;
}

#[test]
fn waits_at_sockets_timers_handles_and_jobs_are_shown_and_kept() {
    watched("waits_at_sockets_timers_handles_and_jobs_are_shown_and_kept", |watch| {
        let runtime = watch.workers(2);
        let (stream, peer) = runtime.block_on(tcp_pair());
        let sleeper = runtime.spawn(sleeps());
        let (go, wait) = mpsc::channel::<()>();
        let job = runtime.spawn_cpu(move || wait.recv().unwrap());
        let abort = sleeper.abort_handle();
        let tasks = [
            (sleeper.id(), SLEEP, WaitKind::Timer, None),
            {
                let task = runtime.spawn(reads(stream));
                (task.id(), READ, WaitKind::Io, Some(task))
            },
            {
                let task = runtime.spawn(awaits(sleeper));
                (task.id(), AWAIT, WaitKind::Join, Some(task))
            },
            {
                let task = runtime.spawn(awaits_a_job(job));
                (task.id(), AWAIT_JOB, WaitKind::Job, Some(task))
            },
        ];
        wait_for_waits(&runtime, &tasks.each_ref().map(|(id, ..)| *id));
        let explanation = runtime.probe();
        for (id, line, ..) in &tasks {
            let (stacks, leaf) = (functions(&explanation, *id), here(*line));
            assert!(stacks.iter().any(|stack| stack.contains(&leaf)), "{leaf} {stacks:?}");
        }
        // Clones of the probe's waker are ordinary wakers, so `explain` still finds the edges.
        for (id, line, kind, _) in &tasks {
            wait_for(|| {
                let after = runtime.explain();
                let has_edge = |task: &blitz::WaitingTask| {
                    task.waits().iter().any(|edge| edge.kind() == *kind)
                };
                after.get(*id).is_some_and(has_edge) || after.get(*id).is_none()
            });
            assert!(runtime.explain().get(*id).is_some(), "line {line}");
        }
        go.send(()).unwrap();
        drop(peer);
        abort.abort();
        tasks.into_iter().filter_map(|(.., task)| task).for_each(|task| task.join().unwrap());
    });
}

#[test]
fn a_task_that_waits_for_two_things_shows_both() {
    watched("a_task_that_waits_for_two_things_shows_both", |watch| {
        let pool = watch.workers(1);
        let (first, second) = (Arc::new(sync::Semaphore::new(0)), Arc::new(sync::Notify::new()));
        let (permits, notify) = (first.clone(), second.clone());
        let task = pool.spawn(async move {
            let (mut first, mut second) =
                (pin!(waits_for_a_permit(permits)), pin!(notify.notified()));
            let mut is_over = (false, false);
            poll_fn(|cx| {
                is_over.0 = is_over.0 || first.as_mut().poll(cx).is_ready();
                is_over.1 = is_over.1 || second.as_mut().poll(cx).is_ready();
                if is_over == (true, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
        wait_for_waits(&pool, &[task.id()]);
        let stacks = functions(&pool.probe(), task.id());
        assert!(stacks.len() >= 2, "{stacks:?}");
        assert!(stacks.iter().any(|stack| stack.contains(&here(PERMIT))), "{stacks:?}");
        assert!(stacks.iter().any(|stack| stack.contains("Notified")), "{stacks:?}");
        first.add_permits(1);
        second.notify_one();
        task.join().unwrap();
    });
}

#[test]
fn a_task_without_a_waker_is_polled_and_shows_nothing() {
    watched("a_task_without_a_waker_is_polled_and_shows_nothing", |watch| {
        let pool = watch.workers(1);
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let task = pool.spawn(poll_fn(move |_| {
            counted.fetch_add(1, SeqCst);
            Poll::<()>::Pending
        }));
        wait_for_waits(&pool, &[task.id()]);
        let before = polls.load(SeqCst);
        let explanation = pool.probe();
        assert_eq!(polls.load(SeqCst), before + 1, "the probe polls the task once");
        assert_eq!(explanation.get(task.id()).unwrap().stacks(), []);
        assert_eq!(explanation.never_wake(), [task.id()]);
    });
}

#[test]
fn a_pool_that_hangs_is_not_waited_for() {
    watched("a_pool_that_hangs_is_not_waited_for", |watch| {
        let builder = Pool::builder().workers(1).spares(0);
        let pool = watch.pool(builder.build().unwrap());
        let permits = Arc::new(sync::Semaphore::new(0));
        let waits = pool.spawn(waits_for_a_permit(permits.clone()));
        wait_for_waits(&pool, &[waits.id()]);
        let (go, wait) = mpsc::channel();
        let (began, begun) = mpsc::channel();
        let stuck = pool.spawn(async move {
            began.send(()).unwrap();
            wait.recv().unwrap();
        });
        begun.recv().unwrap();
        let explanation = pool.probe();
        assert_eq!(explanation.get(waits.id()).unwrap().stacks(), []);
        assert!(explanation.to_string().contains("probed: 0 of 1 tasks"), "{explanation}");
        go.send(()).unwrap();
        stuck.join().unwrap();
        permits.add_permits(1);
        waits.join().unwrap();
    });
}

#[test]
fn no_more_than_a_thousand_tasks_are_woken_and_two_may_probe_at_once() {
    watched("no_more_than_a_thousand_tasks_are_woken_and_two_may_probe_at_once", |watch| {
        let pool = watch.workers(2);
        let permits = Arc::new(sync::Semaphore::new(0));
        let spawn = |_| pool.spawn(waits_for_a_permit(permits.clone()));
        let tasks: Vec<_> = (0..1_200).map(spawn).collect();
        let ids: Vec<_> = tasks.iter().map(|task| task.id()).collect();
        wait_for_waits(&pool, &ids[..1]);
        wait_for(|| pool.tasks().len() == tasks.len());
        let woken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let explanation = pool.probe();
                    let shown = |task: &&blitz::WaitingTask| !task.stacks().is_empty();
                    woken.lock().unwrap().push(explanation.tasks().iter().filter(shown).count());
                });
            }
        });
        let woken = woken.into_inner().unwrap();
        assert!(woken.iter().all(|&woken| woken <= 1_000), "{woken:?}");
        assert!(woken.iter().sum::<usize>() > 0, "{woken:?}");
        permits.add_permits(tasks.len());
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(runtime(1).probe().tasks().len(), 0);
    });
}
