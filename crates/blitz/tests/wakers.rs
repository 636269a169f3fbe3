//! Custom wakers of the user, which timers call: they may block, wait, call Blitz and panic.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::{Handle, Scheduler};
use common::{Watch, tcp_pair, wait_for, watched};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// A waker that calls a closure when it is first woken.
struct Calls<F>(Mutex<Option<F>>);

impl<F: FnOnce() + Send + 'static> Calls<F> {
    fn waker(f: F) -> Waker {
        Waker::from(Arc::new(Calls(Mutex::new(Some(f)))))
    }
}

impl<F: FnOnce() + Send + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        let f = self.0.lock().unwrap().take();
        if let Some(f) = f {
            f();
        }
    }
}

/// A future that was polled once, in a pool, and waits with a waker of the user's.
type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts a sleep in the pool of `handle`. The worker that ends it calls `f`.
fn call_after(handle: &Handle, millis: u64, f: impl FnOnce() + Send + 'static) -> Waiting {
    let waker = Calls::waker(f);
    let _entered = handle.enter();
    loop {
        let mut sleep: Waiting = Box::pin(blitz::time::sleep(Duration::from_millis(millis)));
        // On a slow machine the sleep may be over before its first poll.
        if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            return sleep;
        }
    }
}

/// Calls `test` for six pools: each scheduler with one, two and four workers.
fn on_each_pool(name: &'static str, test: impl Fn(&Handle)) {
    for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
        for workers in [1, 2, 4] {
            watched(name, |watch: &Watch| {
                let builder = blitz::Runtime::builder().workers(workers).scheduler(scheduler);
                let runtime = watch.runtime(builder.build().unwrap());
                test(&runtime.handle());
            });
        }
    }
}

/// Returns how many workers the dump counts as inactive, and how many there are.
fn inactive(handle: &Handle) -> (usize, usize) {
    let dump = handle.dump().to_string();
    let number = |name: &str| -> usize {
        let (_, rest) = dump.split_once(name).unwrap();
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    (number("inactive "), number("pool: "))
}

#[test]
fn a_waker_may_wait_for_a_timer() {
    on_each_pool("a_waker_may_wait_for_a_timer", |handle| {
        let (send, receive) = mpsc::channel();
        let waits = {
            let handle = handle.clone();
            move || {
                blitz::block_on(blitz::time::sleep(Duration::from_millis(2)));
                send.send(inactive(&handle)).unwrap();
            }
        };
        let _sleep = call_after(handle, 1, waits);
        let (inactive, workers) = receive.recv().unwrap();
        assert!(inactive < workers, "{inactive} of {workers} are inactive, but this worker runs");
    });
}

#[test]
fn a_waker_may_wait_for_a_task_that_a_socket_feeds() {
    on_each_pool("a_waker_may_wait_for_a_task_that_a_socket_feeds", |handle| {
        let (send, receive) = mpsc::channel();
        let (here, mut there) = handle.block_on(tcp_pair());
        let reader = handle.spawn(async move {
            let mut here = here;
            here.read_u8().await.unwrap()
        });
        let joins = move || send.send(reader.join().unwrap()).unwrap();
        let called = Arc::new(AtomicBool::new(false));
        let _sleep = call_after(handle, 1, {
            let called = called.clone();
            move || {
                called.store(true, SeqCst);
                joins();
            }
        });
        // The socket gets data only after the waker was called, so the waker has to wait.
        wait_for(|| called.load(SeqCst));
        handle.block_on(async { there.write_u8(7).await }).unwrap();
        assert_eq!(receive.recv().unwrap(), 7);
    });
}

#[test]
fn a_waker_that_waits_stops_no_other() {
    on_each_pool("a_waker_that_waits_stops_no_other", |handle| {
        let (done, is_done) = blitz::sync::oneshot::channel::<()>();
        let (send, receive) = mpsc::channel();
        let finished = send.clone();
        let waits = move || {
            blitz::block_on(is_done).unwrap();
            finished.send(0).unwrap();
        };
        let _first = call_after(handle, 1, waits);
        // All these timers are due together with the first one. Only the waker of the last timer
        // lets the first waker go on.
        let mut rest = Vec::new();
        for number in 1..8 {
            let send = send.clone();
            rest.push(call_after(handle, 1, move || send.send(number).unwrap()));
        }
        rest.push(call_after(handle, 1, move || done.send(()).unwrap()));
        // Tasks with timers go on, too.
        handle.block_on(async {
            blitz::spawn(async { blitz::time::sleep(Duration::from_millis(3)).await })
                .await
                .unwrap();
        });
        let mut seen: Vec<i32> = receive.iter().take(8).collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
    });
}

#[test]
fn a_waker_that_blocks_its_thread_stops_no_other() {
    watched("a_waker_that_blocks_its_thread_stops_no_other", |watch| {
        for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
            let builder = blitz::Runtime::builder().workers(2).scheduler(scheduler);
            let runtime = watch.runtime(builder.build().unwrap());
            let handle = runtime.handle();
            let (send, receive) = mpsc::channel();
            let (done, is_done) = mpsc::channel();
            let _blocks = call_after(&handle, 1, move || {
                // A task sends one of these messages. The custom waker of another timer sends the
                // other one.
                receive.recv().unwrap();
                receive.recv().unwrap();
                done.send(()).unwrap();
            });
            let from_task = send.clone();
            drop(handle.spawn(async move {
                blitz::time::sleep(Duration::from_millis(1)).await;
                from_task.send(()).unwrap();
            }));
            let _sends = call_after(&handle, 1, move || send.send(()).unwrap());
            is_done.recv().unwrap();
        }
    });
}

