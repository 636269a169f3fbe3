//! Pools go on when a filter forbids a system call that they use. Each test runs in processes of
//! its own, since a filter cannot be removed.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use blitz::sync::oneshot;
use blitz::time::{Duration, Instant, interval, sleep, timeout};
use common::{Watch, fib, io_metrics, wait_for, watched};
use std::env;
use std::ffi::{c_int, c_long, c_ulong};
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// The environment variable with the error that a child's filter returns.
const ROLE: &str = "BLITZ_SECCOMP_ERROR";

const EPERM: u32 = 1;
const EAGAIN: u32 = 11;
const EINVAL: u32 = 22;
const ENOSYS: u32 = 38;

#[cfg(target_arch = "x86_64")]
const CALLS: [c_long; 4] = [324, 317, 283, 286];
#[cfg(target_arch = "aarch64")]
const CALLS: [c_long; 4] = [283, 277, 85, 86];
/// The numbers of the system calls.
const MEMBARRIER: c_long = CALLS[0];
const SECCOMP: c_long = CALLS[1];
const TIMERFD_CREATE: c_long = CALLS[2];
const TIMERFD_SETTIME: c_long = CALLS[3];
/// Starts a thread.
const CLONE3: c_long = 435;

/// An instruction of a filter: `sock_filter` of the system.
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// A filter: `sock_fprog` of the system.
#[repr(C)]
struct Filter {
    len: u16,
    instructions: *const Instruction,
}

unsafe extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// Makes `call` fail with `error` from now on, on every thread of the process.
///
/// Returns whether the system lets a process filter itself.
fn forbid(call: c_long, error: u32) -> bool {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERROR: u32 = 0x0005_0000;
    const SET_NO_NEW_PRIVS: c_int = 38;
    const SET_MODE_FILTER: c_ulong = 1;
    const ALL_THREADS: c_ulong = 1;
    let call = u32::try_from(call).unwrap();
    let instruction = |code, if_false, value| Instruction { code, if_true: 0, if_false, value };
    let instructions = [
        instruction(LOAD_NUMBER, 0, 0),
        instruction(JUMP_IF_EQUAL, 1, call),
        instruction(RETURN, 0, ERROR | error),
        instruction(RETURN, 0, ALLOW),
    ];
    let filter = Filter { len: 4, instructions: instructions.as_ptr() };
    let (one, zero): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: the option takes these numbers and changes no memory.
    let private = unsafe { prctl(SET_NO_NEW_PRIVS, one, zero, zero, zero) };
    // SAFETY: the system copies the filter, which is alive during the call.
    let set = unsafe { syscall(SECCOMP, SET_MODE_FILTER, ALL_THREADS, &raw const filter) };
    private == 0 && set == 0
}

fn membarrier_is_refused() -> bool {
    let (query, flags): (c_ulong, c_ulong) = (0, 0);
    // SAFETY: the query changes nothing.
    unsafe { syscall(MEMBARRIER, query, flags) < 0 }
}

/// Runs `test` in a child process for each error that a filter may return.
///
/// `name` is the name of the calling test.
fn in_children(name: &'static str, test: impl FnOnce(&Watch, u32)) {
    if let Ok(error) = env::var(ROLE) {
        return watched(name, |watch| test(watch, error.parse().unwrap()));
    }
    for error in [EPERM, ENOSYS, EINVAL] {
        in_child(name, error);
    }
}

fn in_child(name: &str, error: u32) {
    let output = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, error.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && out.contains("1 passed"), "{}\n{out}\n{err}", output.status);
}

#[test]
fn barrier_4_pools_keep_working_when_membarrier_is_forbidden() {
    in_children("barrier_4_pools_keep_working_when_membarrier_is_forbidden", |watch, error| {
        let schedulers = [blitz::Scheduler::Stealing, blitz::Scheduler::Signal];
        let runtimes: Vec<_> = [2, 3, 8]
            .into_iter()
            .flat_map(|workers| schedulers.map(|scheduler| (workers, scheduler)))
            .map(|(workers, scheduler)| {
                let builder = blitz::Runtime::builder().workers(workers).scheduler(scheduler);
                watch.runtime(builder.build().unwrap())
            })
            .collect();
        for runtime in &runtimes {
            assert_eq!(runtime.pool().install(|| fib(16)), 987);
        }
        let had_fence = blitz::diagnostics().asymmetric_fence;
        if !forbid(MEMBARRIER, error) {
            // The system has no filters, so nothing can forbid the call.
            return;
        }
        assert!(membarrier_is_refused());
        for runtime in &runtimes {
            // Workers sleep, wake and fork until one of them has asked for the fence in vain.
            for _ in 0..100 {
                work(runtime);
            }
            while had_fence && blitz::diagnostics().asymmetric_fence {
                work(runtime);
            }
            // From now on workers publish every fork at once, so one half may wait for the other.
            for _ in 0..100 {
                wait_until_all_sleep(runtime);
                let (send, receive) = mpsc::channel();
                let wait = move || receive.recv().unwrap();
                assert_eq!(runtime.pool().join(wait, || send.send(7).unwrap()), (7, ()));
            }
        }
        drop(runtimes);
        let late = watch.workers(2);
        work(&late);
        assert!(!blitz_parts::barrier::heavy() && !blitz::diagnostics().asymmetric_fence);
    });
}

