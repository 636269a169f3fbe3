//! Yields to other tasks.

#![forbid(unsafe_code)]

use crate::base::context;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Yields to the tasks that are runnable now.
///
/// The calling task goes to the end of its worker's queue.
///
/// ```
/// # blitz::block_on(async {
/// blitz::task::yield_now().await;
/// # });
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// Future returned by [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        // The worker that polls the task sees this note. If `cx` has another waker, that waker must
        // be called.
        if !context::yield_task(cx.waker()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
