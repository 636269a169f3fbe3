//! A program of the mix: a tree of operations, each with the value that it must return.

use std::sync::Arc;

/// An operation that is part of a larger one.
pub type Child = Arc<Op>;

/// One operation. Sums of leaves go up the tree, so that each result is known in advance.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Counts to a number.
    Leaf(u32),
    /// Runs the children one after the other.
    All(Vec<Child>),
    /// `join`.
    Join(Child, Child),
    /// Nested joins, this many levels.
    Tree(u8),
    /// A scope with these jobs.
    Scope(ScopeKind, Vec<Child>),
    /// `broadcast`; or `spawn_broadcast`, and then the operation does not wait for the closures.
    Broadcast {
        /// Whether `spawn_broadcast` is called instead of `broadcast`.
        spawned: bool,
    },
    /// `Pool::install` into the runtime of this index.
    Install(usize, Child),
    /// A spawned task or closure, with its handle.
    Spawn(Spawn),
    /// Jobs without a handle.
    Detached {
        /// Whether the jobs run in order.
        fifo: bool,
        /// The operation of each job.
        jobs: Vec<Child>,
    },
    /// `block_on` around the child.
    BlockOn(Child),
    /// `yield_local` or `yield_job`, this many times.
    YieldJobs(u8),
    /// `task::yield_now` and `consume_budget`, this many times.
    YieldTasks(u8),
    /// A join set, and how it is emptied.
    Set(SetEnd, Vec<Child>),
    /// A local set with these tasks.
    Locals {
        /// The tasks.
        tasks: Vec<Child>,
        /// How many further tasks are still alive when the set is dropped.
        left: u8,
    },
    /// A timer, for this many milliseconds.
    Timer(TimerKind, u8),
    /// This many tasks that communicate, or a few more.
    Meet(MeetKind, u8),
    /// Uses a socket, a file, a process or a signal; transfers have about this many bytes.
    Io(IoKind, u16),
    /// A panic, which must be caught where the documentation says.
    Panic(PanicPlace),
    /// Custom wakers, and unusual uses of the runtime's wakers.
    Waker(WakerKind),
}

/// The kinds of scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// `scope`.
    Plain,
    /// `scope_fifo`.
    Fifo,
    /// `in_place_scope`.
    InPlace,
    /// `in_place_scope_fifo`.
    InPlaceFifo,
    /// `scope` with a `spawn_broadcast`.
    Broadcast,
}

/// A spawn that returns a handle.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// The function that spawns.
    pub how: SpawnKind,
    /// The index of the runtime to spawn on; none means the current one.
    pub on: Option<usize>,
    /// The wrapper around the task's future.
    pub wrap: Wrap,
    /// The fate of the handle.
    pub end: End,
    /// The operation of the task or closure.
    pub child: Child,
}

/// The functions that spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnKind {
    /// `spawn`.
    Task,
    /// `try_spawn`; if it refuses the task, `spawn`.
    TryTask,
    /// `spawn_cpu`.
    Cpu,
    /// `spawn_blocking`.
    Blocking,
}

/// The wrappers around the future of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// There is no wrapper.
    Bare,
    /// A shield.
    Shield,
    /// A task-local value.
    Local,
    /// A timeout that does not elapse.
    Timeout,
    /// `unconstrained`: the future may use up more than its budget.
    Unconstrained,
}

/// The fate of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The result is waited for.
    Wait,
    /// The handle is dropped; the task still runs.
    Drop,
    /// The spawner aborts the task and waits for it: the task returns a result or is cancelled.
    Abort,
    /// Works like `Abort`, but a thread outside every pool aborts the task.
    AbortOutside,
}

/// How a join set is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetEnd {
    /// By `join_next`.
    JoinNext,
    /// By `join_all`.
    JoinAll,
    /// By `shutdown`.
    Shutdown,
    /// By its drop.
    Drop,
    /// By `detach_all`.
    Detach,
}

/// The uses of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// `sleep`.
    Sleep,
    /// `timeout` of a future that is never ready.
    Elapses,
    /// `timeout` of a future that is ready in time.
    InTime,
    /// `interval`.
    Interval,
    /// Many sleeps at once; half of them are dropped.
    Many,
    /// A sleep that is reset.
    Reset,
}

/// The ways in which tasks communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeetKind {
    /// `mpsc` with a small bound.
    Mpsc,
    /// `oneshot`.
    Oneshot,
    /// `broadcast`.
    Broadcast,
    /// `watch`.
    Watch,
    /// `Mutex`.
    Mutex,
    /// `RwLock`.
    RwLock,
    /// `Semaphore`.
    Semaphore,
    /// `Notify`.
    Notify,
    /// `Barrier`.
    Barrier,
}

/// The kinds of input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// A connection on the loopback, with an echo.
    Tcp,
    /// Datagrams on the loopback.
    Udp,
    /// A pair of streams.
    Unix,
    /// A pair of datagram sockets.
    UnixDatagram,
    /// Transfers that own their buffer.
    Owned,
    /// A file is written, renamed, read, removed.
    File,
    /// A read that never completes is dropped.
    Abandoned,
    /// Another program runs.
    Process,
    /// A signal to this process.
    Signal,
}

