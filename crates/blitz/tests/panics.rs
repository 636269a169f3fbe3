//! Panics in tasks: in a poll, in the drop of a future or an output, in a waker, in a handler. Each
//! panic goes to the task or thread that waits for the result, or else to the panic handler. No
//! worker ends.

mod common;

use blitz::{JoinHandle, Pool, Runtime};
use common::{Tally, wait_for, wait_for_parked, watched};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// The messages of panics that the handler got.
type Heard = Arc<Mutex<Vec<&'static str>>>;

fn text(payload: &Box<dyn std::any::Any + Send>) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("no text")
}

fn listening(pool: blitz::PoolBuilder) -> (Runtime, Heard) {
    let heard = Heard::default();
    let hears = heard.clone();
    let pool = pool.panic_handler(move |payload| hears.lock().unwrap().push(text(&payload)));
    (pool.build().unwrap(), heard)
}

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        // A second panic would end the process.
        if !std::thread::panicking() {
            std::panic::panic_any(self.0);
        }
    }
}

/// Checks that every worker still works, and drops the runtime.
fn works_on(runtime: Runtime) {
    assert!(runtime.pool().broadcast(|_| true).into_iter().all(|here| here));
    let tasks: Vec<_> = (0..100).map(|n| runtime.spawn(async move { n })).collect();
    let sum: u32 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
    assert_eq!(sum, 4_950);
    drop(runtime);
}

/// Runs `test` with a runtime of one worker and with one of four.
///
/// Returns the messages that each handler got, sorted.
fn heard(name: &'static str, test: impl Fn(&Runtime)) -> Vec<Vec<&'static str>> {
    watched(name, |watch| {
        let run = |workers| {
            let (runtime, heard) = listening(Pool::builder().workers(workers));
            let runtime = watch.runtime(runtime);
            test(&runtime);
            works_on(runtime);
            let mut heard = std::mem::take(&mut *heard.lock().unwrap());
            heard.sort();
            heard
        };
        [1, 4].into_iter().map(run).collect()
    })
}

fn finished<T>(task: JoinHandle<T>) -> JoinHandle<T> {
    wait_for(|| task.is_finished());
    task
}

#[test]
fn in_a_poll() {
    let heard = heard("in_a_poll", |runtime| {
        let waits = runtime.spawn(async { panic!("waited for") });
        let error = waits.join().unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(text(&error.into_panic()), "waited for");
        let awaited = runtime.spawn(async { blitz::spawn(async { panic!("awaited") }).await });
        assert!(awaited.join().unwrap().unwrap_err().is_panic());
        drop(runtime.spawn(async { panic!("detached") }));
        drop(finished(runtime.spawn(async { panic!("never fetched") })));
        let aborted = finished(runtime.spawn(async { panic!("aborted too late") }));
        aborted.abort();
        assert!(aborted.join().unwrap_err().is_panic());
    });
    assert_eq!(heard, [["detached", "never fetched"]; 2]);
}

#[test]
fn in_the_drop_of_a_future() {
    let heard = heard("in_the_drop_of_a_future", |runtime| {
        // A cancellation drops these futures. The panic of the drop takes the place of the
        // cancellation.
        let parked = |name| {
            runtime.spawn(async move {
                let _bomb = Bomb(name);
                pending::<()>().await;
            })
        };
        let waited = parked("cancelled");
        let detached = parked("cancelled and detached");
        let abort = detached.abort_handle();
        drop(detached);
        wait_for_parked(&runtime.handle(), 2);
        waited.abort();
        abort.abort();
        assert_eq!(text(&waited.join().unwrap_err().into_panic()), "cancelled");
        // These futures are dropped after their last poll, when the outcome of the task is known.
        struct Ready(#[expect(dead_code, reason = "held for its drop")] Bomb, Option<u32>);
        impl Future for Ready {
            type Output = u32;
            fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
                self.1.take().map_or_else(|| panic!("in the poll"), Poll::Ready)
            }
        }
        let ready = runtime.spawn(Ready(Bomb("after its output"), Some(7)));
        assert_eq!(ready.join().unwrap(), 7);
        let twice = runtime.spawn(Ready(Bomb("after its panic"), None));
        assert_eq!(text(&twice.join().unwrap_err().into_panic()), "in the poll");
        wait_for(|| abort.is_finished());
    });
    assert_eq!(heard, [["after its output", "after its panic", "cancelled and detached"]; 2]);
}

#[test]
fn in_the_drop_of_an_output() {
    let heard = heard("in_the_drop_of_an_output", |runtime| {
        let (go, wait) = blitz::sync::oneshot::channel();
        drop(runtime.spawn(async {
            wait.await.unwrap();
            Bomb("output of a detached task")
        }));
        // The task gets its message after the handle is gone. Otherwise the task might end first,
        // and the drop of the handle would drop the output on this thread.
        go.send(()).unwrap();
        // If the owner of the handle drops the output, the panic reaches that owner, whether the
        // output was fetched or not.
        let fetched = runtime.spawn(async { Bomb("fetched") }).join().unwrap();
        let caught = |drop: &mut dyn FnMut()| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(drop)).unwrap_err()
        };
        let mut fetched = Some(fetched);
        assert_eq!(text(&caught(&mut || drop(fetched.take()))), "fetched");
        let mut kept = Some(finished(runtime.spawn(async { Bomb("left in the handle") })));
        assert_eq!(text(&caught(&mut || drop(kept.take()))), "left in the handle");
        // A task that drops such a handle panics itself.
        let inner = finished(runtime.spawn(async { Bomb("dropped by a task") }));
        let outer = runtime.spawn(async move { drop(inner) });
        assert_eq!(text(&outer.join().unwrap_err().into_panic()), "dropped by a task");
    });
    assert_eq!(heard, [["output of a detached task"]; 2]);
}

