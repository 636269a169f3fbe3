//! The driver slot, with a driver whose events other threads of the model set.

use super::futures::{Event, Gate, Handle};
use super::{Runtime, canary, check, spawn, spawn_on, still};
use crate::block_on;
use crate::driver::{self, Driver, PoolView, is_prompt, with_current};
use crate::task::shield;
use blitz_parts::prim::{Condvar, Mutex, Step, any_below, thread};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

/// A driver whose events are wakers in a list. Its timers use a clock that advances when the pool
/// is idle.
pub(super) struct Window {
    view: PoolView,
    state: Mutex<State>,
    news: Condvar,
    /// At most one thread may be inside.
    inside: AtomicBool,
    ends: AtomicUsize,
}

#[derive(Default)]
struct State {
    told: VecDeque<Waker>,
    noted: VecDeque<Waker>,
    kept: VecDeque<Waker>,
    timers: VecDeque<Waker>,
    woken: bool,
    may_be_idle: bool,
}

impl State {
    fn has_news(&self) -> bool {
        !self.told.is_empty() || !self.kept.is_empty()
    }

    fn note(&mut self) -> bool {
        let told = std::mem::take(&mut self.told);
        self.noted.extend(told);
        self.woken = false;
        !self.noted.is_empty() || !self.kept.is_empty()
    }
}

impl Window {
    fn make(view: PoolView) -> io::Result<Arc<Window>> {
        let (state, news) = (Mutex::default(), Condvar::new());
        let (inside, ends) = (AtomicBool::new(false), AtomicUsize::new(0));
        Ok(Arc::new(Window { view, state, news, inside, ends }))
    }

    pub(super) fn of(runtime: &Runtime) -> Arc<Window> {
        driver::of(&runtime.pool.handle(), Window::make).unwrap()
    }

    /// Records an event.
    fn tell(&self, waker: Waker) {
        self.state.lock().unwrap().told.push_back(waker);
        self.news.notify_all();
    }

    fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        assert!(!self.inside.swap(true, Relaxed), "two threads hold the lease");
        let result = f();
        self.inside.store(false, Relaxed);
        result
    }

    /// Fires the next timer if no worker is active.
    fn advance(&self) {
        if self.view.is_idle() {
            let mut state = self.state.lock().unwrap();
            if let Some(timer) = state.timers.pop_front() {
                state.told.push_back(timer);
            }
        }
    }
}

impl Driver for Window {
    fn block(&self) -> bool {
        self.alone(|| {
            self.advance();
            let mut state = self.state.lock().unwrap();
            loop {
                if state.has_news() || state.woken {
                    return state.note();
                }
                if std::mem::take(&mut state.may_be_idle) {
                    drop(state);
                    self.advance();
                    state = self.state.lock().unwrap();
                    continue;
                }
                state = self.news.wait(state).unwrap();
            }
        })
    }

    fn wake(&self) {
        self.state.lock().unwrap().woken = true;
        self.news.notify_all();
    }

    fn poll(&self) -> bool {
        self.alone(|| {
            if self.view.is_stopping() {
                self.advance();
            }
            self.state.lock().unwrap().note()
        })
    }

    fn dispatch(&self) -> bool {
        let next = || self.state.lock().unwrap().noted.pop_front();
        while let Some(waker) = next() {
            if is_prompt(&waker) {
                waker.wake();
            } else {
                self.state.lock().unwrap().kept.push_back(waker);
            }
        }
        !self.state.lock().unwrap().kept.is_empty()
    }

    fn call_kept(&self) {
        let next = || self.state.lock().unwrap().kept.pop_front();
        while let Some(waker) = next() {
            waker.wake();
        }
    }

    fn pool_is_idle(&self) {
        self.state.lock().unwrap().may_be_idle = true;
        self.news.notify_all();
    }

    fn shut_down(&self) {
        self.ends.fetch_add(1, Relaxed);
        let mut state = self.state.lock().unwrap();
        let mut left = std::mem::take(&mut state.told);
        left.append(&mut state.noted);
        left.append(&mut state.kept);
        left.append(&mut state.timers);
        drop(state);
        left.into_iter().for_each(Waker::wake);
    }
}

/// An event that happens once outside the pool. The driver delivers it.
#[derive(Clone)]
pub(super) struct Socket(Arc<Mutex<Port>>);

#[derive(Default)]
struct Port {
    is_ready: bool,
    waiting: Vec<(Waker, Arc<Window>)>,
}

