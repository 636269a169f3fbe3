//! `spawn_blocking`: runs a closure on a thread that may block.

#![forbid(unsafe_code)]

use super::{JoinHandle, Joinable, Packet};
use crate::sched::hold::Hold;
use crate::state::{Blocking, Listed};
use crate::team::{Entered, Team};
use crate::worker::tell_driver_of_end;
use blitz_parts::ticks;
use std::any::type_name;

/// Runs `f` on a thread of `team` that may block. Without a hold, the closure is cancelled.
pub(crate) fn spawn_blocking_in<F, T>(team: &Team, hold: Option<Hold>, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let packet = Packet::elsewhere(team, f);
    let work = packet.clone();
    let Some(hold) = hold else {
        work.abort();
        return JoinHandle::of_job(packet);
    };
    let (submitted, id) = (ticks::now(), packet.id());
    let errand = Box::new(move || {
        let thread = Blocking::thread_number();
        hold.team().note_blocking_begin(thread, submitted, type_name::<F>());
        let ambient = hold.team().enter_ambient();
        let entered = Entered::new(hold.team().clone());
        work.run();
        hold.team().note_blocking_end(thread);
        drop(entered);
        drop(ambient);
        if hold.team().blocking.has_ended(id) {
            tell_driver_of_end(hold.team());
        }
        drop(hold);
    });
    let listed = Listed { closure: packet.clone(), type_name: type_name::<F>() };
    team.blocking.submit(errand, id, listed);
    JoinHandle::of_job(packet)
}
