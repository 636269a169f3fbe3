//! The plan of a round: everything random about it, derived from a seed before anything runs.

pub mod draw;
pub mod op;
pub mod settings;

use crate::rng::Rng;
use draw::{Draw, Place};
use op::Child;
use settings::{Settings, Threads};

/// Whether a closure of `spawn_blocking` may wait for the pool of `settings`.
#[must_use]
pub fn may_wait_while_blocking(settings: &Settings) -> bool {
    // With few threads, such a closure may deadlock: the job that it waits for lies on a stack
    // below another job, and that other job waits for the closure's thread. `spawn_blocking`
    // documents this. Also, a paused clock does not move while such a closure runs.
    settings.threads != Threads::Paused && settings.blocking_threads == 512
}

/// The payload of planned panics.
#[derive(Debug)]
pub struct Planned;

/// The largest budget for the calls of a round. When it is used up, only leaves are drawn.
const ROUND_BUDGET: u64 = 900;

/// Everything that is random about a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// The runtimes.
    pub runtimes: Vec<Settings>,
    /// The calls of each thread outside the runtimes, while all runtimes are alive.
    pub actors: Vec<Vec<Step>>,
    /// How each runtime ends. The runtimes end in this order.
    pub finales: Vec<Finale>,
}

/// A call from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The called runtime.
    pub on: usize,
    /// The way of the call.
    pub door: Door,
    /// The operation.
    pub op: Child,
}

/// The ways into a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `Pool::install`.
    Install,
    /// `Runtime::block_on`.
    BlockOn,
    /// `Handle::spawn`, then `join`.
    Spawn,
    /// `Handle::spawn_cpu`, then `join`.
    Cpu,
    /// `Handle::spawn_blocking`, then `join`.
    Blocking,
    /// `Handle::enter`, then the free functions.
    Enter,
}

/// How a runtime ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Finale {
    /// Work that is started before the end and not waited for.
    pub leftovers: Vec<Leftover>,
    /// How many threads call the runtime while it ends, and afterwards.
    pub callers: u8,
    /// How many calls each of them makes.
    pub calls: u16,
    /// The way in which it ends.
    pub curtain: Curtain,
}

/// Work that is started before the end and not waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Leftover {
    /// Whether it is a job; otherwise it is a task.
    pub job: bool,
    /// What it does.
    pub op: Child,
    /// Whether it then waits for ever, if it is a task.
    pub stays: bool,
}

/// The ways in which a runtime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curtain {
    /// Dropped by the thread that built it.
    Here,
    /// Dropped by a new thread, outside every runtime.
    Thread,
    /// `shutdown_within` with more time than the end can take.
    Patient,
    /// `shutdown_within` with a millisecond.
    Impatient,
    /// `shutdown_background`.
    Background,
    /// Dropped by a task of its own.
    OwnTask,
    /// Dropped by a job of its own.
    OwnJob,
    /// Dropped by a closure on one of its threads for blocking.
    OwnBlocking,
    /// Dropped by a worker of the next runtime, inside `install`.
    OtherWorker,
    /// Dropped by a task of the next runtime.
    OtherTask,
    /// Owned by a task of the next runtime that ends only with that runtime.
    OtherEnd,
}

impl Plan {
    /// Makes the plan that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Plan {
        let mut rng = Rng::new(seed);
        let count = rng.pick(&[1, 1, 1, 2, 2, 3]);
        let runtimes: Vec<Settings> =
            (0..count).map(|_| Settings::draw(&mut rng, count == 1)).collect();
        let budget = rng.between(20, ROUND_BUDGET) as usize;
        let adopted = runtimes.iter().any(Settings::is_adopted);
        let curtains: Vec<Curtain> =
            (1..=count).map(|next| Curtain::draw(&mut rng, next == count, adopted)).collect();
        let isolated = curtains.iter().any(|curtain| curtain.is_by_other());
        let mut draw = Draw { rng: &mut rng, settings: &runtimes, budget, isolated };
        let actors = if adopted { 1 } else { draw.rng.between(1, 4) };
        let actors = (0..actors).map(|_| actor(&mut draw)).collect();
        draw.budget = 200;
        let finales =
            curtains.into_iter().enumerate().map(|(home, end)| finale(&mut draw, home, end));
        let finales = finales.collect();
        Plan { seed, runtimes, actors, finales }
    }

    /// Returns how many operations are in the plan.
    #[must_use]
    pub fn size(&self) -> usize {
        let steps = self.actors.iter().flatten().map(|step| step.op.size());
        let leftovers = self.finales.iter().flat_map(|finale| &finale.leftovers);
        steps.chain(leftovers.map(|leftover| leftover.op.size())).sum()
    }
}

