//! Jobs of a worker that measures work and span.

use super::jobs::Jobs;
use crate::state::Joint;
use crate::team::current;
use blitz_parts::job::{HeapJob, Work};

impl Jobs<'_> {
    /// Pushes a job whose strands are counted. Waiters know it by `joint`. The caller has checked
    /// that this worker measures.
    #[cold]
    pub(crate) fn push_counted(self, work: Work, joint: Option<Joint>) {
        let counted = self.counted(work, joint);
        self.push(counted);
        if let Some(strands) = self.strands() {
            strands.resume();
        }
    }

    /// A job that runs `work` and counts its strands. The current strand is paused.
    pub(crate) fn counted(self, work: Work, joint: Option<Joint>) -> Work {
        let Some(strands) = self.strands() else { return work };
        let begin = strands.spawn(joint);
        let run = move || {
            let Some(owner) = current() else { return work.run(None) };
            // A job sees no pool that the frame below has entered.
            let _entered = owner.enter_own();
            match owner.strands() {
                Some(strands) => strands.run_job(begin, joint, || work.run(None)),
                None => work.run(None),
            }
        };
        // SAFETY: the data that `work` borrows stays until `work` has run, and `work` runs in this
        // closure; the closure is `Send`, and a job does not unwind.
        unsafe { HeapJob::into_work(run) }
    }
}
