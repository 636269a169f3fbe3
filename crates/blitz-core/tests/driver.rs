//! The driver slot, with the smallest driver there is: events are wakers in a list. The pools have
//! no spares, because spares would also serve the driver.

use blitz_core::driver::{self, Driver, IoBackend, PoolView};
use blitz_core::{Handle, Pool, Scheduler};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// Tests add wakers from outside. `block` or `poll` notes them. `dispatch` calls those that are
/// prompt, and `call_kept` calls the others.
#[derive(Debug, Default)]
struct Window {
    state: Mutex<State>,
    news: Condvar,
    inside: AtomicBool,
    /// While set, a worker in `poll` stays there.
    held: AtomicBool,
    polls: AtomicUsize,
    blocks: AtomicUsize,
    idles: AtomicUsize,
    ends: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    told: VecDeque<Waker>,
    noted: VecDeque<Waker>,
    kept: VecDeque<Waker>,
    woken: bool,
}

impl State {
    fn note(&mut self) -> bool {
        let told = std::mem::take(&mut self.told);
        self.noted.extend(told);
        self.woken = false;
        !self.noted.is_empty() || !self.kept.is_empty()
    }
}

impl Window {
    fn make(_: PoolView) -> io::Result<Arc<Window>> {
        Ok(Arc::default())
    }

    fn tell(&self, waker: Waker) {
        self.tell_all([waker]);
    }

    /// Adds all wakers at once.
    fn tell_all(&self, wakers: impl IntoIterator<Item = Waker>) {
        self.state.lock().unwrap().told.extend(wakers);
        self.news.notify_all();
    }

    /// At most one thread at a time may be in here.
    fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        assert!(!self.inside.swap(true, SeqCst), "two threads hold the lease");
        let result = f();
        self.inside.store(false, SeqCst);
        result
    }
}

impl Driver for Window {
    fn block(&self) -> bool {
        self.blocks.fetch_add(1, SeqCst);
        self.alone(|| {
            let state = self.state.lock().unwrap();
            let nothing =
                |state: &mut State| state.told.is_empty() && state.kept.is_empty() && !state.woken;
            self.news.wait_while(state, nothing).unwrap().note()
        })
    }

    fn wake(&self) {
        self.state.lock().unwrap().woken = true;
        self.news.notify_all();
    }

    fn poll(&self) -> bool {
        self.alone(|| {
            let happened = self.state.lock().unwrap().note();
            self.polls.fetch_add(1, SeqCst);
            while self.held.load(SeqCst) {
                std::thread::yield_now();
            }
            happened
        })
    }

    fn dispatch(&self) -> bool {
        let next = || self.state.lock().unwrap().noted.pop_front();
        while let Some(waker) = next() {
            if driver::is_prompt(&waker) {
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
        self.idles.fetch_add(1, SeqCst);
    }

    fn shut_down(&self) {
        self.ends.fetch_add(1, SeqCst);
        let told = std::mem::take(&mut self.state.lock().unwrap().told);
        told.into_iter().for_each(Waker::wake);
    }
}

fn pool(workers: usize) -> Pool {
    Pool::builder().spares(0).workers(workers).build().unwrap()
}

fn window(handle: &Handle) -> Arc<Window> {
    driver::of(handle, Window::make).unwrap()
}

/// A future that is ready once the driver has delivered its event.
fn event() -> impl Future<Output = ()> {
    let mut told = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut told, true) {
            return Poll::Ready(());
        }
        driver::with_current(Window::make, |window: &Window, _| window.tell(cx.waker().clone()))
            .unwrap();
        Poll::Pending
    })
}

#[test]
fn events_reach_tasks_of_pools_of_every_size() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                pool.spawn(async move {
                    for _ in 0..20 {
                        event().await;
                    }
                    n
                })
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
    }
}

#[test]
fn a_sleeping_pool_moves_into_its_driver() {
    let pool = pool(3);
    let waiting = pool.spawn(std::future::pending::<()>());
    while pool.metrics().tasks.waiting == 0 {
        std::thread::yield_now();
    }
    let window = window(&pool.handle());
    while window.blocks.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    pool.block_on(event());
    waiting.abort();
    assert!(waiting.join().unwrap_err().is_cancelled());
}

#[test]
fn events_come_while_a_worker_is_stuck() {
    let pool = pool(2);
    for _ in 0..20 {
        // In each round a worker leaves the driver to poll this task. The worker does not return
        // before the event of another task was delivered.
        let (done, is_done) = mpsc::channel();
        let stuck = pool.spawn(async move {
            event().await;
            let (told, tell) = mpsc::channel();
            let other = Handle::current().spawn(async move {
                told.send(()).unwrap();
                event().await;
                done.send(()).unwrap();
            });
            tell.recv().unwrap();
            is_done.recv().unwrap();
            other.await.unwrap();
        });
        stuck.join().unwrap();
    }
}

