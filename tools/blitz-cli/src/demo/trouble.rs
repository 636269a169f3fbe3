//! Faults of services, on request. Faults that keep a worker have a time limit.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use blitz::{Handle, JoinHandle, Pool, sync::oneshot, task};

/// The maximum duration of a fault that keeps a worker.
const SECONDS_MAX: f64 = 600.0;
/// How long to wait for a pool to shut down.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Breaks a pool, and repairs it.
#[derive(Clone)]
pub struct Trouble {
    pool: Handle,
    gate: Arc<Gate>,
    /// How many workers may be stuck at a time: one must stay free.
    limit: usize,
    /// The second pool, until a user ends it.
    second: Arc<Mutex<Option<Pool>>>,
}

/// The gate that stuck workers wait for.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    /// How many times all workers were freed.
    round: u64,
    /// How many workers are stuck.
    stuck: usize,
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks the thread until the workers of `round` are freed or `time` has passed.
    fn block(&self, round: u64, time: Duration) {
        let state = self.lock();
        let closed = |state: &mut State| state.round == round;
        let waited = self.opened.wait_timeout_while(state, time, closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.stuck -= 1;
    }

    /// Computes until the workers of `round` are freed or `time` has passed.
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

/// Waits for the gate without yielding: its worker is blocked in a system call.
async fn report_writer(gate: Arc<Gate>, round: u64, time: Duration) {
    gate.block(round, time);
}

/// Computes for too long without an await.
async fn checksum(gate: Arc<Gate>, round: u64, time: Duration) -> u64 {
    gate.compute(round, time)
}

/// Awaits the task that awaits this one.
async fn awaits(other: oneshot::Receiver<JoinHandle<()>>) {
    if let Ok(other) = other.await {
        drop(other.await);
    }
}

/// Waits for ever: no waker is left that could wake it.
async fn forgotten() {
    std::future::pending::<()>().await;
}

impl Trouble {
    pub fn new(pool: &Handle, limit: usize, second: Pool) -> Self {
        let second = Arc::new(Mutex::new(Some(second)));
        Self { pool: pool.clone(), gate: Arc::default(), limit, second }
    }

    /// Takes the second pool, unless it was taken before.
    pub fn take_second(&self) -> Option<Pool> {
        self.second.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the second pool, with a thread of its own, so that no worker waits for the end.
    pub fn end_second(&self) -> io::Result<&'static str> {
        let second = self.take_second().ok_or_else(|| io::Error::other("it has ended already"))?;
        std::thread::spawn(move || drop(second.shutdown_within(PATIENCE)));
        Ok("the second pool ends")
    }

    /// Spawns a task that blocks its worker in a system call.
    pub fn stall(&self, seconds: f64) -> io::Result<&'static str> {
        self.stick("report writer", |gate, round| report_writer(gate, round, limited(seconds)))?;
        Ok("a task blocks its worker")
    }

    /// Spawns a task that computes and does not yield its worker.
    pub fn spin(&self, seconds: f64) -> io::Result<&'static str> {
        self.stick("checksum", |gate, round| checksum(gate, round, limited(seconds)))?;
        Ok("a task computes without a pause")
    }

    /// Spawns two tasks that await each other until the pool ends.
    ///
    /// Each task holds the handle of the other. No other handle is kept: it could abort its task,
    /// so it would count as a waker.
    pub fn deadlock(&self) -> io::Result<&'static str> {
        let ((to_a, at_a), (to_b, at_b)) = (oneshot::channel(), oneshot::channel());
        let spawn =
            |name: &str, other| task::Builder::new().name(name).spawn_on(awaits(other), &self.pool);
        let (a, b) = (spawn("ledger", at_a)?, spawn("invoice", at_b)?);
        // Neither send fails: both tasks still wait for their message.
        drop((to_a.send(b), to_b.send(a)));
        Ok("two tasks await each other")
    }

    /// Spawns a task that waits for ever: nothing is left that could wake it.
    pub fn forget(&self) -> io::Result<&'static str> {
        let task = task::Builder::new().name("forgotten").spawn_on(forgotten(), &self.pool)?;
        // A handle that is kept would count as a waker. The task stays until the pool ends.
        drop(task);
        Ok("a task waits for ever")
    }

    /// Frees all stuck workers. The tasks of `deadlock` and `forget` stay.
    pub fn end(&self) -> &'static str {
        let mut state = self.gate.lock();
        state.round += 1;
        drop(state);
        self.gate.opened.notify_all();
        "freed all stuck workers"
    }

    /// Spawns a task that keeps its worker. The task remembers the current round, because it may
    /// start after the next call of `end`.
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

    fn second() -> Pool {
        Pool::builder().workers(1).build().unwrap()
    }

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
        let trouble = Trouble::new(&pool.handle(), 1, second());
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
        let trouble = Trouble::new(&pool.handle(), 0, second());
        trouble.deadlock().unwrap();
        wait_until(|| pool.explain().to_string().contains("deadlock: "));
        let words = pool.explain().to_string();
        assert!(words.contains("ledger") && words.contains("invoice"), "{words}");
    }

    #[test]
    fn the_second_pool_ends_once() {
        let pool = Pool::builder().workers(1).build().unwrap();
        let second = second();
        let handle = second.handle();
        let trouble = Trouble::new(&pool.handle(), 0, second);
        trouble.end_second().unwrap();
        wait_until(|| handle.unfinished().is_empty());
        assert!(trouble.end_second().unwrap_err().to_string().contains("already"));
    }

    #[test]
    fn times_are_limited() {
        assert_eq!(limited(-1.0), Duration::ZERO);
        assert_eq!(limited(f64::NAN), Duration::from_secs(600));
        assert_eq!(limited(1e300), Duration::from_secs(600));
    }
}
