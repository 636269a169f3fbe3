//! Random schedules: shuttle's primitives, and how models run on it.

pub use shuttle::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub use shuttle::sync::{Mutex, MutexGuard, mpsc};
pub use shuttle::thread::yield_now;
pub use shuttle::{lazy_static, thread_local};

use super::checked::{execute, with_broken};
use super::stand_ins::reset_system;
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId,
    UncontrolledNondeterminismCheckScheduler,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Yields now and then between two idle rounds: otherwise a thread of high priority would keep the
/// threads that it waits for from running. If it always yielded, shuttle would always run another
/// runnable thread first, and the idle thread would never fall asleep beside that thread.
pub fn relax() {
    if any_below(4) == 0 {
        yield_now();
    }
}

/// Stores a value in an atomic that is about to be freed, so that late uses are found.
pub fn poison(atomic: &mut AtomicU64, value: u64) {
    *atomic.get_mut() = value;
}

/// The environment variable with the seed to replay: only that seed is explored.
const SEED: &str = "BLITZ_SHUTTLE_SEED";
/// How many schedules one seed stands for, with each of the two schedulers.
const PER_SEED: usize = 20;
/// An execution with more steps is assumed never to end.
const STEPS_MAX: usize = 200_000;
/// How many executions a canary may take to find its failure.
const CANARY_EXECUTIONS: usize = 20_000;

/// Runs `model` in about `executions` random schedules, and returns how many there were. Half of
/// them choose a thread at random for every step. The other half give threads random priorities
/// (PCT), and the running thread loses its priority at up to `preemptions` random steps; `None`
/// means four.
///
/// A seed always leads to the same schedules. A seed that failed is printed.
pub fn explore_randomly(
    executions: usize,
    preemptions: Option<usize>,
    model: impl Fn() + Sync + Send + 'static,
) -> usize {
    /// Prints the seed of a run that unwinds.
    struct Seed(u64);
    impl Drop for Seed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                println!("set {SEED}={} and run this model again to replay the failure", self.0);
            }
        }
    }

    let model = Arc::new(model);
    let seeds = match std::env::var(SEED) {
        Ok(seed) => {
            let seed = seed.parse().expect("a seed is a number");
            seed..seed + 1
        }
        Err(_) => 0..executions.div_ceil(2 * PER_SEED) as u64,
    };
    let depth = preemptions.map_or(5, |preemptions| preemptions + 1);
    let mut explored = 0;
    for seed in seeds {
        let _seed = Seed(seed);
        explored += run(RandomScheduler::new_from_seed(seed, PER_SEED), model.clone());
        explored += run(PctScheduler::new_from_seed(seed, depth, PER_SEED), model.clone());
    }
    explored
}

fn run<M: Fn() + Sync + Send + 'static>(
    scheduler: impl Scheduler + 'static,
    model: Arc<M>,
) -> usize {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 18;
    config.failure_persistence = shuttle::FailurePersistence::None;
    config.max_steps = shuttle::MaxSteps::FailAfter(STEPS_MAX);
    config.silence_warnings = true;
    // After a failure the steps of other threads do not matter.
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    shuttle::Runner::new(scheduler, config).run(move || {
        reset_system();
        execute(&*model);
    })
}

/// A number below `n` that the schedule chooses.
pub fn any_below(n: usize) -> usize {
    shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..n)
}

/// Returns the choice of the schedule. It is for decisions that change only which worker runs a
/// task, and when.
pub fn any_choice() -> Option<bool> {
    Some(any_below(2) == 0)
}

/// Asserts that the same choices lead to the same execution, so that a seed can be replayed.
/// Returns a number that stands for all steps of all executions: it is the same in each process.
pub fn check_replay(model: impl Fn() + Sync + Send + 'static) -> u64 {
    let sum = Rc::new(Cell::new(0));
    let scheduler = RandomScheduler::new_from_seed(0, PER_SEED);
    let summed = Summed { scheduler, sum: sum.clone() };
    run(UncontrolledNondeterminismCheckScheduler::new(summed), Arc::new(model));
    sum.get()
}

/// Computes a checksum of all questions to a scheduler and its answers.
struct Summed<S> {
    scheduler: S,
    sum: Rc<Cell<u64>>,
}

impl<S> Summed<S> {
    /// Adds a value to the sum, which depends on the order of the values.
    fn add(&self, value: u64) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        self.sum.set((self.sum.get().rotate_left(5) ^ value).wrapping_mul(ODD));
    }

    fn add_task(&self, task: TaskId) {
        self.add(usize::from(task) as u64);
    }
}

impl<S: Scheduler> Scheduler for Summed<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.scheduler.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let chosen = self.scheduler.next_task(runnable, current, is_yielding);
        runnable.iter().for_each(|task| self.add_task(task.id()));
        self.add(u64::from(is_yielding));
        chosen.into_iter().for_each(|task| self.add_task(task));
        chosen
    }

    fn next_u64(&mut self) -> u64 {
        let number = self.scheduler.next_u64();
        self.add(number);
        number
    }
}

/// Explores `model` in random schedules (see [`explore_randomly`]) and asserts that there were at
/// least `minimum`, unless a seed is replayed.
pub fn check(minimum: usize, preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let seen = explore_randomly(minimum, preemptions, model);
    println!("{seen} executions");
    let replay = std::env::var_os(SEED).is_some();
    assert!(seen >= minimum || replay, "only {seen} executions, at least {minimum} expected");
}

/// Explores `model` with `steps` broken and asserts that some schedule fails.
pub fn canary(
    steps: &[super::Step],
    preemptions: Option<usize>,
    model: impl Fn() + Sync + Send + 'static,
) {
    let explore = || explore_randomly(CANARY_EXECUTIONS, preemptions, model);
    let outcome = with_broken(steps, explore);
    assert!(outcome.is_err(), "the model still passes with {steps:?} broken");
}
