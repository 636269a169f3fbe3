//! Threads for closures that block: started when needed, ended when idle for a while.
//!
//! ```text
//!  spawn_blocking ─▶ queue ─▶ an idle thread, else a new one up to the cap, else the next free
//!  thread: take, run, …, wait at most `keep_alive` for more, end
//! ```
//!
//! A closure that waits in the queue or runs holds the pool, as a detached job does: the pool ends
//! after it. A closure that is spawned while the workers are leaving, for example by a task's last
//! poll, is refused: no worker would run the jobs that it waits for.

#![forbid(unsafe_code)]

use crate::base::Id;
use crate::base::context::{Aside, Frame};
use blitz_parts::prim::{Condvar, Instant, Mutex, MutexGuard, Step, broken, thread, thread_local};
use blitz_parts::thread::{self as system_thread, ThreadId};
use blitz_parts::trim::outgrown;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A closure that catches its panics and keeps the pool alive.
type Errand = Box<dyn FnOnce() + Send>;

/// The part of a closure that diagnostics can see.
pub(crate) trait Closure: Send + Sync {
    /// Whether it has begun.
    fn has_begun(&self) -> bool;

    /// Where it runs, if it runs.
    fn runs_at(&self) -> Option<Frame>;

    /// The address of the task or the sleeper that awaits it, if one does.
    fn awaited_by(&self) -> Option<usize>;
}

/// An entry in a list: a blocking closure that waits or runs, or a job that a task awaits.
pub(crate) struct Listed {
    pub(crate) closure: Arc<dyn Closure>,
    pub(crate) type_name: &'static str,
}

/// A closure that a task or a `block_on` awaits.
pub(crate) struct AwaitedClosure {
    /// The address of the task, or of the sleeper of the `block_on`.
    pub(crate) waiter: usize,
    pub(crate) id: Id,
    pub(crate) type_name: &'static str,
    pub(crate) has_begun: bool,
    /// Where it runs, if it runs.
    pub(crate) frame: Option<Frame>,
}

impl AwaitedClosure {
    /// Returns the closures of a list that are awaited. The caller holds the list's lock: a
    /// reference taken out of the list could become the last one to a result.
    pub(super) fn all<'a>(listed: impl Iterator<Item = (Id, &'a Listed)>) -> Vec<AwaitedClosure> {
        let awaited = listed.filter_map(|(id, Listed { closure, type_name })| {
            let (waiter, has_begun) = (closure.awaited_by()?, closure.has_begun());
            let frame = closure.runs_at();
            Some(AwaitedClosure { waiter, id, type_name, has_begun, frame })
        });
        awaited.collect()
    }
}

/// The threads of one pool.
pub(crate) struct Blocking {
    shared: Arc<Shop>,
    handles: Mutex<Vec<thread::JoinHandle<()>>>,
}

/// State that the threads share.
struct Shop {
    state: Mutex<State>,
    /// Notifies threads of closures and of the end.
    news: Condvar,
    threads_max: usize,
    keep_alive: Duration,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Errand>,
    /// The closures that wait or run.
    listed: BTreeMap<Id, Listed>,
    /// Live threads.
    threads: usize,
    /// Threads that wait for a closure.
    idle: usize,
    /// Closures that wait or run.
    unfinished: usize,
    /// How many threads were ever started, for their names.
    started: usize,
    /// The system's ids of live threads, by number.
    ids: BTreeMap<u64, ThreadId>,
    stopping: bool,
}

impl Blocking {
    pub(crate) fn new(threads_max: usize, keep_alive: Duration) -> Blocking {
        let state = Mutex::new(State::default());
        let shop = Shop { state, news: Condvar::new(), threads_max, keep_alive };
        Blocking { shared: Arc::new(shop), handles: Mutex::new(Vec::new()) }
    }

    pub(crate) fn submit(&self, errand: Errand, id: Id, listed: Listed) {
        let shop = &self.shared;
        let mut state = shop.lock();
        state.listed.insert(id, listed);
        state.queue.push_back(errand);
        state.unfinished += 1;
        shop.news.notify_one();
        let is_served = if broken(Step::BlockingCountsIdle) {
            state.idle > 0
        } else {
            state.queue.len() <= state.idle
        };
        if is_served || state.threads >= shop.threads_max {
            return;
        }
        state.threads += 1;
        state.started += 1;
        let number = state.started;
        drop(state);
        if self.start(number).is_err() {
            self.do_without_thread();
        }
    }

    fn start(&self, number: usize) -> io::Result<()> {
        let shop = self.shared.clone();
        // Locked before the start: the thread may run the last closure of the pool at once, and the
        // pool's end must find its handle.
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = thread::Builder::new()
            .name(format!("blitz-blocking-{number}"))
            .spawn(move || shop.serve(number))?;
        handles.retain(|handle| !handle.is_finished());
        handles.push(handle);
        Ok(())
    }

