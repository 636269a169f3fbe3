//! The rounds, with simulated contestants, and the two sides of a real contestant's pipe.

use std::{cell::RefCell, rc::Rc};

use blitz_contestant::{Reply, serve};

use super::*;
use crate::{
    load::Talk,
    rival::RivalKind::{Blitz, Chili, Rayon, Seq},
    workload::{IoWorkload, Metric, TaskWorkload, Workload},
};

fn case() -> Case {
    Case {
        name: "test/fib".to_owned(),
        title: String::new(),
        workload: Workload::Fib { n: 8 },
        contestants: [Blitz, Rayon, Chili].map(|rival| Contestant::new(rival, 2)).into(),
        views: Vec::new(),
        quick: true,
    }
}

fn budget(rounds: usize) -> Budget {
    Budget { rounds_min: rounds, rounds_max: rounds, time: Duration::from_secs(3_600) }
}

/// Records which contestant took a turn; chili drops out in its third turn.
#[derive(Default)]
struct Pretended {
    opened: usize,
    turns: Rc<RefCell<Vec<Contestant>>>,
}

struct Pretender {
    contestant: Contestant,
    turns: Rc<RefCell<Vec<Contestant>>>,
}

impl Arena for Pretended {
    fn open(&mut self, _: &Case, contestant: Contestant) -> Result<Box<dyn Contest>, String> {
        self.opened += 1;
        let turns = Rc::clone(&self.turns);
        Ok(Box::new(Pretender { contestant, turns }))
    }
}

impl Contest for Pretender {
    fn turn(&mut self) -> Result<Sample, String> {
        self.turns.borrow_mut().push(self.contestant);
        let turns = self.turns.borrow();
        let own = turns.iter().filter(|other| **other == self.contestant);
        match own.count() {
            3 if self.contestant.rival == Chili => Err("tired".to_owned()),
            turn => Ok(Sample::from([(Metric::Wall, turn as f64)])),
        }
    }
}

fn pretend(rounds: usize, seed: u64) -> (Outcome, Vec<Contestant>) {
    let mut arena = Pretended::default();
    let mut rng = Rng::new(seed);
    let outcome = run(&case(), &mut arena, &budget(rounds), &mut rng, |_| ());
    (outcome, arena.turns.take())
}

#[test]
fn all_contestants_take_one_turn_per_round_in_changing_order() {
    let (outcome, turns) = pretend(2, 1);
    assert_eq!(outcome.samples.rounds(), 2);
    for round in turns.chunks(3) {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        let mut expected = case().contestants;
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }
    let first_of_many = |seed| pretend(1, seed).1[0];
    let firsts: std::collections::BTreeSet<Contestant> = (0..20).map(first_of_many).collect();
    assert_eq!(firsts.len(), 3, "each contestant goes first sometimes");
    assert_eq!(pretend(2, 5).1, pretend(2, 5).1, "a seed repeats its order");
}

#[test]
fn a_contestant_that_fails_drops_out_and_the_others_go_on() {
    let (outcome, _) = pretend(5, 1);
    let chili = Contestant::new(Chili, 2);
    assert_eq!(outcome.failures[&chili], "tired");
    let wall = Measure::Plain(Metric::Wall);
    let values = |contestant| outcome.samples.values(contestant, wall, None);
    assert_eq!(values(chili), [Some(1.0), Some(2.0), None, None, None]);
    assert_eq!(values(Contestant::new(Blitz, 2))[4], Some(5.0));
}

#[test]
fn a_contestant_with_one_turn_is_opened_for_every_round() {
    let workload = TaskWorkload::ParkedMemory { tasks: 1 };
    let case = Case { workload: Workload::Tasks(workload), ..case() };
    let mut arena = Pretended::default();
    run(&case, &mut arena, &budget(3), &mut Rng::new(1), |_| ());
    assert_eq!(arena.opened, 3 * case.contestants.len());
    let mut arena = Pretended::default();
    let case = Case { workload: Workload::Sleeping, ..case };
    run(&case, &mut arena, &budget(40), &mut Rng::new(1), |_| ());
    assert_eq!(arena.opened, case.contestants.len());
}

