//! A worker that measures the work and the span of its jobs: see `blitz::analyze`.
//!
//! It is the only worker of its team, which exists for one analysis. It stands for the workers of
//! another team, the origin. The analysing team publishes every fork, so each fork and each join
//! takes the cold path, where strands begin and end. The worker's thread has entered the origin, so
//! only jobs stay in the analysing team. Everything else, for example tasks, goes to the origin.

#![forbid(unsafe_code)]

use super::origin::Analysing;
use super::{Entered, Owner, Team};
use crate::state::{Joint, Strands};
use std::sync::Arc;

impl<'a> Owner<'a> {
    /// The state of the measurement, if this worker measures.
    #[inline]
    pub(crate) fn analysing(self) -> Option<&'a Analysing> {
        self.own().analysing.get().map(|analysing| &**analysing)
    }

    /// The strands of this worker, if it measures.
    #[inline]
    pub(crate) fn strands(self) -> Option<&'a Strands> {
        self.analysing().map(|analysing| &analysing.strands)
    }

    /// Makes this worker measure from now on, in place of the workers of `origin`. Returns its
    /// strands.
    pub(crate) fn begin_analysis(self, origin: Arc<Team>, strands: Strands) -> &'a Strands {
        &self.own().analysing.get_or_init(|| Box::new(Analysing { origin, strands })).strands
    }

    /// Whether this worker runs jobs of `team` although it belongs to another team.
    #[cold]
    pub(crate) fn stands_for(self, team: &Team) -> bool {
        self.analysing().is_some_and(|analysing| std::ptr::eq(&raw const *analysing.origin, team))
    }

    /// Calls `wait`, which waits for `joint`. On a worker that measures, the strand that follows
    /// depends on `joint`.
    #[cold]
    pub(crate) fn join_counted<R>(self, joint: Option<Joint>, wait: impl FnOnce() -> R) -> R {
        match (self.strands(), joint) {
            (Some(strands), Some(joint)) => strands.join(joint, wait),
            _ => wait(),
        }
    }

    /// Runs a job through its handle, on the worker that spawned the job. If this worker measures,
    /// the job's strands begin where the job was spawned.
    #[cold]
    pub(crate) fn run_counted(self, joint: Joint, job: impl FnOnce()) {
        match self.strands() {
            Some(strands) => strands.run_early(joint, job),
            None => job(),
        }
    }

    /// Enters no pool, or the origin if this worker measures.
    #[inline]
    pub(crate) fn enter_own(self) -> Entered {
        match self.analysing() {
            None => Entered::none(),
            Some(analysing) => Entered::new(analysing.origin.clone()),
        }
    }
}
