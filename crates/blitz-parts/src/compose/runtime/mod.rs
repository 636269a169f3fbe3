//! A whole runtime of the real parts under random schedules: what the models, each of a few threads and a
//! few steps, do not show.
//!
//! What its workers do follows `blitz-core` (`sched`, `worker`, `shutdown`, `ops/block_on`) step by step, on
//! the real tasks, rings, slots, queues, signal trees, deques, injector, latches and sleep protocol, with small
//! rings so that they overflow. Which scheduler a runtime has is drawn with the schedule, but for programs that are
//! about one of them. Statistics, leapfrogging, clocks, the driver, local sets and threads that a pool adopts are left out; the
//! watch over LIFO slots comes by whenever a poll blocks. What core decides by clocks or by experience, a schedule
//! decides here.
//!
//! # What is checked
//! - A wake-up that is lost shows as a deadlock, or as an execution that does not end.
//! - Each task is in one queue at most, and is polled by one worker at a time ([`ledger`]).
//! - Each future is dropped once. What its join handle says is what came of it. No task leaks.
//! - At the end nobody is counted as idle or asleep, and every queue and list is empty.
//!
//! # What is not
//! All accesses are sequentially consistent here, and fences do nothing: a wrong ordering passes. Arcs are
//! the standard ones, whose counts are no steps of a schedule. Time does not pass. Threads of a model are
//! one thread in truth, so `std::thread_local!` would be shared among them; `prim::thread_local!` is not.
//! All of it is a sample: a schedule that nobody drew was not seen.

mod abort;
mod block;
mod crowd;
mod end;
mod foreign;
mod futures;
mod helping;
mod jobs;
mod leaves;
mod ledger;
mod shared;
mod storm;
mod team;
mod wait;
mod watch;
mod worker;

use crate::prim::{any_below, thread};
use crate::task::{self, TaskRef};
use futures::{Followed, Handle};
use shared::Shared;
use std::sync::Arc;
use team::{Home, Team};

/// The handle of a runtime, for the thread outside that made it.
struct Runtime {
    team: Arc<Team>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Runtime {
    /// One with any scheduler.
    fn new(workers: usize) -> Runtime {
        Runtime::start(Team::new(workers, Shared::any(workers)), workers)
    }

    /// One with the signal scheduler.
    fn with_signals(workers: usize) -> Runtime {
        Runtime::start(Team::new(workers, Shared::signals(workers)), workers)
    }

    /// One with a worker more, whose thread has ended without leaving.
    fn with_one_gone(workers: usize) -> Runtime {
        Runtime::start(Team::new(workers + 1, Shared::any(workers + 1)), workers)
    }

    fn start(team: Arc<Team>, workers: usize) -> Runtime {
        let start = |index| {
            let team = team.clone();
            let named = thread::Builder::new().name(format!("worker {index}"));
            named.spawn(move || team.run_worker(index)).unwrap()
        };
        Runtime { threads: (0..workers).map(start).collect(), team }
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Handle<T> {
        self.team.spawn(future)
    }

    /// A job from outside.
    fn spawn_job(&self, job: impl FnOnce() + Send + 'static) {
        self.team.spawn_job(job);
    }

    /// Ends the runtime, whatever its tasks do, and checks the books.
    fn shut_down(self) {
        self.shut_down_beside([]);
    }

    /// The same while other threads still use it.
    fn shut_down_beside<const N: usize>(self, others: [thread::JoinHandle<()>; N]) {
        self.team.shut_down();
        for thread in self.threads.into_iter().chain(others) {
            thread.join().unwrap();
        }
        self.team.assert_over();
        let ledger = self.team.ledger.clone();
        drop(self.team);
        ledger.assert_balanced();
    }

    /// Ends a runtime [`with_one_gone`](Runtime::with_one_gone): the team is dropped while other threads
    /// may wake its tasks.
    fn drop_beside<const N: usize>(self, others: [thread::JoinHandle<()>; N]) {
        self.team.shut_down();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        let ledger = self.team.ledger.clone();
        drop(self.team);
        others.into_iter().for_each(|thread| thread.join().unwrap());
        ledger.assert_balanced();
    }
}

impl Team {
    /// `Team::spawn`.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Handle<T> {
        let future = Followed::new(future, &self.ledger);
        let record = future.record();
        let (task, join) = task::new(future, Home::of(self));
        self.ledger.enter(&task);
        if self.tasks_end() {
            self.cancel(task);
        } else {
            match worker::current() {
                Some(worker) => worker.schedule(task),
                None => self.share(task),
            }
        }
        Handle::new(join, record)
    }
}

/// Starts a task on the runtime whose worker this is.
fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Handle<T> {
    let worker = worker::current().expect("called on a worker");
    worker.team().spawn(future)
}

/// The same for a job.
fn spawn_job(job: impl FnOnce() + Send + 'static) {
    let worker = worker::current().expect("called on a worker");
    worker.team().spawn_job(job);
}

/// The same for a job that any one worker alone may run.
fn post_job(job: impl FnOnce() + Send + 'static) {
    let team = worker::current().expect("called on a worker").team();
    team.post_job(any_below(team.workers.len()), job);
}

/// `task::shield`, for a future that stays in its task.
async fn shield<T>(future: impl Future<Output = T>) -> T {
    /// One level of protection; meanwhile tasks are not cancelled.
    struct Guard(TaskRef, Arc<Team>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.remove_shield();
            self.1.release_tasks();
        }
    }

    let worker = worker::current().expect("called on a worker");
    let task = worker.polled().expect("called in a task");
    if !worker.team().try_hold_tasks(&task) {
        task.abort();
        core::future::pending::<()>().await;
    }
    task.add_shield().expect("one level is not too deep");
    let _guard = Guard(task, worker.team().arc());
    future.await
}
