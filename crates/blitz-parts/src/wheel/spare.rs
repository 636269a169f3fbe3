//! Keeps closed wheels for reuse. A wheel's memory is never freed, so that an entry may point to
//! its wheel and need not keep the wheel alive. So the number of wheels is the largest number that
//! was ever open at once.

use super::{OnEarlier, Wheel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static SPARE: Mutex<Vec<&'static Wheel>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<&'static Wheel>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wheel {
    /// Returns an empty wheel at tick `now`. It belongs to the caller until it is closed.
    ///
    /// ```
    /// use blitz_parts::wheel::{Entry, OnEarlier, Waiting, Wheel};
    /// use std::{pin::pin, sync::Arc, task::Waker};
    ///
    /// struct Nobody;
    /// impl OnEarlier for Nobody {
    ///     fn is_earlier(&self, _: u64) {}
    /// }
    /// let wheel = Wheel::open(0, Arc::new(Nobody));
    /// let mut entry = pin!(Entry::new());
    /// wheel.insert(entry.as_mut(), 5, 0, Waker::noop().clone()).unwrap();
    ///
    /// let mut fired = std::collections::VecDeque::new();
    /// wheel.expire(4, 8, &mut fired);
    /// assert!(fired.is_empty() && entry.as_mut().poll(Waker::noop()) == Waiting::Yes);
    /// wheel.expire(5, 8, &mut fired);
    /// assert!(fired.len() == 1 && entry.as_mut().poll(Waker::noop()) == Waiting::Fired);
    /// wheel.close(&mut fired);
    /// wheel.give_back();
    /// ```
    pub fn open(now: u64, on_earlier: Arc<dyn OnEarlier>) -> &'static Wheel {
        let before = spare().pop();
        let wheel = before.unwrap_or_else(|| Box::leak(Box::new(Wheel::new())));
        wheel.begin(now, on_earlier);
        wheel
    }

    /// Keeps a closed wheel for the next `open`.
    pub fn give_back(&'static self) {
        debug_assert!(self.lock().on_earlier.is_none(), "the wheel is open");
        spare().push(self);
    }
}
