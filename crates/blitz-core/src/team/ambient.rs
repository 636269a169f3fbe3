//! The context of another runtime, which a team keeps for its threads.
//!
//! A worker is in the context from its first moment to its last. Work on top of a waiting frame is
//! in the context, too, whatever that frame has entered: an
//! [`Aside`](crate::base::context::Aside) enters the context again. The other runtime ends after
//! the last task of the team, and before the team has ended.

#![forbid(unsafe_code)]

use super::Team;
use crate::base::ambient::{Ambient, AmbientGuard, replace_own};
use crate::base::context;
use std::sync::Arc;

/// Keeps a worker's thread in its pool's context until this is dropped.
pub(crate) struct Inside {
    guard: Option<AmbientGuard>,
    before: Option<Arc<dyn Ambient>>,
}

impl Inside {
    fn begin(ambient: &Arc<dyn Ambient>) -> Inside {
        let before = replace_own(Some(ambient.clone()));
        context::set_ambient(true);
        Inside { guard: ambient.enter(), before }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(self.guard.take());
        let before = self.before.take();
        context::set_ambient(before.is_some());
        drop(replace_own(before));
    }
}

impl Team {
    /// The other runtime's context, if the team keeps one.
    pub(crate) fn ambient(&self) -> Option<&Arc<dyn Ambient>> {
        self.ambient.get()
    }

    /// Gives the team a context, before it has threads.
    pub(crate) fn set_ambient(&self, ambient: Arc<dyn Ambient>) {
        let set = self.ambient.set(ambient);
        debug_assert!(set.is_ok(), "a team has one context");
    }

    /// Enters the context on the current thread, a worker of the team. Each aside that begins on
    /// this thread enters the context again.
    pub(crate) fn be_inside(&self) -> Option<Inside> {
        self.ambient().map(Inside::begin)
    }

    /// Enters the team's context on this thread, unless it is already current.
    pub(crate) fn enter_ambient(&self) -> Option<AmbientGuard> {
        self.ambient()?.enter()
    }

    /// Ends the other runtime: no task of the team is left.
    pub(crate) fn end_ambient(&self) {
        if let Some(ambient) = self.ambient() {
            ambient.end();
        }
    }

    /// Whether the current thread belongs to the other runtime.
    pub(crate) fn is_ambient_here(&self) -> bool {
        self.ambient().is_some_and(|ambient| ambient.is_here())
    }
}
