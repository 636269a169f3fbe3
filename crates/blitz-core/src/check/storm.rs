//! Random programs: tasks and jobs that do random things, on one to seven workers.

use super::futures::{Event, Gate, Handle, yield_now};
use super::helping::block_on_at_the_limit;
use super::{Runtime, balanced, check, post_job, spawn, spawn_job};
use crate::block_on;
use crate::task::{AbortHandle, shield};
use blitz_parts::prim::{Mutex, any_below, check_replay, thread};
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;

/// How many tasks a program may spawn besides its first ones and those of [`World::block`].
const SPAWNS: usize = 16;
const ROOTS: usize = 6;
const GATES: usize = 4;

/// The state that the tasks of a program share.
struct World {
    gates: [Gate; GATES],
    /// Every task that can be aborted.
    tasks: Mutex<Vec<AbortHandle>>,
    spawns_left: Mutex<usize>,
    /// How many more tasks may block their workers. One worker must stay free.
    blocks_left: Mutex<usize>,
    /// Opens when the last task or job of the program has ended.
    over: Gate,
}

impl Drop for World {
    fn drop(&mut self) {
        self.over.open();
    }
}

impl World {
    fn new(blocks: usize, over: Gate) -> Arc<World> {
        Arc::new(World {
            gates: std::array::from_fn(|_| Gate::new()),
            tasks: Mutex::new(Vec::new()),
            spawns_left: Mutex::new(SPAWNS),
            blocks_left: Mutex::new(blocks),
            over,
        })
    }

    fn gate(&self) -> &Gate {
        &self.gates[any_below(GATES)]
    }

    fn enlist<T>(&self, task: &Handle<T>) {
        self.tasks.lock().unwrap().push(task.abort_handle());
    }

    fn spawn(self: &Arc<World>) -> Option<Handle<()>> {
        take_one(&self.spawns_left)?;
        let child = spawn(self.clone().live());
        self.enlist(&child);
        Some(child)
    }

    fn abort_any(&self) {
        let tasks = self.tasks.lock().unwrap();
        let task = tasks.get(any_below(tasks.len().max(1))).cloned();
        drop(tasks);
        if let Some(task) = task {
            task.abort();
        }
    }

    /// The life of a task.
    fn live(self: Arc<World>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            for _ in 0..any_below(5) {
                self.act().await;
            }
        })
    }

    async fn act(self: &Arc<World>) {
        match any_below(14) {
            0 | 1 => yield_now().await,
            2 => self.gate().passed().await,
            3 => self.gate().open(),
            4 => self.gate().wake_in_vain(),
            5 => drop(self.spawn()),
            6 => {
                if let Some(child) = self.spawn() {
                    child.await;
                }
            }
            7 => {
                if let Some(child) = self.spawn() {
                    block_on(child);
                }
            }
            8 => self.abort_any(),
            9 => {
                let world = self.clone();
                let job = move || {
                    if any_below(2) == 0 {
                        drop(world.spawn());
                    } else {
                        world.gate().open();
                    }
                };
                match any_below(3) {
                    0 => post_job(job),
                    _ => spawn_job(job),
                }
            }
            10 => {
                shield(async {
                    yield_now().await;
                    self.gate().passed().await;
                })
                .await;
            }
            11 => {
                let gate = self.gate().clone();
                let other = Runtime::new(1);
                other.spawn_job(move || block_on(gate.passed()));
                other.shut_down();
            }
            _ => self.block(),
        }
    }

    /// Blocks the worker until another task has run, or was cancelled.
    fn block(&self) {
        /// Sets its event when it is dropped.
        struct Setter(Event);
        impl Drop for Setter {
            fn drop(&mut self) {
                self.0.set();
            }
        }

        if take_one(&self.blocks_left).is_some() {
            let event = Event::new();
            let setter = Setter(event.clone());
            let child = spawn(async move {
                yield_now().await;
                drop(setter);
            });
            self.enlist(&child);
            if any_below(2) == 0 {
                event.wait();
            } else {
                block_on_at_the_limit(child);
            }
            *self.blocks_left.lock().unwrap() += 1;
        }
    }
}

fn take_one(left: &Mutex<usize>) -> Option<()> {
    let mut left = left.lock().unwrap();
    *left = left.checked_sub(1)?;
    Some(())
}

/// Starts a program. A foreign thread opens the gates one after the other.
fn begin(runtime: &Runtime, world: Arc<World>) -> ([Handle<()>; ROOTS], thread::JoinHandle<()>) {
    let roots = std::array::from_fn(|_| {
        let root = runtime.spawn(world.clone().live());
        world.enlist(&root);
        root
    });
    (roots, thread::spawn(move || world.gates.iter().for_each(Gate::open)))
}

/// A program runs to its end.
fn to_the_end() {
    let workers = 2 + any_below(6);
    let runtime = Runtime::new(workers);
    let over = Gate::new();
    let (roots, opener) = begin(&runtime, World::new(workers - 1, over.clone()));
    for root in roots {
        block_on(root);
    }
    block_on(over.passed());
    opener.join().unwrap();
    runtime.shut_down();
}

/// The runtime ends in the middle of a program.
fn cut_off() {
    let runtime = Runtime::new(1 + any_below(7));
    // No task may block its worker until another task has ended: that other task may be cancelled
    // only after the worker has left, and a blocked worker does not leave.
    let (roots, opener) = begin(&runtime, World::new(0, Gate::new()));
    if any_below(2) == 0 {
        let [first, ..] = roots;
        block_on(first);
    }
    runtime.shut_down_beside([opener]);
}

#[test]
fn random_programs_end() {
    check(20_000, to_the_end);
}

#[test]
fn random_programs_are_cut_off() {
    check(20_000, cut_off);
}

/// Compares executions in this process with those in another process. Addresses differ between the
/// two processes, and must not matter.
#[test]
fn a_seed_always_leads_to_the_same_execution() {
    const OTHER: &str = "BLITZ_SHUTTLE_OTHER";
    let sums = [check_replay(balanced(to_the_end)), check_replay(balanced(cut_off))];
    let told = format!("executions {sums:x?}");
    if std::env::var_os(OTHER).is_some() {
        println!("{told}");
        return;
    }
    let name = "check::storm::a_seed_always_leads_to_the_same_execution";
    let mut process = Command::new(std::env::current_exe().unwrap());
    let output = process.args([name, "--exact", "--nocapture"]).env(OTHER, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(&told), "here {told}, there {text}");
}
