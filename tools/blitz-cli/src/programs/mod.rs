//! The programs that are built when a case needs them, each in a workspace of its own.
//!
//! The programs that use Rayon are built twice: on Rayon's own core and on the drop-in. Both cores
//! are packages of the same name with the same `links` key, so no workspace can hold both, and a
//! lock file has room for one. The tools that look inside of Tokio need a flag for a whole build.
//! Each build therefore has a folder of its own below the target folder, with a copy of the
//! programs' manifest and lock file in it; the checkout stays as it is.

mod build;
mod proof;
mod rayon;
mod tokio;

use std::path::Path;

use blitz_bench::{case::Case, rival::RivalKind, workload::Workload};

use rayon::RayonPrograms;
use tokio::TokioPrograms;

/// All builds that the cases of a run need.
#[derive(Debug)]
pub struct Programs {
    rayon: Option<Result<RayonPrograms, String>>,
    tokio: Option<TokioPrograms>,
}

impl Programs {
    /// Builds what `cases` need, in folders below `target`, unless it is built already. Cargo's
    /// messages go to stderr.
    pub fn build(cases: &[Case], target: &Path) -> Self {
        let has_tools =
            |case: &Case| case.contestants.iter().any(|one| one.rival.looks_into_tokio());
        let rayon = cases.iter().any(needed).then(|| RayonPrograms::build(target));
        let tokio = cases.iter().any(has_tools).then(|| TokioPrograms::build(target));
        Self { rayon, tokio }
    }

    /// Lines that show which core and which tools the builds have.
    pub fn evidence(&self) -> Vec<String> {
        let rayon = self.rayon.iter().flatten().flat_map(|programs| &programs.evidence);
        let tokio = self.tokio.iter().flat_map(|programs| &programs.evidence);
        rayon.chain(tokio).cloned().collect()
    }

    /// Why none of the contestants of `case` can run, if a build is missing.
    pub fn lack(&self, case: &Case) -> Option<String> {
        match &self.rayon {
            Some(Err(why)) if needed(case) => Some(why.clone()),
            _ => None,
        }
    }

    /// The program that runs `rival` in `case`, or none if this program does. The error says why
    /// there is no program.
    pub fn of(&self, case: &Case, rival: RivalKind) -> Result<Option<&Path>, String> {
        match (&self.rayon, &self.tokio) {
            (Some(Ok(programs)), _) if needed(case) => Ok(Some(programs.of(case, rival))),
            (_, Some(programs)) if rival.looks_into_tokio() => programs.of(rival).map(Some),
            _ => Ok(None),
        }
    }
}

/// Whether `case` is run by programs that are built separately, and by no other.
pub fn needed(case: &Case) -> bool {
    matches!(case.workload, Workload::Rayon(_) | Workload::Par(_))
}
