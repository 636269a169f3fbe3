//! Every constant of the runtime, with its reason. Many are smaller under the model checker.

use crate::prim::MODELLED;
use core::time::Duration;

/// Slots for the public items of a fresh deque: half a page. Few programs outgrow it, since forks
/// become public a few at a time. Two under the model checker, so that a third item grows the
/// buffer.
pub const DEQUE_SLOTS: usize = if MODELLED { 2 } else { 256 };

/// Slots up to which an empty deque keeps its buffers. Together with the smaller buffers that they
/// replaced they take at most 256 KiB. Larger buffers are freed when the owner gets sleepy: for 8
/// million jobs they take 127 MiB. Allocating them again costs a few nanoseconds per job. Four
/// under the model checker, so that a buffer for three items is not large and a buffer for five is.
pub const DEQUE_KEEPS: usize = if MODELLED { 4 } else { 16_384 };

/// How often an owner that frees large buffers yields to a thief that still reads one. Such a read
/// takes a few instructions unless the thief has lost its core. If the thief still reads after
/// these yields, the buffers stay until the owner gets sleepy again.
pub const SHRINK_TURNS: u32 = if MODELLED { 0 } else { 16 };

/// Idle rounds in which a worker yields before it announces that it is sleepy (sleep and pool
/// documents); none under the model checker, which explores more if the worker goes to sleep at
/// once.
pub const ROUNDS_UNTIL_SLEEPY: u32 = if MODELLED { 0 } else { 32 };

/// Idle rounds between two polls of the driver: a poll is a system call, and a round is at most a
/// yield.
pub const ROUNDS_PER_DRIVER_POLL: u32 = if MODELLED { 2 } else { 16 };

/// Rounds between the announcement and the attempt to sleep (sleep and pool documents: one more
/// yield); none under the model checker, where it would only multiply the interleavings.
pub const ROUNDS_AFTER_SLEEPY: u32 = if MODELLED { 0 } else { 1 };

/// Rounds in which an idle worker with the low-latency policy only spins (wake document).
pub const LOW_LATENCY_SPINS: u32 = 64;

/// Idle rounds after which a worker with the low-latency policy sleeps (wake document).
pub const LOW_LATENCY_ROUNDS: u32 = 256;

/// How often an owner spins while it waits for a thief that forces its private jobs, before the
/// owner yields its core. The thief is inside a barrier of 1-14 us, or was preempted there.
pub const FORCE_WAIT_SPINS: u32 = 64;

/// How many jobs a worker keeps private after it published jobs that no thief took, at first and at
/// most. The first number is about as many jobs as a loop over a few items pushes. The largest
/// number is so many that useless publications are rare. No job has to stay private for ever: a
/// thief that is awake forces a job of a worker that has stopped pushing.
pub const BACKOFF_MIN: u32 = if MODELLED { 1 } else { 8 };
/// See [`BACKOFF_MIN`].
pub const BACKOFF_MAX: u32 = if MODELLED { 2 } else { 256 };

/// Spins of a worker that finds its fork stolen, before it looks for other work. A small fork is
/// done within these spins. A worker that looks for work counts as idle, so without the spins the
/// thief would offer it parts of that very fork.
pub const STOLEN_SPINS: u32 = 64;

/// How long a foreign thread spins for its result before it yields or blocks: a sleep and a wake-up
/// would dominate jobs shorter than this. A longer spin would occupy a core that a freshly woken
/// worker needs: the kernel queues that worker on the core of its waker, which is the thread that
/// spins.
pub const FOREIGN_PATIENCE: Duration = Duration::from_micros(10);

/// How long a foreign thread yields for its result after its spins and before it blocks. Only time
/// in which no other thread takes the core counts. This limit is as long as a sleep must last to
/// pay off (see [`SLEEP_SHORT`]).
///
/// If the thread has blocked, the worker that finishes the job has to wake it, and the kernel
/// places the woken thread on the core of an idle worker. Then two system calls collide. The
/// wake-up interrupts that core with its run queue locked, which takes 20 us on a virtual machine.
/// The idle worker is in a yield, which waits for the lock of the run queue.
///
/// Measured with a parallel loop over 100,000 numbers, called from outside, 2 workers on 2 virtual
/// processors, mean of 8 processes: 39.0 us without these yields, 27.5 us with them, and 35.9 us on
/// Rayon's core.
pub const FOREIGN_YIELDS: Duration = SLEEP_SHORT;