#[test]
fn new_processes_replace_old_ones_except_dropped_out_contestants() {
    let case = case();
    let opened = |rounds| {
        let mut arena = Pretended::default();
        run(&case, &mut arena, &budget(rounds), &mut Rng::new(1), |_| ());
        arena.opened
    };
    let Some(turns) = case.workload.turns_of_a_process() else {
        panic!("a fork's cost depends on the process");
    };
    assert!(turns >= 3, "or else chili has not dropped out yet");
    assert_eq!(opened(turns), 3);
    assert_eq!(opened(turns + 1), 3 + 2, "chili has dropped out");
    assert_eq!(opened(2 * turns + 1), 3 + 2 + 2);
}

#[test]
fn an_unsteady_case_gets_more_rounds() {
    let unsteady = Case {
        workload: Workload::Tasks(TaskWorkload::WakeStorm { tasks: 1, rounds: 1 }),
        ..case()
    };
    let rounds = |case: &Case, pace| Budget::of_case(case, pace).rounds_min;
    assert!(rounds(&unsteady, Pace::Quick) > rounds(&case(), Pace::Quick));
    assert_eq!(rounds(&unsteady, Pace::Full), rounds(&case(), Pace::Full), "21 are enough");
    assert_eq!(rounds(&unsteady, Pace::Smoke), 1, "a smoke test needs no median");
    let talk = Talk::Echo(64);
    let served = Workload::Io(IoWorkload::Serving { talk, connections: 1 });
    assert!(rounds(&Case { workload: served, ..case() }, Pace::Quick) >= 21);
}

#[test]
fn a_budget_ends_between_its_limits() {
    let budget = Budget { rounds_min: 5, rounds_max: 8, time: Duration::from_secs(1) };
    let seconds = Duration::from_secs;
    assert!(budget.wants_another(2, seconds(100)), "three rounds are run in any case");
    assert!(!budget.wants_another(3, seconds(2)), "much too late for the minimum");
    assert!(budget.wants_another(4, seconds(1)), "late, but below the minimum");
    assert!(!budget.wants_another(5, seconds(1)), "late");
    assert!(budget.wants_another(7, seconds(0)));
    assert!(!budget.wants_another(8, seconds(0)), "enough");
    assert!(done(&budget, 1, seconds(2)) <= 0.2, "four more rounds are to come");
    assert_eq!(done(&budget, 8, seconds(0)), 1.0);
}

fn replies_of(contestant: Contestant, input: &str) -> Vec<Reply> {
    let mut output = Vec::new();
    let open = || case().workload.open(contestant.rival, contestant.workers, Pace::Smoke);
    serve(open, input.as_bytes(), &mut output).unwrap();
    String::from_utf8(output)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_contestant_answers_every_line() {
    let replies = replies_of(Contestant::new(Seq, 1), "turn\nturn\n");
    assert_eq!(replies.len(), 3);
    assert_eq!(replies[0], Reply::Ready);
    assert!(matches!(&replies[2], Reply::Sample(sample) if sample[&Metric::Wall] > 0.0));
}

#[test]
fn a_contestant_that_cannot_take_part_says_why() {
    let condvar = Contestant::new(crate::rival::RivalKind::Condvar, 1);
    let replies = replies_of(condvar, "turn\n");
    assert!(matches!(&replies[..], [Reply::Error(why)] if why.contains("condvar")));
}

/// A shell script plays the contestants.
#[cfg(unix)]
fn run_script(script: &'static str) -> Outcome {
    let mut arena = Processes::new(|_, _| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]);
        Ok(shell)
    });
    run(&case(), &mut arena, &budget(2), &mut Rng::new(1), |_| ())
}

#[cfg(unix)]
#[test]
fn a_process_is_asked_and_answers() {
    let outcome =
        run_script(r#"echo '"ready"'; while read x; do echo '{"sample":{"wall":5}}'; done"#);
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    let wall = Measure::Plain(Metric::Wall);
    let values = outcome.samples.values(Contestant::new(Rayon, 2), wall, None);
    assert_eq!(values, [Some(5.0), Some(5.0)]);
}

#[cfg(unix)]
#[test]
fn a_process_that_ends_or_talks_nonsense_drops_out() {
    let why = |script| {
        let mut failures = run_script(script).failures;
        failures.remove(&Contestant::new(Blitz, 2)).expect("a failure")
    };
    assert!(why("exit 3").contains("exit status: 3"));
    assert!(why(r#"echo '"ready"'; read x; exit 4"#).contains("exit status: 4"));
    assert!(why(r#"echo '"ready"'; read x; echo hello; read x"#).contains("hello"));
    assert_eq!(why(r#"echo '{"error":"no threads"}'; read x"#), "no threads");
}