#[test]
fn in_a_waker() {
    struct Explodes(AtomicUsize);
    impl Wake for Explodes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
            panic!("in a waker");
        }
    }
    let heard = heard("in_a_waker", |runtime| {
        let explodes = Arc::new(Explodes(AtomicUsize::new(0)));
        let waker = Waker::from(explodes.clone());
        let mut context = Context::from_waker(&waker);
        let (go, wait) = blitz::sync::oneshot::channel::<u32>();
        let mut task = runtime.spawn(async move { wait.await.unwrap() });
        assert!(Pin::new(&mut task).poll(&mut context).is_pending());
        let (start, started) = std::sync::mpsc::channel::<u32>();
        let mut job = runtime.spawn_blocking(move || started.recv().unwrap());
        assert!(Pin::new(&mut job).poll(&mut context).is_pending());
        go.send(7).unwrap();
        start.send(8).unwrap();
        wait_for(|| explodes.0.load(SeqCst) == 2);
        assert_eq!((task.join().unwrap(), job.join().unwrap()), (7, 8));
    });
    assert_eq!(heard, [["in a waker"; 2]; 2]);
}

#[test]
fn a_waker_may_look_at_the_job_when_it_is_cloned_woken_and_dropped() {
    /// Calls functions that need the job's lock.
    struct Looks(blitz::AbortHandle, AtomicUsize);
    impl Looks {
        fn look(&self) {
            self.1.fetch_add(1 + usize::from(self.0.is_finished()), SeqCst);
        }
    }
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.look();
        }
    }
    impl Drop for Looks {
        fn drop(&mut self) {
            self.look();
            assert!(self.1.load(SeqCst) > 0);
        }
    }
    let heard = heard("a_waker_may_look_at_the_job", |runtime| {
        let (go, wait) = std::sync::mpsc::channel::<u32>();
        let mut job = runtime.spawn_blocking(move || wait.recv().unwrap());
        let abort = job.abort_handle();
        for _ in 0..3 {
            // Each waker replaces the previous waker, which is then dropped. The join replaces the
            // last waker.
            let waker = Waker::from(Arc::new(Looks(abort.clone(), AtomicUsize::new(0))));
            assert!(Pin::new(&mut job).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        go.send(7).unwrap();
        assert_eq!(job.join().unwrap(), 7);
    });
    assert_eq!(heard, [Vec::<&str>::new(), Vec::new()]);
}

#[test]
fn in_the_handler_of_slow_polls() {
    watched("in_the_handler_of_slow_polls", |watch| {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let pool = Pool::builder().workers(2).slow_poll_handler(Duration::ZERO, move |_, _| {
            counter.fetch_add(1, SeqCst);
            panic!("slow");
        });
        let (runtime, heard) = listening(pool);
        let runtime = watch.runtime(runtime);
        let task = runtime.spawn(async {
            blitz::task::yield_now().await;
            7
        });
        assert_eq!(task.join().unwrap(), 7);
        works_on(runtime);
        assert_eq!(calls.load(SeqCst), 102);
        assert_eq!(*heard.lock().unwrap(), ["slow"; 102]);
    });
}

#[test]
fn in_the_panic_handler_itself() {
    watched("in_the_panic_handler_itself", |watch| {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let pool = Pool::builder().workers(1).panic_handler(move |_| {
            counter.fetch_add(1, SeqCst);
            panic!("in the handler");
        });
        let runtime = watch.runtime(pool.build().unwrap());
        drop(runtime.spawn(async { panic!("first") }));
        drop(finished(runtime.spawn(async { panic!("second") })));
        works_on(runtime);
        assert_eq!(calls.load(SeqCst), 2);
    });
}

#[test]
fn with_a_payload_that_panics_in_its_drop() {
    let heard = heard("with_a_payload_that_panics_in_its_drop", |runtime| {
        drop(runtime.spawn(async { std::panic::panic_any(Bomb("payload")) }));
        let error = runtime.spawn(async { std::panic::panic_any(Bomb("payload")) }).join();
        let mut payload = Some(error.unwrap_err().into_panic());
        let dropped = std::panic::AssertUnwindSafe(|| drop(payload.take()));
        assert_eq!(text(&std::panic::catch_unwind(dropped).unwrap_err()), "payload");
    });
    // The handler got the payload, and the drop of the payload panicked inside of the handler.
    assert_eq!(heard, [["no text"]; 2]);
}

#[test]
fn with_second_payloads_that_panic_in_their_drops() {
    /// Panics when it is dropped, even while its thread unwinds.
    struct Always;
    impl Drop for Always {
        fn drop(&mut self) {
            panic!("in the drop of a payload");
        }
    }
    fn second() -> ! {
        std::panic::panic_any(Always)
    }
    let caught = |f: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        text(&payload)
    };
    let heard = heard("with_second_payloads_that_panic_in_their_drops", |runtime| {
        let scope = || {
            runtime.scope(|s| {
                s.spawn(|_| second());
                s.spawn(|_| second());
                panic!("body");
            })
        };
        assert_eq!(caught(&scope), "body");
        let broadcast = || {
            runtime.broadcast(|context| match context.index() {
                0 => panic!("worker 0"),
                _ => second(),
            });
        };
        assert_eq!(caught(&broadcast), "worker 0");
        let join = || _ = runtime.join(|| panic!("first half"), || second());
        assert_eq!(caught(&join), "first half");
    });
    assert_eq!(heard, [Vec::<&str>::new(), Vec::new()]);
}

#[test]
fn while_the_runtime_ends() {
    watched("while_the_runtime_ends", |watch| {
        for workers in [1, 2, 8] {
            let (runtime, heard) = listening(Pool::builder().workers(workers));
            let runtime = watch.runtime(runtime);
            let tally = Tally::default();
            for n in 0..60 {
                let token = tally.token();
                let task = runtime.spawn(async move {
                    let _held = (Bomb("at the end"), token);
                    pending::<()>().await;
                });
                if n % 2 == 0 {
                    drop(task);
                } else {
                    // This handle is dropped after its task has ended, together with the panic,
                    // which no thread has read.
                    std::thread::spawn(move || drop(finished(task)));
                }
            }
            wait_for_parked(&runtime.handle(), 60);
            drop(runtime);
            assert!(tally.is_even());
            wait_for(|| heard.lock().unwrap().len() == 60);
            assert!(heard.lock().unwrap().iter().all(|&text| text == "at the end"));
        }
    });
}