/// If a yield takes this long, the core went to a thread that computes, not just to threads that
/// also yield (unless there are tens of them). Such a yield does not count towards
/// [`FOREIGN_YIELDS`], since the yielding thread delayed no other thread. Measured with a tree of
/// forks of depth 15 whose leaves do nothing, called from outside, on the machine of
/// [`FOREIGN_YIELDS`]: 112 us if such yields count, 86 us if they do not.
pub const YIELD_SHARED: Duration = Duration::from_micros(20);

/// How long a foreign thread yields for one result in total, counted or not (see [`YIELD_SHARED`]).
/// There is such a limit because a job that takes longer may take for ever. A thread that reaches
/// this limit was without the core for most of that time.
pub const FOREIGN_YIELDS_MAX: Duration = Duration::from_millis(1);

/// A yield that takes this long has cost a time slice: another thread kept the core and computed.
pub const YIELD_HARM: Duration = Duration::from_micros(500);

/// How many waits a foreign thread spends without yields after a yield that took [`YIELD_HARM`], at
/// first and at most. The loss of a slice of some milliseconds is thus spread over that many waits:
/// a few microseconds per wait on average, and less while the load lasts, because the pause then
/// doubles each time.
pub const HARM_PAUSE_MIN: u32 = 256;
/// See [`HARM_PAUSE_MIN`].
pub const HARM_PAUSE_MAX: u32 = 65_536;

/// How long a thread of a Tokio guest yields for work of the pool before it blocks in its reactor:
/// about as long as a sleep and a wake-up take. While it yields it does not look at its sockets.
///
/// Measured with one task that asks a server by reqwest, one request after the other. The server is
/// made of plain threads. There are 2 workers on 2 virtual processors. Each figure is the time
/// divided by the time on Tokio alone, a median of 31 rounds:
///
/// - In one sitting, one yield gave 1.52 and 1.56, and 10 us of yields gave 0.63 and 0.78.
/// - A build without [`YIELD_USED`], in which the thread yields before every wait, even if its
///   yields have not paid off: with 10 us it had 0.67 to 0.81 in three sittings, and 1.39 and 1.79
///   in a fourth. In the fourth sitting one yield gave 2.98 and 3.22. With 30 us this build had
///   1.78 to 1.88, with 60 us 4.9.
/// - On one core the 10 us lose: 1.62 of the CPU time on Tokio alone, and 1.39 with one yield.
pub const GUEST_PATIENCE: Duration = Duration::from_micros(10);

/// A yield that takes this long gave the core to another thread: a yield that no other thread uses
/// takes less than 1 us.
pub const YIELD_USED: Duration = Duration::from_micros(3);

/// A wait of a guest's thread that takes this long was a sleep and a wake-up.
pub const GUEST_SLEPT: Duration = Duration::from_micros(5);

/// How many tries in a row have to fail before a foreign thread stops spinning, or yielding: a
/// single failure may be chance.
pub const SPIN_CREDIT: u32 = 3;

/// How many waits a foreign thread spends without spins, or yields, after [`SPIN_CREDIT`] failures
/// before it tries once more, at first and at most. A try that fails costs [`FOREIGN_PATIENCE`], or
/// [`FOREIGN_YIELDS`], so the tries cost at most a few per cent.
pub const SPIN_PAUSE_MIN: u32 = 16;
/// See [`SPIN_PAUSE_MIN`].
pub const SPIN_PAUSE_MAX: u32 = 256;

/// Spins of a foreign thread between two readings of the clock.
pub const FOREIGN_SPINS: u32 = 32;

