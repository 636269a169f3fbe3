//! Finds where the futures of tasks wait: probes the tasks, and reads the stacks of these polls.

#![forbid(unsafe_code)]

use crate::base::Id;
use crate::door::task_refs::references;
use crate::team::Team;
use blitz_parts::prim::Mutex;
use blitz_parts::task::{Probe, TaskRef};
use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

/// How many tasks are probed at most.
const TASKS_MAX: usize = 1_000;
/// For how many stacks, of all tasks together, the names of functions are looked up at most. A
/// lookup takes much longer than a poll.
const NAMED_MAX: usize = 2_000;
/// How long a probe waits for the tasks to be polled.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Held by the thread that probes. Captures and lookups of stacks share one lock of the standard
/// library. So a second probe would delay the polls of the first one, and workers with them.
///
/// The holder runs no code of the program: it queues tasks, waits for workers no longer than its
/// patience, and looks names up. So its turn ends even if a worker that it needs waits for this
/// lock.
static TURN: Mutex<()> = Mutex::new(());

/// Functions of the runtime in which the waker of a probe is cloned, at the top of each stack.
const TOP: &[&str] = &["blitz_parts::", "<blitz_parts::", "<core::task::wake::Waker as "];
/// Functions of the standard library that may be among those of [`TOP`].
const LIBRARY: &[&str] = &["core::", "<core::", "alloc::", "<alloc::"];
/// The function of the runtime that polls a task, at the bottom of each stack.
const POLL: [&str; 2] = ["blitz_parts::task::cell::Cell<", "::run"];
/// What the runtime wraps around the future of a task that has a name.
const NAMED: [&str; 2] = ["blitz_core::door::task_builder::Named<", "::TaskLocalFuture<"];
/// Functions between [`POLL`] and the future.
const CATCH: &[&str] = &[
    "blitz_parts::panic::",
    "core::panic::",
    "<core::panic::",
    "core::ops::function::",
    "std::panic::",
    "std::panicking::",
    "__rust_try",
];

/// One place at which a task waits: the functions that its poll went through.
///
/// A task that waits for several things at once has several stacks. See [`probe`](crate::probe()).
///
/// ```
/// # let pool = blitz::Pool::builder().workers(1).build()?;
/// for task in pool.probe().tasks() {
///     for stack in task.stacks() {
///         println!("{} waits in\n{stack}", task.info().id());
///     }
/// }
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStack {
    frames: Vec<TaskFrame>,
}

/// One function of a [`TaskStack`].
///
/// ```
/// # let pool = blitz::Pool::builder().workers(1).build()?;
/// # let explanation = pool.probe();
/// # let stacks = explanation.tasks().iter().flat_map(|task| task.stacks());
/// for frame in stacks.flat_map(|stack| stack.frames()) {
///     println!("{} {}", frame.function(), frame.place().unwrap_or("?"));
/// }
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFrame {
    function: String,
    place: Option<String>,
}

impl TaskStack {
    /// Returns its functions, innermost first. The task waits in the first one.
    #[must_use]
    pub fn frames(&self) -> &[TaskFrame] {
        &self.frames
    }

    /// Looks the names up, which takes a while.
    fn of(stack: &Backtrace) -> TaskStack {
        TaskStack::parse(&stack.to_string())
    }

    /// Parses the text of a backtrace, and leaves the runtime's own functions out.
    fn parse(text: &str) -> TaskStack {
        let mut frames = Vec::<TaskFrame>::new();
        for line in text.lines().map(str::trim) {
            if let Some(place) = line.strip_prefix("at ") {
                if let Some(last) = frames.last_mut() {
                    last.place = Some(short(place).to_owned());
                }
                continue;
            }
            let (number, function) = line.split_once(": ").unwrap_or(("", line));
            if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
                frames.push(TaskFrame { function: function.to_owned(), place: None });
            }
        }
        let is_poll = |frame: &TaskFrame| {
            frame.function.contains(POLL[0]) && frame.function.contains(POLL[1])
        };
        let end = frames.iter().position(is_poll).unwrap_or(frames.len());
        frames.truncate(end);
        let is_of = |frame: &TaskFrame, names: &[&str]| {
            names.iter().any(|name| frame.function.starts_with(name))
        };
        while frames.last().is_some_and(|frame| is_of(frame, CATCH)) {
            frames.pop();
        }
        for wrapper in NAMED {
            match frames.last() {
                Some(last) if last.function.contains(wrapper) => drop(frames.pop()),
                _ => break,
            }
        }
        let top = frames.iter().take_while(|frame| is_of(frame, TOP) || is_of(frame, LIBRARY));
        let top: Vec<_> = top.map(|frame| is_of(frame, TOP)).collect();
        let begin = top.iter().rposition(|is_own| *is_own).map_or(0, |last| last + 1);
        TaskStack { frames: frames.split_off(begin) }
    }
}