#[test]
fn tasks_that_are_woken_together_do_not_wait_for_a_stuck_task_among_them() {
    for workers in [2, 3, 8] {
        let pool = pool(workers);
        let window = window(&pool.handle());
        for _ in 0..20 {
            // The task that is polled first blocks until the other task is polled.
            let both = Arc::new(Barrier::new(2));
            let (wake, woken) = mpsc::channel::<Waker>();
            let tasks = [wake.clone(), wake].map(|wake| {
                let both = both.clone();
                let mut waits = false;
                pool.spawn(poll_fn(move |cx| {
                    if std::mem::replace(&mut waits, true) {
                        both.wait();
                        return Poll::Ready(());
                    }
                    wake.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                }))
            });
            window.tell_all([woken.recv().unwrap(), woken.recv().unwrap()]);
            tasks.into_iter().for_each(|task| task.join().unwrap());
        }
    }
}

#[test]
fn a_sleeper_that_found_the_lease_taken_enters_the_driver_once_the_holder_is_stuck() {
    struct Rings(mpsc::Sender<()>);
    impl Wake for Rings {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }
    let pool = pool(2);
    let parks = || pool.metrics().workers.iter().map(|worker| worker.parks).collect::<Vec<_>>();
    while parks().contains(&0) {
        std::thread::yield_now();
    }
    let before: u64 = parks().iter().sum();
    let held = |_| Ok(Arc::new(Window { held: AtomicBool::new(true), ..Window::default() }));
    let window = driver::of(&pool.handle(), held).unwrap();
    // One worker is in the driver, so the other worker sleeps elsewhere.
    while window.polls.load(SeqCst) == 0 || parks().iter().sum::<u64>() == before {
        std::thread::yield_now();
    }
    let (begun, begins) = mpsc::channel();
    let (rings, rung) = mpsc::channel();
    let stuck = pool.spawn(async move {
        begun.send(()).unwrap();
        rung.recv().unwrap();
    });
    window.held.store(false, SeqCst);
    begins.recv().unwrap();
    window.tell(Waker::from(Arc::new(Rings(rings))));
    stuck.join().unwrap();
}

#[test]
fn events_come_between_stolen_jobs() {
    const JOBS: usize = 1_000;
    struct Counts(Arc<AtomicUsize>, mpsc::Sender<usize>);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.1.send(self.0.load(SeqCst)).unwrap();
        }
    }
    let pool = pool(2);
    let window = window(&pool.handle());
    let (begun, begins) = mpsc::channel();
    let stuck = || {
        let (go, wait) = mpsc::channel::<()>();
        let begun = begun.clone();
        pool.spawn_detached(move || {
            begun.send(()).unwrap();
            wait.recv().unwrap();
        });
        begins.recv().unwrap();
        go
    };
    let (one, other) = (stuck(), stuck());
    let done = Arc::new(AtomicUsize::new(0));
    let (woken, wakes) = mpsc::channel();
    let (finish, is_finished) = mpsc::channel::<()>();
    pool.spawn_detached(move || {
        begun.send(()).unwrap();
        is_finished.recv().unwrap();
    });
    for _ in 0..JOBS {
        let done = done.clone();
        pool.spawn_detached(move || {
            done.fetch_add(1, SeqCst);
        });
    }
    // One worker takes all jobs and is stuck in the first. The other worker steals the rest, one by
    // one.
    one.send(()).unwrap();
    begins.recv().unwrap();
    window.tell(Waker::from(Arc::new(Counts(done, woken))));
    other.send(()).unwrap();
    let before = wakes.recv().unwrap();
    finish.send(()).unwrap();
    assert!(before < JOBS / 2, "{before} jobs were run before the event was seen");
}

