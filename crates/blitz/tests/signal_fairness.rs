//! Tasks in the leaves of a worker that blocks are polled by workers that are never idle.

mod common;

use blitz::{Runtime, Scheduler};
use common::{Watch, wait_for, watched};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Poll, Waker};

/// Enough for both workers' leaves.
const MEMBERS: usize = 256;
/// How many of them are always runnable.
const BUSY: usize = 8;

/// A task that waits until it is woken, again and again.
#[derive(Default)]
struct Member {
    waker: OnceLock<Waker>,
    polls: AtomicU64,
    /// Whom it wakes in each poll: two others, so that one of them is evicted into the tree.
    wakes: Mutex<Vec<Arc<Member>>>,
}

impl Member {
    async fn attend(self: Arc<Member>, over: Arc<AtomicBool>) {
        poll_fn(|context| {
            self.waker.get_or_init(|| context.waker().clone());
            self.polls.fetch_add(1, SeqCst);
            if over.load(SeqCst) {
                return Poll::Ready(());
            }
            self.wakes.lock().unwrap().iter().for_each(|other| other.wake());
            Poll::Pending
        })
        .await;
    }

    fn wake(&self) {
        self.waker.get().expect("it has been polled").wake_by_ref();
    }
}

fn signal_runtime(watch: &Watch) -> Runtime {
    let builder = Runtime::builder().workers(2).scheduler(Scheduler::Signal);
    watch.runtime(builder.build().unwrap())
}

#[test]
fn a_busy_worker_polls_tasks_in_the_leaves_of_one_that_blocks() {
    watched("a busy worker beside one that blocks", |watch| {
        let runtime = signal_runtime(watch);
        let over = Arc::new(AtomicBool::new(false));
        let members: Vec<Arc<Member>> = (0..MEMBERS).map(|_| Arc::default()).collect();
        let handles: Vec<_> = members
            .iter()
            .map(|member| runtime.spawn(member.clone().attend(over.clone())))
            .collect();
        wait_for(|| members.iter().all(|member| member.polls.load(SeqCst) > 0));

        let (go_on, waits) = mpsc::channel::<()>();
        let (tell, blocked) = mpsc::channel();
        let blocks = runtime.spawn(async move {
            tell.send(blitz::current_worker_index().unwrap()).unwrap();
            let _ = waits.recv();
        });
        let blocked = blocked.recv().unwrap();

        let dump = runtime.pool().dump();
        let in_leaves_of = |worker: usize| -> Vec<Arc<Member>> {
            let is_there = |id: blitz::task::Id| {
                let mut tasks = dump.tasks.iter();
                let task = tasks.find(|task| task.id == Some(id));
                task.and_then(|task| task.slot).is_some_and(|(leaf, ..)| leaf % 2 == worker)
            };
            let mut there = Vec::new();
            for (handle, member) in handles.iter().zip(&members) {
                if is_there(handle.id()) {
                    there.push(member.clone());
                }
            }
            there
        };
        let busy = &in_leaves_of(1 - blocked)[..BUSY];
        for (index, member) in busy.iter().enumerate() {
            let others = [1, 2].map(|step| busy[(index + step) % BUSY].clone());
            member.wakes.lock().unwrap().extend(others);
        }
        busy.iter().for_each(|member| member.wake());
        let polls = |member: &Member| member.polls.load(SeqCst);
        wait_for(|| busy.iter().all(|member| polls(member) > 100));

        for waits in in_leaves_of(blocked) {
            let before = polls(&waits);
            waits.wake();
            wait_for(|| polls(&waits) > before);
        }
        over.store(true, SeqCst);
        members.iter().for_each(|member| {
            member.wake();
            member.wakes.lock().unwrap().clear();
        });
        drop(go_on);
        blocks.join().unwrap();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
}
