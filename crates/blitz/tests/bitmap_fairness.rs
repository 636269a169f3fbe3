//! A worker that blocks may have tasks in its leaves or in its yield queue. Workers that are never
//! idle poll these tasks.

mod common;

use blitz::{JoinHandle, Runtime, Scheduler};
use common::{Watch, wait_for, watched};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Poll, Waker};

/// Enough tasks to use the leaves of both workers.
const MEMBERS: usize = 256;
/// The number of members that are always runnable.
const BUSY: usize = 8;

/// A task that waits until it is woken, again and again.
#[derive(Default)]
struct Member {
    waker: OnceLock<Waker>,
    polls: AtomicU64,
    /// The tasks that this task wakes in each poll.
    ///
    /// There are two, so that one of them is evicted from the LIFO slot into the tree.
    wakes: Mutex<Vec<Arc<Member>>>,
}

impl Member {
    async fn attend(self: Arc<Member>, over: Arc<AtomicBool>, trap: Arc<Trap>) {
        poll_fn(|context| {
            self.waker.get_or_init(|| context.waker().clone());
            self.polls.fetch_add(1, SeqCst);
            trap.step();
            if over.load(SeqCst) {
                return Poll::Ready(());
            }
            self.wakes.lock().unwrap().iter().for_each(|other| other.wake());
            Poll::Pending
        })
        .await;
    }

    fn wake(&self) {
        self.waker.get().expect("the task has been polled").wake_by_ref();
    }

    fn polls(&self) -> u64 {
        self.polls.load(SeqCst)
    }
}

/// Blocks a worker in the second poll after the trap is set.
///
/// The first poll is that of the task in the LIFO slot.
struct Trap {
    worker: AtomicUsize,
    polls: AtomicUsize,
    release: Mutex<Receiver<()>>,
}

impl Trap {
    fn new() -> (Arc<Trap>, Sender<()>) {
        let (releases, release) = channel();
        let (worker, release) = (AtomicUsize::new(usize::MAX), Mutex::new(release));
        (Arc::new(Trap { worker, polls: AtomicUsize::new(0), release }), releases)
    }

    fn set(&self, worker: usize) {
        self.worker.store(worker, SeqCst);
    }

    fn step(&self) {
        let is_here = blitz::current_worker_index() == Some(self.worker.load(SeqCst));
        if is_here && self.polls.fetch_add(1, SeqCst) == 1 {
            let _ = self.release.lock().unwrap().recv();
        }
    }
}

/// Two workers: one is blocked, and the other is never idle.
struct Stage {
    runtime: Runtime,
    members: Vec<(Arc<Member>, JoinHandle<()>)>,
    over: Arc<AtomicBool>,
    trap: Arc<Trap>,
    releases: Sender<()>,
    blocked: usize,
    blocks: JoinHandle<()>,
    /// Tells the blocked worker to wake these members, and to go on.
    go_on: Sender<Vec<Arc<Member>>>,
}

impl Stage {
    fn new(watch: &Watch) -> Stage {
        // A spare would poll tasks in the place of the blocked worker.
        let builder = Runtime::builder().workers(2).spares(0).scheduler(Scheduler::Signal);
        let runtime = watch.runtime(builder.build().unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let (trap, releases) = Trap::new();
        let enter = |_| {
            let member = Arc::<Member>::default();
            let attends = member.clone().attend(over.clone(), trap.clone());
            (member, runtime.spawn(attends))
        };
        let members: Vec<_> = (0..MEMBERS).map(enter).collect();
        wait_for(|| members.iter().all(|(member, _)| member.polls() > 0));

        let (go_on, waits) = channel::<Vec<Arc<Member>>>();
        let (tell, blocked) = channel();
        let blocks = runtime.spawn(async move {
            tell.send(blitz::current_worker_index().unwrap()).unwrap();
            waits.recv().into_iter().flatten().for_each(|member| member.wake());
        });
        let blocked = blocked.recv().unwrap();
        let stage = Stage { runtime, members, over, trap, releases, blocked, blocks, go_on };
        stage.keep_the_other_busy();
        stage
    }

    fn keep_the_other_busy(&self) {
        let busy = &self.in_leaves_of(1 - self.blocked)[..BUSY];
        for (index, member) in busy.iter().enumerate() {
            let others = [1, 2].map(|step| busy[(index + step) % BUSY].clone());
            member.wakes.lock().unwrap().extend(others);
        }
        busy.iter().for_each(|member| member.wake());
        wait_for(|| busy.iter().all(|member| member.polls() > 100));
    }

    fn in_leaves_of(&self, worker: usize) -> Vec<Arc<Member>> {
        let tasks = self.runtime.pool().dump().tasks;
        let is_there = |task: &JoinHandle<()>| {
            let shown = tasks.iter().find(|shown| shown.id == Some(task.id()));
            shown.and_then(|shown| shown.slot).is_some_and(|(leaf, ..)| leaf % 2 == worker)
        };
        let there = self.members.iter().filter(|(_, task)| is_there(task));
        there.map(|(member, _)| member.clone()).collect()
    }

    fn end(self) {
        self.over.store(true, SeqCst);
        drop((self.go_on, self.releases));
        for (member, _) in &self.members {
            member.wake();
            member.wakes.lock().unwrap().clear();
        }
        self.blocks.join().unwrap();
        self.members.into_iter().for_each(|(_, task)| task.join().unwrap());
    }
}

#[test]
fn a_busy_worker_polls_tasks_in_the_leaves_of_one_that_blocks() {
    watched("a busy worker beside one that blocks", |watch| {
        let stage = Stage::new(watch);
        for waits in stage.in_leaves_of(stage.blocked) {
            let before = waits.polls();
            waits.wake();
            wait_for(|| waits.polls() > before);
        }
        stage.end();
    });
}

#[test]
fn a_busy_worker_polls_tasks_in_the_yield_queue_of_one_that_blocks() {
    watched("tasks in the yield queue", |watch| {
        for _ in 0..5 {
            let stage = Stage::new(watch);
            let waiting = stage.in_leaves_of(stage.blocked);
            let before: Vec<u64> = waiting.iter().map(|member| member.polls()).collect();
            stage.trap.set(stage.blocked);
            stage.go_on.send(waiting.clone()).unwrap();
            let was_polled = |(member, before): (&Arc<Member>, &u64)| member.polls() > *before;
            wait_for(|| waiting.iter().zip(&before).all(was_polled));
            stage.end();
        }
    });
}
