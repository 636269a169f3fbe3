//! Wakers that the program implements.

use super::{Scenario, Wanted, runtime, wait_for};
use blitz::time::{Duration, sleep};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "waiting-waker",
        "timers and sockets go on while a timer's waker blocks",
        waiting_waker,
    ),
    Scenario {
        end: Wanted::Abort("a task has more than 8,388,608 references"),
        ..Scenario::new(
            "many-wakers",
            "a program with more wakers of a task than can be counted aborts, with a message",
            many_wakers,
        )
    },
];

/// Blocks in `wake` until the test lets it go on.
struct Blocks {
    begun: AtomicBool,
    go: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        self.begun.store(true, SeqCst);
        self.go.lock().unwrap().recv().unwrap();
    }
}

fn waiting_waker() {
    let runtime = runtime(2);
    for _ in 0..20 {
        let (send, receive) = mpsc::channel();
        let blocks = Arc::new(Blocks { begun: AtomicBool::new(false), go: Mutex::new(receive) });
        let waker = Waker::from(blocks.clone());
        let _guard = runtime.enter();
        let mut timer = Box::pin(sleep(Duration::from_millis(1)));
        assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        wait_for(|| blocks.begun.load(SeqCst));
        // The waker waits for another timer.
        runtime.spawn(sleep(Duration::from_millis(1))).join().unwrap();
        send.send(()).unwrap();
    }
}

fn many_wakers() {
    let runtime = runtime(1);
    let task = runtime.spawn(std::future::poll_fn(|cx| {
        for _ in 0..9_000_000 {
            std::mem::forget(cx.waker().clone());
        }
        Poll::Ready(())
    }));
    task.join().unwrap();
}
