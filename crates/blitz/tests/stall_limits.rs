//! Nothing stalls a pool at its limits: if stacks are full, if no spare is left, or if the system
//! starts no more threads. Spares and the relief worker leave nothing behind.

mod common;

use blitz::time::sleep;
use blitz::{Pool, Runtime, WaitPolicy};
use common::{wait_for, watched};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::RefCell;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The environment variable that is set in a child process only.
const ROLE: &str = "BLITZ_STALL_LIMITS";

/// Runs `test` in another process. `name` is the name of the calling test.
fn in_child(name: &str, test: impl FnOnce()) {
    if std::env::var_os(ROLE).is_some() {
        return test();
    }
    let prefix = module_path!().split_once("::").map_or(String::new(), |(_, at)| format!("{at}::"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{prefix}{name}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && text.contains("1 passed");
    assert!(passed, "{}\n{text}\n{errors}", output.status);
}

/// Calls `f` on top of a frame of 16 KiB.
#[inline(never)]
fn on_large_frame<R>(f: impl FnOnce() -> R) -> R {
    let frame = [1_u8; 16 << 10];
    let result = f();
    assert_eq!(std::hint::black_box(frame)[100], 1);
    result
}

#[test]
fn waits_end_even_at_the_limit_of_every_stack() {
    watched("waits at the limit of every stack", |watch| {
        for workers in [1, 2] {
            let runtime = watch.workers(workers);
            let waits = |n: u64| {
                runtime.spawn(async move {
                    on_large_frame(|| {
                        blitz::block_on(blitz::spawn(async move {
                            sleep(Duration::from_millis(1)).await;
                            n
                        }))
                        .unwrap()
                    })
                })
            };
            let all: Vec<_> = (0..200).map(waits).collect();
            for (n, one) in all.into_iter().enumerate() {
                assert_eq!(one.join().unwrap(), n as u64);
            }
        }
    });
}

#[test]
fn timers_fire_beside_an_endless_chain_of_jobs() {
    fn again(over: Arc<AtomicBool>) {
        let since = std::time::Instant::now();
        while since.elapsed() < Duration::from_millis(20) {}
        if !over.load(SeqCst) {
            blitz::spawn_detached(move || again(over));
        }
    }
    watched("timers beside long jobs", |watch| {
        for workers in [1, 2] {
            let runtime = watch.workers(workers);
            let over = Arc::new(AtomicBool::new(false));
            for _ in 0..workers {
                let over = over.clone();
                runtime.spawn_detached(move || again(over));
            }
            for _ in 0..20 {
                runtime.spawn(sleep(Duration::from_millis(1))).join().unwrap();
            }
            over.store(true, SeqCst);
        }
    });
}

#[test]
fn a_worker_without_spares_looks_at_the_driver_after_each_long_job() {
    /// A chain of jobs that take 5 ms each.
    fn again(over: Arc<AtomicBool>, begun: Arc<AtomicUsize>) {
        begun.fetch_add(1, SeqCst);
        let since = std::time::Instant::now();
        while since.elapsed() < Duration::from_millis(5) {}
        if !over.load(SeqCst) {
            blitz::spawn_detached(move || again(over, begun));
        }
    }
    watched("a look after each long job", |watch| {
        let builder = Runtime::builder().workers(1).spares(0);
        let runtime = watch.runtime(builder.build().unwrap());
        let (over, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        runtime.spawn_detached({
            let (over, begun) = (over.clone(), begun.clone());
            move || again(over, begun)
        });
        // The worker learns how long the jobs take.
        wait_for(|| begun.load(SeqCst) > 4);
        let most = runtime.spawn(async move {
            let mut most = 0;
            for _ in 0..20 {
                let before = begun.load(SeqCst);
                // The timer is over when the next job ends.
                sleep(Duration::from_millis(1)).await;
                most = most.max(begun.load(SeqCst) - before);
            }
            most
        });
        let most = most.join().unwrap();
        over.store(true, SeqCst);
        assert!(most <= 4, "{most} jobs between two looks");
    });
}

#[test]
fn thousands_of_blocked_jobs_use_the_spares_up_and_end_when_they_are_let_go() {
    watched("thousands of blocked jobs", |watch| {
        let said = Arc::new(AtomicUsize::new(0));
        let told = said.clone();
        let builder = Runtime::builder().workers(2).spares(8);
        let builder = builder.spares_handler(move |text| {
            assert!(text.contains("of 8; blocked: worker "), "{text}");
            told.fetch_add(1, SeqCst);
        });
        let runtime = watch.runtime(builder.build().unwrap());
        let gate = Arc::new((Mutex::new(false), std::sync::Condvar::new()));
        let jobs: Vec<_> = (0..3_000)
            .map(|n| {
                let gate = gate.clone();
                runtime.spawn_cpu(move || {
                    let open = gate.0.lock().unwrap();
                    drop(gate.1.wait_while(open, |open| !*open).unwrap());
                    n
                })
            })
            .collect();
        wait_for(|| said.load(SeqCst) > 0);
        assert_eq!(runtime.metrics().spares, 8);
        // The dump names the blocked: both workers and all spares.
        let lost = |dump: &blitz::Dump| dump.workers.iter().filter(|one| one.seat_lost).count();
        wait_for(|| lost(&runtime.dump()) == 10);
        let dump = runtime.dump();
        let (text, json) = (dump.to_string(), dump.to_json());
        for index in 0..10 {
            assert!(text.contains(&format!("worker {index} (has lost its seat): ")), "{text}");
            let fields = format!("\"index\":{index},\"in_service\":true,\"seat_lost\":true");
            assert!(json.contains(&fields), "{json}");
        }
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        for (n, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.join().unwrap(), n);
        }
        assert_eq!(said.load(SeqCst), 1);
        wait_for(|| lost(&runtime.dump()) == 0);
        assert!(!runtime.dump().to_string().contains("has lost its seat"));
    });
}

/// Counts the threads whose thread-local values were dropped.
struct Local(Arc<AtomicUsize>);

impl Drop for Local {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

#[test]
fn spares_that_come_and_go_thousands_of_times_leave_nothing() {
    let name = "spares_that_come_and_go_thousands_of_times_leave_nothing";
    in_child(name, || {
        let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        let before = (count("/proc/self/task"), count("/proc/self/fd"));
        let (begun, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        watched(name, |watch| {
            for _ in 0..3 {
                let (begins, drops) = (begun.clone(), dropped.clone());
                let runtime = Runtime::builder().workers(2).spares(4).start_handler(move |_| {
                    begins.fetch_add(1, SeqCst);
                    LOCAL.with_borrow_mut(|local| *local = Some(Local(drops.clone())));
                });
                let runtime = watch.runtime(runtime.build().unwrap());
                for _ in 0..1_000 {
                    let blocks = || async { blitz::block_in_place(std::thread::yield_now) };
                    let all: Vec<_> = (0..3).map(|_| runtime.spawn(blocks())).collect();
                    all.into_iter().for_each(|one| runtime.block_on(one).unwrap());
                }
                assert!(runtime.metrics().spares <= 4);
            }
        });
        assert!(begun.load(SeqCst) > 6, "at least one spare has come");
        assert_eq!(dropped.load(SeqCst), begun.load(SeqCst), "each thread has dropped its value");
        // A thread that was joined may take a moment to leave the system's list.
        wait_for(|| count("/proc/self/task") <= before.0);
        assert_eq!(count("/proc/self/fd"), before.1);
    });
}

/// Returns how much memory this process has mapped, in bytes.
fn mapped() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_spare_that_cannot_be_started_is_reported_and_comes_later() {
    let name = "a_spare_that_cannot_be_started_is_reported_and_comes_later";
    if mapped() > 1 << 40 {
        // With the limit that the child sets, it could not allocate anything.
        println!("not tried: a sanitizer has mapped most of the addresses");
        return;
    }
    in_child(name, || {
        watched(name, |watch| {
            let (tell, told) = channel();
            let runtime = loop {
                let tell = tell.clone();
                let builder = Runtime::builder().workers(1).spares(4).stack_size(64 << 20);
                let builder = builder.spares_handler(move |text| drop(tell.send(text.to_owned())));
                let runtime = watch.runtime(builder.build().unwrap());
                // Start the driver and the watch.
                runtime.spawn(sleep(Duration::from_millis(1))).join().unwrap();
                wait_for(|| runtime.dump().all_sleep);
                // On a busy machine the pool may have needed a spare already.
                if runtime.metrics().spares == 0 {
                    break runtime;
                }
            };
            let limits = getrlimit(Resource::As);
            // This limit leaves too little for the stack of a spare, even if the process gives
            // memory back before the spare starts.
            let scarce = Rlimit { current: Some(mapped() + (1 << 20)), ..limits };
            setrlimit(Resource::As, scarce).unwrap();
            let (go, wait) = channel::<()>();
            let blocks = runtime.spawn(async move { wait.recv().unwrap() });
            let waits = runtime.spawn(async { 7 });
            let text = told.recv().unwrap();
            assert!(text.contains("a spare thread cannot be started"), "{text}");
            assert!(!waits.is_finished());
            setrlimit(Resource::As, limits).unwrap();
            assert_eq!(waits.join().unwrap(), 7);
            go.send(()).unwrap();
            blocks.join().unwrap();
        });
    });
}

/// Returns the processor time of this process, in ticks of the system.
fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_pool_that_is_idle_again_uses_no_processor_time() {
    let name = "a_pool_that_is_idle_again_uses_no_processor_time";
    in_child(name, || {
        watched(name, |watch| {
            let runtime = watch.workers(2);
            // Both workers compute while a timer is due.
            let over = Arc::new(AtomicBool::new(false));
            for _ in 0..2 {
                let over = over.clone();
                runtime.spawn_detached(move || while !over.load(SeqCst) {});
            }
            for _ in 0..5 {
                runtime.spawn(sleep(Duration::from_millis(1))).join().unwrap();
            }
            assert!(runtime.metrics().spares > 0);
            over.store(true, SeqCst);
            wait_for(|| runtime.dump().all_sleep && !runtime.dump().watch);
            // The relief worker may still be in the driver, and stays there. No thread of the pool
            // uses any time while this thread blocks. On a busy machine a thread may still be on
            // its way to sleep, so the quietest of some windows counts.
            let (_keep, never) = channel::<()>();
            let window = || {
                let before = used();
                assert!(never.recv_timeout(Duration::from_millis(300)).is_err());
                used() - before
            };
            let mut windows = (0..5).map(|_| window());
            assert!(windows.any(|ticks| ticks <= 1), "at least one window has one tick or none");
        });
    });
}

#[test]
fn a_panic_of_a_task_beside_computing_workers_goes_to_its_handle() {
    watched("a panic beside computing workers", |watch| {
        let runtime = watch.workers(1);
        let over = Arc::new(AtomicBool::new(false));
        let (begun, has_begun) = channel();
        let computes = runtime.spawn_cpu({
            let over = over.clone();
            move || {
                begun.send(()).unwrap();
                while !over.load(SeqCst) {}
                1
            }
        });
        has_begun.recv().unwrap();
        for _ in 0..10 {
            let panics = runtime.spawn(async {
                sleep(Duration::from_millis(1)).await;
                panic!("as the test wants it");
            });
            assert!(panics.join().unwrap_err().is_panic());
        }
        assert_eq!(runtime.spawn(async { 2 }).join().unwrap(), 2);
        over.store(true, SeqCst);
        assert_eq!(computes.join().unwrap(), 1);
    });
}

#[test]
fn a_pool_may_end_while_a_spare_is_on_relief_or_starts() {
    watched("ends beside relief", |watch| {
        for round in 0..30 {
            let runtime = watch.workers(1 + round % 2);
            let over = Arc::new(AtomicBool::new(false));
            for _ in 0..2 {
                let over = over.clone();
                runtime.spawn_detached(move || while !over.load(SeqCst) {});
            }
            let timer = runtime.spawn(sleep(Duration::from_micros(100)));
            if round % 3 > 0 {
                timer.join().unwrap();
            }
            let ends = std::thread::spawn(move || drop(runtime));
            over.store(true, SeqCst);
            ends.join().unwrap();
        }
    });
}

#[test]
fn programs_that_deadlock_elsewhere_end_with_any_number_of_workers() {
    watched("programs that deadlock elsewhere", |watch| {
        for workers in [1, 2, 64] {
            // rayon#592: a lock is held across a join; other items of the same loop want it.
            let builder = Pool::builder().workers(workers).wait_policy(WaitPolicy::DescendantsOnly);
            let pool = watch.pool(builder.build().unwrap());
            let lock = Mutex::new(0);
            pool.scope(|scope| {
                for _ in 0..200 {
                    scope.spawn(|_| {
                        let mut sum = lock.lock().unwrap();
                        let (a, b) = blitz::join(|| 1, || 2);
                        *sum += a + b;
                    });
                }
            });
            assert_eq!(lock.into_inner().unwrap(), 600);
            // tokio#4730 and #4941: a task blocks its worker until a task that it has just spawned
            // has run.
            let tasks: Vec<_> = (0..workers)
                .map(|n| {
                    pool.spawn(async move {
                        let (send, receive) = channel();
                        let child = blitz::spawn(async move { send.send(n).unwrap() });
                        let n = receive.recv().unwrap();
                        child.await.unwrap();
                        n
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.join().unwrap(), n);
            }
        }
    });
}

#[test]
fn a_pool_ends_although_each_worker_is_blocked_until_a_waiting_task_is_dropped() {
    for workers in [1, 2, 8] {
        watched("an end beside waits for drops", |watch| {
            let runtime = watch.workers(workers);
            let mut blocked = Vec::new();
            for _ in 0..workers {
                let (keep, ends) = channel::<()>();
                drop(runtime.spawn(async move {
                    let _keep = keep;
                    std::future::pending::<()>().await
                }));
                let (begun, has_begun) = channel();
                blocked.push(has_begun);
                drop(runtime.spawn(async move {
                    begun.send(()).unwrap();
                    assert!(ends.recv().is_err());
                }));
            }
            blocked.iter().for_each(|has_begun| has_begun.recv().unwrap());
            let handle = runtime.handle();
            drop(runtime);
            assert_eq!(handle.metrics().panics_reported, 0);
        });
    }
}

#[test]
fn the_relief_worker_takes_a_seat_if_no_other_spare_is_left() {
    for spares in [1, 2, 3] {
        watched("the last spare is on relief", |watch| {
            let builder = Runtime::builder().workers(1).spares(spares).spares_handler(|_| ());
            let runtime = watch.runtime(builder.build().unwrap());
            // This sleep starts the driver, in which a spare may wait.
            runtime.spawn(sleep(Duration::from_millis(1))).join().unwrap();
            let mut blocked = Vec::new();
            for _ in 0..spares {
                let ((release, released), (begun, has_begun)) = (channel::<()>(), channel());
                let job = runtime.spawn_cpu(move || {
                    begun.send(()).unwrap();
                    released.recv().unwrap();
                });
                has_begun.recv().unwrap();
                blocked.push((release, job));
            }
            // The worker and all spares but one are blocked.
            let (releases, jobs): (Vec<_>, Vec<_>) = blocked.into_iter().unzip();
            let last = runtime.spawn_cpu(move || releases.iter().for_each(|r| r.send(()).unwrap()));
            last.join().unwrap();
            jobs.into_iter().for_each(|job| job.join().unwrap());
        });
    }
}

/// Forks; one half calls `inside`, and then waits for the other half.
///
/// The half does both in `block_in_place`.
fn wait_in_place(pool: &Pool, inside: fn()) {
    let (send, receive) = channel::<()>();
    let receive = Mutex::new(receive);
    let wait = || {
        blitz::block_in_place(|| {
            inside();
            receive.lock().unwrap().recv().unwrap();
        })
    };
    pool.install(|| blitz::join(wait, || send.send(()).unwrap()));
}

#[test]
fn a_seat_stays_given_away_until_the_outermost_call_ends() {
    watched("nested calls that block", |watch| {
        let inside: [fn(); 3] = [
            || (),
            || blitz::block_in_place(|| ()),
            || blitz::block_on(async { blitz::spawn(async {}).await.unwrap() }),
        ];
        for inside in inside.into_iter().cycle().take(15) {
            let pool = watch.pool(Pool::builder().workers(1).spares(8).build().unwrap());
            wait_in_place(&pool, inside);
        }
    });
}

#[test]
fn a_call_that_blocks_gives_its_seat_away_although_a_spare_is_blocked_unseen() {
    watched("a spare is blocked unseen", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).spares(8).build().unwrap());
        let ((first, end_first), (second, end_second)) = (channel::<()>(), channel::<()>());
        let (begun, has_begun) = channel();
        let on_worker = pool.spawn_cpu(move || end_first.recv().unwrap());
        let on_spare = pool.spawn_cpu(move || {
            begun.send(()).unwrap();
            end_second.recv().unwrap();
        });
        has_begun.recv().unwrap();
        first.send(()).unwrap();
        on_worker.join().unwrap();
        // There is one thread too many: the spare. It is blocked, but the watch does not see that,
        // because no work waits.
        wait_for(|| !pool.dump().watch);
        wait_in_place(&pool, || ());
        second.send(()).unwrap();
        on_spare.join().unwrap();
    });
}

/// Waits for a message when it is dropped.
struct DropWaits(Mutex<std::sync::mpsc::Receiver<()>>);

impl Drop for DropWaits {
    fn drop(&mut self) {
        self.0.lock().unwrap().recv().unwrap();
    }
}

#[test]
fn a_job_runs_beside_a_worker_that_is_blocked_in_the_drop_of_a_cancelled_task() {
    watched("a drop of a cancelled task blocks", |_| {
        let (ended, has_ended) = channel::<()>();
        let ended = Mutex::new(Some(ended));
        let builder = Runtime::builder().workers(1).exit_handler(move |index| {
            if index == 0 {
                drop(ended.lock().unwrap().take());
            }
        });
        let runtime = builder.build().unwrap();
        let slot = Arc::new(Mutex::new(None::<Runtime>));
        let ((go, wait), (send, receive)) = (channel::<()>(), channel());
        let own = slot.clone();
        drop(runtime.spawn_cpu(move || {
            wait.recv().unwrap();
            let waits = DropWaits(Mutex::new(receive));
            drop(blitz::spawn(async move {
                let _waits = &waits;
                std::future::pending::<()>().await
            }));
            drop(blitz::spawn_cpu(move || send.send(()).unwrap()));
            // This drop ends the pool. The task is cancelled, and the job keeps the pool running.
            drop(own.lock().unwrap().take());
        }));
        *slot.lock().unwrap() = Some(runtime);
        go.send(()).unwrap();
        assert!(has_ended.recv().is_err(), "the exit handler drops the sender");
    });
}

#[test]
fn the_handler_of_spares_may_drop_the_runtime() {
    watched("the handler drops the runtime", |_| {
        let slot = Arc::new(Mutex::new(None::<Runtime>));
        let (told, is_told) = channel();
        let own = slot.clone();
        let builder = Runtime::builder().workers(1).spares(1).spares_handler(move |_| {
            drop(own.lock().unwrap().take());
            let _ = told.send(());
        });
        let runtime = builder.build().unwrap();
        let handle = runtime.handle();
        *slot.lock().unwrap() = Some(runtime);
        let blocked: Vec<_> = (0..3)
            .map(|_| {
                let (keep, ends) = channel::<()>();
                drop(handle.spawn(async move { assert!(ends.recv().is_err()) }));
                keep
            })
            .collect();
        is_told.recv().unwrap();
        drop(blocked);
        wait_for(|| handle.dump().stopping);
    });
}

#[test]
fn a_handler_of_spares_that_blocks_keeps_no_worker_from_its_rescue() {
    watched("a handler of spares that blocks", |watch| {
        let (tell, told) = channel();
        let (release, released) = channel::<()>();
        let released = Mutex::new(released);
        let builder = Pool::builder().workers(1).spares(1).spares_handler(move |_| {
            tell.send(()).unwrap();
            let _ = released.lock().unwrap().recv();
        });
        let pool = watch.pool(builder.build().unwrap());
        let block = || {
            let (go, waits) = channel::<()>();
            (go, pool.spawn_cpu(move || waits.recv().unwrap()))
        };
        // The worker and the spare are blocked, and another job waits.
        let jobs = [block(), block(), block()];
        told.recv().unwrap();
        for (go, job) in jobs {
            go.send(()).unwrap();
            job.join().unwrap();
        }
        // The handler still blocks. Only a spare can run the second job.
        let (go, blocked) = block();
        pool.spawn_detached(move || go.send(()).unwrap());
        blocked.join().unwrap();
        drop(release);
    });
}

#[test]
fn a_loop_that_sleeps_and_looks_gives_its_seat_away_however_many_are_blocked() {
    watched("a loop that sleeps and looks", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).build().unwrap());
        let blocked: Vec<_> = (0..12)
            .map(|_| {
                let (release, released) = channel::<()>();
                let (begun, has_begun) = channel();
                pool.spawn_detached(move || {
                    begun.send(()).unwrap();
                    released.recv().unwrap();
                });
                has_begun.recv().unwrap();
                release
            })
            .collect();
        let flag = Arc::new(AtomicBool::new(false));
        let looks = flag.clone();
        let (keep, nothing) = channel::<()>();
        let polls = pool.spawn_cpu(move || {
            while !looks.load(SeqCst) {
                assert!(nothing.recv_timeout(Duration::from_micros(200)).is_err());
            }
            drop(keep);
        });
        pool.spawn_detached(move || flag.store(true, SeqCst));
        polls.join().unwrap();
        blocked.into_iter().for_each(|release| release.send(()).unwrap());
    });
}