#[test]
fn a_waiter_gets_its_event_while_the_pool_ends() {
    for workers in [1, 2, 8] {
        let ended = Arc::new(AtomicUsize::new(0));
        let ends = ended.clone();
        // No worker sleeps any more when the exit handler, or the drop of `Waits`, waits.
        let pool = Pool::builder()
            .spares(0)
            .workers(workers)
            .exit_handler(move |_| {
                blitz_core::block_on(event());
                ends.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        struct Waits;
        impl Drop for Waits {
            fn drop(&mut self) {
                blitz_core::block_on(event());
            }
        }
        let waits = Waits;
        let cancelled = pool.spawn(async move {
            let _waits = waits;
            std::future::pending::<()>().await;
        });
        drop(pool);
        assert_eq!(ended.load(SeqCst), workers);
        assert!(cancelled.join().unwrap_err().is_cancelled());
    }
}

#[test]
fn events_reach_a_yielding_task_at_the_limit_of_deep_nesting() {
    struct Sees(AtomicBool);
    impl Wake for Sees {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
        }
    }
    /// Nests waits in this many tasks on top of each other.
    fn nest(levels: u32) {
        if levels == 0 {
            return wait_with_half_a_stack();
        }
        blitz_core::block_on(blitz_core::spawn(async move { nest(levels - 1) })).unwrap();
    }
    fn wait_with_half_a_stack() {
        let mut frame = [0_u8; 9 << 20];
        std::hint::black_box(&mut frame);
        let sees = Arc::new(Sees(AtomicBool::new(false)));
        let waker = Waker::from(sees.clone());
        driver::with_current(Window::make, |window: &Window, _| window.tell(waker)).unwrap();
        blitz_core::block_on(async {
            while !sees.0.load(SeqCst) {
                blitz_core::task::yield_now().await;
            }
        });
        std::hint::black_box(&mut frame);
    }
    let pool = Pool::builder().spares(0).workers(1).stack_size(16 << 20).build().unwrap();
    pool.spawn(async { nest(10) }).join().unwrap();
}

#[test]
fn an_adopted_thread_waits_in_the_driver() {
    std::thread::spawn(|| {
        let pool = Pool::builder().spares(0).workers(1).use_current_thread().build().unwrap();
        let window = window(&pool.handle());
        let (wake, woken) = mpsc::channel::<Waker>();
        // Notify only once the thread is in the driver.
        let world = std::thread::spawn({
            let window = window.clone();
            move || {
                let waker = woken.recv().unwrap();
                while window.blocks.load(SeqCst) == 0 {
                    std::thread::yield_now();
                }
                window.tell(waker);
            }
        });
        let mut asked = false;
        pool.block_on(poll_fn(|cx| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(());
            }
            wake.send(cx.waker().clone()).unwrap();
            Poll::Pending
        }));
        world.join().unwrap();
        pool.block_on(blitz_core::spawn(event())).unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn a_pool_whose_adopted_thread_is_gone_notifies_its_driver_of_the_end() {
    let adopts = || Pool::builder().spares(0).workers(2).use_current_thread().build().unwrap();
    let pool = std::thread::spawn(adopts).join().unwrap();
    let window = window(&pool.handle());
    drop(pool);
    assert_eq!(window.ends.load(SeqCst), 1);
}

#[test]
fn a_shielded_section_gets_its_event_while_an_adopting_pool_ends() {
    std::thread::spawn(|| {
        let pool = Pool::builder().spares(0).workers(1).use_current_thread().build().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let ends = ended.clone();
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let shielded = pool.spawn(blitz_core::task::shield(async move {
            begins.store(true, SeqCst);
            // Await many events, so that some are left when the pool ends.
            for _ in 0..10_000 {
                event().await;
            }
            ends.store(true, SeqCst);
        }));
        while !begun.load(SeqCst) {
            pool.block_on(event());
        }
        drop((shielded, pool));
        assert!(ended.load(SeqCst));
    })
    .join()
    .unwrap();
}

#[test]
fn the_other_wakers_are_called_although_one_panics() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let pool = Pool::builder()
        .spares(0)
        .workers(2)
        .panic_handler(move |_| {
            count.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let window = window(&pool.handle());
    for _ in 0..3 {
        window.tell(Waker::from(Arc::new(Bad)));
    }
    pool.block_on(event());
    // Another worker may have called the last waker while one of the bad wakers still unwinds.
    while panics.load(SeqCst) < 3 {
        std::thread::yield_now();
    }
    assert_eq!(pool.block_on(async { 7 }), 7);
}

#[test]
fn the_driver_is_notified_of_idleness_and_of_the_end() {
    let pool = pool(2);
    let handle = pool.handle();
    let window = window(&handle);
    pool.block_on(event());
    while window.idles.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(window.ends.load(SeqCst), 0);
    drop(pool);
    assert_eq!(window.ends.load(SeqCst), 1);
    assert!(Arc::ptr_eq(&window, &self::window(&handle)), "the driver is still there");
}

#[test]
fn an_ended_pool_gets_no_driver_and_a_pool_has_one_kind() {
    let ended = pool(1).handle();
    let error = driver::of(&ended, Window::make).unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    let failing = pool(1);
    let fail = |_: PoolView| Err::<Arc<Window>, _>(io::Error::other("no more descriptors"));
    assert!(driver::of(&failing.handle(), fail).unwrap_err().to_string().contains("descriptors"));
    assert_eq!(window(&failing.handle()).ends.load(SeqCst), 0, "the next attempt may succeed");

    #[derive(Debug)]
    struct Other;
    impl Driver for Other {
        fn block(&self) -> bool {
            unreachable!("this driver is never plugged in")
        }
        fn wake(&self) {}
        fn poll(&self) -> bool {
            unreachable!("this driver is never plugged in")
        }
        fn dispatch(&self) -> bool {
            false
        }
    }
    let error = driver::of(&failing.handle(), |_| Ok(Arc::new(Other))).unwrap_err();
    assert!(error.to_string().contains("another kind"), "{error}");
}

/// A backend that cannot be prepared if its number is zero.
#[derive(Debug, PartialEq)]
struct Number(u32);

impl IoBackend for Number {
    fn prepare(&self, pool: &Handle) -> io::Result<()> {
        assert!(pool.num_workers() > 0, "the pool is built");
        if self.0 == 0 { Err(io::Error::other("zero")) } else { Ok(()) }
    }
}

#[test]
fn a_backend_that_cannot_be_had_is_an_error_when_the_pool_is_built() {
    let error = Pool::builder().spares(0).workers(1).backend(Number(0)).build().unwrap_err();
    assert!(error.is_driver() && error.to_string().contains("zero"), "{error}");
    assert_eq!(error.io_error().unwrap().to_string(), "zero");
}

#[test]
fn a_driver_sees_its_pool() {
    let builder = Pool::builder().spares(0).workers(3).backend(Number(7)).max_io_completions(9);
    let builder = builder.timer_slack(Duration::from_micros(7));
    let pool = builder.build().unwrap();
    let mut view = None;
    let make = |given: PoolView| {
        view = Some(given);
        Window::make(view.clone().unwrap())
    };
    driver::of(&pool.handle(), make).unwrap();
    let view = view.unwrap();
    assert_eq!((view.num_workers(), view.backend::<Number>().as_deref()), (3, Some(&Number(7))));
    assert_eq!(view.backend::<String>(), None);
    assert_eq!((view.max_io_completions(), view.paused_since()), (Some(9), None));
    assert_eq!(view.timer_slack(), Duration::from_micros(7));
    while !view.is_idle() {
        std::thread::yield_now();
    }
    let (go, wait) = mpsc::channel::<()>();
    let blocking = pool.spawn_blocking(move || wait.recv().unwrap());
    assert!(!view.is_idle());
    go.send(()).unwrap();
    blocking.join().unwrap();
    drop(pool);
    assert_eq!(view.num_workers(), 0);
    assert!(!view.is_idle());
}

#[test]
fn jobs_tasks_and_events_at_once() {
    let pool = pool(4);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 0..300_u64 {
                    match n % 3 {
                        0 => pool.block_on(event()),
                        1 => assert_eq!(pool.join(|| n, || n + 1), (n, n + 1)),
                        _ => pool.spawn(event()).join().unwrap(),
                    }
                }
            });
        }
    });
}