/// Rounds in which an adaptive idle worker spins before it yields: half a microsecond, about as
/// long as one yield. While it spins, the worker takes a new fork at once. Inside the system call
/// of a yield it would not notice the fork.
///
/// Measured with 2 workers on 2 virtual processors, medians of 9 processes in turns. The pick-up of
/// a fork took 0.81 us without these spins and 0.24 us with them. A tree of forks of depth 10 whose
/// leaves do nothing took 3.2 us without and 2.6 us with them. With the spins, the CPU time of one
/// small job per ms is about a twentieth more. With 8 spins a call from outside still finds the
/// worker in a yield; 32 spins gain nothing more.
pub const ADAPTIVE_SPINS: u32 = if MODELLED { 0 } else { 16 };

/// Fewest yields of an adaptive idle worker: about 5 us, no more than the sleep that follows costs.
/// A job that comes in this time is still picked up without a wake-up.
pub const PATIENCE_MIN: u32 = 8;

/// Yields of a worker that waits and runs only descendants of the awaited job, before it parks. A
/// worker that looks for any work yields as often ([`ROUNDS_UNTIL_SLEEPY`]).
pub const DESCENDANT_YIELDS: u32 = if MODELLED { 1 } else { 32 };

/// How many workers a waiting worker visits, at most, to find a descendant of the job that it waits
/// for. The first is the thief that runs this job. If that thief waits, too, the next is the thief
/// for which it waits, and so on. Each hop costs a few cache misses. Longer chains are rarer than
/// ordinary steals that succeed.
pub const LEAPFROG_HOPS: usize = 8;

/// A sleep shorter than this was a mistake: going to sleep and being woken costs both sides
/// together about as much as yielding for that long.
pub const SLEEP_SHORT: Duration = Duration::from_micros(50);

/// Polls of a worker between two rounds of maintenance, in which it computes its intervals anew
/// (tasks document).
pub const BUDGET_PER_TICK: u32 = if MODELLED { 8 } else { 128 };

/// Units of cooperative budget that a task has per poll: as many as a worker has polls between two
/// rounds of maintenance ([`BUDGET_PER_TICK`]).
pub const BUDGET_PER_POLL: u32 = 128;

/// How long mail, a job from outside or a task in the global queue should wait at most while a
/// worker has tasks of its own (tasks document).
pub const QUEUE_LATENCY_TARGET: Duration = Duration::from_millis(1);

/// How long a worker polls its own tasks between two looks at the length of the queue. A look is
/// one load, so a worker whose polls take longer looks after each of them.
///
/// Tokio's worker looks after a number of polls, and when its own queue is empty. Tasks that yield
/// leave its own queue empty as soon as each of them was polled once. Measured with a foreign
/// thread that wakes a task beside tasks of 10 us that yield, p50 and p99 of the time until the
/// poll: 12.3 and 32.6 us if a worker looks every 50 us, 2.1 and 3.0 us with this constant, and 2.2
/// and 24.8 us on Tokio.
pub const FOREIGN_LOOK_EVERY: Duration = Duration::from_micros(10);

/// How long a worker polls its own tasks after it took some from the queue, whatever is queued. So
/// a task that another thread woke or spawned waits for about this time. Even if other threads
/// never stop spawning, the worker's own tasks get at least half of the worker's time.
pub const FOREIGN_LATENCY_TARGET: Duration = Duration::from_micros(50);

/// Fewest and most polls after which mail, jobs from outside and the global queue go before the
/// worker's own tasks, once (tasks document). A worker may look at the queue more often: see
/// [`FOREIGN_LOOK_EVERY`].
pub const INTERVAL_MIN: u32 = if MODELLED { 2 } else { 8 };
/// See [`INTERVAL_MIN`].
pub const INTERVAL_MAX: u32 = if MODELLED { 4 } else { 255 };

/// The assumed length of a poll before any poll was measured: the default row of the table in the
/// tasks document.
pub const POLL_TIME_ASSUMED: Duration = Duration::from_micros(50);

/// One poll in this many is timed: two readings of the clock cost as much as three short polls. The
/// intervals between two looks beyond the worker's own tasks are computed anew as often
/// ([`BUDGET_PER_TICK`]). One slow poll that is timed makes them short.
pub const POLLS_PER_SAMPLE: u32 = if MODELLED { 4 } else { 128 };

