//! What the relief worker, its notifiers and the workers that stand aside for it call.

use super::{BedOwner, DriverLease, Sleep};
use crate::prim::{SeqCst, Step, broken, fence};

impl Sleep {
    /// Puts worker `index` on relief, unless a worker is already. A relief worker serves the driver
    /// and tasks while workers with seats compute.
    ///
    /// The worker is in service. While it waits, the counters do not count it as a sleeper, so that
    /// no fork publishes jobs for it.
    pub fn begin_relief(&self, index: usize) -> bool {
        self.relief.begin(index)
    }

    /// Ends the relief of worker `index`, which leaves, or which another thread sees stuck in a
    /// poll. Returns false if the worker was not on relief, or waits.
    pub fn end_relief(&self, index: usize) -> bool {
        let ended = self.relief.end(index);
        if !broken(Step::SleepReliefEndFence) {
            fence(SeqCst); // O16
        }
        ended
    }

    /// The worker that is on relief, if one is.
    pub fn on_relief(&self) -> Option<usize> {
        self.relief.worker()
    }

    /// Whether the relief worker waits in the driver.
    pub fn relief_waits(&self) -> bool {
        self.relief.waits()
    }

    /// Notes on which processor the relief worker runs, which calls this. With `None` no worker
    /// stands aside.
    pub fn relief_runs_on(&self, processor: Option<u32>) {
        self.relief.runs_on(processor);
    }

    /// Leaves `processor`, on which the caller runs, to the relief worker, if that has to run there
    /// and does not. `news` returns whether the driver has events for a relief worker that waits.
    ///
    /// The relief worker wakes up where it ran last. If the caller runs there, and the relief
    /// worker has work, it waits for the caller's processor. Returns whether the caller stood
    /// aside.
    pub fn stand_aside(&self, processor: u32, news: impl FnOnce() -> bool) -> bool {
        self.relief.stand_aside(processor, news)
    }

    /// Blocks the relief worker in the driver until an event comes, or until it is notified of a
    /// task that `look` did not see. Returns `None` if there is no driver, another worker serves
    /// the driver, or the relief has ended.
    pub fn wait_on_relief(
        &self,
        bed: BedOwner<'_>,
        look: impl FnOnce() -> bool,
    ) -> Option<DriverLease<'_>> {
        let lease = self.try_lease(bed)?;
        let driver = self.driver()?;
        let look = || look() || self.is_stopping();
        self.relief.wait(bed.index(), look, || driver.block()).then_some(lease)
    }

    /// Notifies the relief worker, if it waits, of a task that was just put where it looks. The
    /// caller has fenced since. Returns whether it woke the worker.
    #[inline]
    pub fn tell_relief(&self) -> bool {
        self.relief.tell(|| {
            if let Some(driver) = self.driver() {
                driver.wake();
            }
        })
    }
}
