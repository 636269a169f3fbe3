//! `task_local!`: values that follow their task, and only that.

mod common;

use blitz::sync::oneshot;
use blitz::{LocalSet, Runtime};
use common::watched;
use std::cell::Cell;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

blitz::task_local! {
    static NUMBER: u32;
    /// Attributes and visibility are kept.
    pub static NAME: String;
    static COUNT: Cell<u32>
}

blitz::task_local!();

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
fn a_scope_inside_of_with_says_what_to_do() {
    let text = NUMBER.sync_scope(1, || {
        let refused = NUMBER.with(|_| catch_unwind(|| NUMBER.sync_scope(2, || ())));
        // The value is where it was.
        assert_eq!(NUMBER.get(), 1);
        *refused.unwrap_err().downcast::<&str>().unwrap()
    });
    assert!(text.contains("inside of `with`"), "{text}");
    // Other keys do not mind.
    let both = NUMBER.sync_scope(1, || NUMBER.with(|one| COUNT.sync_scope(Cell::new(2), || *one)));
    assert_eq!(both, 1);
}

#[test]
fn a_spawned_task_does_not_inherit() {
    watched("a_spawned_task_does_not_inherit", |_| {
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
        let runtime = runtime(1);
        // The only worker waits inside of the scope, and polls the other task meanwhile, on the same stack.
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
        let runtime = runtime(1);
        let task = runtime.spawn(NUMBER.scope(7, async {
            let (send, receive) = mpsc::channel();
            let thread = thread::current().id();
            blitz::spawn_detached(move || {
                assert_eq!(thread::current().id(), thread);
                send.send((NUMBER.try_get().is_err(), blitz::task::try_id())).unwrap();
            });
            assert_eq!(blitz::yield_now(), Some(blitz::Yield::Executed));
            let joined = blitz::spawn_cpu(|| (NUMBER.try_get().is_err(), blitz::task::try_id()));
            assert_eq!(joined.join().unwrap(), (true, None));
            (receive.recv().unwrap(), NUMBER.get(), blitz::task::try_id().is_some())
        }));
        assert_eq!(task.join().unwrap(), ((true, None), 7, true));
    });
}

#[test]
fn local_tasks_do_not_see_the_scope_of_who_drives_them() {
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
        /// Says what it sees when it is dropped.
        struct Looks(mpsc::Sender<Option<u32>>);
        impl Drop for Looks {
            fn drop(&mut self) {
                self.0.send(NUMBER.try_get().ok()).unwrap();
            }
        }

        let runtime = runtime(1);
        let (send, receive) = mpsc::channel();
        let looks = || Looks(send.clone());
        // At its end, …
        let ended = looks();
        runtime.block_on(NUMBER.scope(1, async move { drop(ended) }));
        assert_eq!(receive.recv().unwrap(), Some(1));
        // … before its begin, …
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
    });
}

#[test]
fn the_value_can_be_taken_before_and_after() {
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
