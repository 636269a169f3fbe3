//! A chain: each task starts the next one and ends; the last one reports.

use tokio::sync::oneshot::{self, Sender};

use super::batch::TaskJob;
use crate::runtime::Tasks;

/// How many links the chain has.
#[derive(Clone, Copy)]
pub(super) struct ChainedSpawn(pub(super) u64);

impl TaskJob for ChainedSpawn {
    fn operations(self) -> u64 {
        self.0
    }

    fn expected(self) -> u64 {
        self.0
    }

    async fn run<T: Tasks>(self, tasks: T) -> u64 {
        let (end, ended) = oneshot::channel();
        link(tasks, 0, self.0, end);
        ended.await.unwrap_or(0)
    }
}

/// Starts the next link; reports instead if `done` is `links`.
fn link<T: Tasks>(tasks: T, done: u64, links: u64, end: Sender<u64>) {
    if done == links {
        // The receiver may be gone.
        let _ = end.send(done);
    } else {
        tasks.detach(async move { link(tasks, done + 1, links, end) });
    }
}
