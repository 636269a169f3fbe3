//! Helpers that tests share, such as a watchdog: if a test hangs, it dumps the pools and aborts.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use blitz::{Builder, Handle, Pool, Runtime, Scheduler};
use std::future::Future;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test may take before it counts as hung.
///
/// That is far more than any test needs, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Forgets `value` as `std::mem::forget` does: the value is never dropped.
///
/// A sanitizer does not report a leak, because a static still refers to the value.
pub fn forget(value: impl Send + 'static) {
    static FORGOTTEN: Mutex<Vec<Box<dyn std::any::Any + Send>>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap().push(Box::new(value));
}

/// The pools that a watched test uses.
#[derive(Clone, Default)]
pub struct Watch {
    pools: Arc<Mutex<Vec<std::sync::Weak<Pool>>>>,
    handles: Arc<Mutex<Vec<Handle>>>,
}

impl Watch {
    /// Makes the watchdog dump `pool`, too.
    pub fn pool(&self, pool: Pool) -> Arc<Pool> {
        let pool = Arc::new(pool);
        self.pools.lock().unwrap().push(Arc::downgrade(&pool));
        pool
    }

    /// Makes the watchdog dump `runtime`, too.
    pub fn runtime(&self, runtime: Runtime) -> Runtime {
        self.handles.lock().unwrap().push(runtime.handle());
        runtime
    }

    /// Builds a watched runtime of `workers` workers.
    pub fn workers(&self, workers: usize) -> Runtime {
        self.runtime(runtime(workers))
    }
}

/// Runs `test`. If the test hangs, dumps its pools and aborts the process.
pub fn watched<R>(name: &'static str, test: impl FnOnce(&Watch) -> R) -> R {
    let watch = Watch::default();
    let (pools, handles) = (watch.pools.clone(), watch.handles.clone());
    let (done, is_done) = channel::<()>();
    let dog = std::thread::spawn(move || {
        if let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(PATIENCE) {
            // The test harness would capture the output of `eprintln`.
            let mut out = std::io::stderr();
            let _ = writeln!(out, "watchdog: {name} hangs");
            for pool in pools.lock().unwrap().iter().filter_map(std::sync::Weak::upgrade) {
                let _ = writeln!(out, "{}\n{}", pool.dump(), pool.metrics());
            }
            for handle in handles.lock().unwrap().iter() {
                let _ = writeln!(out, "{}\n{}", handle.dump(), handle.metrics());
            }
            std::process::abort();
        }
    });
    let result = test(&watch);
    drop(done);
    dog.join().unwrap();
    result
}

/// Builds a pool of `workers` workers.
pub fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// Builds a runtime of `workers` workers.
pub fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// Returns once `done` returns true.
pub fn wait_for(done: impl Fn() -> bool) {
    while !done() {
        std::thread::yield_now();
    }
}

/// Returns once `count` tasks of the pool have begun to wait and have not ended.
///
/// A worker may still be inside the poll of the last of these tasks.
pub fn wait_for_parked(handle: &Handle, count: u64) {
    wait_for(|| handle.metrics().tasks.waiting >= count);
}

/// Counts the tokens that were made and those that were dropped.
#[derive(Clone, Default)]
pub struct Tally {
    made: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

/// Notifies its [`Tally`] when it is dropped.
#[derive(Debug)]
pub struct Token(Arc<AtomicUsize>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Tally {
    /// Makes one more token.
    pub fn token(&self) -> Token {
        self.made.fetch_add(1, SeqCst);
        Token(self.dropped.clone())
    }

    /// Returns how many tokens were made.
    pub fn made(&self) -> usize {
        self.made.load(SeqCst)
    }

    /// Returns how many tokens were dropped.
    pub fn dropped(&self) -> usize {
        self.dropped.load(SeqCst)
    }

    /// Returns whether each token that was made has been dropped.
    pub fn is_even(&self) -> bool {
        self.made() == self.dropped()
    }
}

/// Computes a Fibonacci number with a fork in each call.
pub fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = blitz::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Spins for a random time, yields or does nothing, to shake up interleavings.
pub fn jitter(seed: &mut u64) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    match *seed % 16 {
        0 => std::thread::yield_now(),
        n @ 1..=4 => {
            for _ in 0..n * 50 {
                std::hint::spin_loop();
            }
        }
        _ => {}
    }
}

/// Runs `test` as a task on one worker, on two and on eight.
pub fn on_each_size<F>(name: &'static str, test: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_each_size_of(name, Runtime::builder, test);
}

/// Does the same as `on_each_size`, on both schedulers.
pub fn on_each_scheduler<F>(name: &'static str, test: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
        on_each_size_of(name, || Runtime::builder().scheduler(scheduler), &test);
    }
}

/// Does the same as `on_each_size`, on runtimes that come from `builder`.
pub fn on_each_size_of<F>(name: &'static str, builder: impl Fn() -> Builder, test: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for workers in [1, 2, 8] {
        let runtime = builder().workers(workers).build().unwrap();
        watched(name, |watch| watch.runtime(runtime).spawn(test()).join().unwrap());
    }
}

/// Makes a TCP connection; returns both sides of it.
pub async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connecting = TcpStream::connect(listener.local_addr().unwrap());
    let (there, here) = (connecting.await.unwrap(), listener.accept().await.unwrap().0);
    (here, there)
}

/// Waits for a timer, for a socket, and for a task that it spawns.
///
/// Tests of stalls spawn this future from outside, and expect it to complete.
pub async fn everything() {
    blitz::time::sleep(Duration::from_millis(1)).await;
    let (mut here, mut there) = tcp_pair().await;
    here.write_all(b"ping").await.unwrap();
    let mut text = [0; 4];
    there.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"ping");
    let spawned = blitz::spawn(async {
        blitz::task::yield_now().await;
        7
    });
    assert_eq!(spawned.await.unwrap(), 7);
}

/// Returns how many descriptors and operations the pool's driver watches.
///
/// The metrics also say how many tasks wait for the descriptors.
pub fn io_metrics(handle: &Handle) -> blitz_io::IoMetrics {
    blitz_io::IoDriver::of(handle).unwrap().metrics()
}

/// Echoes bytes until the peer stops; returns their number.
pub async fn echo(mut stream: TcpStream) -> std::io::Result<u64> {
    let (mut read, mut write) = stream.split();
    blitz::io::copy(&mut read, &mut write).await
}

/// A directory for one test. Dropping this value removes it.
pub struct Dir(std::path::PathBuf);

impl Dir {
    pub fn new() -> Dir {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, SeqCst);
        // One program may have several copies of this file, each with numbers of its own.
        let whose = module_path!().replace("::", "-");
        let name = format!("{whose}-{}-{number}", std::process::id());
        let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    /// Returns the path of `name` in the directory.
    pub fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