/// An emptied queue keeps its memory for this many entries: enough for an ordinary burst. The
/// memory of a longer queue is freed with its last entries: allocating it again costs little
/// compared with that many entries. Used for chains of tasks, rows of wakers, a worker's mail, the
/// inbox of a local set, the queues of `spawn_fifo`, closures that may block, the table of
/// descriptors, and the list of awaited jobs.
pub const CHAIN_KEEPS: usize = 4_096;

/// How many eighths of its stack a waiting thread leaves free when it begins an unrelated job:
/// half. That job may need a frame of some hundred KiB, and may wait in turn.
pub const STACK_LEFT_BY_STRANGERS: usize = 4;

/// As [`STACK_LEFT_BY_STRANGERS`], for an older job of the thread's own deque, which may be the job
/// that it waits for. It is more than for tasks, because jobs that each wait for a task must leave
/// room for the tasks.
pub const STACK_LEFT_BY_OLDER: usize = 3;

/// As [`STACK_LEFT_BY_STRANGERS`], for a task or a job from outside, which may be what the thread
/// waits for. So jobs that fill the stack up to their limit leave room for the tasks that they wait
/// for.
pub const STACK_LEFT_BY_NEEDED: usize = 2;

/// As [`STACK_LEFT_BY_STRANGERS`], for a job that no other thread could run, such as that of a
/// broadcast. There is no limit for newer jobs of the thread's own deque and for descendants of the
/// awaited job: they nest like the program's own calls.
pub const STACK_LEFT_BY_MAIL: usize = 1;

/// The assumed size of a stack where neither the system nor the pool's settings say. It is the
/// smallest default of a common system: macOS, for threads that the standard library does not make.
pub const STACK_ASSUMED: usize = 512 << 10;

/// Polls of a local set's tasks in one turn: half of a worker's tick, because a turn is one poll
/// for the task that awaits the set.
pub const LOCAL_POLLS_PER_TURN: u32 = BUDGET_PER_TICK / 2;

/// How often the watch checks the workers: a task in the LIFO slot of a stuck worker is late by up
/// to twice this.
pub const WATCH_PERIOD: Duration = Duration::from_millis(1);

/// The period of the watch while workers finish many polls between two checks. Then a task is late
/// by up to this plus [`WATCH_PERIOD`]. On a virtual machine a check took 38 us; once per
/// millisecond, that was 3.5 % of a busy server's time. A longer period would save more, but a
/// stuck worker should delay other tasks for at most two or three milliseconds.
pub const WATCH_PERIOD_MAX: Duration = Duration::from_millis(2);

/// A worker with this many polls between two checks of the watch is unlikely to be stuck. A worker
/// whose polls take more than 30 us each has fewer.
pub const WATCH_BRISK_POLLS: u64 = 32;

/// After this many checks in a row in which no work waited and a worker had the lease of the
/// driver, if there is one, the watch sleeps until it is needed again. The number is large enough
/// that waking the watch is rare, and small enough that an idle pool is quiet at once.
pub const WATCH_LOOKS_IDLE: u32 = if MODELLED { 2 } else { 16 };

/// How often workers ask for the watch between two attempts to start its thread, once an attempt
/// has failed. An attempt costs as much as hundreds of polls, and workers may ask after each poll.
pub const WATCH_MISSED: u32 = if MODELLED { 2 } else { 1_024 };

/// Default limit of threads for closures that block. A blocked thread costs memory only. A low
/// limit could stop a program: all running closures may wait for a closure that has no thread yet.
pub const BLOCKING_THREADS_MAX: usize = 512;

/// How long a thread for closures that block waits for another closure by default: starting a
/// thread costs some 50 us, keeping it costs a stack.
pub const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Length of the global queue at which `try_spawn` refuses more tasks (tasks document).
pub const QUEUE_CAPACITY: usize = 65_536;

/// Bytes of ended tasks' and jobs' memory that a worker keeps: enough for some ten thousand small
/// ones. A burst of so many then takes two thirds of the time that it takes with the allocator.
pub const STOCK_BYTES: usize = 1 << 20;

