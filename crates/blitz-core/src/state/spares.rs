//! Spare threads: lets them rest, and calls them.
//!
//! A spare is a worker beyond those that the pool was built with. It is started when it is first
//! needed, serves as long as it is needed, and rests until the next call. The lock is held while a
//! spare is started, so that workers are added one by one and none after the end.

#![forbid(unsafe_code)]

use blitz_parts::prim::{Condvar, Mutex, MutexGuard};
use blitz_parts::tuning::RELIEF_CALLS;
use std::io;
use std::sync::{Arc, PoisonError};

/// The duty for which a spare is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// To work in the place of a worker that is blocked.
    Seat,
    /// To serve the driver and tasks while workers with seats compute.
    Relief,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Called {
    /// A spare is on its way.
    Comes,
    /// All allowed spares are in service.
    NoneLeft,
    /// The pool ends.
    Over,
    /// The system starts no thread.
    Failed(io::Error),
}

/// The spares of a pool.
pub(crate) struct Spares {
    max: usize,
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    resting: Vec<Arc<Rest>>,
    started: usize,
    /// Workers that were added for a thread that could not be started.
    without_thread: Vec<usize>,
    over: bool,
    /// How many times a spare was called for relief since the last one came.
    relief_calls: u32,
    refusals: u64,
    said: bool,
}

/// Where one spare rests.
#[derive(Default)]
pub(crate) struct Rest {
    call: Mutex<Option<Duty>>,
    called: Condvar,
}