impl Socket {
    pub(super) fn new() -> Socket {
        Socket(Arc::default())
    }

    /// Makes the event happen, on any thread.
    pub(super) fn set(&self) {
        let mut port = self.0.lock().unwrap();
        port.is_ready = true;
        let waiting = std::mem::take(&mut port.waiting);
        drop(port);
        for (waker, window) in waiting {
            window.tell(waker);
        }
    }

    /// Waits for the event.
    pub(super) async fn ready(&self, window: &Arc<Window>) {
        poll_fn(|cx| {
            let mut port = self.0.lock().unwrap();
            if port.is_ready {
                return Poll::Ready(());
            }
            port.waiting.push((cx.waker().clone(), window.clone()));
            Poll::Pending
        })
        .await;
    }
}

/// Polls a future with a user's waker. A worker must not call such a waker while it has the lease
/// of the driver.
struct Forwarded<F>(F);

struct Forward {
    waker: Waker,
    /// What the waker does before it wakes the task.
    before: Option<Event>,
}

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        if let Some(event) = &self.before {
            event.wait();
        }
        self.waker.wake_by_ref();
    }
}

impl<F: Future + Unpin> Future for Forwarded<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::new(Forward { waker: cx.waker().clone(), before: None }));
        Pin::new(&mut self.0).poll(&mut Context::from_waker(&waker))
    }
}

/// Tasks wait for sockets, which other threads set.
fn sockets(runtime: Runtime, forwarded: bool) {
    let window = Window::of(&runtime);
    let sockets = [Socket::new(), Socket::new()];
    let tasks: Vec<Handle<()>> = (0..4)
        .map(|number| {
            let (sockets, window) = (sockets.clone(), window.clone());
            runtime.spawn(async move {
                let ready = Box::pin(sockets[number % 2].ready(&window));
                if forwarded { Forwarded(ready).await } else { ready.await }
            })
        })
        .collect();
    let setters = sockets.map(|socket| thread::spawn(move || socket.set()));
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    setters.into_iter().for_each(|setter| setter.join().unwrap());
    runtime.shut_down();
    assert_eq!(window.ends.load(Relaxed), 1, "the driver is notified of the end once");
}

fn tasks_wait_for_sockets() {
    sockets(Runtime::new(1 + any_below(3)), false);
}

#[test]
fn events_of_the_driver_wake_tasks() {
    check(4_000, tasks_wait_for_sockets);
}

/// A task arrives from outside while the only worker goes to sleep in the driver.
fn spawn_beside_a_sleeper() {
    let runtime = Runtime::new(1);
    drop(Window::of(&runtime));
    block_on(runtime.spawn(async {})).unwrap();
    let handle = runtime.pool.handle();
    let spawner = thread::spawn(move || block_on(spawn_on(&handle, async {})).unwrap());
    spawner.join().unwrap();
    runtime.shut_down();
}

#[test]
fn a_sleeper_in_the_driver_is_woken() {
    check(2_000, spawn_beside_a_sleeper);
}

fn users_wait_for_sockets() {
    sockets(Runtime::new(1 + any_below(2)), true);
}

#[test]
fn kept_wakers_are_called() {
    check(4_000, users_wait_for_sockets);
}

#[test]
fn canary_kept_wakers_are_not_called() {
    canary(Step::DriverCallsKept, users_wait_for_sockets);
}

/// A kept waker blocks until another worker has called another kept waker.
fn kept_wakers_wait_for_each_other() {
    let runtime = Runtime::new(2);
    let window = Window::of(&runtime);
    let (event, sockets) = (Event::new(), [Socket::new(), Socket::new()]);
    let blocks = runtime.spawn({
        let (event, socket, window) = (event.clone(), sockets[0].clone(), window.clone());
        async move {
            let mut ready = pin!(socket.ready(&window));
            poll_fn(|cx| {
                let forward = Forward { waker: cx.waker().clone(), before: Some(event.clone()) };
                let waker = Waker::from(Arc::new(forward));
                ready.as_mut().poll(&mut Context::from_waker(&waker))
            })
            .await;
        }
    });
    let sets = runtime.spawn({
        let (socket, window) = (sockets[1].clone(), window.clone());
        async move {
            Forwarded(Box::pin(socket.ready(&window))).await;
            event.set();
        }
    });
    let setter = thread::spawn(move || sockets.iter().for_each(Socket::set));
    [blocks, sets].into_iter().for_each(|task| block_on(task).unwrap());
    setter.join().unwrap();
    runtime.shut_down();
}