/// Bytes of ended tasks' and jobs' memory on the way from one worker to another: as much as a
/// worker keeps.
pub const DEPOT_BYTES: usize = STOCK_BYTES;

/// How many blocks go from one worker to another at once: so many that the lock around the depot
/// costs little per block.
pub const STOCK_BUNDLE: usize = 64;

/// Bytes of the largest task or job whose memory is kept: for a larger one an allocation costs
/// little in comparison.
pub const STOCK_CELL_MAX: usize = 512;

/// Slots of a worker's ring of tasks (tasks document). Four under the model checker: a fifth push
/// overflows, and a thief gets more than one.
pub const RING_SLOTS: usize = if MODELLED { 4 } else { 256 };

/// Slots of a worker's batch buffer: tasks from the global queue that it took in one go (tasks
/// document).
pub const BATCH_SLOTS: usize = if MODELLED { 2 } else { 32 };

/// Fewest tasks that a worker takes from the global queue at once, if there are so many: one lock
/// should not serve one task (tasks document).
pub const GLOBAL_BATCH_MIN: usize = 4;

/// Most tasks that a worker takes from the global queue at once: other workers should run the tasks
/// that it cannot run soon (tasks document).
pub const GLOBAL_BATCH_MAX: usize = 64;

/// Tasks that a worker takes from its LIFO slot in a row before it looks into its ring: two tasks
/// that wake each other must not keep the others waiting (tasks document).
pub const LIFO_POLLS_MAX: u32 = 3;

/// The most events that one wait in the driver returns (tasks document: completions per poll),
/// unless the pool's settings have another number. The next wait returns the events that are left.
/// The tasks of so many events fill a ring of 256, and the table of descriptors is locked while the
/// events are looked up.
pub const IO_EVENTS_MAX: usize = 256;

/// After a visit to the driver, a worker wakes no other worker for the tasks in its ring if there
/// are at most `interval / DRIVER_TASKS_PART` of them. The interval is about a millisecond of
/// polls, so these tasks take about 30 us. In 30 us a sleeper has hardly begun, and waking it costs
/// both sides as much.
///
/// Measured with TCP echo, 64 connections, 2 workers: futex wake-ups and yields per 1,000 requests.
/// If each visit that wakes two tasks wakes a worker, too: 7.4 and 66. With this constant: 3.7 and
/// 26. With 8 instead of 32: 1.9 and 10, but that leaves work to one worker that two would finish
/// sooner.
pub const DRIVER_TASKS_PART: usize = 32;

/// The length of a trial (see `state/crowd` in blitz-core). In a trial the pool learns whether its
/// workers wait for processors, and how much it polls. The system's scheduler lets each thread run
/// for 1 to 4 ms.
pub const CROWD_TRIAL: Duration = Duration::from_millis(8);

/// Workers wait much for processors if they wait for more than `1 / CROWD_WAIT_PART` of the time
/// of a trial, on average.
pub const CROWD_WAIT_PART: u32 = 16;

/// Of how many workers a trial reads the times that they waited: each costs the read of a small
/// file, about 5 us.
pub const CROWD_ASKS: usize = 8;

/// One worker alone is no worse than several if, while it is alone, the pool polls at least this
/// part of what it polled before. The polls of equal trials differ by a few hundredths.
pub const CROWD_NO_WORSE: f64 = 0.9;

/// How often the pool judges whether one worker alone is no worse: by the best of two trials, since
/// the system needs some milliseconds to move the worker away from the processor of a client. With
/// four trials, beside `wrk`, where one worker alone polls two thirds, the attempts cost 3 % of the
/// first seconds.
pub const CROWD_VERDICT: Duration = Duration::from_millis(16);

/// How long the pool stays with the better choice, one worker alone or several, before it tries the
/// other one: at first, and at most. With the longest time, less than one request in a hundred
/// meets a trial, and processors that become free are noticed after two seconds.
pub const CROWD_REST_MIN: Duration = Duration::from_millis(64);
/// See [`CROWD_REST_MIN`].
pub const CROWD_REST_MAX: Duration = Duration::from_millis(2_048);