impl Spares {
    pub(crate) fn new(max: usize) -> Spares {
        Spares { max, list: Mutex::default() }
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Calls a resting spare. If none rests, `add` adds a worker and `start` starts its thread.
    pub(crate) fn call(
        &self,
        duty: Duty,
        add: impl FnOnce() -> usize,
        start: impl FnOnce(usize, Arc<Rest>) -> io::Result<()>,
    ) -> Called {
        let mut list = self.lock();
        if list.over {
            return Called::Over;
        }
        if duty == Duty::Relief {
            list.relief_calls += 1;
            // Usually one call is enough: wait for the spare that is on its way. It may be blocked
            // in the user's start handler, so call another spare every `RELIEF_CALLS` calls.
            if list.relief_calls % RELIEF_CALLS != 1 {
                return Called::Comes;
            }
        }
        if let Some(rest) = list.resting.pop() {
            drop(list);
            rest.wake(duty);
            return Called::Comes;
        }
        if list.started >= self.max {
            list.refusals += 1;
            list.relief_calls = 0;
            return Called::NoneLeft;
        }
        let index = list.without_thread.pop().unwrap_or_else(add);
        match start(index, Arc::new(Rest::new(duty))) {
            Ok(()) => {
                list.started += 1;
                Called::Comes
            }
            Err(error) => {
                list.without_thread.push(index);
                list.relief_calls = 0;
                Called::Failed(error)
            }
        }
    }

    /// Notes that the spare called for relief has begun, or has found another one on duty.
    pub(crate) fn relief_has_come(&self) {
        self.lock().relief_calls = 0;
    }

    /// Whether a spare could be called.
    pub(crate) fn is_any_left(&self) -> bool {
        let list = self.lock();
        !list.over && (!list.resting.is_empty() || list.started < self.max)
    }

    /// Rests until the spare is called again; returns `None` if the pool ends.
    pub(crate) fn rest(&self, rest: &Arc<Rest>) -> Option<Duty> {
        let mut list = self.lock();
        if list.over {
            return None;
        }
        list.resting.push(rest.clone());
        drop(list);
        rest.wait(|| self.lock().over)
    }

    /// Ends all spares: resting spares leave, and later calls fail.
    pub(crate) fn end(&self) {
        let mut list = self.lock();
        list.over = true;
        let resting = std::mem::take(&mut list.resting);
        drop(list);
        resting.iter().for_each(|rest| rest.ring());
    }

    /// Returns true once: for the first refusal, which the user has not seen yet.
    pub(crate) fn is_first_refusal(&self) -> bool {
        !std::mem::replace(&mut self.lock().said, true)
    }

    /// How many spares are in service.
    pub(crate) fn in_service(&self) -> usize {
        let list = self.lock();
        list.started - list.resting.len()
    }

    /// Calls for which no spare was left.
    pub(crate) fn refusals(&self) -> u64 {
        self.lock().refusals
    }

    /// How many spares there are, including resting ones.
    pub(crate) fn started(&self) -> usize {
        self.lock().started
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // No user code runs under the lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rest {
    fn new(first: Duty) -> Rest {
        Rest { call: Mutex::new(Some(first)), called: Condvar::new() }
    }

    /// The duty for which the spare was started.
    pub(crate) fn first_call(&self) -> Option<Duty> {
        self.lock().take()
    }

    fn wake(&self, duty: Duty) {
        *self.lock() = Some(duty);
        self.called.notify_one();
    }

    /// Makes the spare check whether the pool ends.
    fn ring(&self) {
        drop(self.lock());
        self.called.notify_one();
    }

    fn wait(&self, is_over: impl Fn() -> bool) -> Option<Duty> {
        let mut call = self.lock();
        loop {
            if let Some(duty) = call.take() {
                return Some(duty);
            }
            if is_over() {
                return None;
            }
            call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Duty>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Called, Duty, RELIEF_CALLS, Rest, Spares};
    use std::cell::{Cell, RefCell};
    use std::io;
    use std::sync::Arc;

    fn call(spares: &Spares, started: &RefCell<Vec<Arc<Rest>>>) -> Called {
        let start = |_, rest| {
            started.borrow_mut().push(rest);
            Ok(())
        };
        spares.call(Duty::Seat, || 2, start)
    }

    #[test]
    fn no_more_spares_are_started_than_allowed() {
        let (spares, started) = (Spares::new(1), RefCell::default());
        assert!(matches!(call(&spares, &started), Called::Comes));
        assert_eq!(started.borrow()[0].first_call(), Some(Duty::Seat));
        assert!(matches!(call(&spares, &started), Called::NoneLeft));
        assert_eq!((spares.started(), spares.in_service(), spares.refusals()), (1, 1, 1));
    }

    #[test]
    fn one_spare_comes_for_one_relief() {
        let spares = Spares::new(3);
        let mut started = 0;
        let mut relieve = || {
            let mut start = |_, _| {
                started += 1;
                Ok(())
            };
            assert!(matches!(spares.call(Duty::Relief, || 2, &mut start), Called::Comes));
            started
        };
        for _ in 0..RELIEF_CALLS {
            assert_eq!(relieve(), 1, "the first spare is on its way");
        }
        assert_eq!(relieve(), 2, "the first spare does not come");
        spares.relief_has_come();
        assert_eq!((relieve(), spares.is_any_left()), (3, false));
    }

    #[test]
    fn a_spare_that_could_not_be_started_is_tried_again_as_the_same_worker() {
        let spares = Spares::new(1);
        let fail = |_, _| Err(io::ErrorKind::WouldBlock.into());
        assert!(matches!(spares.call(Duty::Relief, || 7, fail), Called::Failed(_)));
        let started = Cell::new(None);
        let again = |index, _| {
            started.set(Some(index));
            Ok(())
        };
        let called = spares.call(Duty::Relief, || unreachable!("worker 7 exists"), again);
        assert!(matches!(called, Called::Comes) && started.get() == Some(7));
    }

    #[test]
    fn after_a_refused_call_for_relief_the_next_call_is_made() {
        let (spares, started) = (Arc::new(Spares::new(1)), RefCell::default());
        assert!(matches!(call(&spares, &started), Called::Comes));
        let rest = started.borrow()[0].clone();
        assert_eq!(rest.first_call(), Some(Duty::Seat));
        let relieve = || spares.call(Duty::Relief, || unreachable!("all exist"), |_, _| Ok(()));
        assert!(matches!(relieve(), Called::NoneLeft));
        let duty = std::thread::spawn({
            let spares = spares.clone();
            move || spares.rest(&rest)
        });
        while spares.in_service() > 0 {
            std::thread::yield_now();
        }
        assert!(matches!(relieve(), Called::Comes));
        assert_eq!(duty.join().unwrap(), Some(Duty::Relief));
    }

    #[test]
    fn a_spare_that_rests_is_called_first_and_goes_with_the_pool() {
        let (spares, started) = (Arc::new(Spares::new(2)), RefCell::default());
        assert!(matches!(call(&spares, &started), Called::Comes));
        let rest = started.borrow()[0].clone();
        assert_eq!(rest.first_call(), Some(Duty::Seat));
        let duties = std::thread::spawn({
            let spares = spares.clone();
            move || (spares.rest(&rest), spares.rest(&rest))
        });
        while spares.in_service() > 0 {
            std::thread::yield_now();
        }
        assert!(matches!(call(&spares, &started), Called::Comes));
        assert_eq!(started.borrow().len(), 1);
        spares.end();
        assert_eq!(duties.join().unwrap(), (Some(Duty::Seat), None));
        assert!(matches!(call(&spares, &started), Called::Over));
    }
}
