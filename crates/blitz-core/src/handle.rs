//! The current pool: that of the worker, or the one that was entered.

#![forbid(unsafe_code)]

use crate::dump::Dump;
use crate::global;
use crate::metrics::PoolMetrics;
use crate::ops::detached::Hold;
use crate::pool::Pool;
use crate::task::{JoinHandle, TrySpawnError, context};
use crate::team::Team;
use crate::worker::current;
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

/// A way into a pool that can be cloned and sent anywhere. It does not keep the pool working: what is
/// spawned through it after the pool was dropped is cancelled at once.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let handle = pool.handle();
/// let seven = std::thread::spawn(move || handle.spawn(async { 7 }).join()).join().unwrap();
/// assert_eq!(seven.unwrap(), 7);
/// ```
#[derive(Clone)]
pub struct Handle {
    team: Arc<Team>,
}

impl Handle {
    /// The current pool: the one that was entered, else that of the worker that calls.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// pool.block_on(async { blitz::Handle::current().spawn(async {}).await.unwrap() });
    /// ```
    ///
    /// # Panics
    /// Outside of every pool; [`try_current`](Handle::try_current) returns `None` there.
    #[track_caller]
    pub fn current() -> Handle {
        match Handle::try_current() {
            Some(handle) => handle,
            None => panic!(
                "Handle::current was called outside of every pool: call it inside block_on or a task, or \
                 after Handle::enter"
            ),
        }
    }

    /// The current pool, if there is one.
    ///
    /// ```
    /// assert!(blitz::Handle::try_current().is_none());
    /// ```
    pub fn try_current() -> Option<Handle> {
        let of_worker = || current::with_worker(|worker| worker.team().arc());
        entered().or_else(of_worker).map(|team| Handle { team })
    }

    /// Makes this the current pool of this thread until the guard is dropped.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let handle = pool.handle();
    /// let guard = handle.enter();
    /// assert_eq!(blitz::spawn(async { 7 }).join().unwrap(), 7);
    /// drop(guard);
    /// assert_eq!(pool.metrics().tasks.spawned, 1);
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard { _entered: Entered::new(self.team.clone()), handle: PhantomData }
    }

    /// As [`spawn`](crate::spawn), on this pool. If it has ended the task is cancelled.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.team.spawn(future)
    }

    /// As [`spawn`](Handle::spawn), unless `global_queue_capacity` tasks wait already: for callers that
    /// had rather wait, or refuse work, than queue without end.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let handle = pool.handle().try_spawn(async { 7 }).unwrap();
    /// assert_eq!(handle.join().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// If the queue is full; the error has the future.
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, TrySpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.team.try_spawn(future)
    }

    /// As [`block_on`](crate::block_on); what the future spawns goes to this pool.
    ///
    /// # Blocking
    /// A thread outside of every pool blocks.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.team.block_on(future)
    }

    /// What the workers have done so far.
    pub fn metrics(&self) -> PoolMetrics {
        PoolMetrics::of(&self.team)
    }

    /// As [`Pool::dump`](crate::Pool::dump).
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(2).build().unwrap();
    /// assert!(pool.handle().dump().to_string().contains("worker 1"));
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::of(&self.team)
    }

    pub(crate) fn team(&self) -> &Arc<Team> {
        &self.team
    }
}

impl From<&Handle> for Handle {
    fn from(handle: &Handle) -> Handle {
        handle.clone()
    }
}

impl From<&Pool> for Handle {
    fn from(pool: &Pool) -> Handle {
        pool.handle()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("workers", &self.team.num_workers()).finish_non_exhaustive()
    }
}

impl Pool {
    /// A way into the pool that can be cloned and sent anywhere.
    pub fn handle(&self) -> Handle {
        Handle { team: self.team().arc() }
    }

    /// Makes this the current pool of this thread until the guard is dropped: see [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard { _entered: Entered::new(self.team().arc()), handle: PhantomData }
    }
}

/// The entered pool is the current one until this is dropped. Guards may be dropped in any order: the
/// newest that is left counts.
#[derive(Debug)]
#[must_use = "dropped at once, it has no effect"]
pub struct EnterGuard<'a> {
    _entered: Entered,
    handle: PhantomData<&'a Handle>,
}

thread_local! {
    static ENTERED: RefCell<Doors> = const { RefCell::new(Doors { open: Vec::new(), opened: 0 }) };
}

