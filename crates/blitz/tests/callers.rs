//! If the global pool cannot be built, each function that needs the pool panics, and the panic
//! points at the function's caller. A function that returns `io::Result` does not panic: it returns
//! the error.

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
        blitz::trace(Duration::MAX),
        blitz::analyze(|| ()),
        blitz::task::TaskTracker::new().spawn(async {}),
        blitz::task::JoinMap::new().spawn(1, async {}),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn(async {}),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn_cpu(|| ()),
        set.lock().unwrap_or_else(|set| set.into_inner()).spawn_blocking(|| ()),
    ];
    let seen = calls.map(|(text, call)| {
        let panicked = catch_unwind(AssertUnwindSafe(call)).is_err();
        (text, panicked, SEEN.lock().unwrap().take())
    });
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