/// Where a panic happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanicPlace {
    /// The first closure of a join.
    JoinLeft,
    /// The second closure of a join.
    JoinRight,
    /// Both closures of a join.
    JoinBoth,
    /// A job of a scope.
    ScopeJob,
    /// The body of a scope.
    ScopeBody,
    /// The closure of `install`.
    Install,
    /// One closure of a broadcast.
    Broadcast,
    /// `spawn_cpu`.
    Cpu,
    /// `spawn_blocking`.
    Blocking,
    /// A task.
    Task,
    /// A task without a handle.
    DetachedTask,
    /// A job without a handle.
    DetachedJob,
    /// The drop of a future that is aborted.
    FutureDrop,
    /// The drop of a result that is discarded.
    ResultDrop,
    /// A task of a local set.
    LocalTask,
    /// A future inside `block_on`.
    BlockOn,
}

/// The behaviour of a custom waker, or an unusual use of the runtime's waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerKind {
    /// Forwards the wake.
    Forwards,
    /// Forwards the wake, then panics.
    PanicsInWake,
    /// Panics when it is dropped.
    PanicsInDrop,
    /// A thread outside every pool calls the runtime's waker.
    Foreign,
    /// The future calls the runtime's waker many times in each poll. After the future's end, a
    /// thread calls the waker once more.
    Storm,
    /// Forwards the wake, then spawns.
    Spawns,
}

impl Op {
    /// The value that the operation must return.
    #[must_use]
    pub fn value(&self) -> u64 {
        let sum = |children: &[Child]| children.iter().map(|child| child.value()).sum();
        match self {
            Op::Leaf(n) => u64::from(*n),
            Op::All(children) | Op::Scope(_, children) => sum(children),
            Op::Join(a, b) => a.value() + b.value(),
            Op::Tree(depth) => 1 << depth,
            Op::Install(_, child) | Op::BlockOn(child) => child.value(),
            Op::Spawn(spawn) if spawn.end == End::Wait => spawn.child.value(),
            Op::Set(SetEnd::JoinNext | SetEnd::JoinAll, children) => sum(children),
            Op::Locals { tasks, left: _ } => sum(tasks),
            Op::Spawn(_) | Op::Set(..) | Op::Detached { .. } => 0,
            Op::YieldJobs(_) | Op::YieldTasks(_) | Op::Broadcast { .. } => 0,
            Op::Timer(..) | Op::Meet(..) | Op::Io(..) | Op::Panic(_) | Op::Waker(_) => 1,
        }
    }

    /// Whether the operation awaits. Otherwise it is a plain call.
    #[must_use]
    pub fn awaits(&self) -> bool {
        match self {
            Op::All(_) | Op::Spawn(_) | Op::Set(..) | Op::YieldTasks(_) => true,
            Op::Timer(..) | Op::Meet(..) | Op::Io(..) | Op::Waker(_) => true,
            Op::Leaf(_) | Op::Join(..) | Op::Tree(_) | Op::Scope(..) | Op::Broadcast { .. } => {
                false
            }
            Op::Install(..) | Op::Detached { .. } | Op::BlockOn(_) | Op::YieldJobs(_) => false,
            Op::Locals { .. } | Op::Panic(_) => false,
        }
    }

    /// The operation's name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Op::Leaf(_) => "leaf",
            Op::All(_) => "all",
            Op::Join(..) => "join",
            Op::Tree(_) => "tree",
            Op::Scope(..) => "scope",
            Op::Broadcast { .. } => "broadcast",
            Op::Install(..) => "install",
            Op::Spawn(spawn) => match spawn.how {
                SpawnKind::Task => "spawn",
                SpawnKind::TryTask => "try_spawn",
                SpawnKind::Cpu => "spawn_cpu",
                SpawnKind::Blocking => "spawn_blocking",
            },
            Op::Detached { .. } => "spawn_detached",
            Op::BlockOn(_) => "block_on",
            Op::YieldJobs(_) => "yields of jobs",
            Op::YieldTasks(_) => "yield_now of tasks",
            Op::Set(..) => "join set",
            Op::Locals { .. } => "local set",
            Op::Timer(..) => "timer",
            Op::Meet(..) => "meeting",
            Op::Io(..) => "io",
            Op::Panic(_) => "panic",
            Op::Waker(_) => "waker",
        }
    }

    /// How many operations there are in the tree.
    #[must_use]
    pub fn size(&self) -> usize {
        let all = |children: &[Child]| children.iter().map(|child| child.size()).sum::<usize>();
        1 + match self {
            Op::All(children) | Op::Scope(_, children) | Op::Set(_, children) => all(children),
            Op::Detached { jobs: children, .. } | Op::Locals { tasks: children, .. } => {
                all(children)
            }
            Op::Join(a, b) => a.size() + b.size(),
            Op::Install(_, child) | Op::BlockOn(child) => child.size(),
            Op::Spawn(spawn) => spawn.child.size(),
            _ => 0,
        }
    }
}
