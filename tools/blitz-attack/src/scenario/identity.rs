//! A job that runs on top of a waiting task is not part of that task.

use super::{Scenario, runtime};
use std::sync::mpsc;

blitz::task_local!(static KEY: u32);

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "identity",
        "a detached job that runs inside a task's join sees neither the task's id nor its values",
        identity,
    ),
    Scenario::new(
        "local-with",
        "tasks enter scopes of a key on top of a frame that is inside `with` of that key",
        local_with,
    ),
];

fn identity() {
    let runtime = runtime(1);
    let (send, receive) = mpsc::channel();
    let task = runtime.spawn(KEY.scope(7, async move {
        let job = move || {
            let seen = (blitz::task::try_id().is_some(), KEY.try_get().is_ok());
            send.send(seen).unwrap();
        };
        // The job is newer than the fork, so the only worker runs it before it takes the fork back.
        blitz::join(|| blitz::spawn_detached(job), || ());
        assert!(blitz::task::try_id().is_some());
        assert_eq!(KEY.get(), 7);
    }));
    task.join().unwrap();
    assert_eq!(receive.recv(), Ok((false, false)));
}

fn local_with() {
    const TASKS: u32 = 200;
    let runtime = runtime(2);
    let task = runtime.spawn(KEY.scope(7, async {
        KEY.with(|seven| {
            let tasks: Vec<_> = (0..TASKS)
                .map(|n| {
                    blitz::spawn(KEY.scope(n, async {
                        blitz::task::yield_now().await;
                        KEY.get()
                    }))
                })
                .collect();
            let sum: u32 = tasks.into_iter().map(|task| blitz::block_on(task).unwrap()).sum();
            assert_eq!(sum, (0..TASKS).sum());
            assert_eq!(*seven, 7);
        });
    }));
    task.join().unwrap();
}
