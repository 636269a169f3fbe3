//! `spawn_cpu`: starts a job, and returns a handle to its result.

#![forbid(unsafe_code)]

use crate::sched::hold::{Hold, job};
use crate::task::{JoinHandle, Joinable, Packet};
use crate::team::Team;
use crate::worker::push_or_inject;

/// Runs `f` as a job of `team`. Without a hold, the job is cancelled.
pub(crate) fn spawn_in<F, T>(team: &Team, hold: Option<Hold>, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let packet = Packet::new(team, true, f);
    let work = packet.clone();
    match hold {
        Some(hold) => {
            push_or_inject(team, job(hold, move || work.run()), || Some(packet.number()));
        }
        None => work.abort(),
    }
    JoinHandle::of_job(packet)
}
