//! Jobs that nobody's frame waits for: they keep the pool working until they have run.

use crate::team::Team;
use blitz_parts::job::{HeapJob, Work};
use std::sync::Arc;

/// A job that outlives the call which makes it. The pool does not end before it has run; a panic
/// goes to the pool's handler.
pub(crate) fn job(team: &Team, f: impl FnOnce() + Send + 'static) -> Work {
    let hold = Hold::new(team);
    // SAFETY: the closure borrows nothing, is `Send`, and catches panics.
    unsafe {
        HeapJob::into_work(move || {
            hold.0.catch(f);
            drop(hold);
        })
    }
}

/// Keeps the team at work.
struct Hold(Arc<Team>);

impl Hold {
    fn new(team: &Team) -> Hold {
        team.hold();
        Hold(team.arc())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.release();
    }
}
