//! User code in wakers and descriptions may call the coordinator, a `Shutdown`.

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
#[path = "../../blitz/tests/common/hostile.rs"]
mod hostile;

use blitz_hyper::{Running, Shutdown};
use common::watched;
use hostile::Hostile;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

fn poll(running: &mut Running, waker: &Waker) -> bool {
    running.poll_draining(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn a_waker_may_call_back_when_it_is_cloned_woken_or_dropped() {
    watched("a_waker_may_call_back_when_it_is_cloned_woken_or_dropped", |_| {
        let shutdown = Shutdown::new();
        let call_back = {
            let shutdown = shutdown.clone();
            move || {
                drop(shutdown.track("inside of a waker"));
                assert!(shutdown.running() < 10 && shutdown.report().left.len() < 10);
            }
        };
        let (first, waker) = Hostile::new(call_back.clone());
        let (second, other) = Hostile::new(call_back);
        let mut running = shutdown.track("a request");
        assert!(!poll(&mut running, &waker));
        assert!(first.clones.load(SeqCst) > 0);
        // Another waker replaces the first one, which is dropped.
        assert!(!poll(&mut running, &other));
        assert!(first.drops.load(SeqCst) > 0);
        shutdown.start();
        assert_eq!((first.wakes.load(SeqCst), second.wakes.load(SeqCst)), (0, 1));
        assert!(poll(&mut running, &waker));
        drop(running);
        assert_eq!(shutdown.running(), 0);
    });
}

#[test]
fn a_waker_that_starts_the_shutdown_is_not_forgotten() {
    watched("a_waker_that_starts_the_shutdown_is_not_forgotten", |_| {
        let shutdown = Shutdown::new();
        // Registering a waker clones it, and cloning this one starts the shutdown.
        let (_, waker) = Hostile::new({
            let shutdown = shutdown.clone();
            move || shutdown.start()
        });
        let mut running = shutdown.track("a request");
        assert!(poll(&mut running, &waker), "the poll that registers the waker sees the shutdown");
    });
}

#[test]
fn a_description_may_call_back() {
    watched("a_description_may_call_back", |_| {
        struct Curious(Shutdown, AtomicUsize);
        impl fmt::Debug for Curious {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // Ask for a report only once, or the recursion would never end.
                if self.1.fetch_add(1, SeqCst) == 0 {
                    assert_eq!(self.0.report().left.len(), 1);
                }
                write!(f, "one of {}", self.0.running())
            }
        }
        let shutdown = Shutdown::new();
        let running = shutdown.track(Curious(shutdown.clone(), AtomicUsize::new(0)));
        assert_eq!(shutdown.report().left[0].what, "one of 1");
        assert!(format!("{shutdown:?} {running:?}").contains("Shutdown"));
    });
}

#[test]
fn all_wakers_are_called_even_if_one_panics() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    struct Counts(Mutex<usize>);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let shutdown = Shutdown::new();
    let counts = Arc::new(Counts(Mutex::new(0)));
    let mut kept = Vec::new();
    for waker in [Waker::from(Arc::new(Panics)), Waker::from(counts.clone())] {
        for _ in 0..3 {
            let mut running = shutdown.track("a request");
            assert!(!poll(&mut running, &waker));
            kept.push(running);
        }
    }
    let waiting = blitz::spawn({
        let shutdown = shutdown.clone();
        async move { shutdown.draining().await }
    });
    let panic = catch_unwind(AssertUnwindSafe(|| shutdown.start())).unwrap_err();
    assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "a bad waker");
    assert_eq!(*counts.0.lock().unwrap(), 3);
    waiting.join().unwrap();
}
