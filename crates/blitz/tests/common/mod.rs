//! A watchdog for tests that could hang: it says what the pools look like, then ends the process.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use blitz::Pool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test may take before it counts as hung. Far more than any needs on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pools that a watched test uses.
#[derive(Clone, Default)]
pub struct Watch {
    pools: Arc<Mutex<Vec<std::sync::Weak<Pool>>>>,
}

impl Watch {
    /// Has the watchdog dump `pool`, too.
    pub fn pool(&self, pool: Pool) -> Arc<Pool> {
        let pool = Arc::new(pool);
        self.pools.lock().unwrap().push(Arc::downgrade(&pool));
        pool
    }
}

/// Runs `test`; if it hangs, dumps the counters, latches and deques of its pools and aborts.
pub fn watched<R>(name: &'static str, test: impl FnOnce(&Watch) -> R) -> R {
    let watch = Watch::default();
    let pools = watch.pools.clone();
    let (done, is_done) = channel::<()>();
    let dog = std::thread::spawn(move || {
        if let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(PATIENCE) {
            eprintln!("watchdog: {name} hangs");
            for pool in pools.lock().unwrap().iter().filter_map(std::sync::Weak::upgrade) {
                eprintln!("{}\n{}", pool.dump(), pool.metrics());
            }
            std::process::abort();
        }
    });
    let result = test(&watch);
    drop(done);
    dog.join().unwrap();
    result
}

/// A pool of `workers` workers.
pub fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().unwrap()
}

/// The Fibonacci numbers by forking all the way down.
pub fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = blitz::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Pauses of random length, to shake up interleavings: spins, yields, nothing.
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
