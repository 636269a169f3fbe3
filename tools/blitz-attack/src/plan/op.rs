//! What a program of the mix is made of: a tree of operations, each with the value it must have.

use std::sync::Arc;

/// An operation as part of others.
pub type Child = Arc<Op>;

/// One operation. Sums of leaves go up the tree, so that each result is known in advance.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Counts to a number.
    Leaf(u32),
    /// One after the other.
    All(Vec<Child>),
    /// `join`.
    Join(Child, Child),
    /// Nested joins, this many levels.
    Tree(u8),
    /// A scope with these jobs.
    Scope(ScopeKind, Vec<Child>),
    /// `broadcast`, or `spawn_broadcast` whose closures are waited for.
    Broadcast {
        /// By `spawn_broadcast`.
        spawned: bool,
    },
    /// `Pool::install` into the runtime of this index.
    Install(usize, Child),
    /// Something of its own, with a handle.
    Spawn(Spawn),
    /// Jobs without a handle.
    Detached {
        /// In order.
        fifo: bool,
        /// What each does.
        jobs: Vec<Child>,
    },
    /// `block_on` around the child.
    BlockOn(Child),
    /// `yield_now` or `yield_local` of jobs, this many times.
    YieldJobs(u8),
    /// `task::yield_now` and `consume_budget`, this many times.
    YieldTasks(u8),
    /// A join set, and how it is emptied.
    Set(SetEnd, Vec<Child>),
    /// A local set with these tasks.
    Locals {
        /// The tasks.
        tasks: Vec<Child>,
        /// The set is dropped with some of them left.
        left: u8,
    },
    /// A few milliseconds of a timer.
    Timer(TimerKind, u8),
    /// Tasks that meet.
    Meet(MeetKind, u8),
    /// The outside world.
    Io(IoKind, u16),
    /// A panic, caught where the documentation says.
    Panic(PanicPlace),
    /// Wakers other than the runtime's own.
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

/// Something that is spawned with a handle.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// With which function.
    pub how: SpawnKind,
    /// On another runtime than the current one.
    pub on: Option<usize>,
    /// Around a task.
    pub wrap: Wrap,
    /// What becomes of the handle.
    pub end: End,
    /// What it does.
    pub child: Child,
}

/// How something is spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnKind {
    /// `spawn`.
    Task,
    /// `try_spawn`, else `spawn`.
    TryTask,
    /// `spawn_cpu`.
    Cpu,
    /// `spawn_blocking`.
    Blocking,
}

/// What is around the future of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// Nothing.
    Bare,
    /// A shield.
    Shield,
    /// A value of the task's own.
    Local,
    /// A timeout that does not elapse.
    Timeout,
    /// No budget.
    Unconstrained,
}

/// What becomes of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The result is waited for.
    Wait,
    /// Dropped: the thing runs all the same.
    Drop,
    /// Aborted, then waited for: a result, or cancelled.
    Abort,
    /// Aborted from a thread outside of every pool, then waited for.
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
    /// Dropped.
    Drop,
    /// By `detach_all`.
    Detach,
}

/// What a timer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// `sleep`.
    Sleep,
    /// `timeout` of a future that never is ready.
    Elapses,
    /// `timeout` of a future that is ready.
    InTime,
    /// `interval`.
    Interval,
    /// Many sleeps at once; half of them are dropped.
    Many,
    /// A sleep that is reset.
    Reset,
}

/// Where tasks meet.
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

/// What of the outside world is used.
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
    /// Transfers that take their buffer along.
    Owned,
    /// A file is written, read, renamed, removed.
    File,
    /// A read that never comes is given up.
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
    /// The second.
    JoinRight,
    /// Both.
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
    /// The drop of a result that is not wanted.
    ResultDrop,
    /// A task of a local set.
    LocalTask,
    /// A future inside of `block_on`.
    BlockOn,
}

/// What a waker that is not the runtime's own does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerKind {
    /// Counts, and passes on.
    Forwards,
    /// Panics when it is woken, after it has passed on.
    PanicsInWake,
    /// Panics when it is dropped.
    PanicsInDrop,
    /// Is woken by a thread outside of every pool.
    Foreign,
    /// Is woken many times in its own poll, and after the end.
    Storm,
    /// Spawns when it is woken.
    Spawns,
}

impl Op {
    /// What the operation returns.
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

    /// Whether the operation awaits: else it is a plain call.
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

    /// What the operation is called in reports.
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
            Op::YieldJobs(_) => "yield_now of jobs",
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