/// Spawns a task that sends its waker, waits until that waker is called, and then sends `name`.
fn waiting(pool: &Pool, wakers: &mpsc::Sender<Waker>, done: mpsc::Sender<usize>, name: usize) {
    let (wakers, mut waits) = (wakers.clone(), false);
    drop(pool.spawn(poll_fn(move |cx| {
        if std::mem::replace(&mut waits, true) {
            done.send(name).unwrap();
            return Poll::Ready(());
        }
        wakers.send(cx.waker().clone()).unwrap();
        Poll::Pending
    })));
}

#[test]
fn tasks_woken_by_one_visit_are_polled_in_order() {
    // The last count is more than a ring has room for.
    for count in [1, 2, 100, 1_000] {
        // A signal tree has its own order.
        let pool =
            Pool::builder().spares(0).workers(1).scheduler(Scheduler::Stealing).build().unwrap();
        let window = window(&pool.handle());
        let (wakers, woken) = mpsc::channel();
        let (done, names) = mpsc::channel();
        let all: Vec<Waker> = (0..count)
            .map(|name| {
                waiting(&pool, &wakers, done.clone(), name);
                woken.recv().unwrap()
            })
            .collect();
        window.tell_all(all);
        let mut polled: Vec<usize> = (0..count).map(|_| names.recv().unwrap()).collect();
        // Tasks that overflow a full ring are polled later.
        if count > 256 {
            polled.sort_unstable();
        }
        assert!(polled.into_iter().eq(0..count), "{count} tasks");
    }
}