#[test]
fn a_kept_waker_that_blocks_does_not_hold_up_other_kept_wakers() {
    check(3_000, kept_wakers_wait_for_each_other);
}

/// The worker that left the driver blocks until the task that waits for the next event has run.
fn behind_the_lease() {
    let runtime = Runtime::new(2);
    let window = Window::of(&runtime);
    let (event, sockets) = (Event::new(), [Socket::new(), Socket::new()]);
    let blocks = runtime.spawn({
        let (event, sockets, window) = (event.clone(), sockets.clone(), window.clone());
        async move {
            sockets[0].ready(&window).await;
            thread::spawn(move || sockets[1].set());
            event.wait();
        }
    });
    let sets = runtime.spawn({
        let (socket, window) = (sockets[1].clone(), window.clone());
        async move {
            socket.ready(&window).await;
            event.set();
        }
    });
    sockets[0].set();
    [blocks, sets].into_iter().for_each(|task| block_on(task).unwrap());
    runtime.shut_down();
}

#[test]
fn the_lease_of_a_worker_that_blocks_is_taken_by_another() {
    check(4_000, behind_the_lease);
}

#[test]
fn canary_the_watch_does_not_hear_of_a_free_lease() {
    canary(Step::DriverLeaveTells, behind_the_lease);
}

/// Tasks wait for timers. The clock of these timers advances only when all workers sleep.
fn timers() {
    let runtime = Runtime::new(1 + any_below(2));
    let window = Window::of(&runtime);
    let tasks = [0, 1].map(|_| {
        let window = window.clone();
        runtime.spawn(async move {
            let mut is_set = false;
            let timer = |cx: &mut Context<'_>| {
                if std::mem::replace(&mut is_set, true) {
                    return Poll::Ready(());
                }
                window.state.lock().unwrap().timers.push_back(cx.waker().clone());
                Poll::Pending
            };
            poll_fn(timer).await;
            spawn(async {}).await.unwrap();
        })
    });
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    runtime.shut_down();
}

#[test]
fn a_clock_moves_on_when_the_pool_is_idle() {
    check(3_000, timers);
}

#[test]
fn canary_the_driver_does_not_hear_that_the_pool_is_idle() {
    canary(Step::DriverIdleTold, still(timers));
}

/// The pool ends while three of its parts wait for the driver: a job that has called `block_on`, a
/// task that has called `block_on` in its poll, and a shielded section.
fn end_beside_the_driver() {
    let runtime = Runtime::new(1 + any_below(2));
    let window = Window::of(&runtime);
    let [job, poll, section] = std::array::from_fn(|_| Socket::new());
    let [polls, begun]: [Gate; 2] = std::array::from_fn(|_| Gate::new());
    runtime.spawn_job({
        let (job, window) = (job.clone(), window.clone());
        move || block_on(job.ready(&window))
    });
    drop(runtime.spawn({
        let (poll, window, polls) = (poll.clone(), window.clone(), polls.clone());
        async move {
            polls.open();
            block_on(poll.ready(&window));
        }
    }));
    drop(runtime.spawn({
        let (section, window, begun) = (section.clone(), window.clone(), begun.clone());
        async move {
            shield(async move {
                begun.open();
                section.ready(&window).await;
            })
            .await;
        }
    }));
    block_on(begun.passed());
    block_on(polls.passed());
    let setter = thread::spawn(move || [job, section, poll].iter().for_each(Socket::set));
    runtime.shut_down_beside([setter]);
}

#[test]
fn waits_for_the_driver_end_with_the_pool() {
    check(3_000, end_beside_the_driver);
}

#[test]
fn canary_no_worker_polls_the_driver_at_the_end() {
    canary(Step::DriverPolledAtEnd, end_beside_the_driver);
}

/// Several threads request the driver of a pool at once. Exactly one driver is made.
fn plugs() {
    let runtime = Runtime::new(2);
    let handle = runtime.pool.handle();
    let plugger =
        thread::spawn(move || Arc::as_ptr(&driver::of(&handle, Window::make).unwrap()).addr());
    let inside = runtime.spawn(async {
        let (socket, window) = (Socket::new(), with_current(Window::make, |_: &Window, _| ()));
        window.unwrap();
        socket.set();
    });
    let here = Arc::as_ptr(&Window::of(&runtime)).addr();
    assert_eq!(plugger.join().unwrap(), here);
    block_on(inside).unwrap();
    runtime.shut_down();
}

#[test]
fn a_pool_has_one_driver() {
    check(1_000, plugs);
}
