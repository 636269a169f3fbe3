//! Pairs of tasks that exchange a message and its answer, all pairs at once.

use tokio::sync::oneshot;

use super::{arrivals::Arrivals, batch::TaskJob};
use crate::runtime::Tasks;

#[derive(Clone, Copy)]
pub(super) struct PingPong(&'static Arrivals);

impl PingPong {
    pub(super) fn new(pairs: u64) -> Self {
        Self(Arrivals::leaked(pairs))
    }
}

impl TaskJob for PingPong {
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
            tasks.detach(async move {
                serve(tasks).await;
                arrivals.arrive();
            });
        }
        // An error would show in the count.
        let _ = complete.await;
        arrivals.arrived()
    }
}

/// Starts a partner, sends it a message and waits for the answer.
async fn serve<T: Tasks>(tasks: T) {
    let (ping, pinged) = oneshot::channel::<()>();
    let (pong, ponged) = oneshot::channel::<()>();
    tasks.detach(async move {
        if pinged.await.is_ok() {
            // This cannot fail: the task that serves waits for this answer and for nothing else.
            let _ = pong.send(());
        }
    });
    ping.send(()).expect("the partner waits");
    ponged.await.expect("the partner answers");
}