/// What this thread has entered and not left, oldest first.
struct Doors {
    open: Vec<Door>,
    /// How many there ever were.
    opened: u64,
}

struct Door {
    number: u64,
    /// None hides what was entered before.
    team: Option<Arc<Team>>,
}

impl Doors {
    fn is_inside(&self) -> bool {
        self.open.last().is_some_and(|door| door.team.is_some())
    }
}

fn entered() -> Option<Arc<Team>> {
    if !context::is_entered() {
        return None;
    }
    let newest = |doors: &RefCell<Doors>| doors.borrow().open.last()?.team.clone();
    ENTERED.try_with(newest).ok().flatten()
}

/// A pool, or none, is this thread's entered one until this is dropped; not for other threads.
pub(crate) struct Entered {
    /// None if there is nothing to undo.
    number: Option<u64>,
    here: PhantomData<*const ()>,
}

impl Entered {
    pub(crate) fn new(team: Arc<Team>) -> Entered {
        Entered::open(Some(team))
    }

    /// No pool is entered: for work that has nothing to do with what the thread is in.
    pub(crate) fn none() -> Entered {
        if !context::is_entered() {
            return Entered { number: None, here: PhantomData };
        }
        Entered::open(None)
    }

    fn open(team: Option<Arc<Team>>) -> Entered {
        // While the thread's locals are being destroyed nothing can be entered.
        let number = ENTERED.try_with(|doors| {
            let mut doors = doors.borrow_mut();
            let number = doors.opened;
            doors.opened += 1;
            doors.open.push(Door { number, team });
            context::set_entered(doors.is_inside());
            number
        });
        Entered { number: number.ok(), here: PhantomData }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let leave = |doors: &RefCell<Doors>| {
            let mut doors = doors.borrow_mut();
            let at = doors.open.iter().rposition(|door| door.number == number)?;
            let left = doors.open.remove(at);
            context::set_entered(doors.is_inside());
            Some(left)
        };
        // The team that is left may end here; not while the cell is borrowed.
        drop(ENTERED.try_with(leave));
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

/// Calls `f` with the current team, else with the global one. The team may have ended if it was entered.
#[inline]
pub(crate) fn with_current_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    match current::current() {
        Some(worker) if !context::is_entered() => f(worker.team()),
        _ => with_another_team(f),
    }
}

/// As [`with_current_team`], but does not build the global team.
pub(crate) fn try_with_current_team<R>(f: impl FnOnce(&Team) -> R) -> Option<R> {
    let entered = entered();
    match (&entered, current::current()) {
        (Some(team), _) => Some(f(team)),
        (None, Some(worker)) => Some(f(worker.team())),
        (None, None) => global::built().map(f),
    }
}

/// The current thread is no worker, or has entered another pool than its own.
#[cold]
pub(crate) fn with_another_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    match entered() {
        Some(team) => f(&team),
        None => with_own_team(f),
    }
}

/// The same, with what keeps the team at work; without it if the team is ending or has ended.
pub(crate) fn with_held_team<R>(f: impl FnOnce(&Team, Option<Hold>) -> R) -> R {
    match entered() {
        Some(team) => f(&team, Hold::try_new(&team)),
        None => with_own_team(|team| f(team, Some(Hold::new(team)))),
    }
}

/// As [`with_held_team`], for what others than the team's workers run: without the hold, too, if they are leaving.
pub(crate) fn with_team_at_work<R>(f: impl FnOnce(&Team, Option<Hold>) -> R) -> R {
    match entered() {
        Some(team) => f(&team, Hold::try_new(&team)),
        None => with_own_team(|team| f(team, Hold::while_at_work(team))),
    }
}

/// As [`with_current_team`], for a call that waits for jobs: a team that is ending is no longer the current
/// one for threads outside of it.
pub(crate) fn with_working_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    match entered().and_then(|team| Hold::try_new(&team)) {
        Some(hold) => f(hold.team()),
        None => with_own_team(f),
    }
}

/// The team of the worker that calls, else the global one: neither ends meanwhile.
fn with_own_team<R>(f: impl FnOnce(&Team) -> R) -> R {
    let _visit = current::visit();
    match current::current() {
        Some(worker) => f(worker.team()),
        None => f(global::team()),
    }
}