    /// Called if the system starts no more threads. If there are other threads, they run the queued
    /// closures. If there are none, the closures run right here.
    #[cold]
    fn do_without_thread(&self) {
        let mut state = self.shared.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return;
        }
        let errands = std::mem::take(&mut state.queue);
        drop(state);
        // The closure does not belong to the caller's task.
        let _aside = Aside::begin();
        for errand in errands {
            errand();
        }
    }

    /// Asks the threads to end once they have nothing to do. Called when the pool ends.
    pub(crate) fn stop(&self) {
        self.shared.lock().stopping = true;
        if !broken(Step::BlockingStopTells) {
            self.shared.news.notify_all();
        }
    }

    /// Waits for the threads to end.
    pub(crate) fn join(&self) {
        let next = || self.handles.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(handle) = next() {
            // Closures catch their panics.
            let _ = handle.join();
        }
    }

    /// Whether the current thread is one of this pool's blocking threads.
    pub(crate) fn is_here(&self) -> bool {
        HERE.try_with(Cell::get).is_ok_and(|here| std::ptr::eq(here, &*self.shared))
    }

    /// The number of the current thread among the blocking threads; zero if it is not one.
    pub(crate) fn thread_number() -> u64 {
        NUMBER.try_with(Cell::get).unwrap_or(0)
    }

    /// Returns the system's ids of live threads, by number.
    pub(crate) fn thread_ids(&self) -> BTreeMap<u64, ThreadId> {
        self.shared.lock().ids.clone()
    }

    /// Whether no closure runs or waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.unfinished() == 0
    }

    /// Notes that a closure has run and its handle is complete. Returns whether no closure is left.
    pub(crate) fn has_ended(&self, id: Id) -> bool {
        let mut state = self.shared.lock();
        let listed = state.listed.remove(&id);
        state.unfinished -= 1;
        let is_last = state.unfinished == 0;
        drop(state);
        // Drop it without the lock: it may be the last reference to a result, whose drop is user
        // code.
        drop(listed);
        is_last
    }

    /// The closures that are awaited.
    pub(crate) fn awaited(&self) -> Vec<AwaitedClosure> {
        AwaitedClosure::all(self.shared.lock().listed.iter().map(|(&id, listed)| (id, listed)))
    }

    /// Closures that run or wait.
    pub(crate) fn unfinished(&self) -> usize {
        self.shared.lock().unfinished
    }

    /// Returns how many threads there are, how many of them are idle, and how many closures wait
    /// for a thread.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let state = self.shared.lock();
        (state.threads, state.idle, state.queue.len())
    }
}

thread_local! {
    /// The pool of this thread, if it is a blocking thread.
    static HERE: Cell<*const Shop> = const { Cell::new(std::ptr::null()) };
    /// The number of this thread.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

impl Shop {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, number: usize) {
        HERE.with(|here| here.set(self));
        NUMBER.with(|own| own.set(number as u64));
        let mut state = self.lock();
        state.ids.insert(number as u64, system_thread::current());
        loop {
            while let Some(errand) = state.queue.pop_front() {
                drop(state);
                errand();
                state = self.lock();
            }
            if let Some(outgrown) = outgrown(&mut state.queue) {
                drop(state);
                drop(outgrown);
                state = self.lock();
                continue;
            }
            if state.stopping {
                break;
            }
            let deadline = Instant::now().checked_add(self.keep_alive);
            state.idle += 1;
            let mut due = false;
            while state.queue.is_empty() && !state.stopping && !due {
                state = self.wait(state, deadline);
                due = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            }
            state.idle -= 1;
            if state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        state.ids.remove(&(number as u64));
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        match deadline {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                let waited = self.news.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            // The deadline is beyond the clock's range.
            None => self.news.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Blocking;
    use crate::base::context;
    use blitz_parts::prim::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_closure_without_a_thread_is_no_part_of_the_callers_task() {
        let blocking = Blocking::new(1, Duration::ZERO);
        let (outer, layer) = (context::layer(), Arc::new(Mutex::new(None)));
        let seen = layer.clone();
        let mut state = blocking.shared.lock();
        state.queue.push_back(Box::new(move || {
            *seen.lock().unwrap() = Some((context::layer(), context::task().is_none()));
        }));
        // Count the thread that could not be started.
        state.threads += 1;
        drop(state);
        blocking.do_without_thread();
        // Task locals depend on the layer.
        assert_eq!(*layer.lock().unwrap(), Some((outer + 1, true)));
        assert_eq!(context::layer(), outer);
    }
}