#[test]
fn a_task_woken_beside_a_wait_does_not_wait_for_later_work() {
    for stealing in [true, false] {
        let pool = Pool::builder().spares(0).workers(2).enable_stealing(stealing).build().unwrap();
        let window = window(&pool.handle());
        for _ in 0..3 {
            let (wakers, woken) = mpsc::channel();
            let (done, is_done) = mpsc::channel();
            waiting(&pool, &wakers, done, 7);
            let task = woken.recv().unwrap();
            // The other worker is busy, so the waiting worker is the one in the driver.
            let (go, wait) = mpsc::channel::<()>();
            let (begun, has_begun) = mpsc::channel();
            let busy = pool.spawn(async move {
                begun.send(()).unwrap();
                wait.recv().unwrap();
            });
            has_begun.recv().unwrap();
            let before = window.blocks.load(SeqCst);
            let blocks = pool.spawn(async move {
                let mut waits = false;
                blitz_core::block_on(poll_fn(move |cx| {
                    if std::mem::replace(&mut waits, true) {
                        return Poll::Ready(());
                    }
                    wakers.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                }));
                // Only a hang takes this long.
                is_done.recv_timeout(Duration::from_secs(60)).unwrap()
            });
            let waiter = woken.recv().unwrap();
            while window.blocks.load(SeqCst) == before {
                std::thread::yield_now();
            }
            go.send(()).unwrap();
            busy.join().unwrap();
            window.tell_all([waiter, task]);
            assert_eq!(blocks.join().unwrap(), 7);
        }
    }
}

#[test]
fn wakers_of_pool_tasks_are_prompt_and_those_of_local_tasks_are_not() {
    let of = |pool: Option<&Pool>| {
        let (send, receive) = mpsc::channel();
        let look = poll_fn(move |cx| {
            send.send(driver::is_prompt(cx.waker())).unwrap();
            Poll::Ready(())
        });
        match pool {
            Some(pool) => pool.spawn(look).join().unwrap(),
            None => {
                let set = blitz_core::LocalSet::new();
                drop(set.spawn_local(look));
                blitz_core::block_on(set);
            }
        }
        receive.recv().unwrap()
    };
    for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
        let pool = Pool::builder().spares(0).workers(1).scheduler(scheduler).build().unwrap();
        assert!(of(Some(&pool)));
    }
    // A local task wakes the future that awaits its set.
    assert!(!of(None));
    assert!(!driver::is_prompt(Waker::noop()));
}

/// Spawns a job through a handle when it is woken.
struct Spawns {
    handle: Handle,
    ran: Arc<AtomicUsize>,
    job: Mutex<Option<blitz_core::JoinHandle<()>>>,
}

impl Wake for Spawns {
    fn wake(self: Arc<Self>) {
        let ran = self.ran.clone();
        let job = self.handle.spawn_cpu(move || {
            ran.fetch_add(1, SeqCst);
        });
        *self.job.lock().unwrap() = Some(job);
    }
}

#[test]
fn jobs_that_the_end_of_the_driver_spawns_run() {
    for workers in [1, 3] {
        let pool = pool(workers);
        let ran = Arc::new(AtomicUsize::new(0));
        let job = Mutex::new(None);
        let spawns = Arc::new(Spawns { handle: pool.handle(), ran: ran.clone(), job });
        // No worker is notified of this waker, so it is usually called when the driver is shut
        // down.
        let window = window(&pool.handle());
        window.state.lock().unwrap().told.push_back(Waker::from(spawns.clone()));
        drop(pool);
        let job = spawns.job.lock().unwrap().take().expect("the waker was called");
        job.join().unwrap();
        assert_eq!(ran.load(SeqCst), 1);
        assert!(spawns.handle.unfinished().is_empty());
    }
}

/// A backend that is not available.
struct Missing;

impl IoBackend for Missing {
    fn prepare(&self, _: &Handle) -> io::Result<()> {
        Err(io::Error::other("there is none"))
    }
}

#[test]
fn a_missing_backend_is_an_error_although_the_spawner_keeps_the_workers_for_later() {
    let mut kept = Vec::new();
    let builder = Pool::builder().spares(0).workers(2).backend(Missing);
    let error = builder.build_with(|worker| {
        kept.push(worker);
        Ok(())
    });
    assert!(error.unwrap_err().to_string().contains("there is none"));
    // These workers end at once.
    kept.into_iter().for_each(|worker| worker.run());
}
