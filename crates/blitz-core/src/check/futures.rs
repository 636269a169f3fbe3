//! Futures for the programs, and the wrapper that follows each of them to its end.

use super::ledger::{Ledger, Record};
use crate::JoinHandle;
use crate::task::{self, AbortHandle};
use blitz_parts::prim::{Condvar, Mutex, any_below};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker, ready};

/// A spawned future, and the record of its fate.
pub(super) struct Followed<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    record: Arc<Record>,
}

impl<T> Followed<T> {
    /// Starts a followed task with `spawn`.
    pub(super) fn spawn(
        future: impl Future<Output = T> + Send + 'static,
        spawn: impl FnOnce(Followed<T>) -> JoinHandle<T>,
    ) -> Handle<T> {
        let record = Ledger::current().open();
        let future = Followed { future: Box::pin(future), record: record.clone() };
        Handle { join: spawn(future), record }
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

/// The join handle of a task: a future whose output is `None` if the task was cancelled.
pub(super) struct Handle<T> {
    join: JoinHandle<T>,
    record: Arc<Record>,
}

impl<T> Handle<T> {
    pub(super) fn abort(&self) {
        self.join.abort();
    }

    pub(super) fn abort_handle(&self) -> AbortHandle {
        self.join.abort_handle()
    }
}

impl<T> Future for Handle<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let outcome = ready!(Pin::new(&mut self.join).poll(cx));
        assert!(self.record.is_dropped(), "a task has ended, and its future is not dropped");
        match outcome {
            Ok(output) => {
                assert!(self.record.has_completed(), "a task that did not complete has an output");
                Poll::Ready(Some(output))
            }
            Err(error) if error.is_cancelled() => {
                assert!(!self.record.has_completed(), "an output was lost");
                Poll::Ready(None)
            }
            Err(error) => {
                // Format the error before the panic: the panic hook must not switch threads, and
                // taking the error's lock does.
                let text = error.to_string();
                panic!("{text}")
            }
        }
    }
}

/// Yields once: with the public function, or by a wake-up during the poll.
pub(super) async fn yield_now() {
    if any_below(2) == 0 {
        return task::yield_now().await;
    }
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

/// A gate that opens once; tasks that wait for it are woken then.
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

    /// Opens the gate, and wakes the waiting tasks by value or by reference.
    pub(super) fn open(&self) {
        let mut doorway = self.0.lock().unwrap();
        doorway.is_open = true;
        let waiting = std::mem::take(&mut doorway.waiting);
        drop(doorway);
        for (number, waker) in waiting.into_iter().enumerate() {
            if number % 2 == 0 {
                waker.wake();
            } else {
                waker.wake_by_ref();
            }
        }
    }

    /// Wakes the waiting tasks spuriously.
    pub(super) fn wake_in_vain(&self) {
        let waiting = self.0.lock().unwrap().waiting.clone();
        waiting.iter().for_each(Waker::wake_by_ref);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.lock().unwrap().is_open
    }

    /// Waits until the gate is open.
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

/// An event that blocks a thread. The thread runs no other work meanwhile.
#[derive(Clone)]
pub(super) struct Event(Arc<(Mutex<bool>, Condvar)>);

impl Event {
    pub(super) fn new() -> Event {
        Event(Arc::new((Mutex::new(false), Condvar::new())))
    }

    pub(super) fn set(&self) {
        let (is_set, changed) = &*self.0;
        *is_set.lock().unwrap() = true;
        changed.notify_all();
    }

    /// Blocks the thread, possibly in the middle of a poll or job.
    pub(super) fn wait(&self) {
        let (is_set, changed) = &*self.0;
        let mut guard = is_set.lock().unwrap();
        while !*guard {
            guard = changed.wait(guard).unwrap();
        }
    }
}
