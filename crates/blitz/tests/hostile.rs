//! User code that Blitz calls may call Blitz again: during such a call Blitz holds no lock and
//! borrows no cell.

mod common;
#[path = "common/hostile.rs"]
mod wakers;

use blitz::net::UnixStream;
use blitz::{Handle, JoinSet, LocalSet};
use common::{wait_for, watched};
use std::fmt::{self, Write};
use std::future::Future;
use std::io::Write as _;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;
use wakers::Hostile;

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn on_pools(name: &'static str, test: impl Fn(&Handle)) {
    for workers in [1, 2] {
        watched(name, |watch| test(&watch.workers(workers).handle()));
    }
}

#[test]
fn wakers_of_a_socket_may_use_it() {
    on_pools("wakers_of_a_socket_may_use_it", |handle| {
        let _entered = handle.enter();
        let (here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let here = Arc::new(UnixStream::from_std(here).unwrap());
        let call = {
            let here = here.clone();
            move || {
                // The calls below take two locks: that of the descriptor's waiting tasks, and that
                // of the table of descriptors.
                let _ = pin!(here.readable()).poll(&mut noop());
                let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
                one.set_nonblocking(true).unwrap();
                drop(blitz::net::UnixStream::from_std(one));
            }
        };
        let handle = handle.clone();
        let (first, waker) = Hostile::new({
            let call = call.clone();
            let handle = handle.clone();
            move || {
                let _entered = handle.enter();
                call();
            }
        });
        let (second, other) = Hostile::new(move || {
            let _entered = handle.enter();
            call();
        });
        // `poll_read_ready` is for one task: the newer waker replaces the older. `readable` is for
        // any number: each waker has a place.
        assert!(here.poll_read_ready(&mut Context::from_waker(&waker)).is_pending());
        assert!(here.poll_read_ready(&mut Context::from_waker(&other)).is_pending());
        {
            let mut listed = pin!(here.readable());
            assert!(listed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(listed.as_mut().poll(&mut Context::from_waker(&other)).is_pending());
        }
        let mut listed = pin!(here.readable());
        assert!(listed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        there.write_all(b"x").unwrap();
        wait_for(|| first.wakes.load(SeqCst) > 0 && second.wakes.load(SeqCst) > 0);
        assert!(first.drops.load(SeqCst) > 0 && second.clones.load(SeqCst) > 0);
    });
}

#[test]
fn wakers_of_a_timer_may_use_timers() {
    on_pools("wakers_of_a_timer_may_use_timers", |handle| {
        let call = {
            let handle = handle.clone();
            move || {
                let _entered = handle.enter();
                let mut sleep = pin!(blitz::time::sleep(Duration::from_secs(3_600)));
                assert!(sleep.as_mut().poll(&mut noop()).is_pending());
                sleep.as_mut().reset(blitz::time::Instant::now() + Duration::from_secs(7_200));
            }
        };
        let (first, waker) = Hostile::new(call.clone());
        let (second, other) = Hostile::new(call);
        let _entered = handle.enter();
        let mut sleep = Box::pin(blitz::time::sleep(Duration::from_millis(2)));
        let _ = sleep.as_mut().poll(&mut Context::from_waker(&waker));
        let _ = sleep.as_mut().poll(&mut Context::from_waker(&other));
        let mut long = Box::pin(blitz::time::sleep(Duration::from_secs(3_600)));
        assert!(long.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(long.as_mut().poll(&mut Context::from_waker(&other)).is_pending());
        drop(long);
        wait_for(|| sleep.is_elapsed());
        assert!(first.clones.load(SeqCst) > 0 && second.drops.load(SeqCst) > 0);
    });
}

#[test]
fn wakers_of_jobs_and_sets_may_use_them() {
    on_pools("wakers_of_jobs_and_sets_may_use_them", |handle| {
        let gate = Arc::new(AtomicBool::new(false));
        let opened = gate.clone();
        let mut job = handle.spawn_blocking(move || wait_for(|| opened.load(SeqCst)));
        let abort = job.abort_handle();
        let (first, waker) = Hostile::new(move || {
            let _ = abort.is_finished();
        });
        assert!(pin!(&mut job).poll(&mut Context::from_waker(&waker)).is_pending());
        let (second, other) = Hostile::new(|| ());
        assert!(pin!(&mut job).poll(&mut Context::from_waker(&other)).is_pending());
        assert!(first.drops.load(SeqCst) > 0);

        let set = Arc::new(Mutex::new(JoinSet::new()));
        set.lock().unwrap().spawn_on(std::future::pending::<()>(), handle);
        let (third, waker) = Hostile::new({
            let set = set.clone();
            // While the test itself uses the set, the test holds the lock. Then this closure does
            // nothing. Otherwise the closure uses the set.
            move || {
                if let Ok(mut set) = set.try_lock() {
                    drop(set.try_join_next());
                }
            }
        });
        assert!(set.lock().unwrap().poll_join_next(&mut Context::from_waker(&waker)).is_pending());
        set.lock().unwrap().abort_all();
        wait_for(|| third.wakes.load(SeqCst) > 0);
        gate.store(true, SeqCst);
        job.join().unwrap();
        wait_for(|| second.wakes.load(SeqCst) + second.drops.load(SeqCst) > 0);
    });
}

#[test]
fn wakers_of_a_local_set_may_abort_its_tasks() {
    watched("wakers_of_a_local_set_may_abort_its_tasks", |_| {
        let (open, opened) = blitz::sync::oneshot::channel::<()>();
        let mut set = Box::pin(LocalSet::new());
        let task = set.spawn_local(async move { opened.await.unwrap() });
        let abort = task.abort_handle();
        let (hostile, waker) = Hostile::new(move || abort.abort());
        assert!(
            set.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() || !task.is_finished()
        );
        assert!(hostile.clones.load(SeqCst) > 0);
        let _ = open.send(());
        while set.as_mut().poll(&mut noop()).is_pending() {}
        assert!(task.is_finished());
    });
}

#[test]
fn an_error_may_be_described_while_it_is_described() {
    watched("an_error_may_be_described_while_it_is_described", |_| {
        /// Collects text. Describes the error again before each of the first three pieces.
        struct Nosy<'a>(&'a blitz::JoinError, String, AtomicUsize);
        impl fmt::Write for Nosy<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                if self.2.fetch_add(1, SeqCst) < 3 {
                    self.1.push_str(&format!("<{}>", self.0));
                }
                self.1.push_str(text);
                Ok(())
            }
        }
        let runtime = common::runtime(1);
        let error = runtime.spawn(async { panic!("oh") }).join().unwrap_err();
        let mut nosy = Nosy(&error, String::new(), AtomicUsize::new(0));
        write!(nosy, "{error}").unwrap();
        assert!(nosy.1.contains("<the task panicked: oh>"), "{}", nosy.1);
        assert!(nosy.1.ends_with("oh"), "{}", nosy.1);
    });
}
