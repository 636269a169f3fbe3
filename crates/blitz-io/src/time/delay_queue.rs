//! A queue of values with deadlines.

#![forbid(unsafe_code)]

use super::{Duration, Instant, Sleep, sleep_until};
use blitz_core::driver::poll_spend;
use slab::Slab;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// A queue that returns each value at its deadline, the earliest first.
///
/// One timer serves all entries. An entry is a node of a tree, and needs no task.
///
/// ```
/// # blitz::block_on(async {
/// use blitz::time::{DelayQueue, Duration};
///
/// let mut queue = DelayQueue::new();
/// queue.insert("second", Duration::from_millis(6));
/// let first = queue.insert("first", Duration::from_secs(3_600));
/// queue.reset(&first, Duration::from_millis(2));
/// assert_eq!(queue.next().await.unwrap().into_inner(), "first");
/// assert_eq!(queue.next().await.unwrap().into_inner(), "second");
/// assert!(queue.next().await.is_none());
/// # });
/// ```
///
/// The queue does not implement `Stream`, a trait of another crate; use `futures::stream::poll_fn`
/// with [`poll_expired`](DelayQueue::poll_expired).
#[derive(Debug)]
pub struct DelayQueue<T> {
    entries: Slab<Entry<T>>,
    /// The entries by deadline; entries with equal deadlines by number.
    order: BTreeMap<(Instant, u64), usize>,
    /// The number that the last new entry or the last change of a deadline got.
    number: u64,
    /// Waits for the deadline that was the first when the queue was last polled.
    sleep: Option<Pin<Box<Sleep>>>,
    /// The task that polled last.
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    deadline: Instant,
    /// The number of this entry in `order`.
    turn: u64,
    /// The number in the key of this entry.
    number: u64,
}

/// Names an entry of a [`DelayQueue`]. Keys are never reused for another entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    index: usize,
    number: u64,
}

/// A value that came out of a [`DelayQueue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired<T> {
    value: T,
    deadline: Instant,
    key: Key,
}

impl<T> Expired<T> {
    /// Returns a reference to the value.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the deadline of the value.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the key that the value had.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }
}