/// While one worker alone is better, it keeps its tasks to itself if they take at most this long:
/// about as long as a second worker would wait for a processor.
pub const CROWD_KEEPS: Duration = Duration::from_millis(4);

/// Spins of a thread that finds a wheel's lock taken, before it yields its core. The holder is done
/// in less time, unless it has lost its own core.
pub const WHEEL_SPINS: u32 = if MODELLED { 0 } else { 64 };

/// Levels of a timer wheel, with 64 slots each: enough for ticks of 64 bits. Two under the model
/// checker, whose stacks are small.
pub const WHEEL_LEVELS: usize = if MODELLED { 2 } else { 11 };

/// The unit of the timer wheel: rounding delays a timer by less than this. With a shorter tick,
/// timers move through more levels. 10,000 timers of 1 to 100 ms, in a wheel that is checked every
/// 50 us, took this many instructions per timer, from start to fire: 803 with ticks of a
/// millisecond, 954 with 16 us, 1,072 with 1 us, 1,320 with 1 ns. A fire alone took 17, 31, 40 and
/// 61 ns. With a paused clock, whole microseconds are exact.
pub const TICK: Duration = Duration::from_micros(1);

/// The default delay by which a timer may fire late, to fire together with others. If a worker
/// blocks until a timer is due and wakes, that takes about 13 us of CPU on a virtual machine; 3 us
/// of these are for programming the hardware's timer.
///
/// Measured with 10,000 sleeps of 1 to 100 ms at once on two workers: the p50 of the lateness, and
/// the CPU time per sleep. With a slack of 0: 15 us and 6.9 us. With 20 us: 20 and 4.7. With 50 us:
/// 35 and 3.4. With 100 us: 64 and 3.3. With 1,000 us: 540 and 1.3. In the same runs smol took 16
/// us and 9.7 us, Tokio 1.1 ms and 2.1 us.
pub const TIMER_SLACK: Duration = Duration::from_micros(40);

/// The largest slack that is allowed.
pub const TIMER_SLACK_MAX: Duration = Duration::from_secs(1);

/// How many timers are fired, moved or checked at a time, under one hold of a wheel's lock: that
/// takes a few microseconds. A slot of a million timers that was moved in one go kept the lock for
/// 33 ms. One under the model checker, which then sees every half-done state.
pub const TIMERS_AT_ONCE: usize = if MODELLED { 1 } else { 64 };

/// How late an interval's tick may be without counting as missed: more than the usual delay of
/// timers and busy workers.
pub const TICK_LATENESS: Duration = Duration::from_millis(5);

/// How often a sender yields and tries again to send to a socket whose queue is full, before the
/// sender pauses: an active receiver has made room by then.
pub const SEND_TO_YIELDS: u32 = 16;
/// How long such a sender then pauses before each attempt: the system does not say when there is
/// room.
pub const SEND_TO_PAUSE: Duration = Duration::from_millis(2);

/// Bytes that one operation on a file moves at most: changing threads costs microseconds, which is
/// little compared with copying a megabyte. In the worst case, each file in use keeps a buffer of
/// this size.
pub const FILE_BYTES_MAX: usize = 2 << 20;

/// Entries of a directory that are read in one go: one change of threads for as many entries as a
/// directory usually has.
pub const DIR_ENTRIES_BATCH: usize = 64;

/// Signal words behind one leaf of the signal tree: as many as a leaf word has bits; two under the
/// model checker.
pub const SIGNALS_PER_LEAF: usize = if MODELLED { 2 } else { 64 };

/// How many further tasks a worker takes at once from its part of the signal tree: enough that the
/// exchange, and the cache line that it takes from setters, cost little per task. It is no more
/// than fits into half of a ring.
pub const SIGNAL_BATCH: usize = if MODELLED { 1 } else { 32 };

/// Slots of one signal word: as many as it has bits; two under the model checker, which watches
/// each of them.
pub const SLOTS_PER_SIGNAL: usize = if MODELLED { 2 } else { 64 };

/// Free slots of the task arena that one worker keeps at most. A worker reserves 64 slots at once.
/// It keeps several times as many, so that a worker that spawns tasks and a worker that ends them
/// do not pass single slots through the shared words.
pub const STOCK_MAX: usize = if MODELLED { 2 } else { 256 };

