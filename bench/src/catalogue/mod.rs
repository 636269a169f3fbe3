//! Every case of `blitz bench`, with the goals Blitz has set itself.

mod insight;
mod io;
mod mixed;
mod par;
mod signal;
mod tasks;

use crate::{
    case::{Case, Comparison, Contestant, Measure, View},
    rival::RivalKind::{self, Blitz, Chili, Condvar, Floor, Forte, Halves, Rayon, Seq, SeqRight},
    workload::{Caller, Idle, Metric, Pace, RayonProgram, SpawnShape, UtsShape, Workload},
};

/// All cases, in the order of the report.
///
/// ```
/// let names: Vec<String> = blitz_bench::catalogue::cases().into_iter().map(|c| c.name).collect();
/// assert!(names.contains(&"fork-join/fib-35/2-workers".to_owned()));
/// ```
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = vec![fork_overhead(), fib()];
    for depth in [10, 15, 20] {
        for caller in [Caller::Inside, Caller::Outside] {
            cases.push(empty_tree(depth, caller));
        }
    }
    cases.extend([10, 17, 24].map(tree_sum));
    cases.extend([queens(), unbalanced_tree()]);
    for workers in [1, 2] {
        cases.extend([flat_spawns(workers), spawn_tree(workers)]);
    }
    cases.extend([sleeping(), pick_up(Idle::Awake), pick_up(Idle::Asleep)]);
    cases.extend([post(Idle::Awake), post(Idle::Asleep)]);
    cases.push(trickle());
    cases.extend(oversubscribed());
    cases.extend(tasks::cases());
    cases.extend(signal::cases());
    cases.extend(insight::cases());
    cases.extend(io::cases());
    cases.extend(mixed::cases());
    cases.extend(par::cases());
    cases.extend(RayonProgram::all().into_iter().map(rayon_program));
    cases
}

/// Returns the cases of the group `only`, or the cases whose names contain `only` if there is no
/// such group. Without `only`, returns all cases that a run at this pace includes.
#[must_use]
pub fn matching(only: Option<&str>, pace: Pace) -> Vec<Case> {
    let mut cases = cases();
    let is_group = only.is_some_and(|only| cases.iter().any(|case| case.group() == only));
    cases.retain(|case| match only {
        Some(only) if is_group => case.group() == only,
        Some(only) => case.name.contains(only),
        None => case.quick || pace == Pace::Full,
    });
    cases
}

/// The goals of a view: a rival and the largest ratio that meets the goal, if there is one.
type Goals<'a> = &'a [(RivalKind, Option<f64>)];

/// A case with Blitz and all rivals in `goals`, each with `workers` workers, and with the twin.
fn fork_join(
    name: &str,
    title: &str,
    workload: Workload,
    workers: usize,
    measure: Measure,
    goals: Goals<'_>,
) -> Case {
    Case {
        name: format!("fork-join/{name}"),
        title: title.to_owned(),
        workload,
        contestants: with_blitz(goals, workers).chain([twin()]).collect(),
        views: vec![against(measure, workers, goals)],
        quick: true,
    }
}

fn twin() -> Contestant {
    Contestant::new(Seq, 1)
}

fn with_blitz(goals: Goals<'_>, workers: usize) -> impl Iterator<Item = Contestant> {
    let others = goals.iter().map(|(rival, _)| *rival);
    [Blitz].into_iter().chain(others).map(move |rival| Contestant::new(rival, workers))
}

fn against(measure: Measure, workers: usize, goals: Goals<'_>) -> View {
    View { measure, comparisons: comparisons(Blitz, workers, goals).collect() }
}

/// `subject` beside every rival in `goals`.
fn comparisons(
    subject: RivalKind,
    workers: usize,
    goals: Goals<'_>,
) -> impl Iterator<Item = Comparison> {
    goals.iter().map(move |&(rival, goal)| Comparison {
        subject: Contestant::new(subject, workers),
        reference: Contestant::new(rival, workers),
        goal,
    })
}

