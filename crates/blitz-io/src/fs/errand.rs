//! Work on a thread that may block.

#![forbid(unsafe_code)]

use crate::borrowed::oneshot;
use blitz_core::task;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Runs `work` on a blocking thread; returns its result.
///
/// # Errors
/// The error of `work`, or an error if `work` panicked, or if the runtime had ended before `work`
/// began.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    blitz_core::spawn_blocking(work).await.map_err(|error| {
        // No other task has the handle, so none can have cancelled the work.
        if error.is_cancelled() {
            io::Error::other("the runtime has ended: keep it as long as its files are used")
        } else {
            io::Error::other(error)
        }
    })?
}

/// Work for a thread that may block. The work always runs: if no thread runs it, the drop of the
/// errand does.
struct Errand<T, F: FnOnce() -> T> {
    work: Option<(F, oneshot::Sender<T>)>,
}

impl<T, F: FnOnce() -> T> Errand<T, F> {
    fn run(&mut self) {
        if let Some((work, done)) = self.work.take() {
            // The call drops the closure and its captures before the waiting task is woken.
            let result = work();
            // The task that asked may be gone.
            let _ = done.send(result);
        }
    }
}

impl<T, F: FnOnce() -> T> Drop for Errand<T, F> {
    fn drop(&mut self) {
        // The runtime has ended and takes no more work: do it here.
        self.run();
    }
}

/// An operation of the system that makes progress as it is polled.
type Steps<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// The result of the steps, or the steps themselves if the runtime ended first.
type Driven<T> = Result<T, Steps<T>>;

/// An errand that is under way.
pub(super) enum Pending<T> {
    /// A thread does the errand.
    Elsewhere(oneshot::Receiver<T>),
    /// The system does the errand, and the file polls the steps.
    Here(Steps<T>),
    /// The system does the errand, and a task polls the steps. If the runtime of that task ends
    /// first, the task hands the steps back.
    Driven(oneshot::Receiver<Driven<T>>),
}

/// Polls the steps to their end. If this future is dropped earlier, it hands the steps back.
struct Drive<T> {
    steps: Option<(Steps<T>, oneshot::Sender<Driven<T>>)>,
}

impl<T> Future for Drive<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some((steps, _)) = &mut self.steps else { return Poll::Ready(()) };
        let result = ready!(steps.as_mut().poll(cx));
        if let Some((steps, done)) = self.steps.take() {
            drop(steps);
            // The file may be gone.
            let _ = done.send(Ok(result));
        }
        Poll::Ready(())
    }
}

impl<T> Drop for Drive<T> {
    fn drop(&mut self) {
        if let Some((steps, done)) = self.steps.take() {
            // If the file is gone, the steps are dropped, and the ring finishes operations that the
            // system has begun.
            let _ = done.send(Err(steps));
        }
    }
}

impl<T: Send + 'static> Pending<T> {
    /// Begins `work` on a blocking thread.
    pub(super) fn new(work: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let (done, is_done) = oneshot::channel();
        let mut errand = Errand { work: Some((work, done)) };
        drop(blitz_core::spawn_blocking(move || errand.run()));
        Pending::Elsewhere(is_done)
    }

    /// Polls for the result, which comes once; `None` if the work has panicked.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self {
                Pending::Elsewhere(is_done) => return Pin::new(is_done).poll(cx).map(Result::ok),
                Pending::Here(steps) => return steps.as_mut().poll(cx).map(Some),
                Pending::Driven(is_done) => match ready!(Pin::new(is_done).poll(cx)) {
                    Ok(Err(steps)) => *self = Pending::Here(steps),
                    done => return Poll::Ready(done.ok().and_then(Result::ok)),
                },
            }
        }
    }

    /// Makes a task poll the errand to its end, even if its result is never fetched.
    pub(super) fn drive(self) -> Pending<T> {
        let Pending::Here(steps) = self else { return self };
        let (done, is_done) = oneshot::channel();
        // The shield keeps the runtime alive until the steps are done, unless the runtime ends
        // before the first poll.
        drop(blitz_core::spawn(task::shield(Drive { steps: Some((steps, done)) })));
        Pending::Driven(is_done)
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pending, run};
    use blitz_core::{Pool, block_on};
    use std::future::poll_fn;
    use std::io;
    use std::sync::mpsc;

    #[test]
    fn the_result_of_work_comes_back() {
        assert_eq!(block_on(run(|| Ok(7))).unwrap(), 7);
        let error = block_on(run(|| io::Result::<()>::Err(io::ErrorKind::NotFound.into())));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn work_for_a_pool_that_has_ended_is_done_all_the_same() {
        let pool = Pool::builder().workers(1).build().unwrap();
        let handle = pool.handle();
        drop(pool);
        let entered = handle.enter();
        let (send, sent) = mpsc::channel();
        let mut pending = Pending::new(move || send.send(7).unwrap());
        assert_eq!(sent.recv(), Ok(7));
        drop(entered);
        assert_eq!(block_on(poll_fn(|cx| pending.poll(cx))), Some(()));
    }

    #[test]
    fn work_that_panics_has_no_result() {
        let pool = Pool::builder().workers(1).panic_handler(|_| {}).build().unwrap();
        pool.block_on(async {
            let mut pending = Pending::new(|| -> u8 { panic!("on purpose") });
            assert_eq!(poll_fn(|cx| pending.poll(cx)).await, None);
        });
    }
}
