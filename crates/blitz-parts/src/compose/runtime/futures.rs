//! Futures for the models, and the wrapper that follows each of them to its end.

use super::ledger::{Ledger, Record};
use crate::prim::Mutex;
use crate::task::{Failure, Join, Payload, TaskRef};
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A spawned future, and the record of what becomes of it.
pub(super) struct Followed<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    record: Arc<Record>,
}

impl<T> Followed<T> {
    pub(super) fn new(
        future: impl Future<Output = T> + Send + 'static,
        ledger: &Ledger,
    ) -> Followed<T> {
        Followed { future: Box::pin(future), record: ledger.open() }
    }

    pub(super) fn record(&self) -> Arc<Record> {
        self.record.clone()
    }
}

impl<T> Future for Followed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let record = self.record.clone();
        assert!(!record.polled_now.swap(true, Relaxed), "two workers poll one task");
        assert!(!record.is_dropped() && !record.has_completed(), "a task is polled after its end");
        let polled = self.future.as_mut().poll(cx);
        record.polled_now.store(false, Relaxed);
        let output = ready!(polled);
        record.completed.fetch_add(1, Relaxed);
        Poll::Ready(output)
    }
}

impl<T> Drop for Followed<T> {
    fn drop(&mut self) {
        self.record.dropped.fetch_add(1, Relaxed);
    }
}

/// The join handle of a task: a future that is none if the task was cancelled.
pub(super) struct Handle<T> {
    join: Join<T>,
    record: Arc<Record>,
}

impl<T> Handle<T> {
    pub(super) fn new(join: Join<T>, record: Arc<Record>) -> Handle<T> {
        Handle { join, record }
    }

    pub(super) fn abort(&self) {
        self.join.abort();
    }

    pub(super) fn task(&self) -> TaskRef {
        self.join.task()
    }
}

impl<T> Future for Handle<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let outcome = ready!(self.join.poll(cx));
        assert!(self.record.is_dropped(), "a task has ended, and its future is not dropped");
        match outcome {
            Ok(output) => {
                assert!(self.record.has_completed(), "an output out of nothing");
                Poll::Ready(Some(output))
            }
            Err(Failure::Cancelled) => {
                assert!(!self.record.has_completed(), "an output is lost");
                Poll::Ready(None)
            }
            Err(Failure::Panicked(payload)) => std::panic::resume_unwind(payload),
        }
    }
}

/// The text of a panic.
pub(super) fn text(payload: &Payload) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Lets the other tasks go first, once.
pub(super) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A gate that opens once; those who wait for it are woken then.
#[derive(Clone)]
pub(super) struct Gate(Arc<Mutex<Doorway>>);

struct Doorway {
    is_open: bool,
    waiting: Vec<Waker>,
}

impl Gate {
    pub(super) fn new() -> Gate {
        Gate(Arc::new(Mutex::new(Doorway { is_open: false, waiting: Vec::new() })))
    }

    /// Opens the gate, and wakes by value or by reference who waits.
    pub(super) fn open(&self) {
        let mut doorway = self.0.lock().unwrap();
        doorway.is_open = true;
        let waiting = core::mem::take(&mut doorway.waiting);
        drop(doorway);
        for (number, waker) in waiting.into_iter().enumerate() {
            if number % 2 == 0 {
                waker.wake();
            } else {
                waker.wake_by_ref();
            }
        }
    }

    /// Wakes who waits for nothing.
    pub(super) fn wake_in_vain(&self) {
        let waiting = self.0.lock().unwrap().waiting.clone();
        waiting.iter().for_each(Waker::wake_by_ref);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.lock().unwrap().is_open
    }

    /// Ready once the gate is open.
    pub(super) async fn passed(&self) {
        poll_fn(|cx| {
            let mut doorway = self.0.lock().unwrap();
            if doorway.is_open {
                return Poll::Ready(());
            }
            if !doorway.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                doorway.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}
