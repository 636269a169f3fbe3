//! `task_local!`: values that follow their task and are visible only there.

mod common;

use blitz::sync::oneshot;
use blitz::{LocalSet, Runtime};
use common::watched;
use std::cell::Cell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

blitz::task_local! {
    static NUMBER: u32;
    /// Attributes and visibility are kept.
    pub static NAME: String;
    static COUNT: Cell<u32>
}

blitz::task_local!();

/// Builds a runtime of one worker, without spares.
fn one_thread() -> Runtime {
    Runtime::builder().workers(1).spares(0).build().unwrap()
}

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

#[test]
fn a_value_follows_its_task_from_thread_to_thread() {
    watched("a_value_follows_its_task_from_thread_to_thread", |_| {
        let runtime = runtime(4);
        let handles: Vec<_> = (0..100)
            .map(|n| {
                let task = async move {
                    for _ in 0..50 {
                        assert_eq!(NUMBER.get(), n);
                        NAME.with(|name| assert_eq!(*name, n.to_string()));
                        blitz::task::yield_now().await;
                    }
                };
                runtime.spawn(NUMBER.scope(n, NAME.scope(n.to_string(), task)))
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
    });
}

#[test]
fn scopes_nest_and_end() {
    assert!(NUMBER.try_get().is_err());
    let seen = NUMBER.sync_scope(1, || {
        let inner = NUMBER.sync_scope(2, || NUMBER.get());
        let mixed = blitz::block_on(NUMBER.scope(3, async {
            blitz::task::yield_now().await;
            NUMBER.with(|number| *number)
        }));
        (inner, mixed, NUMBER.get())
    });
    assert_eq!(seen, (2, 3, 1));
    let panicked = catch_unwind(|| NUMBER.sync_scope(1, || panic!("inside")));
    assert!(panicked.is_err());
    assert!(NUMBER.try_with(|_| ()).is_err());
}

#[test]
fn reading_outside_of_a_scope_says_what_to_do() {
    let error = NUMBER.try_get().unwrap_err();
    assert!(error.to_string().contains("outside of its scope"), "{error}");
    assert_eq!(NUMBER.try_with(|_| ()), Err(error));
    let panic = catch_unwind(|| NUMBER.get()).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("outside of its scope"));
    assert_eq!(format!("{NUMBER:?}"), "LocalKey { .. }");
}

#[test]
fn a_scope_inside_of_with_has_its_own_value() {
    let seen = NUMBER.sync_scope(1, || {
        NUMBER.with(|outer| {
            let inner = NUMBER.sync_scope(2, || {
                NUMBER.with(|middle| (NUMBER.sync_scope(3, || NUMBER.get()), *middle))
            });
            let awaited = blitz::block_on(NUMBER.scope(4, async { NUMBER.get() }));
            (inner, awaited, NUMBER.get(), *outer)
        })
    });
    assert_eq!(seen, ((3, 2), 4, 1, 1));
    // A panic inside of `with` leaves every value where it was.
    NUMBER.sync_scope(1, || {
        NUMBER.with(|outer| {
            let panicked = catch_unwind(|| NUMBER.sync_scope(2, || panic!("inside")));
            assert!(panicked.is_err());
            assert_eq!((NUMBER.get(), *outer), (1, 1));
        });
        assert_eq!(NUMBER.get(), 1);
    });
    assert!(NUMBER.try_get().is_err());
    // Other keys are not affected.
    let both = NUMBER.sync_scope(1, || NUMBER.with(|one| COUNT.sync_scope(Cell::new(2), || *one)));
    assert_eq!(both, 1);
}

/// Spawns a task that reads its own value before and after a yield.
fn reader(number: u32) -> blitz::JoinHandle<(u32, u32)> {
    blitz::spawn(NUMBER.scope(number, async {
        let before = NUMBER.with(|number| *number);
        blitz::task::yield_now().await;
        (before, NUMBER.get())
    }))
}

/// Calls `wait` inside `with`, in a task on one worker and on two.
///
/// The workers poll other tasks meanwhile.
fn inside_of_with(name: &'static str, wait: impl Fn() + Send + Sync + 'static) {
    let wait = Arc::new(wait);
    for workers in [1, 2] {
        watched(name, |watch| {
            let runtime = watch.workers(workers);
            let wait = wait.clone();
            let task = runtime.spawn(NUMBER.scope(7, async move {
                let inside = NUMBER.with(|number| {
                    wait();
                    (*number, NUMBER.get())
                });
                blitz::task::yield_now().await;
                (inside, NUMBER.get())
            }));
            assert_eq!(task.join().unwrap(), ((7, 7), 7));
        });
    }
}

#[test]
fn block_on_inside_of_with_polls_tasks_with_values_of_the_same_key() {
    inside_of_with("block_on_inside_of_with", || {
        for number in 0..10 {
            assert_eq!(blitz::block_on(reader(number)).unwrap(), (number, number));
        }
    });
}

#[test]
fn waits_inside_of_with_nest() {
    inside_of_with("waits_inside_of_with_nest", || {
        let nested = blitz::spawn(NUMBER.scope(8, async {
            NUMBER.with(|number| {
                let seen = blitz::block_on(reader(9)).unwrap();
                (seen, *number)
            })
        }));
        assert_eq!(blitz::block_on(nested).unwrap(), ((9, 9), 8));
    });
}

#[test]
fn join_inside_of_with_polls_tasks_with_values_of_the_same_key() {
    inside_of_with("join_inside_of_with", || {
        let (seen, sum) = blitz::join(
            || reader(8).join().unwrap(),
            || blitz::join(|| reader(1).join().unwrap().0, || reader(2).join().unwrap().1),
        );
        assert_eq!((seen, sum), ((8, 8), (1, 2)));
    });
}

#[test]
fn scope_inside_of_with_polls_tasks_with_values_of_the_same_key() {
    inside_of_with("scope_inside_of_with", || {
        let mut seen = [(0, 0); 4];
        blitz::scope(|scope| {
            for (number, seen) in (0..).zip(&mut seen) {
                scope.spawn(move |_| *seen = reader(number).join().unwrap());
            }
        });
        assert_eq!(seen, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    });
}

#[test]
fn yield_job_inside_of_with_runs_jobs_that_enter_scopes_of_the_same_key() {
    inside_of_with("yield_job_inside_of_with", || {
        let (send, receive) = mpsc::channel();
        blitz::spawn_detached(move || {
            let outside = NUMBER.try_get().is_err();
            send.send((outside, NUMBER.sync_scope(5, || NUMBER.get()))).unwrap();
        });
        let seen = loop {
            match receive.try_recv() {
                Err(mpsc::TryRecvError::Empty) => blitz::yield_job(),
                seen => break seen,
            };
        };
        assert_eq!(seen, Ok((true, 5)));
    });
}

#[test]
fn panics_on_top_of_with_leave_its_value_alone() {
    inside_of_with("panics_on_top_of_with", || {
        let panics = blitz::spawn(NUMBER.scope(1, async {
            NUMBER.with(|number| assert_eq!(*number, 1));
            blitz::task::yield_now().await;
            NUMBER.with(|number| panic!("number {number}"))
        }));
        let error = blitz::block_on(panics).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<String>().unwrap(), "number 1");
        assert_eq!(blitz::block_on(reader(2)).unwrap(), (2, 2));
    });
}

#[test]
fn local_tasks_driven_inside_of_with_have_their_values() {
    let seen = NUMBER.sync_scope(1, || {
        NUMBER.with(|outer| {
            let set = LocalSet::new();
            let bare = set.spawn_local(async { NUMBER.try_get().is_err() });
            let scoped = set.spawn_local(NUMBER.scope(2, async {
                blitz::task::yield_now().await;
                NUMBER.with(|number| *number)
            }));
            let both = async { (bare.await.unwrap(), scoped.await.unwrap()) };
            (blitz::block_on(set.run_until(both)), *outer)
        })
    });
    assert_eq!(seen, ((true, 2), 1));
}

#[test]
fn a_spawned_task_does_not_inherit_values() {
    watched("a_spawned_task_does_not_inherit_values", |_| {
        let runtime = runtime(1);
        let inside = NUMBER.scope(7, async {
            let spawned = blitz::spawn(async { NUMBER.try_get() }).await.unwrap();
            let blocking = blitz::spawn_blocking(|| NUMBER.try_get()).await.unwrap();
            (spawned.is_err(), blocking.is_err(), NUMBER.get())
        });
        assert_eq!(runtime.block_on(inside), (true, true, 7));
    });
}

#[test]
fn tasks_that_run_on_top_of_a_scope_do_not_see_it() {
    watched("tasks_that_run_on_top_of_a_scope_do_not_see_it", |_| {
        let runtime = one_thread();
        // The only worker waits inside the scope, and polls the other task meanwhile, on the
        // same stack.
        let outer = runtime.spawn(NUMBER.scope(7, async {
            let thread = thread::current().id();
            let other = blitz::spawn(async move {
                assert_eq!(thread::current().id(), thread);
                (NUMBER.try_get().is_err(), blitz::task::id())
            });
            let seen = blitz::block_on(other).unwrap();
            (seen.0, seen.1 != blitz::task::id(), NUMBER.get())
        }));
        assert_eq!(outer.join().unwrap(), (true, true, 7));
    });
}

#[test]
fn jobs_that_run_on_top_of_a_task_see_nothing_of_it() {
    watched("jobs_that_run_on_top_of_a_task_see_nothing_of_it", |_| {
        let runtime = one_thread();
        let task = runtime.spawn(NUMBER.scope(7, async {
            let (send, receive) = mpsc::channel();
            let thread = thread::current().id();
            blitz::spawn_detached(move || {
                assert_eq!(thread::current().id(), thread);
                send.send((NUMBER.try_get().is_err(), blitz::task::try_id())).unwrap();
            });
            assert_eq!(blitz::yield_job(), Some(blitz::Yield::Executed));
            let joined = blitz::spawn_cpu(|| (NUMBER.try_get().is_err(), blitz::task::try_id()));
            assert_eq!(joined.join().unwrap(), (true, None));
            (receive.recv().unwrap(), NUMBER.get(), blitz::task::try_id().is_some())
        }));
        assert_eq!(task.join().unwrap(), ((true, None), 7, true));
    });
}

#[test]
fn local_tasks_do_not_see_the_scope_in_which_their_set_runs() {
    let set = LocalSet::new();
    let local = set.spawn_local(async { NUMBER.try_get().is_err() });
    let scoped = set.spawn_local(NUMBER.scope(2, async { NUMBER.get() }));
    let outer = NUMBER.scope(1, async {
        let seen = set.run_until(async { (local.await.unwrap(), scoped.await.unwrap()) }).await;
        (seen, NUMBER.get())
    });
    assert_eq!(blitz::block_on(outer), ((true, 2), 1));
}

#[test]
fn futures_are_dropped_inside_of_their_scope() {
    watched("futures_are_dropped_inside_of_their_scope", |_| {
        /// Sends the value that it sees when it is dropped.
        struct Looks(mpsc::Sender<Option<u32>>);
        impl Drop for Looks {
            fn drop(&mut self) {
                self.0.send(NUMBER.try_get().ok()).unwrap();
            }
        }

        let runtime = runtime(1);
        let (send, receive) = mpsc::channel();
        let looks = || Looks(send.clone());
        // A future is dropped inside of its scope at its end, …
        let ended = looks();
        runtime.block_on(NUMBER.scope(1, async move { drop(ended) }));
        assert_eq!(receive.recv().unwrap(), Some(1));
        // … before its first poll, …
        let unpolled = looks();
        drop(NUMBER.scope(2, async move { drop(unpolled) }));
        assert_eq!(receive.recv().unwrap(), Some(2));
        // … and when its task is aborted.
        let aborted = looks();
        let (started, start) = oneshot::channel();
        let task = runtime.spawn(NUMBER.scope(3, async move {
            started.send(()).unwrap();
            pending::<()>().await;
            drop(aborted);
        }));
        runtime.block_on(start).unwrap();
        task.abort();
        assert!(task.join().unwrap_err().is_cancelled());
        assert_eq!(receive.recv().unwrap(), Some(3));
        // The same holds inside `with` of the same key, for a future that is dropped there …
        let (here, there) = (looks(), looks());
        NUMBER.sync_scope(4, || {
            NUMBER.with(|_| drop(NUMBER.scope(5, async move { drop(here) })));
        });
        assert_eq!(receive.recv().unwrap(), Some(5));
        // … and for the future of a task that is cancelled during a wait there.
        let (started, start) = oneshot::channel();
        let task = runtime.spawn(NUMBER.scope(6, async move {
            started.send(()).unwrap();
            pending::<()>().await;
            drop(there);
        }));
        runtime.block_on(start).unwrap();
        let other = runtime.spawn(NUMBER.scope(7, async move {
            NUMBER.with(|number| {
                task.abort();
                assert!(blitz::block_on(task).unwrap_err().is_cancelled());
                *number
            })
        }));
        assert_eq!(other.join().unwrap(), 7);
        assert_eq!(receive.recv().unwrap(), Some(6));
    });
}

#[test]
fn the_value_can_be_taken_before_and_after_the_scope() {
    let mut scope = Box::pin(COUNT.scope(Cell::new(1), async {
        COUNT.with(|count| count.set(count.get() + 1));
        blitz::task::yield_now().await;
        COUNT.with(|count| count.set(count.get() + 1));
    }));
    blitz::block_on(scope.as_mut());
    assert_eq!(scope.as_mut().take_value().unwrap().get(), 3);
    assert!(scope.as_mut().take_value().is_none());
    let again = catch_unwind(AssertUnwindSafe(|| blitz::block_on(scope.as_mut())));
    assert!(again.unwrap_err().downcast_ref::<&str>().unwrap().contains("after it had returned"));

    let mut without = Box::pin(NUMBER.scope(1, async { NUMBER.try_get().is_err() }));
    assert_eq!(without.as_mut().take_value(), Some(1));
    assert!(blitz::block_on(without.as_mut()));
}
