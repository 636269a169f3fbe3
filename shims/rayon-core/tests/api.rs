//! Promises of the original about its types and texts, and checks that the original's tests make
//! with access to its internals.

use rayon_core::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield,
};
use std::error::Error;
use std::fmt::Debug;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

fn send_sync<T: Send + Sync>() {}
fn send<T: Send>() {}
fn debug<T: Debug>() {}

#[test]
fn traits_are_those_of_the_original() {
    send_sync::<ThreadPool>();
    send_sync::<Scope<'static>>();
    send_sync::<ScopeFifo<'static>>();
    send_sync::<ThreadPoolBuildError>();
    send_sync::<Yield>();
    send::<ThreadBuilder>();
    debug::<BroadcastContext<'static>>();
    debug::<FnContext>();
    debug::<ThreadBuilder>();
    debug::<ThreadPoolBuilder>();
    let copied: fn(&Yield) -> Yield = |yielded| *yielded;
    assert_eq!(copied(&Yield::Idle), Yield::Idle);
}

/// Checks whether `T` has a trait, which stable Rust cannot do directly: the inherent function is
/// chosen if it exists.
macro_rules! lacks {
    ($trait:ident: $($type:ty),*) => {
        $({
            trait Lacks { fn has() -> bool { false } }
            impl<T> Lacks for Probe<T> {}
            #[allow(dead_code)]
            struct Probe<T>(std::marker::PhantomData<T>);
            #[allow(dead_code)]
            impl<T: $trait> Probe<T> { fn has() -> bool { true } }
            assert!(!Probe::<$type>::has(), "{} is {}", stringify!($type), stringify!($trait));
        })*
    };
}

#[test]
#[allow(deprecated)]
fn traits_that_the_original_lacks_are_lacking() {
    lacks!(Send: FnContext, BroadcastContext<'static>, ThreadPoolBuilder, rayon_core::Configuration);
    lacks!(Sync: FnContext, BroadcastContext<'static>, ThreadPoolBuilder, rayon_core::Configuration);
    lacks!(Sync: ThreadBuilder);
}

#[test]
#[allow(deprecated)]
fn functions_that_rayon_itself_does_not_use_are_there() {
    let _: fn(rayon_core::Configuration) -> Result<(), Box<dyn Error>> = rayon_core::initialize;
    let _: fn(rayon_core::Configuration) -> Result<ThreadPool, Box<dyn Error>> = ThreadPool::new;
    let _: fn() -> Option<bool> = rayon_core::current_thread_has_pending_tasks;
    assert_eq!(rayon_core::max_num_threads(), 0xFFFF);
    let pool = rayon_core::Configuration::new().num_threads(2).breadth_first().build().unwrap();
    assert_eq!(pool.current_num_threads(), 2);
    let too_many = ThreadPoolBuilder::new().num_threads(usize::MAX).spawn_handler(|_| {
        // The builder asked for the maximum, not for more.
        Err(std::io::Error::other("enough"))
    });
    assert_eq!(too_many.build().unwrap_err().to_string(), "enough");
}

#[test]
fn builders_show_their_settings() {
    let builder = ThreadPoolBuilder::new().num_threads(3).thread_name(|_| "x".into());
    let text = format!("{builder:?}");
    assert!(text.contains("num_threads: 3"), "{text}");
    assert!(text.contains("get_thread_name: Some(<closure>)"), "{text}");
    assert!(text.contains("panic_handler: None"), "{text}");
}

/// A handler that reports its calls. The channel closes once the last thread of the pool is gone.
fn telling() -> (impl Fn(usize) + Send + Sync + 'static, Receiver<usize>) {
    let (send, receive) = channel();
    (move |index| send.send(index).unwrap(), receive)
}

fn telling_exits() -> (ThreadPool, Receiver<usize>) {
    let (exit, exits) = telling();
    (ThreadPoolBuilder::new().num_threads(22).exit_handler(exit).build().unwrap(), exits)
}

#[test]
fn threads_of_a_dropped_pool_end_after_work() {
    fn join_a_lot(n: usize) {
        if n > 0 {
            rayon_core::join(|| join_a_lot(n - 1), || join_a_lot(n - 1));
        }
    }
    let (pool, exits) = telling_exits();
    pool.install(|| join_a_lot(16));
    drop(pool);
    assert_eq!(exits.iter().count(), 22);
}

#[test]
fn threads_of_a_dropped_pool_end_also_when_asleep() {
    let (pool, exits) = telling_exits();
    let nobody_yet = exits.recv_timeout(Duration::from_millis(500));
    assert_eq!(nobody_yet, Err(RecvTimeoutError::Timeout));
    drop(pool);
    assert_eq!(exits.iter().count(), 22);
}

#[test]
fn a_thread_cannot_be_in_two_pools_and_the_error_says_so() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let error = pool.install(|| ThreadPoolBuilder::new().use_current_thread().build()).unwrap_err();
    assert_eq!(error.to_string(), "The current thread is already part of another thread pool.");
    assert!(error.source().is_none());
}

#[test]
fn a_spawner_error_is_reported_as_it_is() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let failing = builder.spawn_handler(|_| Err(std::io::Error::other("out of threads")));
    let error = failing.build().unwrap_err();
    assert_eq!(error.to_string(), "out of threads");
    assert_eq!(error.source().unwrap().to_string(), "out of threads");
}

