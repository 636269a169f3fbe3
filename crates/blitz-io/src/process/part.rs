//! Awaits several futures together.

#![forbid(unsafe_code)]

use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A future and, once it has one, its result.
    #[project = Projected]
    pub(super) struct Part<F: Future> {
        #[pin]
        future: F,
        result: Option<F::Output>,
    }
}

impl<F: Future> Part<F> {
    pub(super) fn of(future: F) -> Part<F> {
        Part { future, result: None }
    }

    /// Polls the future, unless it has a result. Returns whether it is still pending.
    pub(super) fn is_pending(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let Projected { future, result } = self.project();
        if result.is_none() {
            match future.poll(cx) {
                Poll::Ready(ready) => *result = Some(ready),
                Poll::Pending => return true,
            }
        }
        false
    }

    /// Takes the result of a future that is no longer pending. Call it once.
    pub(super) fn take(self: Pin<&mut Self>) -> F::Output {
        match self.project().result.take() {
            Some(result) => result,
            None => unreachable!("the future is ready, and its result is taken once"),
        }
    }
}