/// The minimum of the default number of spares: threads that a pool may start beyond its workers
/// when these are blocked or compute. A pool with more workers may start as many spares as it has
/// workers. Each spare costs a stack while it is there.
pub const SPARES_MIN: usize = if MODELLED { 2 } else { 32 };

/// How often a thread checks that the tasks of an ending pool make progress: about as often as the
/// watch checks workers.
pub const END_PERIOD: Duration = Duration::from_millis(1);

/// The longest period between two such checks. Each check that sees no progress doubles the period,
/// up to this.
pub const END_PERIOD_MAX: Duration = Duration::from_millis(100);

/// How many threads at most cancel tasks beside workers that are blocked at the end: each may be
/// blocked by the drop of one task.
pub const END_THREADS: usize = if MODELLED { 2 } else { 32 };

/// The time slice of the relief worker: the shortest that Linux grants. The kernel runs the thread
/// whose slice ends first, so a thread with a shorter slice wins more often.
pub const RELIEF_SLICE: Duration = Duration::from_micros(100);

/// The slice of a worker that computes while another is on relief. A relief worker that wakes
/// preempts the computing worker at once, unless the rest of the worker's slice is shorter than
/// [`RELIEF_SLICE`]. That is so one time in 200. With the kernel's own slice, and 300 us for the
/// relief worker, 4 of 100 wake-ups beside parallel sums came more than 0.3 ms late; now 1 of 100
/// does (see `docs/stalls.md`).
pub const COMPUTE_SLICE: Duration = Duration::from_millis(20);

/// How long the relief worker stays after it was last needed: if the next computation begins within
/// this time, the relief worker is still in the driver.
pub const RELIEF_LINGERS: Duration = Duration::from_millis(50);

/// If a poll on the relief worker takes longer, in processor time, the task's next poll is left to
/// workers with seats. If these compute, they begin that poll late. So elapsed time does not count:
/// when the limit was 200 us of elapsed time, a poll that had lost its processor counted as long,
/// and an echo waited for 190 ms.
pub const RELIEF_POLL_LONG: Duration = Duration::from_millis(1);

/// How old the relief worker's last reading of its processor clock may be when it begins a poll.
/// With two readings per poll, an echo on the relief worker took 8 % more processor time.
pub const RELIEF_CLOCK_EVERY: Duration = Duration::from_micros(250);

/// While a relief worker is on duty, each other worker checks this often, at a fork, whether to
/// leave its own processor to the relief worker. A check is a system call of a quarter of a
/// microsecond.
pub const FORK_LOOK_EVERY: Duration = Duration::from_micros(40);

/// How long a worker leaves its processor to the relief worker at most. Usually the relief worker
/// wakes it earlier, after some tens of microseconds. The bound is for a relief worker that has
/// moved to another processor, or that is blocked by what the worker's frames hold.
pub const ASIDE_MAX: Duration = Duration::from_micros(250);

/// About how often a worker reads the clock to see whether such a check is due: a reading takes as
/// long as several forks.
pub const FORK_CLOCK_EVERY: Duration = Duration::from_micros(10);

/// The most forks between two such readings: about 10 us of the shortest forks.
pub const FORK_STEP_MAX: u32 = 4096;

/// If a stuck worker used this much processor time between two checks of the watch, it computes.
pub const WATCH_COMPUTES: Duration = Duration::from_micros(500);

/// The watch calls for relief about once per check. Usually the first call is enough. If the spare
/// that was called has not come after this many calls, another spare is called.
pub const RELIEF_CALLS: u32 = 100;

/// If a worker was stuck in this many checks of the watch, and was ready to run in the last one, it
/// counts as waiting for a processor. The watch then lets the relief worker preempt it, as if it
/// computed.
pub const WATCH_LOOKS_READY: u32 = 4;

/// If a stuck worker was blocked in this many checks of the watch in a row, it counts as blocked
/// although it used a little processor time in between: the worker may be in a loop that sleeps and
/// checks.
pub const WATCH_LOOKS_DOZED: u32 = if MODELLED { 4 } else { 20 };

