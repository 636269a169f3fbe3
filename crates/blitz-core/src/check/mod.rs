//! Runs shipped pools under random schedules. This covers whole programs, while each model covers a
//! few threads and a few steps.
//!
//! `--cfg blitz_shuttle` swaps the locks, threads, thread-locals and the clock of this crate for
//! the checker's (see `blitz_parts::prim`), and makes rings, intervals and batches small.
//! Everything else is the code that users run: both schedulers, both wait policies, forks that are
//! published on demand or at once. Each schedule draws a pool's settings at random, unless the
//! program tests one setting.
//!
//! # What is checked
//! - A lost wake-up shows as a deadlock, or as an execution that does not end.
//! - Each task is polled by one worker at a time, each job runs once, each future and closure is
//!   dropped once ([`ledger`]). A join handle reports the true outcome of its task. Nothing leaks.
//! - At the end no worker counts as idle or asleep, and every queue and list is empty.
//!
//! # What is not
//! All accesses are sequentially consistent here, and fences do nothing: a wrong ordering passes.
//! Arcs are the standard ones, and their counts are not steps of a schedule. No program panics: a
//! model that unwinds has failed. The schedules are a sample: errors in other schedules stay
//! hidden.

mod abort;
mod adoption;
mod block;
mod blocking;
mod broadcast;
mod crowd;
mod driver;
mod end;
mod foreign;
mod futures;
mod guests;
mod helping;
mod jobs;
mod leaves;
mod ledger;
mod local;
mod pools;
mod relief;
mod sets;
mod shields;
mod spares;
mod storm;
mod watch;

use crate::base::panic::message;
use crate::sched::hold::{self, Hold};
use crate::team::{Team, current};
use crate::worker::post;
use crate::{Pool, PoolBuilder, Scheduler, WaitPolicy};
use blitz_parts::prim::{self, Step, any_below, let_time_stand_still, thread};
use futures::{Followed, Handle};
use ledger::Ledger;
use std::future::Future;
use std::sync::{Arc, Weak};

/// How many preemptions a schedule with priorities has.
const PREEMPTIONS: Option<usize> = Some(3);

/// Runs `program` in at least this many schedules. Each schedule has a seed that replays it.
fn check(schedules: usize, program: impl Fn() + Send + Sync + 'static) {
    let program = Arc::new(balanced(program));
    let replayed = program.clone();
    println!("the sum of the first steps: {:x}", prim::check_replay(move || replayed()));
    prim::check(schedules, PREEMPTIONS, move || program());
}

/// Asserts that `program` fails in some schedule if `step` is left out.
fn canary(step: Step, program: impl Fn() + Send + Sync + 'static) {
    prim::canary(&[step], PREEMPTIONS, balanced(program));
}

/// Wraps the program with its own ledger, and checks the ledger at the end.
fn balanced(program: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    move || {
        let ledger = Ledger::begin();
        program();
        ledger.assert_balanced();
    }
}

/// Wraps the program so that time does not pass: no timeout fires, and the watch looks only when a
/// worker turns it on. So the watch cannot hide the mistakes of a worker.
fn still(program: impl Fn() + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    move || {
        let_time_stand_still();
        program();
    }
}

/// Settings for a pool, drawn with the schedule.
fn any_settings(workers: usize) -> PoolBuilder {
    let scheduler = [Scheduler::Stealing, Scheduler::Signal][any_below(2)];
    let wait = [WaitPolicy::StealAnything, WaitPolicy::DescendantsOnly][any_below(2)];
    let settings = settings(workers, scheduler).wait_policy(wait);
    if any_below(2) == 0 { settings.publish_all() } else { settings }
}

/// Default settings with `scheduler`, and without spares: a spare would hide the mistakes of a
/// worker.
fn settings(workers: usize, scheduler: Scheduler) -> PoolBuilder {
    Pool::builder()
        .workers(workers)
        .scheduler(scheduler)
        .spares(0)
        .panic_handler(|payload| Ledger::current().report(message(&payload).to_owned()))
}

/// A pool that is checked when it ends.
struct Runtime {
    pool: Pool,
    team: Weak<Team>,
}

impl Runtime {
    /// A pool with random settings.
    fn new(workers: usize) -> Runtime {
        Runtime::of(any_settings(workers))
    }

    /// A pool with the signal scheduler.
    fn with_signals(workers: usize) -> Runtime {
        Runtime::of(settings(workers, Scheduler::Signal))
    }

    fn of(settings: PoolBuilder) -> Runtime {
        let pool = settings.build().unwrap();
        let team = pool.handle().team().weak();
        Runtime { pool, team }
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Handle<T> {
        Followed::spawn(future, |future| self.pool.spawn(future))
    }

    /// Spawns a job from outside the pool.
    fn spawn_job(&self, job: impl FnOnce() + Send + 'static) {
        self.pool.spawn_detached(Ledger::current().follow(job));
    }

    /// Posts a job to one worker.
    fn post_job(&self, index: usize, job: impl FnOnce() + Send + 'static) {
        post_in(self.pool.handle().team(), index, job);
    }

    /// Ends the pool, whatever its tasks do, and checks it.
    fn shut_down(self) {
        self.shut_down_beside([]);
    }

    /// Ends the pool while other threads still use it.
    fn shut_down_beside<const N: usize>(self, others: [thread::JoinHandle<()>; N]) {
        let team = self.team.upgrade().unwrap();
        drop(self.pool);
        others.into_iter().for_each(|thread| thread.join().unwrap());
        assert_over(&team);
    }
}

/// Asserts that a team whose threads have ended has nothing left.
fn assert_over(team: &Team) {
    let counts = team.sleep().counters().load();
    assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
    assert_eq!(team.sleep().parked_word(0), 0);
    if let Some(bitmap) = team.bitmap() {
        let tree = bitmap.tree();
        assert_eq!((tree.sleepers(), tree.permits()), (0, 0), "sleepers and permits");
    }
    assert!(team.injector().is_empty(), "a job is left");
    assert_eq!(team.tasks.len(), 0, "a task is left in the queue");
    assert_eq!(team.sections.len(), 0, "a shielded section is left");
    assert!(team.blocking.is_idle(), "a closure is left that may block");
    for worker in team.workers() {
        assert!(worker.deque.is_empty() && !worker.has_mail(), "a worker has jobs left");
        assert_eq!(worker.queues.len(), 0, "a worker has tasks left");
        assert!(worker.queues.owned.is_empty(), "a task still waits");
    }
}

/// Starts a task on the current pool.
fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Handle<T> {
    Followed::spawn(future, crate::spawn)
}

/// Starts a task on the pool of `handle`. If that pool is ending, the task is cancelled at once.
fn spawn_on<T: Send + 'static>(
    handle: &crate::Handle,
    future: impl Future<Output = T> + Send + 'static,
) -> Handle<T> {
    Followed::spawn(future, |future| handle.spawn(future))
}

/// Runs a job on the current pool.
fn spawn_job(job: impl FnOnce() + Send + 'static) {
    crate::spawn_detached(Ledger::current().follow(job));
}

/// Posts a job to one worker of the current pool, chosen at random.
fn post_job(job: impl FnOnce() + Send + 'static) {
    let owner = current().expect("called on a worker");
    let team = owner.team();
    post_in(team, any_below(team.num_workers()), job);
}

fn post_in(team: &Team, index: usize, job: impl FnOnce() + Send + 'static) {
    let job = hold::job(Hold::new(team), Ledger::current().follow(job));
    post(team.worker(index).expect("a worker of this pool"), job);
}