#[test]
fn wakers_are_called_by_workers_that_count_as_active() {
    on_each_pool("wakers_are_called_by_workers_that_count_as_active", |handle| {
        let most = Arc::new(AtomicUsize::new(0));
        let (send, receive) = mpsc::channel();
        let mut kept = Vec::new();
        for n in 0..20 {
            let (handle, most, send) = (handle.clone(), most.clone(), send.clone());
            kept.push(call_after(&handle.clone(), 1 + n % 3, move || {
                let (inactive, workers) = inactive(&handle);
                most.fetch_max(inactive + 1 - workers.min(inactive + 1), SeqCst);
                blitz::join(|| (), || ());
                blitz::block_on(blitz::spawn(async {})).unwrap();
                send.send(()).unwrap();
            }));
        }
        drop(send);
        assert_eq!(receive.iter().count(), 20);
        assert_eq!(most.load(SeqCst), 0, "each worker that calls a waker counts as active");
    });
}

#[test]
fn a_waker_may_call_blitz() {
    on_each_pool("a_waker_may_call_blitz", |handle| {
        let (send, receive) = mpsc::channel();
        let again = handle.clone();
        let _sleep = call_after(handle, 1, move || {
            // The waker registers timers and sockets, and drops some of them.
            let send_later = send.clone();
            let inner = call_after(&again, 1, move || send_later.send(1).unwrap());
            drop(call_after(&again, 1_000_000, || unreachable!("the sleep is dropped")));
            let send_from_job = send.clone();
            blitz::spawn_detached(move || drop((inner, send_from_job.send(2))));
            let (mut here, mut there) = blitz::block_on(tcp_pair());
            blitz::block_on(async {
                there.write_all(b"x").await.unwrap();
                assert_eq!(here.read_u8().await.unwrap(), b'x');
            });
            send.send(3).unwrap();
        });
        // The inner timer may fire before the job drops it.
        let (mut job, mut sockets) = (false, false);
        while !(job && sockets) {
            let number = receive.recv().expect("the waker has panicked");
            (job, sockets) = (job || number == 2, sockets || number == 3);
        }
    });
}

#[test]
fn a_waker_that_panics_stops_no_other() {
    for workers in [1, 2] {
        watched("a_waker_that_panics_stops_no_other", |watch| {
            let panics = Arc::new(AtomicUsize::new(0));
            let counted = panics.clone();
            let handler = move |_| {
                counted.fetch_add(1, SeqCst);
            };
            let builder = blitz::Runtime::builder().workers(workers).panic_handler(handler);
            let runtime = watch.runtime(builder.build().unwrap());
            let handle = runtime.handle();
            let (send, receive) = mpsc::channel();
            let mut kept = Vec::new();
            for _ in 0..5 {
                kept.push(call_after(&handle, 1, || panic!("a bad waker")));
                let send = send.clone();
                kept.push(call_after(&handle, 1, move || send.send(()).unwrap()));
            }
            drop(send);
            assert_eq!(receive.iter().count(), 5);
            wait_for(|| panics.load(SeqCst) == 5);
        });
    }
}

#[test]
fn a_waker_of_a_local_set_may_be_the_users() {
    on_each_pool("a_waker_of_a_local_set_may_be_the_users", |handle| {
        // A task of the set waits for a timer. When the timer wakes the task, the set calls the
        // waker with which it was polled last.
        let mut set = Box::pin(blitz::LocalSet::new());
        let task = set.spawn_local(async { blitz::time::sleep(Duration::from_millis(1)).await });
        let (send, receive) = mpsc::channel();
        let waker = Calls::waker(move || {
            blitz::block_on(blitz::time::sleep(Duration::from_millis(1)));
            send.send(()).unwrap();
        });
        let entered = handle.enter();
        let ready = set.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        drop(entered);
        if !ready {
            receive.recv().unwrap();
            assert!(set.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
        assert!(task.is_finished());
    });
}

#[test]
fn wakers_are_called_at_the_end_of_the_pool() {
    for workers in [1, 2] {
        let runtime = common::runtime(workers);
        let (send, receive) = mpsc::channel();
        let _sleep = call_after(&runtime.handle(), 1_000_000, move || send.send(()).unwrap());
        let ended = catch_unwind(AssertUnwindSafe(|| drop(runtime)));
        assert!(ended.is_ok());
        receive.recv().unwrap();
    }
}