/// If no worker has returned from its poll or job in this many checks of the watch (about a tenth
/// of a second), a spare takes a seat although the workers compute. For each further spare it takes
/// twice as many checks.
pub const WATCH_LOOKS_HOGGED: u32 = if MODELLED { 4 } else { 100 };

/// Bytes of the recorder of one worker: 16,384 frequent and 4,096 rare events. At the highest rate
/// that [`TRACE_POLL_WHOLE`] and [`TRACE_POLL_END`] allow, they hold about an eighth of a second of
/// polls; usually they hold seconds. Programs in random schedules record nothing: each access would
/// be an additional step.
pub const TRACE_MEMORY: usize = if MODELLED { 0 } else { 320 << 10 };

/// If polls take at least this long on average, the start, the end and the wake of each are
/// recorded. That costs three readings of the cycle counter, 10 to 20 ns each, and the writes of
/// the events: less than 0.9 % of the polls' time.
pub const TRACE_POLL_WHOLE: Duration = Duration::from_micros(16);

/// If polls take at least this long on average, but less than [`TRACE_POLL_WHOLE`], only the end of
/// each is recorded, which is the start of the next. That costs one reading and one event, about 60
/// ns: less than 0.8 % of the polls' time. If polls are shorter, one poll in [`POLLS_PER_SAMPLE`]
/// is recorded.
///
/// With a limit of 4 us, an echo server whose polls took 4.7 us used 1.5 % more processor time than
/// without a recorder.
pub const TRACE_POLL_END: Duration = Duration::from_micros(8);

/// If jobs are shorter than [`TRACE_POLL_WHOLE`] on average, one job in this many is recorded;
/// otherwise each. A job that is not a private fork takes at least about 60 ns; recording it takes
/// 50 ns.
pub const JOBS_PER_SAMPLE: u32 = if MODELLED { 4 } else { 64 };

/// How many tasks are read at once under the lock of a list. That takes less than ten microseconds,
/// so a reader hardly delays a worker whose task joins or leaves the list.
pub const LIST_PART: usize = if MODELLED { 1 } else { 64 };

/// How many types of tasks a worker counts separately. It counts all others together.
pub const TYPES_MAX: usize = 1_000;

/// How many names of regions a worker counts separately. It counts all others together. A region
/// looks through them at its end, and programs have few.
pub const REGIONS_MAX: usize = 64;

/// If the watch finds a worker in the same poll or job in this many checks in a row, about one per
/// millisecond, it counts a stall.
pub const STALL_LOOKS: u32 = 20;

/// After this many checks the watch asks the system how the thread has spent its time so far. A
/// report of the stall compares later times with these. Most long polls end before that.
pub const STALL_LOOKS_HALF: u32 = STALL_LOOKS / 2;

/// [`STALL_LOOKS`] as a time, for threads that ask while the watch is off.
pub const STALL_COUNTS: Duration = Duration::from_millis(20);

/// After this many checks the watch reports the stall to the user.
pub const STALL_LOOKS_REPORT: u32 = 100;

/// The cost of a steal in an analysis, unless the pool has measured it: a sleeping worker wakes in
/// about this time.
pub const ANALYSIS_BURDEN: Duration = Duration::from_micros(5);

/// How many steals a pool must have measured for an analysis to rely on them.
pub const ANALYSIS_STEALS: u64 = 16;

/// An analysis advises to coarsen forks if there is less work than this for each fork. A fork takes
/// 2 to 3 ns, a fortieth of this.
pub const ANALYSIS_GRAIN: Duration = Duration::from_nanos(100);

/// With this many times more parallelism than workers, all workers are busy nearly all the time.
pub const ANALYSIS_SLACK: f64 = 10.0;

/// After a trigger has written a trace, the same trigger writes no other one for this long. A stall
/// rarely comes alone. The recorders hold seconds, so a file per ten seconds and trigger misses
/// little. A megabyte per ten seconds is little to write.
pub const TRACE_ON_PERIOD: Duration = Duration::from_secs(10);
