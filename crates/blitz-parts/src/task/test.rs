//! The tasks, one thread at a time.

use super::rig::{Rig, outcome, text};
use super::{Failure, Header, Join, Ran};
use core::future::{pending, poll_fn, ready};
use core::task::Poll;
use std::sync::mpsc;
use std::task::Waker;

#[test]
fn a_header_is_a_cache_line_and_a_stamp() {
    assert_eq!(size_of::<Header>(), 72);
}

#[test]
fn a_ready_future_gives_its_output() {
    let rig = Rig::new();
    let mut join = rig.spawn(ready(7));
    assert!(outcome(&mut join).is_pending());
    assert!(matches!(rig.run_one(), Some(Ran::Complete { cancelled: false })));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(7))));
    assert_eq!(rig.owned.len(), 0);
}

#[test]
fn a_wake_runs_the_task_again() {
    let rig = Rig::new();
    let (sender, wakers) = mpsc::channel::<Waker>();
    let mut polls = 0;
    let mut join = rig.spawn(poll_fn(move |context| {
        polls += 1;
        sender.send(context.waker().clone()).unwrap();
        if polls == 3 { Poll::Ready(polls) } else { Poll::Pending }
    }));
    assert!(matches!(rig.run_one(), Some(Ran::Idle)));
    assert_eq!((rig.queued(), rig.owned.len()), (0, 1));
    wakers.recv().unwrap().wake();
    assert!(matches!(rig.run_one(), Some(Ran::Idle)));
    let waker = wakers.recv().unwrap();
    waker.wake_by_ref();
    waker.wake();
    assert_eq!(rig.queued(), 1);
    assert!(matches!(rig.run_one(), Some(Ran::Complete { cancelled: false })));
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(3))));
    assert_eq!((rig.queued(), rig.owned.len()), (0, 0));
}

#[test]
fn an_aborted_task_ends_when_it_is_run() {
    let rig = Rig::new();
    let mut join = rig.spawn(pending::<()>());
    assert_eq!(rig.run_all(), 1);
    join.abort();
    assert!(matches!(rig.run_one(), Some(Ran::Complete { cancelled: true })));
    assert!(matches!(outcome(&mut join), Poll::Ready(Err(Failure::Cancelled))));
    assert_eq!(rig.owned.len(), 0);
}

#[test]
fn closing_the_list_ends_what_waits() {
    let rig = Rig::new();
    let mut waits = rig.spawn(pending::<()>());
    assert_eq!(rig.run_all(), 1);
    let mut late = rig.spawn(pending::<()>());
    assert_eq!(rig.owned.close_and_cancel(), 0);
    assert!(matches!(outcome(&mut waits), Poll::Ready(Err(Failure::Cancelled))));
    assert_eq!(rig.run_all(), 1);
    assert!(matches!(outcome(&mut late), Poll::Ready(Err(Failure::Cancelled))));
}

#[test]
fn a_panic_goes_to_the_join_handle_or_is_reported() {
    let rig = Rig::new();
    let mut heard = rig.spawn(async { panic!("heard") });
    drop(rig.spawn(async { panic!("nobody waits") }));
    let unread = rig.spawn(async { panic!("unread") });
    assert_eq!(rig.run_all(), 3);
    let Poll::Ready(Err(Failure::Panicked(payload))) = outcome::<()>(&mut heard) else {
        panic!("the panic is the outcome");
    };
    assert_eq!(text(&payload), "heard");
    assert_eq!(rig.panics(), ["nobody waits"]);
    assert!(rig.late_panics().is_empty());
    drop::<Join<()>>(unread);
    assert_eq!(rig.late_panics(), ["unread"]);
}