/// Adds `floors` to `case`, and shows how far Rayon and Blitz are above each.
fn above(floors: &[RivalKind], workers: usize, case: Case) -> Case {
    let contestant = |rival| Contestant::new(rival, workers);
    floors.iter().fold(case, |case, &floor| with_floor(contestant(floor), contestant(Rayon), case))
}

/// Adds `floor` to `case`, and shows how far `rival` and Blitz, with as many workers, are above it.
fn with_floor(floor: Contestant, rival: Contestant, mut case: Case) -> Case {
    case.contestants.push(floor);
    for view in &mut case.views {
        let tell = |subject, reference| Comparison { subject, reference, goal: None };
        view.comparisons.push(tell(floor, rival));
        view.comparisons.push(tell(Contestant::new(Blitz, rival.workers), floor));
    }
    case
}

fn fork_overhead() -> Case {
    let workload = Workload::Fib { n: FIB };
    let case = fork_join(
        "fib-35/1-worker",
        "The cost of a fork that no thief takes: fib(35) without a cut-off, minus the twin, per fork.",
        workload,
        1,
        Measure::PerFork(workload.forks().unwrap_or(1)),
        &[(Rayon, Some(0.2)), (Chili, Some(1.2)), (Forte, None)],
    );
    above(&[Floor], 1, case)
}

fn fib() -> Case {
    fork_join(
        "fib-35/2-workers",
        "fib(35) without a cut-off on two workers.",
        Workload::Fib { n: FIB },
        2,
        WALL,
        &[(Rayon, Some(0.4)), (Chili, Some(1.0)), (Forte, None)],
    )
}

fn empty_tree(depth: u32, caller: Caller) -> Case {
    let side = caller.name();
    let case = fork_join(
        &format!("empty-tree-{depth}/{side}"),
        &format!(
            "A full binary tree of {depth} levels of empty forks, called from {side} the pool."
        ),
        Workload::EmptyTree { depth, caller },
        2,
        WALL,
        &[(Rayon, Some(0.35)), (Chili, None), (Forte, None)],
    );
    above(&[Floor, Halves], 2, case)
}

fn tree_sum(levels: u32) -> Case {
    let nodes = (1_u64 << levels) - 1;
    let size = match levels {
        24 => "16m".to_owned(),
        _ => nodes.to_string(),
    };
    let case = fork_join(
        &format!("tree-sum-{size}/outside"),
        &format!("The sum over {nodes} heap-allocated tree nodes, called from outside the pool."),
        Workload::TreeSum { levels },
        2,
        WALL,
        &[(Rayon, Some(0.3)), (Chili, Some(1.0)), (Forte, None)],
    );
    in_both_orders(above(&[Floor, Halves], 2, case))
}

/// Runs the sequential twin in both orders, and shows the ratio: about one, unless the data favours
/// pools that run one half before the other.
fn in_both_orders(mut case: Case) -> Case {
    let Some(twin) = case.twin() else { return case };
    let mirrored = Contestant::new(SeqRight, twin.workers);
    case.contestants.push(mirrored);
    for view in &mut case.views {
        let told = Comparison { subject: mirrored, reference: twin, goal: None };
        view.comparisons.push(told);
    }
    case
}

/// No slower than the best peer.
const NO_SLOWER: Goals<'static> = &[(Rayon, Some(1.0)), (Chili, Some(1.0)), (Forte, Some(1.0))];

fn queens() -> Case {
    fork_join(
        "queens-12",
        "All solutions of the 12-queens problem, a fork for every square.",
        Workload::Queens { n: 12 },
        2,
        WALL,
        NO_SLOWER,
    )
}

fn unbalanced_tree() -> Case {
    fork_join(
        "unbalanced-tree",
        "The size of a tree whose shape comes out of a hash.",
        Workload::Uts(UtsShape::LOPSIDED),
        2,
        WALL,
        NO_SLOWER,
    )
}

fn flat_spawns(workers: usize) -> Case {
    spawns(
        "flat",
        "One scope that spawns 10,000 empty jobs, in memory that is used again",
        FLAT_SPAWNS,
        workers,
    )
}