fn wait_until_all_sleep(runtime: &blitz::Runtime) {
    wait_for(|| runtime.pool().dump().all_sleep);
}

/// Makes the runtime fork, spawn and wake; returns once all workers sleep again.
fn work(runtime: &blitz::Runtime) {
    assert_eq!(runtime.pool().install(|| fib(12)), 144);
    let sum = runtime.block_on(async {
        let (send, receive) = oneshot::channel();
        let waits = blitz::spawn(async move { receive.await.unwrap() + 1 });
        let wakes =
            blitz::spawn(async move { send.send(blitz::spawn_cpu(|| fib(9)).await.unwrap()) });
        wakes.await.unwrap().unwrap();
        waits.await.unwrap()
    });
    assert_eq!(sum, 35);
    wait_until_all_sleep(runtime);
}

fn has_system_timer(runtime: &blitz::Runtime) -> bool {
    io_metrics(&runtime.handle()).system_timer
}

/// Asserts that sleeps, timeouts and ticks end, and that none is early.
fn time_passes(runtime: &blitz::Runtime) {
    runtime.block_on(async {
        let nap = |micros| {
            blitz::spawn(async move {
                let (start, time) = (Instant::now(), Duration::from_micros(micros));
                sleep(time).await;
                assert!(start.elapsed() >= time);
            })
        };
        let naps: Vec<_> = (0..40).map(|n| nap(n * 150)).collect();
        for nap in naps {
            nap.await.unwrap();
        }
        let millisecond = Duration::from_millis(1);
        assert!(timeout(millisecond, std::future::pending::<()>()).await.is_err());
        let (start, mut ticks) = (Instant::now(), interval(millisecond));
        for tick in 0..4 {
            assert!(ticks.tick().await >= start && start.elapsed() >= tick * millisecond);
        }
    });
}

fn runtimes(watch: &Watch) -> Vec<blitz::Runtime> {
    [blitz::Scheduler::Stealing, blitz::Scheduler::Signal]
        .map(|scheduler| {
            let builder = blitz::Runtime::builder().workers(2).scheduler(scheduler);
            watch.runtime(builder.build().unwrap())
        })
        .into()
}

#[test]
fn timers_do_without_a_timer_of_the_system() {
    in_children("timers_do_without_a_timer_of_the_system", |watch, error| {
        if !forbid(TIMERFD_CREATE, error) {
            return;
        }
        for runtime in runtimes(watch) {
            assert!(!has_system_timer(&runtime));
            time_passes(&runtime);
        }
    });
}

#[test]
fn timers_go_on_when_the_system_takes_its_timer_back() {
    in_children("timers_go_on_when_the_system_takes_its_timer_back", |watch, error| {
        let runtimes = runtimes(watch);
        for runtime in &runtimes {
            time_passes(runtime);
            assert!(has_system_timer(runtime));
        }
        // A task waits for a timer that was set before the filter.
        let set = runtimes[0].spawn(sleep(Duration::from_millis(20)));
        wait_until_all_sleep(&runtimes[0]);
        if !forbid(TIMERFD_SETTIME, error) {
            return;
        }
        set.join().unwrap();
        for runtime in &runtimes {
            // The pool gives the system's timer up when a worker that is about to block cannot set
            // it.
            while has_system_timer(runtime) {
                time_passes(runtime);
            }
            time_passes(runtime);
        }
    });
}

#[test]
fn a_shutdown_has_its_limit_although_no_thread_can_be_started() {
    let name = "a_shutdown_has_its_limit_although_no_thread_can_be_started";
    let Ok(error) = env::var(ROLE) else { return in_child(name, EAGAIN) };
    watched(name, |watch| {
        let runtime = watch.workers(1);
        let handle = runtime.handle();
        let (begun, begins) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let closure = runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            wait.recv()
        });
        begins.recv().unwrap();
        let is_forbidden = forbid(CLONE3, error.parse().unwrap());
        if !is_forbidden || std::thread::Builder::new().spawn(|| ()).is_ok() {
            // The system has no filters, or starts threads by another call.
            drop(go);
            return;
        }
        let left = runtime.shutdown_within(Duration::from_millis(1)).unwrap_err();
        assert_eq!(left.blocking, 1, "{left}");
        go.send(()).unwrap();
        closure.join().unwrap().unwrap();
        wait_for(|| handle.unfinished().is_empty());
    });
}
