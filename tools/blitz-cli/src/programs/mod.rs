//! The programs that use Rayon, built when they are needed: once on Rayon's own core and once on
//! the drop-in.
//!
//! Both cores are packages of the same name with the same `links` key, so no workspace can hold
//! both, and a lock file has room for one. Each build therefore has a folder of its own below the
//! target folder, with a copy of the programs' manifest and lock file in it; the checkout stays as
//! it is.

mod build;
mod proof;

use std::{
    fs,
    path::{Path, PathBuf},
};

use blitz_bench::{case::Case, rival::RivalKind, workload::Workload};

/// Both builds, ready to be run.
#[derive(Debug)]
pub struct Programs {
    on_rayon: PathBuf,
    on_blitz: PathBuf,
    /// What shows which core each of them runs on.
    pub evidence: Vec<String>,
}

/// What is below the `rayon` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Core {
    /// The published `rayon-core`.
    Rayon,
    /// The drop-in.
    Blitz,
}

impl Core {
    fn name(self) -> &'static str {
        match self {
            Self::Rayon => "Rayon's own core",
            Self::Blitz => "the drop-in core",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Rayon => "on-rayon",
            Self::Blitz => "on-blitz",
        }
    }
}

impl Programs {
    /// Builds both below `target`, as far as they are not built yet, and checks that they compute
    /// the same on different cores. Cargo's messages go to stderr.
    pub fn build(target: &Path) -> Result<Self, String> {
        let [on_rayon, on_blitz] = [Core::Rayon, Core::Blitz].map(|core| -> Result<_, String> {
            let folder = target.join("rayon-programs").join(core.folder());
            fs::create_dir_all(&folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            let program = build::build(core, &folder)?;
            let checked = proof::check(core, &program, &folder)?;
            Ok((program, checked))
        });
        let (on_rayon, on_blitz) = (on_rayon?, on_blitz?);
        if on_rayon.1.results != on_blitz.1.results {
            return Err(format!(
                "compute different things on the two cores:\n{}\n{}",
                on_rayon.1.results, on_blitz.1.results
            ));
        }
        Ok(Self {
            on_rayon: on_rayon.0,
            on_blitz: on_blitz.0,
            evidence: vec![on_rayon.1.evidence, on_blitz.1.evidence],
        })
    }

    /// The program that runs `rival` in `case`. Blitz in Rayon's programs, and Rayon's iterators on
    /// Blitz, run in the build with the drop-in. The twin, which uses no core, and all other
    /// iterators run in the build with Rayon's core.
    pub fn of(&self, case: &Case, rival: RivalKind) -> &Path {
        match (case.workload, rival) {
            (Workload::Rayon(_), RivalKind::Blitz) | (_, RivalKind::RayonOnBlitz) => &self.on_blitz,
            _ => &self.on_rayon,
        }
    }
}
