//! Things that go wrong in services, on request and for a while.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use blitz::{Handle, JoinHandle, sync::oneshot, task};

/// For how long trouble lasts at most.
const SECONDS_MAX: f64 = 600.0;

/// Breaks a pool, and repairs it.
#[derive(Clone)]
pub struct Trouble {
    pool: Handle,
    gate: Arc<Gate>,
    /// How many workers may be stuck at a time: one has to be left.
    limit: usize,
}

/// What stuck workers wait for.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    /// How often all were freed.
    round: u64,
    /// How many workers are stuck.
    stuck: usize,
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks the thread until those of `round` are freed, or until `time` has passed.
    fn block(&self, round: u64, time: Duration) {
        let state = self.lock();
        let closed = |state: &mut State| state.round == round;
        let waited = self.opened.wait_timeout_while(state, time, closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.stuck -= 1;
    }

    /// Computes until those of `round` are freed, or until `time` has passed.
    fn compute(&self, round: u64, time: Duration) -> u64 {
        let begin = Instant::now();
        let mut sum = 1_u64;
        while begin.elapsed() < time && self.lock().round == round {
            sum = (0..1 << 20).fold(sum, |sum, n: u64| sum.rotate_left(5) ^ n.wrapping_mul(sum));
        }
        self.lock().stuck -= 1;
        sum
    }
}

/// Holds a lock for too long: its worker is blocked in a system call.
async fn report_writer(gate: Arc<Gate>, round: u64, time: Duration) {
    gate.block(round, time);
}

/// Computes for too long between two waits.
async fn checksum(gate: Arc<Gate>, round: u64, time: Duration) -> u64 {
    gate.compute(round, time)
}

/// Awaits a task that awaits it.
async fn awaits(other: oneshot::Receiver<JoinHandle<()>>) {
    if let Ok(other) = other.await {
        drop(other.await);
    }
}

/// Waits for a call that does not come: no waker of it is left.
async fn forgotten() {
    std::future::pending::<()>().await;
}

impl Trouble {
    pub fn new(pool: &Handle, limit: usize) -> Self {
        Self { pool: pool.clone(), gate: Arc::default(), limit }
    }

    /// A task blocks its worker in a system call.
    pub fn stall(&self, seconds: f64) -> io::Result<&'static str> {
        self.stick("report writer", |gate, round| report_writer(gate, round, limited(seconds)))?;
        Ok("a task blocks its worker")
    }

    /// A task keeps its worker and computes.
    pub fn spin(&self, seconds: f64) -> io::Result<&'static str> {
        self.stick("checksum", |gate, round| checksum(gate, round, limited(seconds)))?;
        Ok("a task computes without a pause")
    }

    /// Two tasks await each other until the pool ends. No handle is kept: one that could abort them
    /// would count as a waker.
    pub fn deadlock(&self) -> io::Result<&'static str> {
        let ((to_a, at_a), (to_b, at_b)) = (oneshot::channel(), oneshot::channel());
        let spawn =
            |name: &str, other| task::Builder::new().name(name).spawn_on(awaits(other), &self.pool);
        let (a, b) = (spawn("ledger", at_a)?, spawn("invoice", at_b)?);
        // Both still wait for their message.
        drop((to_a.send(b), to_b.send(a)));
        Ok("two tasks await each other")
    }

    /// A task waits, and nothing is left that could wake it.
    pub fn forget(&self) -> io::Result<&'static str> {
        let task = task::Builder::new().name("forgotten").spawn_on(forgotten(), &self.pool)?;
        // A handle would count as a waker, so the task stays until the pool ends.
        drop(task);
        Ok("a task waits for ever")
    }

    /// Frees whatever is stuck.
    pub fn end(&self) -> &'static str {
        let mut state = self.gate.lock();
        state.round += 1;
        drop(state);
        self.gate.opened.notify_all();
        "freed what can be freed"
    }

    /// Spawns a task that keeps its worker. A task that starts late knows which round it is of.
    fn stick<F>(&self, name: &str, future: impl FnOnce(Arc<Gate>, u64) -> F) -> io::Result<()>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut state = self.gate.lock();
        if state.stuck >= self.limit {
            return Err(io::Error::other("only one worker is left: free the others first"));
        }
        let future = future(self.gate.clone(), state.round);
        task::Builder::new().name(name).spawn_on(future, &self.pool)?;
        state.stuck += 1;
        Ok(())
    }
}

fn limited(seconds: f64) -> Duration {
    let known = if seconds.is_finite() { seconds } else { SECONDS_MAX };
    Duration::from_secs_f64(known.clamp(0.0, SECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use blitz::Pool;

    use super::*;

    fn wait_until(what: impl Fn() -> bool) {
        let begin = Instant::now();
        while !what() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it did not happen");
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_worker_is_always_left_and_all_are_freed() {
        let pool = Pool::builder().workers(2).build().unwrap();
        let trouble = Trouble::new(&pool.handle(), 1);
        trouble.stall(600.0).unwrap();
        assert!(trouble.spin(600.0).unwrap_err().to_string().contains("only one worker"));
        trouble.end();
        wait_until(|| trouble.gate.lock().stuck == 0);
        trouble.spin(600.0).unwrap();
        trouble.end();
        wait_until(|| trouble.gate.lock().stuck == 0);
    }

    #[test]
    fn a_deadlock_is_explained() {
        let pool = Pool::builder().workers(1).build().unwrap();
        let trouble = Trouble::new(&pool.handle(), 0);
        trouble.deadlock().unwrap();
        wait_until(|| pool.explain().to_string().contains("deadlock: "));
        let words = pool.explain().to_string();
        assert!(words.contains("ledger") && words.contains("invoice"), "{words}");
    }

    #[test]
    fn times_are_limited() {
        assert_eq!(limited(-1.0), Duration::ZERO);
        assert_eq!(limited(f64::NAN), Duration::from_secs(600));
        assert_eq!(limited(1e300), Duration::from_secs(600));
    }
}
