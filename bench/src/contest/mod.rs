//! Runs the contestants of a case in turns, in rounds, and collects their measurements.

mod process;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

pub use process::Processes;

use crate::{
    case::{Case, Contestant, Measure},
    rng::Rng,
    workload::{Contest, Pace, Sample},
};

/// Creates contestants. [`Processes`] starts each as a process of its own.
pub trait Arena {
    /// Begins to set up `contestant` for `case`.
    ///
    /// # Errors
    ///
    /// Returns a message if that is impossible; the others then compete without this contestant.
    fn open(&mut self, case: &Case, contestant: Contestant) -> Result<Box<dyn Contest>, String>;
}

/// How long a case may take.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// The minimum of rounds. Below it, the time limit for another round is twice `time`.
    pub rounds_min: usize,
    /// The maximum of rounds.
    pub rounds_max: usize,
    /// Between the minimum and the maximum, another round begins only within this time.
    pub time: Duration,
}

impl Budget {
    /// The budget of a pace.
    #[must_use]
    pub fn of(pace: Pace) -> Self {
        let (rounds_min, rounds_max, time) = match pace {
            Pace::Smoke => (1, 1, Duration::from_millis(1)),
            Pace::Quick => (5, 15, Duration::from_millis(1_700)),
            Pace::Full => (21, 101, Duration::from_secs(20)),
        };
        Self { rounds_min, rounds_max, time }
    }

    /// The budget of a case. A case whose turns differ much gets enough turns for a median.
    #[must_use]
    pub fn of_case(case: &Case, pace: Pace) -> Self {
        let budget = Self::of(pace);
        match case.workload.settles_after(pace) {
            Some(time) if pace != Pace::Smoke => Self {
                rounds_min: budget.rounds_min.max(21),
                rounds_max: budget.rounds_max.max(51),
                time: budget.time.max(time),
            },
            _ => budget,
        }
    }

    fn wants_another(&self, rounds: usize, passed: Duration) -> bool {
        let limit = match rounds {
            rounds if rounds < ROUNDS_ALWAYS => Duration::MAX,
            rounds if rounds < self.rounds_min => self.time * 2,
            _ => self.time,
        };
        rounds < self.rounds_max && passed < limit
    }
}

/// The outcome of a case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The measurements.
    pub samples: Samples,
    /// The contestants that could not start or dropped out, and why.
    pub failures: BTreeMap<Contestant, String>,
}

/// Samples by round and contestant.
#[derive(Debug, Default)]
pub struct Samples {
    rounds: Vec<BTreeMap<Contestant, Sample>>,
}

impl Samples {
    /// Adds a round.
    pub fn push(&mut self, round: BTreeMap<Contestant, Sample>) {
        self.rounds.push(round);
    }

    /// The number of rounds.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The values of one contestant, round by round.
    #[must_use]
    pub fn values(
        &self,
        contestant: Contestant,
        measure: Measure,
        twin: Option<Contestant>,
    ) -> Vec<Option<f64>> {
        let value = |round: &BTreeMap<Contestant, Sample>| {
            let twin = twin.and_then(|twin| round.get(&twin));
            measure.value(round.get(&contestant)?, twin)
        };
        self.rounds.iter().map(value).collect()
    }
}

/// Runs all rounds of `case`. Calls `progress` after each turn with the fraction of the case that
/// is done.
pub fn run(
    case: &Case,
    arena: &mut dyn Arena,
    budget: &Budget,
    rng: &mut Rng,
    mut progress: impl FnMut(f64),
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut seats = take_seats(case, arena, &mut outcome.failures);
    let start = Instant::now();
    while !seats.is_empty() && budget.wants_another(outcome.samples.rounds(), start.elapsed()) {
        let rounds = outcome.samples.rounds();
        if case.workload.turns_of_a_process().is_some_and(|turns| is_over(rounds, turns)) {
            // End the old processes first: there may not be enough memory for two copies of a
            // case's data.
            seats.clear();
            seats = take_seats(case, arena, &mut outcome.failures);
        }
        rng.shuffle(&mut seats);
        let mut round = BTreeMap::new();
        seats.retain_mut(|(contestant, contest)| {
            let turn = contest.turn();
            progress(done(budget, outcome.samples.rounds(), start.elapsed()));
            match turn {
                Ok(sample) => {
                    round.insert(*contestant, sample);
                    true
                }
                Err(error) => {
                    outcome.failures.insert(*contestant, error);
                    false
                }
            }
        });
        outcome.samples.push(round);
    }
    outcome
}

/// Whether processes that take `turns` turns each have taken their last one.
fn is_over(rounds: usize, turns: usize) -> bool {
    rounds > 0 && rounds % turns == 0
}

/// Opens the contestants that have not dropped out, and then waits for each. Their setups run at
/// the same time, since a setup may take long.
fn take_seats(
    case: &Case,
    arena: &mut dyn Arena,
    failures: &mut BTreeMap<Contestant, String>,
) -> Vec<(Contestant, Box<dyn Contest>)> {
    let mut seats = Vec::new();
    for &contestant in &case.contestants {
        if failures.contains_key(&contestant) {
            continue;
        }
        match arena.open(case, contestant) {
            Ok(contest) => seats.push((contestant, contest)),
            Err(error) => drop(failures.insert(contestant, error)),
        }
    }
    seats.retain_mut(|(contestant, contest)| match contest.settle() {
        Ok(()) => true,
        Err(error) => {
            failures.insert(*contestant, error);
            false
        }
    });
    seats
}

fn done(budget: &Budget, rounds: usize, passed: Duration) -> f64 {
    let by_rounds = rounds as f64 / budget.rounds_max as f64;
    let by_time = passed.as_secs_f64() / budget.time.as_secs_f64().max(f64::MIN_POSITIVE);
    let at_least = rounds as f64 / budget.rounds_min as f64;
    by_rounds.max(by_time).min(at_least).min(1.0)
}

/// This many rounds run however long they take, unless the maximum is smaller. With fewer rounds a
/// median means little.
const ROUNDS_ALWAYS: usize = 3;

#[cfg(test)]
mod test;
