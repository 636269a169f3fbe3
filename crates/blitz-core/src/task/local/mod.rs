//! Tasks that stay on one thread, because their futures cannot be sent.
//!
//! ```text
//!  spawn_local, a wake on any thread, an abort ─▶ the set's inbox ─▶ wakes the set's drivers
//!  a driver is polled ─▶ its own future, then up to LOCAL_POLLS_PER_TURN tasks of the set
//!      if more tasks are runnable, the driver wakes itself, so that other work goes first
//!      if none is runnable, the driver waits for the inbox
//! ```
//!
//! A set has no thread of its own. Every future that awaits the set drives it: `run_until`,
//! `block_on`, the set as a future, or a `block_on` inside one of its tasks. There may be several
//! drivers at once.

mod locals;

pub(crate) use locals::current;

use super::JoinHandle;
use blitz_parts::tuning::LOCAL_POLLS_PER_TURN;
use locals::{Entered, Locals};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Starts a task that stays on this thread, in the current [`LocalSet`].
///
/// A set is current inside [`LocalSet::run_until`], inside the set's tasks, and while it is
/// [entered](LocalSet::enter).
///
/// ```
/// use std::rc::Rc;
///
/// let set = blitz::LocalSet::new();
/// blitz::block_on(set.run_until(async {
///     let shared = Rc::new(7);
///     let clone = shared.clone();
///     assert_eq!(blitz::spawn_local(async move { *clone }).await.unwrap(), *shared);
/// }));
/// ```
///
/// # Panics
/// If called outside every set; [`LocalSet::spawn_local`] works there.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match current() {
        Some(locals) => locals.spawn(future),
        None => panic!(
            "spawn_local was called outside of a LocalSet: call it inside of LocalSet::run_until or of a \
             task of the set, or call the set's own spawn_local"
        ),
    }
}

/// A set of tasks that stay on one thread: their futures need not be `Send`.
///
/// The tasks are polled and dropped on the thread of the set. Any thread can wake and abort them.
///
/// The tasks run while the set is awaited on its thread: inside [`run_until`](LocalSet::run_until)
/// and [`block_on`](LocalSet::block_on), or while the set itself is awaited as a future, which is
/// ready when its last task has ended. Dropping the set cancels the remaining tasks, even shielded
/// ones.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// let runtime = blitz::Runtime::new().unwrap();
/// let count = Rc::new(Cell::new(0));
/// let set = blitz::LocalSet::new();
/// for _ in 0..10 {
///     let count = count.clone();
///     drop(set.spawn_local(async move {
///         blitz::spawn(async {}).await.unwrap(); // on the pool, as everywhere
///         count.set(count.get() + 1);
///     }));
/// }
/// runtime.block_on(set);
/// assert_eq!(count.get(), 10);
/// ```
pub struct LocalSet {
    driver: Driver,
}

impl LocalSet {
    /// Creates an empty set on this thread.
    #[must_use]
    pub fn new() -> LocalSet {
        LocalSet { driver: Driver::new(Rc::new(Locals::new())) }
    }

    /// Starts a task of this set. It is polled once the set is awaited.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.driver.locals.spawn(future)
    }

    /// Makes this the set for [`spawn_local`] on this thread, until the guard is dropped.
    ///
    /// The tasks are polled once the set is awaited. Drop guards of several sets newest first.
    ///
    /// ```
    /// let set = blitz::LocalSet::new();
    /// let guard = set.enter();
    /// let seven = blitz::spawn_local(async { 7 });
    /// drop(guard);
    /// assert_eq!(blitz::block_on(set.run_until(seven)).unwrap(), 7);
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard { _entered: self.driver.locals.enter() }
    }

    /// Runs `future`, and the tasks of the set, until `future` is ready. The remaining tasks go on
    /// when the set is awaited again.
    ///
    /// ```
    /// let set = blitz::LocalSet::new();
    /// let seven = set.run_until(async { blitz::spawn_local(async { 7 }).await.unwrap() });
    /// assert_eq!(blitz::block_on(seven), 7);
    /// ```
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        run_until(self.driver.locals.clone(), future).await
    }
}

/// Keeps the entered set current on this thread until this is dropped: see [`LocalSet::enter`].
#[must_use = "dropped at once, it has no effect"]
pub struct LocalEnterGuard {
    _entered: Entered,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalEnterGuard")
    }
}

/// Runs all tasks of the set; ready when none is left.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let driver = &self.driver;
        let _entered = driver.locals.enter();
        driver.turn(cx);
        if driver.locals.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        let _entered = self.driver.locals.enter();
        self.driver.locals.close();
    }
}

impl Default for LocalSet {
    fn default() -> LocalSet {
        LocalSet::new()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").field("len", &self.driver.locals.len()).finish_non_exhaustive()
    }
}

/// A future that awaits a set, and so drives it.
struct Driver {
    locals: Rc<Locals>,
    /// Distinguishes it from the set's other drivers.
    number: u64,
    /// Whether it may have a waker in the inbox.
    waits: Cell<bool>,
}

impl Driver {
    fn new(locals: Rc<Locals>) -> Driver {
        Driver { number: locals.number(), locals, waits: Cell::new(false) }
    }

    /// Polls some of the tasks; the context's waker is woken when there is more to do.
    fn turn(&self, cx: &mut Context<'_>) {
        // This driver runs already and needs no wake-up.
        self.withdraw();
        for _ in 0..LOCAL_POLLS_PER_TURN {
            if let Some(task) = self.locals.next() {
                self.locals.poll(task);
            } else if self.wait(cx.waker()) {
                return;
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Registers `waker`, to be woken when a task is posted. Returns false if a task is queued
    /// already.
    fn wait(&self, waker: &Waker) -> bool {
        // Cloning a waker runs user code, so do it without the lock.
        let waits = self.locals.inbox().try_wait(self.number, waker.clone());
        self.waits.set(waits);
        waits
    }

    fn withdraw(&self) {
        if self.waits.replace(false) {
            drop(self.locals.inbox().withdraw(self.number));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Runs `future`, and polls the tasks of `locals` meanwhile.
pub(crate) fn run_until<F: Future>(locals: Rc<Locals>, future: F) -> RunUntil<F> {
    RunUntil { future, driver: Driver::new(locals) }
}

pin_project! {
    /// The future of [`run_until`].
    pub(crate) struct RunUntil<F> {
        #[pin]
        future: F,
        driver: Driver,
    }
}

impl<F: Future> Future for RunUntil<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.driver.locals.enter();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(output);
        }
        this.driver.turn(cx);
        Poll::Pending
    }
}
