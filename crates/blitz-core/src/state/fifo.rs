//! First-in-first-out order on top of last-in-first-out deques.

#![forbid(unsafe_code)]

use blitz_parts::job::Work;
use blitz_parts::prim::Mutex;
use blitz_parts::trim::outgrown;
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Jobs in order. For each job there is a token in some deque. The worker that takes a token runs
/// the oldest job.
#[derive(Default)]
pub(crate) struct Fifo {
    jobs: Mutex<VecDeque<Work>>,
}

impl Fifo {
    /// Appends a job. The caller then makes a token that calls [`Fifo::run_oldest`].
    pub(crate) fn push(&self, work: Work) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).push_back(work);
    }

    /// Runs the oldest job. There are as many jobs as tokens.
    pub(crate) fn run_oldest(&self) {
        let (oldest, outgrown) = {
            let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            (jobs.pop_front(), outgrown(&mut jobs))
        };
        drop(outgrown);
        match oldest {
            Some(work) => work.run(None),
            None => unreachable!("there are as many jobs as tokens"),
        }
    }
}
