//! Waits for a latch on the thread that made it.

#![forbid(unsafe_code)]

use super::visit::wait_outside;
use super::{Help, help, help_outside};
use crate::state::Joint;
use crate::team::{AnyLatch, Team, current};
use blitz_parts::deque::Mark;
use blitz_parts::guests::Injected;
use blitz_parts::job::Header;

/// Jobs that the current worker, if there is one, pushes from now on lie above this mark.
pub(crate) fn mark() -> Mark<Header> {
    current().map_or(Mark::START, |owner| owner.jobs().mark())
}

impl AnyLatch {
    /// Waits for jobs of `team`. A worker of that team that runs only descendants takes injected
    /// jobs once `injected` is set: then a job of this wait may be among them. A worker of another
    /// team always takes the injected jobs of its own team, because the jobs of `team` may call
    /// back into that team. A worker that measures knows the jobs by `joint`.
    pub(crate) fn wait_for_jobs_of(
        &self,
        team: &Team,
        mark: Mark<Header>,
        injected: &Injected,
        joint: impl FnOnce() -> Option<Joint>,
    ) {
        match current() {
            Some(owner) if owner.is_in(team) => self.wait(mark, help(team, Some(injected))),
            Some(owner) if owner.stands_for(team) => {
                owner.join_counted(joint(), || self.wait(mark, help(owner.team(), None)));
            }
            _ => {
                let _outside = wait_outside(team);
                self.wait_for_anything(mark);
            }
        }
    }

    /// Waits for something outside the worker's own team, which may depend on any task or injected
    /// job of the own team.
    pub(crate) fn wait_for_anything(&self, mark: Mark<Header>) {
        let help = current().map_or(Help::Anything, |owner| help_outside(owner.team()));
        self.wait(mark, help);
    }

    /// Waits on the thread that made the latch. A worker helps meanwhile, as far as `help` allows.
    /// For `mark` see [`Owner::wait_until`].
    pub(crate) fn wait(&self, mark: Mark<Header>, help: Help<'_>) {
        match (self, current()) {
            (AnyLatch::Worker(latch, _), Some(owner)) => owner.wait_until(latch, mark, help),
            (AnyLatch::Worker(..), None) => {
                unreachable!("a worker stays one until its job is done")
            }
            (AnyLatch::Foreign(latch), _) => latch.wait(),
        }
    }
}
