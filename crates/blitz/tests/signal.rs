//! Signals that this process sends to itself. Each test has a signal of its own, because tests run
//! at the same time.

mod common;

use blitz::signal::unix::{SignalKind, signal};
use common::{io_metrics, on_each_size, watched};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::low_level::raise;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Sends a signal to this thread; returns after the signal's handler has run.
fn send(signal: Signal) {
    raise(signal.as_raw()).unwrap();
}

/// Polls `future` once and drops it. Returns its result, if it was ready.
fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

#[test]
fn a_signal_before_the_first_wait_is_not_lost() {
    on_each_size("before the first wait", || async {
        for _ in 0..20 {
            let mut listener = signal(SignalKind::user_defined1()).unwrap();
            send(Signal::USR1);
            assert_eq!(listener.recv().await, Some(()));
        }
    });
}

#[test]
fn several_signals_before_a_poll_are_one() {
    on_each_size("several are one", || async {
        let kind = SignalKind::user_defined2();
        let mut idle = signal(kind).unwrap();
        let mut busy = signal(kind).unwrap();
        // These are more signals than fit into the socket that announces them.
        for _ in 0..2_000 {
            send(Signal::USR2);
            assert_eq!(busy.recv().await, Some(()));
        }
        assert_eq!(idle.recv().await, Some(()));
        assert_eq!(poll_once(idle.recv()), None);
        // A new listener does not see earlier signals.
        assert_eq!(poll_once(signal(kind).unwrap().recv()), None);
    });
}

#[test]
fn every_listener_in_every_runtime_gets_each_signal() {
    watched("every listener", |watch| {
        let runtimes = [1, 2, 8].map(|workers| watch.workers(workers));
        let (heard, mut hear) = blitz::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for runtime in &runtimes {
            for _ in 0..5 {
                let heard = heard.clone();
                let entered = runtime.enter();
                let mut listener = signal(SignalKind::window_change()).unwrap();
                drop(entered);
                tasks.push(runtime.spawn(async move {
                    for round in 0..100 {
                        listener.recv().await.unwrap();
                        heard.send(round).unwrap();
                    }
                }));
            }
        }
        for round in 0..100 {
            send(Signal::WINCH);
            for _ in 0..tasks.len() {
                assert_eq!(runtimes[0].block_on(hear.recv()), Some(round));
            }
        }
        for task in tasks {
            task.join().unwrap();
        }
    });
}

#[test]
fn a_wait_that_is_dropped_loses_no_signal() {
    on_each_size("dropped wait", || async {
        let mut listener = signal(SignalKind::hangup()).unwrap();
        for _ in 0..100 {
            assert_eq!(poll_once(listener.recv()), None);
            send(Signal::HUP);
            assert_eq!(listener.recv().await, Some(()));
        }
    });
}

#[test]
fn ctrl_c_waits_for_an_interrupt() {
    on_each_size("ctrl_c", || async {
        let mut waiting = Box::pin(blitz::signal::ctrl_c());
        let first = std::future::poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        send(Signal::INT);
        waiting.await.unwrap();
    });
}

#[test]
fn a_signal_from_outside_may_hit_any_thread() {
    on_each_size("any thread", || async {
        let mut listener = signal(SignalKind::terminate()).unwrap();
        for _ in 0..100 {
            kill_process(getpid(), Signal::TERM).unwrap();
            assert_eq!(listener.recv().await, Some(()));
        }
    });
}

#[test]
fn signals_that_cannot_be_caught_are_an_error() {
    on_each_size("forbidden", || async {
        for forbidden in [Signal::KILL, Signal::STOP, Signal::SEGV, Signal::FPE, Signal::ILL] {
            let error = signal(SignalKind::from_raw(forbidden.as_raw())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(&forbidden.as_raw().to_string()), "{error}");
        }
        for number in [0, -1, 1_000] {
            assert!(signal(SignalKind::from_raw(number)).is_err());
        }
    });
}

#[test]
fn listeners_leave_nothing_behind() {
    watched("nothing behind", |watch| {
        let runtime = watch.workers(2);
        runtime.block_on(async {
            let kinds = [SignalKind::alarm(), SignalKind::io()];
            let listeners: Vec<_> =
                (0..10).flat_map(|_| kinds).map(|kind| signal(kind).unwrap()).collect();
            // There is one descriptor for each signal, however many listeners there are.
            assert_eq!(io_metrics(&runtime.handle()).registered, 2);
            let mut waiting = listeners;
            for listener in &mut waiting {
                assert_eq!(poll_once(listener.recv()), None);
            }
            drop(waiting);
            let metrics = io_metrics(&runtime.handle());
            assert_eq!((metrics.registered, metrics.waiting), (0, 0));
        });
    });
}

#[test]
fn listeners_get_no_more_signals_when_the_runtime_has_ended() {
    watched("ended", |watch| {
        for workers in [1, 2, 8] {
            let runtime = watch.workers(workers);
            let entered = runtime.enter();
            let mut waits = signal(SignalKind::quit()).unwrap();
            let mut comes_late = signal(SignalKind::quit()).unwrap();
            drop(entered);
            let other = watch.workers(1);
            let task = other.spawn(async move { waits.recv().await });
            common::wait_for_parked(&other.handle(), 1);
            drop(runtime);
            assert_eq!(task.join().unwrap(), None);
            assert_eq!(other.block_on(comes_late.recv()), None);
        }
    });
}
