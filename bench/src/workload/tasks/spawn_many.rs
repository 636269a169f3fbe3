//! Many empty tasks, all started before the program waits for the first of them.

use super::{arrivals::Arrivals, batch::TaskJob};
use crate::runtime::Tasks;

#[derive(Clone, Copy)]
pub(super) struct SpawnMany(&'static Arrivals);

impl SpawnMany {
    pub(super) fn new(tasks: u64) -> Self {
        Self(Arrivals::leaked(tasks))
    }
}

impl TaskJob for SpawnMany {
    fn operations(self) -> u64 {
        self.0.expected()
    }

    fn expected(self) -> u64 {
        self.0.expected()
    }

    async fn run<T: Tasks>(self, tasks: T) -> u64 {
        let Self(arrivals) = self;
        let complete = arrivals.expect();
        for _ in 0..arrivals.expected() {
            tasks.detach(async { arrivals.arrive() });
        }
        // An error would show in the count.
        let _ = complete.await;
        arrivals.arrived()
    }
}
