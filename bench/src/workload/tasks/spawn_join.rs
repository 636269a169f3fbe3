//! One task at a time: start it, wait for its output.

use super::batch::TaskJob;
use crate::runtime::Tasks;

/// How many tasks, one after the other.
#[derive(Clone, Copy)]
pub(super) struct SpawnJoin(pub(super) u64);

impl TaskJob for SpawnJoin {
    fn operations(self) -> u64 {
        self.0
    }

    /// The sum of the numbers that the tasks return: 0, 1, 2 and so on.
    fn expected(self) -> u64 {
        self.0 * self.0.saturating_sub(1) / 2
    }

    async fn run<T: Tasks>(self, tasks: T) -> u64 {
        let mut sum = 0;
        for number in 0..self.0 {
            sum += tasks.spawn(async move { number }).await;
        }
        sum
    }
}
