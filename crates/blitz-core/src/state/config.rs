//! Settings that a running team keeps.

#![forbid(unsafe_code)]

use super::choice::Scheduler;
use super::stall::StallHandler;
use super::triggers::Triggers;
use crate::base::Id;
use crate::base::panic::Payload;
use blitz_parts::prim::{Instant, thread};
use blitz_parts::sleep::SleepPolicy;
use blitz_parts::tuning::{
    BLOCKING_KEEP_ALIVE, BLOCKING_THREADS_MAX, QUEUE_CAPACITY, TIMER_SLACK, TRACE_MEMORY,
};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// What a worker may run while it waits inside a `join` or `scope`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitPolicy {
    /// Any job, as in Rayon, and any task. Of the jobs, the worker takes its own first, then those
    /// of the worker that runs the awaited job, then any other. No core idles while there is work.
    /// The default.
    ///
    /// Inside a task a wait follows [`DescendantsOnly`](Self::DescendantsOnly). Otherwise the
    /// worker would poll other tasks on top of the waiting task, and these might wait, too, on the
    /// same stack.
    #[default]
    StealAnything,
    /// Only own jobs that are newer than the operation that waits, and descendants of the awaited
    /// job. If there are none, the worker parks. So code may hold a lock across a `join`: no
    /// unrelated job that wants the lock can start on top of the holder's stack. One exception:
    /// broadcast jobs still run, because the awaited job may wait for the broadcast. The price: a
    /// core can idle while there is work.
    ///
    /// In two waits the worker also runs jobs from outside the pool, because the awaited job may be
    /// among them: in a scope into which a thread that is not a worker of the pool has spawned a
    /// job, and in the `join` of a handle that [`spawn_cpu`](crate::spawn_cpu) has returned. Such a
    /// wait takes over all jobs from outside that are queued. Those that have not begun when the
    /// wait ends may run on this worker at the end of a `join` or `scope` around the wait. So hold
    /// no lock that such a job wants across these two waits, nor across a `join` or `scope` around
    /// them.
    ///
    /// While a worker waits for something outside its pool, such as another pool or a closure of
    /// `spawn_blocking`, it also polls tasks and runs jobs from outside, because what it waits for
    /// may depend on them. The policy does not apply to [`block_on`](crate::block_on), which runs
    /// any work.
    DescendantsOnly,
}

pub(crate) type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;
/// Called with the reason why there is no spare thread.
pub(crate) type SparesHandler = Box<dyn Fn(&str) + Send + Sync>;
pub(crate) type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;
/// Settings that a running pool keeps.
pub(crate) struct Config {
    /// Stack size of the workers' threads, in bytes, if it was set.
    pub(crate) stack_size: Option<usize>,
    pub(crate) sleep: SleepPolicy,
    pub(crate) wait: WaitPolicy,
    pub(crate) use_current_thread: bool,
    /// Whether the current thread is worker 0 only as long as no other thread needs that worker.
    pub(crate) lends_thread: bool,
    /// Whether the handle's drop returns without waiting for the threads.
    pub(crate) detach_on_drop: bool,
    /// Publish every job at once, as on systems without an asymmetric fence.
    pub(crate) publish_all: bool,
    pub(crate) start_handler: Option<IndexHandler>,
    pub(crate) exit_handler: Option<IndexHandler>,
    pub(crate) park_handler: Option<IndexHandler>,
    pub(crate) unpark_handler: Option<IndexHandler>,
    pub(crate) panic_handler: Option<PanicHandler>,
    pub(crate) slow_poll: Option<SlowPoll>,
    pub(crate) queue_capacity: usize,
    /// Whether workers take tasks from each other.
    pub(crate) stealing: bool,
    /// `None` takes the scheduler from the environment.
    pub(crate) scheduler: Option<Scheduler>,
    /// How many threads may be started beyond the workers; `None` derives it from the number of
    /// workers.
    pub(crate) spares: Option<usize>,
    pub(crate) spares_handler: Option<SparesHandler>,
    pub(crate) stall_handler: Option<StallHandler>,
    /// Write a line for each stall, if there is no handler.
    pub(crate) logs_stalls: bool,
    pub(crate) blocking_threads: usize,
    pub(crate) blocking_keep_alive: Duration,
    /// The backend for the driver; only the driver knows its type.
    pub(crate) backend: Option<Arc<dyn Any + Send + Sync>>,
    /// How many events one poll of the driver returns at most.
    pub(crate) io_completions: Option<usize>,
    /// How late a timer may fire, so that it fires together with others.
    pub(crate) timer_slack: Duration,
    /// Bytes of each worker's recorder.
    pub(crate) trace_memory: usize,
    /// When timelines are written to files.
    pub(crate) triggers: Triggers,
    /// The number of workers for which parallel loops are cut; `None` means the pool's own number.
    pub(crate) width: Option<usize>,
    /// When the pool was built, if its clock was paused from the start.
    pub(crate) paused_since: Option<Instant>,
}

impl Config {
    /// Whether stalls are reported to the user: to the handler, in a line or in a file.
    pub(crate) fn reports_stalls(&self) -> bool {
        self.reports_by_words() || self.triggers.include_stalls()
    }

    /// Whether stalls are reported to the handler or in a line.
    pub(crate) fn reports_by_words(&self) -> bool {
        self.stall_handler.is_some() || self.logs_stalls
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            stack_size: None,
            sleep: SleepPolicy::default(),
            wait: WaitPolicy::default(),
            use_current_thread: false,
            lends_thread: false,
            detach_on_drop: false,
            publish_all: false,
            start_handler: None,
            exit_handler: None,
            park_handler: None,
            unpark_handler: None,
            panic_handler: None,
            slow_poll: None,
            queue_capacity: QUEUE_CAPACITY,
            stealing: true,
            scheduler: None,
            spares: None,
            spares_handler: None,
            stall_handler: None,
            logs_stalls: false,
            blocking_threads: BLOCKING_THREADS_MAX,
            blocking_keep_alive: BLOCKING_KEEP_ALIVE,
            backend: None,
            io_completions: None,
            timer_slack: TIMER_SLACK,
            trace_memory: TRACE_MEMORY,
            triggers: Triggers::default(),
            width: None,
            paused_since: None,
        }
    }
}

impl Config {
    /// Whether each poll has to be timed.
    pub(crate) fn times_polls(&self) -> bool {
        self.slow_poll.is_some() || self.triggers.times_polls()
    }
}

/// The handler of polls that take too long.
pub(crate) struct SlowPoll {
    pub(crate) limit: Duration,
    pub(crate) handler: Box<dyn Fn(Id, Duration) + Send + Sync>,
}

/// Returns the default number of workers: one per core that this process may use.
pub(crate) fn default_workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