impl<T> DelayQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> DelayQueue<T> {
        DelayQueue::with_capacity(0)
    }

    /// Creates an empty queue with room for `capacity` values.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> DelayQueue<T> {
        let entries = Slab::with_capacity(capacity);
        DelayQueue { entries, order: BTreeMap::new(), number: 0, sleep: None, waker: None }
    }

    /// Returns how many values are in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Inserts a value that expires after `timeout`.
    pub fn insert(&mut self, value: T, timeout: Duration) -> Key {
        self.insert_at(value, after(timeout))
    }

    /// Inserts a value that expires at `deadline`, or at once if that has passed.
    ///
    /// ```
    /// use blitz::time::{DelayQueue, Duration, Instant};
    ///
    /// # blitz::block_on(async {
    /// let mut queue = DelayQueue::new();
    /// let soon = Instant::now() + Duration::from_millis(1);
    /// queue.insert_at("soon", soon);
    /// let late = queue.insert("late", Duration::from_secs(3_600));
    /// assert_eq!(queue.remove(&late).into_inner(), "late");
    /// assert_eq!(queue.next().await.unwrap().into_inner(), "soon");
    /// assert!(Instant::now() >= soon && queue.is_empty());
    /// # });
    /// ```
    pub fn insert_at(&mut self, value: T, deadline: Instant) -> Key {
        let number = self.next_number();
        let index = self.entries.insert(Entry { value, deadline, turn: number, number });
        self.enqueue(index, deadline, number);
        Key { index, number }
    }

    /// Takes a value out.
    ///
    /// # Panics
    /// If the value is no longer in the queue: see [`try_remove`](DelayQueue::try_remove).
    #[track_caller]
    pub fn remove(&mut self, key: &Key) -> Expired<T> {
        match self.try_remove(key) {
            Some(removed) => removed,
            None => panic!("{GONE}"),
        }
    }

    /// Takes a value out, if it is still there.
    ///
    /// ```
    /// use blitz::time::{DelayQueue, Duration};
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("value", Duration::from_secs(1));
    /// assert_eq!(queue.try_remove(&key).map(|removed| removed.into_inner()), Some("value"));
    /// assert!(queue.try_remove(&key).is_none());
    /// ```
    pub fn try_remove(&mut self, key: &Key) -> Option<Expired<T>> {
        self.entry(key)?;
        let removed = self.take(key.index);
        if self.order.is_empty() {
            // A task that waits for a value would get `None` now.
            self.wake();
        }
        Some(removed)
    }

    /// Returns the deadline of a value.
    ///
    /// # Panics
    /// If the value is no longer in the queue.
    #[track_caller]
    #[must_use]
    pub fn deadline(&self, key: &Key) -> Instant {
        match self.entry(key) {
            Some(entry) => entry.deadline,
            None => panic!("{GONE}"),
        }
    }

    /// Makes a value expire after `timeout`, counted from now.
    ///
    /// # Panics
    /// If the value is no longer in the queue.
    #[track_caller]
    pub fn reset(&mut self, key: &Key, timeout: Duration) {
        self.reset_at(key, after(timeout));
    }

    /// Makes a value expire at `deadline`.
    ///
    /// # Panics
    /// If the value is no longer in the queue.
    #[track_caller]
    pub fn reset_at(&mut self, key: &Key, deadline: Instant) {
        let turn = self.next_number();
        let Some(entry) = self.entries.get_mut(key.index).filter(|own| own.number == key.number)
        else {
            panic!("{GONE}")
        };
        let before = (entry.deadline, entry.turn);
        (entry.deadline, entry.turn) = (deadline, turn);
        self.order.remove(&before);
        self.enqueue(key.index, deadline, turn);
    }

    /// Returns the key of the value that expires next.
    #[must_use]
    pub fn peek(&self) -> Option<Key> {
        let (_, &index) = self.order.first_key_value()?;
        Some(Key { index, number: self.entries[index].number })
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.order.clear();
        self.sleep = None;
        // A waker and the drop of a value are user code, which may panic.
        let entries = std::mem::take(&mut self.entries);
        self.wake();
        drop(entries);
    }

    /// Waits for the next value; `None` if the queue is empty.
    ///
    /// If the future is dropped before it is ready, as in a `select!`, no value is lost.
    pub async fn next(&mut self) -> Option<Expired<T>> {
        poll_fn(|cx| self.poll_expired(cx)).await
    }

    /// Works like [`next`](DelayQueue::next), as a poll function. Only the task that polled last is
    /// woken: at the next deadline, when an inserted or reset entry is the first, or when the last
    /// value is removed.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        if self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        // Each value spends budget: if many have expired, other tasks still get their turn.
        let spent = ready!(poll_spend(cx));
        loop {
            let Some((&(deadline, _), &index)) = self.order.first_key_value() else {
                self.sleep = None;
                return Poll::Ready(None);
            };
            if deadline <= Instant::now() {
                spent.made_progress();
                return Poll::Ready(Some(self.take(index)));
            }
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if sleep.deadline() != deadline {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll_elapsed(cx));
            self.sleep = None;
        }
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn entry(&self, key: &Key) -> Option<&Entry<T>> {
        self.entries.get(key.index).filter(|entry| entry.number == key.number)
    }

    /// Adds an entry to the order. Wakes the task that polled last if this entry expires first.
    fn enqueue(&mut self, index: usize, deadline: Instant, turn: u64) {
        self.order.insert((deadline, turn), index);
        let is_first = self.order.first_key_value().is_some_and(|(first, _)| first.1 == turn);
        if is_first {
            self.wake();
        }
    }

    /// Wakes the task that polled last.
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn take(&mut self, index: usize) -> Expired<T> {
        let Entry { value, deadline, turn, number } = self.entries.remove(index);
        self.order.remove(&(deadline, turn));
        Expired { value, deadline, key: Key { index, number } }
    }
}

const GONE: &str = "the key's value is not in the queue any more: use try_remove";

/// Returns the moment after `timeout`, or one in the far future if the clock has no such moment.
fn after(timeout: Duration) -> Instant {
    Instant::now().checked_add(timeout).unwrap_or_else(Instant::far_future)
}

impl<T> Default for DelayQueue<T> {
    fn default() -> DelayQueue<T> {
        DelayQueue::new()
    }
}
