//! Tasks on real threads, one at a time unless a test says otherwise.

mod cancels;
mod joins;
mod memory;
mod panics;
mod probes;
mod random;
mod threads;
mod wakes;

use super::rig::{Rig, outcome};
use super::{Failure, Ran};
use core::future::ready;
use core::task::Poll;

/// Whether a run left the task waiting.
fn idle(ran: Option<Ran>) -> bool {
    matches!(ran, Some(Ran::Idle))
}

/// Whether a run ended the task by itself.
fn ended(ran: Option<Ran>) -> bool {
    matches!(ran, Some(Ran::Complete))
}

/// Whether a run ended the task because it was cancelled.
fn cancelled(ran: Option<Ran>) -> bool {
    matches!(ran, Some(Ran::Cancelled))
}

/// Whether the handle of the task says that it was cancelled.
fn was_cancelled<T>(join: &mut super::Join<T>) -> bool {
    matches!(outcome(join), Poll::Ready(Err(Failure::Cancelled)))
}

#[test]
fn task_4_a_ready_future_gives_its_output() {
    let rig = Rig::new();
    let mut join = rig.spawn(ready(7));
    assert!(outcome(&mut join).is_pending());
    assert!(!join.is_finished());
    assert!(ended(rig.run_one()));
    assert!(join.is_finished());
    assert!(matches!(outcome(&mut join), Poll::Ready(Ok(7))));
    assert!(rig.is_well_and_done());
}
