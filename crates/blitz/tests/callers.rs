//! If the global pool cannot be built, each function that needs the pool panics, and the panic
//! points at the function's caller. A function that returns `io::Result` does not panic: it returns
//! the error.

use blitz::par::iter::{Either, MultiZip};
use blitz::par::range::Iter;
use blitz::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::env;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process::Command;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The environment variable that is set in the child process only.
const ROLE: &str = "BLITZ_TEST_CALLERS_ROLE";

fn ignore<T>(_: T) {}

/// Calls of functions that need the global pool, with the text of each.
macro_rules! calls {
    ($($call:expr),+ $(,)?) => {
        [$((stringify!($call), Box::new(|| ignore($call)) as Box<dyn Fn()>)),+]
    };
}

#[test]
fn the_panic_of_a_missing_global_pool_names_the_caller() {
    if env::var_os(ROLE).is_some() {
        return in_the_child();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["the_panic_of_a_missing_global_pool_names_the_caller", "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .env("BLITZ_WORKERS", "several")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

fn in_the_child() {
    static SEEN: Mutex<Option<(String, String)>> = Mutex::new(None);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|location| location.file().to_owned());
        *SEEN.lock().unwrap() = Some((place.unwrap_or_default(), info.to_string()));
    }));
    let mut set = blitz::JoinSet::new();
    let set = Mutex::new(&mut set);
    let calls = calls![
        blitz::install(|| ()),
        blitz::join(|| (), || ()),
        blitz::join_context(|_| (), |_| ()),
        blitz::scope(|_| ()),
        blitz::scope_fifo(|_| ()),
        blitz::in_place_scope(|_| ()),
        blitz::in_place_scope_fifo(|_| ()),
        blitz::broadcast(|_| ()),
        blitz::spawn_broadcast(|_| ()),
        blitz::spawn_cpu(|| ()),
        blitz::spawn_detached(|| ()),
        blitz::spawn_detached_fifo(|| ()),
        blitz::spawn(async {}),
        blitz::try_spawn(async {}),
        blitz::spawn_blocking(|| ()),
        blitz::current_num_workers(),
        blitz::scheduler(),
        blitz::metrics(),
        blitz::dump(),
        blitz::unfinished(),
        blitz::tasks(),
        blitz::stalls(),
        blitz::explain(),
        blitz::probe(),
        blitz::trace(Duration::MAX),
        blitz::analyze(|| ()),
        blitz::task::TaskTracker::new().spawn(async {}),
        blitz::task::JoinMap::new().spawn(1, async {}),
        blitz::task::JoinMap::new().spawn_cpu(1, || ()),
        blitz::task::JoinMap::new().spawn_blocking(1, || ()),
        blitz::task::TaskTracker::new().spawn_cpu(|| ()),
        blitz::task::TaskTracker::new().spawn_blocking(|| ()),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn(async {}),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn_cpu(|| ()),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn_blocking(|| ()),
    ];
    let calls = calls.into_iter().chain(loops());
    let seen: Vec<_> = calls
        .map(|(text, call)| {
            let panicked = catch_unwind(AssertUnwindSafe(call)).is_err();
            (text, panicked, SEEN.lock().unwrap().take())
        })
        .collect();
    std::panic::set_hook(before);
    assert_returned("task::Builder", blitz::task::Builder::new().spawn(async {}));
    assert_returned("UnixStream::pair", blitz::net::UnixStream::pair());
    assert_returned("TcpListener::bind", first_poll(blitz::net::TcpListener::bind("127.0.0.1:0")));
    assert_returned("ctrl_c", first_poll(blitz::signal::ctrl_c()));
    for (text, panicked, seen) in seen {
        assert!(panicked, "{text} did not panic");
        let (place, message) = seen.expect("the hook was called");
        assert!(place.ends_with("callers.rs"), "{text} points at {place}");
        assert!(message.contains("BLITZ_WORKERS is \"several\""), "{text}: {message}");
    }
}

