//! The cases of the group `par`: parallel iterators.

use super::{Goals, WALL, against, twin, with_blitz};
use crate::{
    case::{Case, Comparison, Contestant},
    rival::RivalKind::{self, Blitz, Orx, Paralight, Rayon, RayonOnBlitz, Seq},
    workload::{Caller, ParProgram, Workload},
};

pub(super) fn cases() -> Vec<Case> {
    ParProgram::all().into_iter().map(case).collect()
}

const WORKERS: usize = 2;

/// One worker may take this many times as long as an ordinary iterator.
const ALONE: f64 = 1.03;

fn case(program: ParProgram) -> Case {
    let (rayon, seq) = goals(program);
    let mut rivals: Vec<(RivalKind, Option<f64>)> = vec![(Rayon, Some(rayon))];
    rivals.extend([RayonOnBlitz, Orx, Paralight].map(|rival| (rival, None)));
    rivals.retain(|(rival, _)| takes_part(*rival, program));
    let mut view = against(WALL, WORKERS, &rivals);
    view.comparisons.push(Comparison {
        subject: Contestant::new(Blitz, WORKERS),
        reference: twin(),
        goal: seq,
    });
    let mut contestants: Vec<Contestant> = with_blitz(&rivals, WORKERS).chain([twin()]).collect();
    let mut views = vec![view];
    // A caller from outside has to enter the pool, which takes longer than a small loop.
    if !matches!(program, ParProgram::Loop { caller: Caller::Outside, .. }) {
        let alone: Goals<'_> = &[(Seq, Some(ALONE)), (Rayon, Some(1.0))];
        contestants.extend([Blitz, Rayon].map(|rival| Contestant::new(rival, 1)));
        views.push(against(WALL, 1, alone));
    }
    Case {
        name: program.case(),
        title: program.title(),
        workload: Workload::Par(program),
        contestants,
        views,
        // The programs have to be built first.
        quick: false,
    }
}

/// Whether the iterators of `rival` have what `program` needs.
fn takes_part(rival: RivalKind, program: ParProgram) -> bool {
    use ParProgram::{Bridge, Collect, Filter, Find, FlatMap, HashMap, Loop, Sum, Uneven, Zip};
    // In the pools of orx-parallel and paralight, no caller can run on a worker.
    let from_outside = !matches!(program, Loop { caller: Caller::Inside, .. });
    let has = match rival {
        Orx => matches!(
            program,
            Loop { .. }
                | Sum
                | Collect
                | Filter
                | FlatMap
                | Find { .. }
                | Uneven
                | Bridge { .. }
                | HashMap { .. }
        ),
        Paralight => matches!(program, Loop { .. } | Sum | Zip | Find { .. } | Uneven),
        _ => return true,
    };
    has && from_outside
}

/// The largest ratios to Rayon and to sequential code that meet the goal.
fn goals(program: ParProgram) -> (f64, Option<f64>) {
    use ParProgram::{
        Bridge, Chunks, Collect, Filter, Find, FlatMap, HashMap, Lines, Loop, Nested, Sort, Sum,
        Uneven, Words, Zip,
    };
    use blitz_contestant::rayon_program::Order::Random;
    match program {
        // A hundred items take almost no time, so a ratio to sequential code means nothing.
        Loop { items: 100, caller: Caller::Inside } => (0.25, None),
        Loop { items: 1_000, caller: Caller::Inside } => (0.2, Some(1.15)),
        Loop { items: 10_000, caller: Caller::Inside } => (0.35, Some(1.0)),
        Loop { caller: Caller::Inside, .. } => (0.9, Some(0.65)),
        // From outside: the ratios that Rayon reaches on the drop-in core.
        Loop { items: 100, .. } => (0.04, None),
        Loop { items: 1_000, .. } => (0.05, None),
        Loop { items: 10_000, .. } => (0.23, None),
        Loop { .. } => (0.69, None),
        Sum | Collect | Zip | Chunks => (1.0, Some(0.65)),
        Filter => (0.75, Some(0.7)),
        FlatMap => (0.15, Some(0.7)),
        Nested => (0.6, Some(0.6)),
        Find { at_the_end: false } => (0.5, None),
        Find { at_the_end: true } => (1.0, Some(0.6)),
        Uneven => (0.7, Some(0.55)),
        Sort { order: Random, stable: true } => (0.7, Some(0.65)),
        Sort { order: Random, stable: false } => (0.9, Some(0.65)),
        Sort { .. } => (1.0, Some(1.0)),
        Lines | Words => (0.95, Some(0.6)),
        Bridge { heavy: false } => (0.2, Some(1.5)),
        Bridge { heavy: true } => (1.0, Some(0.6)),
        HashMap { heavy: false } => (0.8, Some(1.1)),
        HashMap { heavy: true } => (1.0, Some(0.6)),
    }
}
