//! The settings of one runtime of a round.

use crate::rng::Rng;
use blitz::{Backend, Pool, Runtime, Scheduler, SleepPolicy, WaitPolicy};
use std::any::Any;
use std::sync::LazyLock;
use std::time::Duration;

/// Where the threads of a runtime's workers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The runtime starts them.
    Own,
    /// A custom spawner starts them.
    Custom,
    /// The thread that builds the runtime is worker 0.
    Adopted,
    /// Like `Adopted`, with a paused clock.
    Paused,
}

/// The options of a runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many workers.
    pub workers: usize,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// What a waiting worker may run.
    pub wait: WaitPolicy,
    /// How an idle worker waits.
    pub sleep: SleepPolicy,
    /// Where the workers' threads come from.
    pub threads: Threads,
    /// Whether workers take tasks from each other.
    pub stealing: bool,
    /// Stack size in bytes; none means the default.
    pub stack: Option<usize>,
    /// The backend of files and sockets. Where the system has no io_uring, `Auto` replaces
    /// `IoUring`.
    pub backend: Backend,
    /// How many events one poll of the driver returns at most.
    pub io_completions: usize,
    /// How late a timer may fire, so that it fires together with others.
    pub timer_slack: Duration,
    /// The maximum number of threads for closures that block.
    pub blocking_threads: usize,
    /// How long an idle thread for blocking closures lives.
    pub keep_alive: Duration,
    /// How many tasks may be queued before `try_spawn` refuses.
    pub queue_capacity: usize,
    /// Whether every job is published at once.
    pub publish_all: bool,
    /// Whether the drop of the runtime returns at once.
    pub detach_on_drop: bool,
    /// Whether every poll is timed.
    pub slow_poll_handler: bool,
    /// Whether the handlers of a worker's start and end panic.
    pub handlers_panic: bool,
}

/// Handles the panics that no waiter receives.
pub type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

impl Settings {
    /// Draws settings. A runtime that is `alone` in its round may adopt the thread that builds it.
    pub fn draw(rng: &mut Rng, alone: bool) -> Settings {
        let kib = |n: usize| Some(n << 10);
        Settings {
            workers: workers(rng),
            scheduler: rng.pick(&[Scheduler::Stealing, Scheduler::Signal]),
            wait: rng.pick(&[
                WaitPolicy::StealAnything,
                WaitPolicy::StealAnything,
                WaitPolicy::DescendantsOnly,
            ]),
            sleep: rng.pick(&[
                SleepPolicy::adaptive(),
                SleepPolicy::rayon(),
                SleepPolicy::low_latency(),
            ]),
            threads: threads(rng, alone),
            stealing: !rng.one_in(6),
            stack: rng.pick(&[None, None, kib(1 << 10), kib(2 << 10), kib(16 << 10)]),
            backend: rng.pick(&[Backend::Auto, Backend::Readiness, Backend::IoUring]),
            io_completions: rng.pick(&[0, 1, 2, 16, 256]),
            timer_slack: rng.pick(&[
                Duration::ZERO,
                Duration::from_micros(40),
                Duration::from_millis(2),
            ]),
            blocking_threads: rng.pick(&[1, 1, 2, 4, 512]),
            keep_alive: rng.pick(&[
                Duration::ZERO,
                Duration::from_millis(1),
                Duration::from_secs(10),
            ]),
            queue_capacity: rng.pick(&[0, 1, 64, 65_536]),
            publish_all: rng.one_in(4),
            detach_on_drop: rng.one_in(8),
            slow_poll_handler: rng.one_in(6),
            handlers_panic: rng.one_in(8),
        }
    }

    /// Whether the thread that builds the runtime is worker 0. With one worker, the runtime then
    /// runs only while that thread waits inside it.
    #[must_use]
    pub fn is_adopted(&self) -> bool {
        matches!(self.threads, Threads::Adopted | Threads::Paused)
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// Returns the builder's error.
    pub fn build(&self, on_panic: PanicHandler) -> Result<Runtime, blitz::BuildError> {
        let mut pool = Pool::builder()
            .workers(self.workers)
            .scheduler(self.scheduler)
            .wait_policy(self.wait)
            .sleep_policy(self.sleep)
            .enable_stealing(self.stealing)
            .max_blocking_threads(self.blocking_threads)
            .thread_keep_alive(self.keep_alive)
            .global_queue_capacity(self.queue_capacity)
            .thread_name(|index| format!("w{index}"))
            .panic_handler(on_panic);
        if let Some(bytes) = self.stack {
            pool = pool.stack_size(bytes);
        }
        if self.publish_all {
            pool = pool.publish_all();
        }
        if self.detach_on_drop {
            pool = pool.detach_on_drop();
        }
        if self.slow_poll_handler {
            pool = pool.slow_poll_handler(Duration::ZERO, |_, _| ());
        }
        if self.handlers_panic {
            let explode = |_| std::panic::panic_any(super::Planned);
            pool = pool.start_handler(explode).exit_handler(explode);
        }
        match self.threads {
            Threads::Own | Threads::Paused => {}
            Threads::Adopted => pool = pool.use_current_thread(),
            Threads::Custom => {
                pool = pool.spawn_handler(|thread| {
                    let mut builder = std::thread::Builder::new();
                    if let Some(bytes) = thread.stack_size() {
                        builder = builder.stack_size(bytes);
                    }
                    builder.spawn(|| thread.run()).map(drop)
                });
            }
        }
        pool.backend(possible(self.backend, *HAS_URING))
            .max_io_completions(self.io_completions)
            .timer_slack(self.timer_slack)
            .start_paused(self.threads == Threads::Paused)
            .build()
    }
}

/// Whether this system has io_uring. A container or a setting of the kernel may forbid it.
static HAS_URING: LazyLock<bool> = LazyLock::new(|| {
    let probe = Runtime::builder().workers(1).backend(Backend::IoUring).build();
    probe.inspect_err(|why| println!("skipped: io_uring in the mix: {why}")).is_ok()
});

/// Returns `wanted`, or `Auto` in place of an io_uring that the system does not have.
fn possible(wanted: Backend, has_uring: bool) -> Backend {
    if wanted == Backend::IoUring && !has_uring { Backend::Auto } else { wanted }
}

/// Draws 1 to 200 workers, mostly few.
fn workers(rng: &mut Rng) -> usize {
    let most = rng.pick(&[1, 1, 2, 2, 2, 3, 4, 4, 8, 8, 16, 40, 200]);
    rng.between(most.min(1 + most / 2), most) as usize
}

fn threads(rng: &mut Rng, alone: bool) -> Threads {
    match rng.below(8) {
        0 if alone => Threads::Adopted,
        1 if alone => Threads::Paused,
        2 => Threads::Custom,
        _ => Threads::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::possible;
    use blitz::Backend;

    #[test]
    fn only_a_missing_io_uring_is_replaced() {
        for has_uring in [false, true] {
            assert_eq!(possible(Backend::Readiness, has_uring), Backend::Readiness);
            assert_eq!(possible(Backend::Auto, has_uring), Backend::Auto);
        }
        assert_eq!(possible(Backend::IoUring, true), Backend::IoUring);
        assert_eq!(possible(Backend::IoUring, false), Backend::Auto);
    }
}
