//! Tasks that only yield to each other.

use super::batch::TaskJob;
use crate::runtime::Tasks;

#[derive(Clone, Copy)]
pub(super) struct YieldMany {
    pub(super) tasks: u64,
    pub(super) yields: u64,
}

impl TaskJob for YieldMany {
    fn operations(self) -> u64 {
        self.expected()
    }

    fn expected(self) -> u64 {
        self.tasks * self.yields
    }

    async fn run<T: Tasks>(self, tasks: T) -> u64 {
        let yielding = |_| tasks.spawn(yield_often(tasks, self.yields));
        let handles: Vec<_> = (0..self.tasks).map(yielding).collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await;
        }
        sum
    }
}

async fn yield_often<T: Tasks>(tasks: T, yields: u64) -> u64 {
    let mut done = 0;
    for _ in 0..yields {
        tasks.yield_now().await;
        done += 1;
    }
    done
}