/// Returns the place without the folders in which Cargo and Rust keep sources.
fn short(place: &str) -> &str {
    let after = |folder: &str| place.split_once(folder)?.1.split_once('/').map(|(_, rest)| rest);
    after("/registry/src/").or_else(|| after("/rustc/")).unwrap_or(place)
}

impl TaskFrame {
    /// Returns the name of the function.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Returns the file, line and column, if the program has information for debuggers.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }
}

/// One line for each function.
impl fmt::Display for TaskStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frames.iter().try_for_each(|frame| writeln!(f, "{frame}"))
    }
}

impl fmt::Display for TaskFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " at {place}"))
    }
}

/// The result of probing some tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probed {
    /// How many tasks were woken for the probe.
    pub(super) woken: usize,
    /// How many of these tasks were polled in time.
    pub(super) polled: usize,
}

/// Makes workers poll each of these tasks once, and returns where the tasks wait.
///
/// Probes at most [`TASKS_MAX`] tasks, and waits for the polls no longer than `patience`. The
/// probes of a process take turns.
pub(super) fn stacks(
    team: &Team,
    ids: impl Iterator<Item = Id>,
    patience: Duration,
) -> (Probed, HashMap<Id, Vec<TaskStack>>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut probes: Vec<_> = choose(team, ids).into_iter().filter_map(Probe::begin).collect();
    let probed = Probed { woken: probes.len(), polled: Probe::wait(&mut probes, patience) };
    // All probes end before the names are looked up, which takes much longer than a poll.
    let found: Vec<_> = probes
        .into_iter()
        .filter_map(|probe| {
            let id = Id::of(probe.task());
            Some((id, probe.end()?))
        })
        .collect();
    let each = named_each(found.len());
    let named = |(id, stacks): (Id, Vec<Backtrace>)| {
        let mut named = Vec::new();
        for stack in stacks.iter().take(each).map(TaskStack::of) {
            // A future may keep its waker twice at one place.
            if !named.contains(&stack) {
                named.push(stack);
            }
        }
        (id, named)
    };
    (probed, found.into_iter().map(named).collect())
}

/// Returns the first [`TASKS_MAX`] of these tasks. It keeps no reference to any other task: an
/// `explain` on another thread would take such a reference for a waker with an unknown holder.
fn choose(team: &Team, ids: impl Iterator<Item = Id>) -> Vec<TaskRef> {
    let mut tasks: HashMap<_, _> =
        references(team).into_iter().map(|task| (Id::of(&task), task)).collect();
    ids.filter_map(|id| tasks.remove(&id)).take(TASKS_MAX).collect()
}

/// For how many stacks of each task the names are looked up, if `tasks` tasks have stacks.
fn named_each(tasks: usize) -> usize {
    const { assert!(TASKS_MAX <= NAMED_MAX, "a stack for each task") };
    NAMED_MAX / tasks.max(1)
}

#[cfg(test)]
mod tests {
    use super::{
        NAMED_MAX, PATIENCE, Probed, TASKS_MAX, TaskStack, named_each, references, stacks,
    };
    use crate::door::current::with_current_team;
    use crate::{JoinHandle, Pool, TaskState};
    use std::future::pending;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    const TEXT: &str = "   0: blitz_parts::task::probe::note_clone
             at ./crates/blitz-parts/src/task/probe.rs:150:17
   1: blitz_parts::task::waker::clone_probed
   2: <core::task::wake::Waker as core::clone::Clone>::clone
             at /rustc/5980/library/core/src/task/wake.rs:9:9
   3: tokio::sync::mutex::Mutex<T>::lock::{{closure}}
             at /home/me/.cargo/registry/src/host-1/tokio-1.0.0/src/sync/mutex.rs:430:20
   4: app::session::{{closure}}
             at ./src/main.rs:12:20
   5: <blitz_core::task::task_local::TaskLocalFuture<T,F> as core::future::future::Future>::poll
   6: <blitz_core::door::task_builder::Named<F> as core::future::future::Future>::poll
   7: blitz_parts::task::cell::Cell<F,S>::run::{{closure}}
   8: <core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once
   9: blitz_parts::task::cell::Cell<F,S>::run
  10: blitz_core::sched::tasks::Tasks::poll
";

    #[test]
    fn the_functions_of_the_runtime_are_left_out() {
        let stack = TaskStack::parse(TEXT);
        let functions: Vec<_> = stack.frames().iter().map(|frame| frame.function()).collect();
        let expected =
            ["tokio::sync::mutex::Mutex<T>::lock::{{closure}}", "app::session::{{closure}}"];
        assert_eq!(functions, expected);
        let places = stack.frames().iter().map(|frame| frame.place().unwrap());
        let expected = ["tokio-1.0.0/src/sync/mutex.rs:430:20", "./src/main.rs:12:20"];
        assert!(places.eq(expected), "{stack:?}");
        let text = stack.to_string();
        assert!(text.ends_with("app::session::{{closure}} at ./src/main.rs:12:20\n"), "{text}");
    }