fn spawn_tree(workers: usize) -> Case {
    spawns("tree", "A scope whose jobs spawn 8,191 empty jobs, as a tree", SPAWN_TREE, workers)
}

fn spawns(name: &str, title: &str, shape: SpawnShape, workers: usize) -> Case {
    let plural = if workers == 1 { "" } else { "s" };
    Case {
        quick: false,
        ..fork_join(
            &format!("spawn-{name}/{workers}-worker{plural}"),
            &format!("{title}, per job."),
            Workload::Spawns(shape),
            workers,
            WALL,
            &[(Rayon, Some(1.0))],
        )
    }
}

const FLAT_SPAWNS: SpawnShape = SpawnShape::Flat { jobs: 10_000 };
const SPAWN_TREE: SpawnShape = SpawnShape::Tree { depth: 13 };

fn sleeping() -> Case {
    let goals: Goals<'_> = &[(Rayon, Some(1.0))];
    let metrics = [Metric::StartP50, Metric::StartP99, Metric::ReturnP50, Metric::ReturnP99];
    Case {
        name: "wake/job-into-sleeping-pool".to_owned(),
        title: "A job from outside into a sleeping pool: until it starts, until it has returned."
            .to_owned(),
        workload: Workload::Sleeping,
        contestants: with_blitz(goals, 2).collect(),
        views: metrics.map(|metric| against(Measure::Plain(metric), 2, goals)).into(),
        quick: true,
    }
}

fn pick_up(idle: Idle) -> Case {
    let goals: Goals<'_> = &[(Rayon, Some(1.0)), (Chili, None), (Forte, None)];
    let (name, state) = match idle {
        Idle::Awake => ("awake", "ran a job a moment ago"),
        Idle::Asleep => ("asleep", "has fallen asleep"),
    };
    let case = Case {
        name: format!("wake/pick-up/{name}"),
        title: format!(
            "How soon a worker that {state} takes a job of a worker that computes for 10 ms."
        ),
        workload: Workload::PickUp { idle },
        contestants: with_blitz(goals, 2).collect(),
        views: [Metric::StartP50, Metric::StartP99]
            .map(|metric| against(Measure::Plain(metric), 2, goals))
            .into(),
        quick: true,
    };
    match idle {
        Idle::Awake => above(&[Floor], 2, case),
        Idle::Asleep => case,
    }
}

fn post(worker: Idle) -> Case {
    let goals: Goals<'_> = &[(Condvar, Some(1.0)), (Rayon, None)];
    let (name, state) = match worker {
        Idle::Awake => ("no-sleeper", "is busy"),
        Idle::Asleep => ("sleeper", "sleeps"),
    };
    Case {
        name: format!("wake/post/{name}"),
        title: format!("The cost of posting a job while the only worker {state}."),
        workload: Workload::Post { worker },
        contestants: with_blitz(goals, 1).collect(),
        views: vec![against(WALL, 1, goals)],
        quick: true,
    }
}

/// One case for all pool sizes, so that pools of different sizes take turns with each other.
fn trickle() -> Case {
    let goals: Goals<'_> = &[(Rayon, Some(0.4))];
    let sizes = [2, 8, 32];
    let measure = Measure::Plain(Metric::Cpu);
    let mut views: Vec<View> = sizes.map(|workers| against(measure, workers, goals)).into();
    views.push(View {
        measure,
        comparisons: vec![Comparison {
            subject: Contestant::new(Blitz, 32),
            reference: Contestant::new(Blitz, 2),
            goal: Some(1.5),
        }],
    });
    Case {
        name: "idle/one-job-per-ms".to_owned(),
        title: "CPU time of the whole process per job, with one small job per millisecond."
            .to_owned(),
        workload: Workload::Trickle,
        contestants: sizes
            .into_iter()
            .flat_map(|workers| with_blitz(goals, workers))
            .chain([twin()])
            .collect(),
        views,
        quick: true,
    }
}