/// Calls of each method that runs a parallel loop.
fn loops<'a>() -> impl Iterator<Item = (&'static str, Box<dyn Fn() + 'a>)> {
    /// Too many numbers for a sort on the current thread. They are in no order.
    fn many() -> Vec<u32> {
        (0..1 << 16).map(|n| n ^ 1).collect()
    }
    fn pairs() -> MultiZip<(Iter<i32>, Iter<i32>)> {
        (0..9, 0..9).into_par_iter()
    }
    fn items() -> Iter<i32> {
        (0..9).into_par_iter()
    }
    let ends = calls![
        items().for_each(drop),
        items().for_each_with(1, |_, _| ()),
        items().for_each_init(|| 1, |_, _| ()),
        items().map(|_| ()).try_for_each(Some),
        items().map(|_| ()).try_for_each_with(1, |_, unit| Some(unit)),
        items().map(|_| ()).try_for_each_init(|| 1, |_, unit| Some(unit)),
        items().count(),
        items().sum::<i32>(),
        items().product::<i32>(),
        items().reduce(|| 0, |a, b| a + b),
        items().reduce_with(|a, b| a + b),
        items().map(Some).try_reduce(|| 0, |a, _| Some(a)),
        items().map(Some).try_reduce_with(|a, _| Some(a)),
        items().min(),
        items().min_by(i32::cmp),
        items().min_by_key(|n| -n),
        items().max(),
        items().max_by(i32::cmp),
        items().max_by_key(|n| -n),
        items().find_any(|_| true),
        items().find_first(|_| true),
        items().find_last(|_| true),
        items().find_map_any(Some),
        items().find_map_first(Some),
        items().find_map_last(Some),
        items().any(|_| true),
        items().all(|_| true),
        items().position_any(|_| true),
        items().position_first(|_| true),
        items().position_last(|_| true),
        items().cmp(items()),
        items().partial_cmp(items()),
        items().eq(items()),
        items().ne(items()),
        items().lt(items()),
        items().le(items()),
        items().gt(items()),
        items().ge(items()),
        items().scan_inclusive(|a, b| a + b),
        items().for_each_in_order(drop),
        items().for_each_in_order_within(1, drop),
        items().chunks(2).flatten().filter(|n| n % 2 == 0).map(|n| n + 1).for_each(drop),
    ];
    let collections = calls![
        items().collect::<Vec<_>>(),
        items().filter(|_| true).collect::<Vec<_>>(),
        items().map(Some).collect::<Option<Vec<_>>>(),
        items().map(Ok::<_, ()>).collect::<Result<Vec<_>, _>>(),
        items().collect::<Box<[_]>>(),
        items().collect::<HashSet<_>>(),
        pairs().collect::<BTreeMap<_, _>>(),
        pairs().collect::<(Vec<_>, Vec<_>)>(),
        items().map(|_| 'a').collect::<String>(),
        items().map(|_| 'a').collect::<Box<str>>(),
        items().map(|_| ()).collect::<()>(),
        items().collect_vec_list(),
        items().collect_into_vec(&mut Vec::new()),
        items().collect_into_slice(&mut [0; 9]),
        ignore(items().collect_into(&mut Vec::new())),
        pairs().unzip::<_, _, Vec<_>, HashSet<_>>(),
        pairs().unzip_into_vecs(&mut Vec::new(), &mut Vec::new()),
        items().partition::<Vec<_>, Vec<_>, _>(|_| true),
        items().partition_map::<Vec<_>, Vec<_>, _, _, _>(Either::<i32, i32>::Left),
        Vec::new().par_extend(items()),
        Vec::<i32>::new().par_extend([1, 2].par_iter()),
        HashSet::new().par_extend(items()),
        String::new().par_extend(items().map(|_| 'a')),
        many().par_sort(),
        many().par_sort_by(u32::cmp),
        many().par_sort_by_key(|n| !n),
        many().par_sort_by_cached_key(|n| !n),
        many().par_sort_unstable(),
        many().par_sort_unstable_by(u32::cmp),
        many().par_sort_unstable_by_key(|n| !n),
    ];
    ends.into_iter().chain(collections)
}

/// Returns the result of a future that is ready when it is first polled.
fn first_poll<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits for something"),
    }
}

fn assert_returned<T>(text: &str, result: io::Result<T>) {
    let error = result.map(drop).expect_err(text);
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}: {error}");
    assert!(error.to_string().contains("BLITZ_WORKERS is \"several\""), "{text}: {error}");
}