fn actor(draw: &mut Draw<'_>) -> Vec<Step> {
    let steps = draw.rng.between(1, 6);
    let doors = [Door::Install, Door::BlockOn, Door::Spawn, Door::Cpu, Door::Blocking, Door::Enter];
    (0..steps)
        .map(|_| {
            let on = draw.rng.below(draw.settings.len() as u64) as usize;
            let mut door = draw.rng.pick(&doors);
            if draw.settings[on].is_adopted() && !matches!(door, Door::Install | Door::Enter) {
                // With one worker, such a runtime works only while its thread waits inside it.
                door = Door::BlockOn;
            }
            let depth = draw.rng.between(1, 6) as u8;
            let mut place = Place::root(on, depth);
            if door == Door::Blocking {
                place.blocking = true;
                if !may_wait_while_blocking(&draw.settings[on]) {
                    place.depth = 0;
                }
            }
            Step { on, door, op: draw.op(place) }
        })
        .collect()
}

impl Curtain {
    /// Draws the end of a runtime. The `last` runtime has no next one that could end it.
    fn draw(rng: &mut Rng, last: bool, adopted: bool) -> Curtain {
        match rng.below(14) {
            _ if adopted => Curtain::Here,
            0..=2 => Curtain::Here,
            3 => Curtain::Thread,
            4 => Curtain::Patient,
            5 => Curtain::Impatient,
            6 => Curtain::Background,
            7 => Curtain::OwnTask,
            8 => Curtain::OwnJob,
            9 => Curtain::OwnBlocking,
            10 if !last => Curtain::OtherWorker,
            11 if !last => Curtain::OtherTask,
            12 if !last => Curtain::OtherEnd,
            _ => Curtain::Here,
        }
    }

    /// Whether a worker of another runtime waits for the end.
    #[must_use]
    pub fn is_by_other(self) -> bool {
        matches!(self, Curtain::OtherWorker | Curtain::OtherTask | Curtain::OtherEnd)
    }
}

fn finale(draw: &mut Draw<'_>, home: usize, curtain: Curtain) -> Finale {
    let leftovers = (0..draw.rng.below(8))
        .map(|_| {
            let depth = draw.rng.between(1, 4) as u8;
            let place = Place { ending: true, abortable: true, ..Place::root(home, depth) };
            let job = draw.rng.one_in(3);
            Leftover { job, op: draw.op(place), stays: draw.rng.one_in(2) }
        })
        .collect();
    Finale {
        leftovers,
        callers: draw.rng.pick(&[0, 0, 1, 2]),
        calls: draw.rng.between(1, 300) as u16,
        curtain,
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn the_same_seed_makes_the_same_plan_and_another_seed_another() {
        for seed in 0..50 {
            assert_eq!(Plan::new(seed), Plan::new(seed));
        }
        assert_ne!(Plan::new(1), Plan::new(2));
    }

    #[test]
    fn plans_stay_small_and_every_kind_of_operation_is_drawn() {
        let text: String = (0..400)
            .map(|seed| {
                let plan = Plan::new(seed);
                assert!(plan.size() < 3_000, "seed {seed} has {} operations", plan.size());
                format!("{plan:?}")
            })
            .collect();
        let words = [
            "Join(",
            "Tree(",
            "Scope(",
            "Broadcast {",
            "Install(",
            "TryTask",
            "Cpu",
            "Blocking",
            "Detached {",
            "BlockOn(",
            "YieldJobs",
            "YieldTasks",
            "Set(",
            "Locals",
            "Timer(",
            "Meet(",
            "Io(",
            "Panic(",
            "Waker(",
            "Adopted",
            "Paused",
            "Custom",
            "Signal",
            "DescendantsOnly",
            "stealing: false",
            "OwnTask",
            "OtherEnd",
            "AbortOutside",
        ];
        for word in words {
            assert!(text.contains(word), "no plan of 400 has {word}");
        }
    }

    #[test]
    fn the_last_runtime_is_not_ended_by_the_next_one() {
        for seed in 0..400 {
            let plan = Plan::new(seed);
            let last = plan.finales.last().unwrap().curtain;
            assert!(!last.is_by_other(), "seed {seed}");
        }
    }
}