/// Many more workers than cores must not cost much.
fn oversubscribed() -> Vec<Case> {
    let case = |name: &str, workload| {
        let contestant = Contestant::new;
        let against_itself = |rival, goal| Comparison {
            subject: contestant(rival, 16),
            reference: contestant(rival, 2),
            goal,
        };
        Case {
            name: format!("oversubscribed/{name}"),
            title: format!(
                "{name} on a pool of 16 workers, against a pool of the same kind with 2 workers."
            ),
            workload,
            contestants: [Blitz, Rayon]
                .into_iter()
                .flat_map(|rival| [contestant(rival, 16), contestant(rival, 2)])
                .collect(),
            views: vec![View {
                measure: WALL,
                comparisons: vec![against_itself(Blitz, Some(1.25))],
            }],
            quick: true,
        }
    };
    let tree = |depth, caller| Workload::EmptyTree { depth, caller };
    vec![
        case("fib-35", Workload::Fib { n: FIB }),
        case("empty-tree-15/outside", tree(15, Caller::Outside)),
        case("empty-tree-20/inside", tree(20, Caller::Inside)),
        case("tree-sum-131071/outside", Workload::TreeSum { levels: 17 }),
    ]
}

/// The same source on Rayon's own core and on the drop-in. The goal of the drop-in is to be no
/// slower. The loops of 1,000 items, where forking is most of the work, have to take half the time.
fn rayon_program(program: RayonProgram) -> Case {
    let goal = match program {
        RayonProgram::SmallLoop { items: 1_000, .. } => 0.5,
        _ => 1.0,
    };
    let goals: Goals<'_> = &[(Rayon, Some(goal))];
    Case {
        name: program.case(),
        title: program.title(),
        workload: Workload::Rayon(program),
        contestants: with_blitz(goals, 2).chain([twin()]).collect(),
        views: vec![against(WALL, 2, goals)],
        // The programs have to be built first, and running them takes as long as all other cases
        // together.
        quick: false,
    }
}

const FIB: u32 = 35;
const WALL: Measure = Measure::Plain(Metric::Wall);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_grouped() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        let groups: BTreeSet<&str> = cases.iter().map(Case::group).collect();
        let expected = [
            "async",
            "fork-join",
            "idle",
            "insight",
            "io",
            "mixed",
            "oversubscribed",
            "par",
            "rayon",
            "signal",
            "wake",
        ];
        assert_eq!(groups.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn compared_contestants_take_part() {
        for case in cases() {
            let all_programs: BTreeSet<Contestant> = case.contestants.iter().copied().collect();
            assert_eq!(all_programs.len(), case.contestants.len(), "{}", case.name);
            for comparison in case.views.iter().flat_map(|view| &view.comparisons) {
                assert!(all_programs.contains(&comparison.subject), "{}", case.name);
                assert!(all_programs.contains(&comparison.reference), "{}", case.name);
                let is_told = comparison.subject.rival.is_floor() || comparison.has_rivals_only();
                let told = is_told && comparison.goal.is_none();
                assert!(comparison.subject.rival.is_ours() || told, "{}", case.name);
            }
            let needs_twin = |view: &View| !matches!(view.measure, Measure::Plain(_));
            if case.views.iter().any(needs_twin) {
                assert!(case.twin().is_some(), "{}", case.name);
            }
        }
    }

    #[test]
    fn a_filter_matches_a_group_or_parts_of_names() {
        let matching = |only| matching(Some(only), Pace::Quick);
        assert_eq!(matching("queens").len(), 1);
        assert_eq!(matching("empty-tree-10").len(), 2);
        assert!(matching("fork-join").len() > 10);
        assert!(matching("no such case").is_empty());
        let group = matching("io");
        assert!(group.len() > 5 && group.iter().all(|case| case.group() == "io"));
    }

    #[test]
    fn a_quick_run_includes_some_cases_only_if_they_are_named() {
        assert_eq!(matching(None, Pace::Full).len(), cases().len());
        let quick = matching(None, Pace::Quick);
        let asynchronous = quick.iter().filter(|case| case.group() == "async").count();
        assert!((1..5).contains(&asynchronous));
        assert!(matching(Some("async"), Pace::Quick).len() > 5);
    }
}