    #[test]
    fn a_stack_begins_where_the_runtime_keeps_the_waker() {
        let text = "   0: blitz_parts::task::waker::clone_probed
   1: <core::task::wake::Waker as core::clone::Clone>::clone
   2: blitz_parts::readiness::waiters::Spare::new::{{closure}}
   3: core::bool::<impl bool>::then
   4: blitz_parts::readiness::Readiness::poll
   5: core::pin::Pin<Ptr>::as_mut
   6: app::session::{{closure}}
";
        let stack = TaskStack::parse(text);
        let functions: Vec<_> = stack.frames().iter().map(|frame| frame.function()).collect();
        assert_eq!(functions, ["core::pin::Pin<Ptr>::as_mut", "app::session::{{closure}}"]);
    }

    #[test]
    fn a_program_without_names_has_an_empty_stack_or_unknown_functions() {
        assert_eq!(TaskStack::parse("disabled backtrace").frames(), []);
        let stack = TaskStack::parse("   0: <unknown>\n   1: <unknown>\n");
        assert_eq!(stack.frames().len(), 2);
        assert_eq!(stack.frames()[0].place(), None);
    }

    #[test]
    fn no_more_than_two_thousand_stacks_are_named() {
        for tasks in 1..=TASKS_MAX {
            let each = named_each(tasks);
            assert!(each > 0 && each * tasks <= NAMED_MAX, "{each} of {tasks}");
        }
        assert!(named_each(0) > 0);
        assert!(named_each(100) >= 16, "all stacks of a hundred tasks");
    }

    /// A pool with one worker, and tasks that wait in it without a waker.
    fn pool_with_waiting<const N: usize>() -> (Pool, [JoinHandle<()>; N]) {
        let pool = Pool::builder().workers(1).spares(0).build().unwrap();
        let tasks = [(); N].map(|()| pool.spawn(pending::<()>()));
        wait_for(|| tasks.iter().all(|task| waits(&pool, task)));
        (pool, tasks)
    }

    fn waits(pool: &Pool, task: &JoinHandle<()>) -> bool {
        pool.tasks().get(task.id()).is_some_and(|task| task.state() == TaskState::Waiting)
    }

    fn wait_for(is_done: impl Fn() -> bool) {
        while !is_done() {
            std::thread::yield_now();
        }
    }

    /// Probes one task of a pool.
    fn probe(pool: &Pool, task: &JoinHandle<()>, patience: Duration) -> Probed {
        let _entered = pool.enter();
        with_current_team(|team| stacks(team, [task.id()].into_iter(), patience)).0
    }

    /// Keeps the only worker of a pool busy until the sender is dropped.
    fn keep_busy(pool: &Pool) -> mpsc::Sender<()> {
        let ((go, wait), (began, begun)) = (mpsc::channel(), mpsc::channel());
        drop(pool.spawn(async move {
            began.send(()).unwrap();
            let _ = wait.recv();
        }));
        begun.recv().unwrap();
        go
    }

    #[test]
    fn a_probe_keeps_no_reference_to_other_tasks() {
        let (pool, [probed, other]) = pool_with_waiting();
        let busy = keep_busy(&pool);
        std::thread::scope(|scope| {
            let probing = scope.spawn(|| probe(&pool, &probed, Duration::from_secs(600)));
            wait_for(|| !waits(&pool, &probed));
            let never = pool.explain().never_wake().to_vec();
            drop(busy);
            assert_eq!(probing.join().unwrap(), Probed { woken: 1, polled: 1 });
            assert_eq!(never, [other.id()], "the probe has a reference to another task");
        });
    }

    #[test]
    fn probes_of_a_process_take_turns() {
        let (first, [stuck]) = pool_with_waiting();
        let (second, [other]) = pool_with_waiting();
        let busy = keep_busy(&first);
        std::thread::scope(|scope| {
            let probing = scope.spawn(|| probe(&first, &stuck, PATIENCE));
            wait_for(|| !waits(&first, &stuck));
            assert_eq!(probe(&second, &other, PATIENCE).woken, 1);
            let _entered = first.enter();
            let held = with_current_team(|team| references(team)[0].glance().wakers);
            assert_eq!(held, 0, "the first probe has not ended");
            drop(busy);
            assert_eq!(probing.join().unwrap(), Probed { woken: 1, polled: 0 });
        });
    }

    #[test]
    fn a_probe_ends_even_on_the_worker_that_it_needs() {
        let pools = [pool_with_waiting::<1>(), pool_with_waiting::<1>()].map(Arc::new);
        let probing = [0, 1].map(|at| {
            let (own, other) = (pools[at].clone(), pools[1 - at].clone());
            let patience = Duration::from_millis(50);
            own.clone().0.spawn(async move {
                for (pool, [task]) in [&*own, &*other] {
                    assert!(probe(pool, task, patience).woken <= 1);
                }
            })
        });
        probing.into_iter().for_each(|task| task.join().unwrap());
    }
}