#[test]
fn unnamed_threads_have_no_name_for_a_spawner() {
    let build = |builder: ThreadPoolBuilder| {
        let mut names = Vec::new();
        let pool = builder.num_threads(2).stack_size(1 << 20).spawn_handler(|thread| {
            assert_eq!(thread.stack_size(), Some(1 << 20));
            names.push((thread.index(), thread.name().map(str::to_owned)));
            std::thread::Builder::new().spawn(|| thread.run()).map(drop)
        });
        pool.build().unwrap();
        names
    };
    assert_eq!(build(ThreadPoolBuilder::new()), [(0, None), (1, None)]);
    let named = ThreadPoolBuilder::new().thread_name(|index| format!("n{index}"));
    assert_eq!(build(named), [(0, Some("n0".into())), (1, Some("n1".into()))]);
}

#[test]
fn handlers_are_for_threads_that_the_pool_starts() {
    let ((start, starts), (exit, exits)) = (telling(), telling());
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .use_current_thread()
        .start_handler(start)
        .exit_handler(exit)
        .build()
        .unwrap();
    assert_eq!(pool.current_thread_index(), Some(0));
    drop(pool);
    for indices in [starts, exits] {
        let mut indices: Vec<_> = indices.iter().collect();
        indices.sort_unstable();
        assert_eq!(indices, [1, 2]);
    }
}

#[test]
fn pending_tasks_are_seen_by_the_pools_own_threads_only() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.current_thread_has_pending_tasks(), None);
    assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
    pool.scope(|s| {
        assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
        s.spawn(|_| ());
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(true));
        assert_eq!(rayon_core::yield_local(), Some(Yield::Executed));
        assert_eq!(rayon_core::yield_now(), Some(Yield::Idle));
    });
}

/// Runs this test program again, with one of its ignored tests and other variables.
fn child(test: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command.env_remove("RAYON_NUM_THREADS").env_remove("RAYON_RS_NUM_CPUS");
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn the_environment_sets_the_number_of_threads() {
    let threads = |variables: &[(&str, &str)]| {
        let output = child("print_threads", variables);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = text.split("threads=").nth(1).and_then(|rest| rest.split_whitespace().next());
        number.and_then(|number| number.parse::<usize>().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(threads(&[]), cores);
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "5")]), 5);
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "6")]), cores);
    assert_eq!(threads(&[("RAYON_NUM_THREADS", "x"), ("RAYON_RS_NUM_CPUS", "6")]), 6);
    assert_eq!(threads(&[("RAYON_RS_NUM_CPUS", "7")]), 7);
    assert_eq!(threads(&[("BLITZ_WORKERS", "9")]), cores);
}

#[test]
#[ignore = "run by another test"]
fn print_threads() {
    let of_a_pool = ThreadPoolBuilder::new().build().unwrap().current_num_threads();
    assert_eq!(rayon_core::current_num_threads(), of_a_pool);
    println!("threads={of_a_pool} ");
}

#[test]
fn an_unhandled_panic_aborts() {
    for test in ["spawn_a_panic", "panic_in_the_handler"] {
        let status = child(test, &[]).status;
        #[cfg(unix)]
        assert!(std::os::unix::process::ExitStatusExt::signal(&status).is_some(), "{status}");
        assert!(!status.success());
    }
}

/// Gives the process time to abort.
fn wait_for_the_end() {
    let (_sender, receiver) = channel::<()>();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Err(RecvTimeoutError::Timeout));
}

#[test]
#[ignore = "run by another test"]
fn spawn_a_panic() {
    rayon_core::spawn(|| panic!("no thread waits for this"));
    wait_for_the_end();
}

#[test]
#[ignore = "run by another test"]
fn panic_in_the_handler() {
    let builder = ThreadPoolBuilder::new().panic_handler(|_| panic!("again"));
    builder.build().unwrap().spawn(|| panic!("no thread waits for this"));
    wait_for_the_end();
}
