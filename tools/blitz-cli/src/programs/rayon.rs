//! The programs that use Rayon: once on Rayon's own core and once on the drop-in.

use std::path::{Path, PathBuf};

use blitz_bench::{case::Case, rival::RivalKind, workload::Workload};

use super::{build::Recipe, proof};

/// Both builds, ready to be run.
#[derive(Debug)]
pub struct RayonPrograms {
    on_rayon: PathBuf,
    on_blitz: PathBuf,
    /// Shows which core each build runs on.
    pub evidence: Vec<String>,
}

/// The core below the `rayon` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// The published `rayon-core`.
    Rayon,
    /// The drop-in.
    Blitz,
}

impl Core {
    pub fn name(self) -> &'static str {
        match self {
            Self::Rayon => "Rayon's own core",
            Self::Blitz => "the drop-in core",
        }
    }

    fn recipe(self) -> Recipe {
        let recipe = |build, patch| Recipe {
            workspace: "rayon-programs",
            build,
            name: format!("the rayon programs on {}", self.name()),
            patch,
            features: None,
            flags: loops_on_cache_lines(),
        };
        match self {
            Self::Rayon => recipe("on-rayon", None),
            Self::Blitz => recipe("on-blitz", Some(("rayon-core", "shims/rayon-core"))),
        }
    }
}

/// Aligns every inner loop to a cache line. The position of a loop depends on the size of the code
/// before it, which the core changes, and a loop that straddles two lines takes up to twice as
/// long. Sorts of ordered numbers differed by a factor of 1.6 between the cores, in either
/// direction, with the same instructions.
fn loops_on_cache_lines() -> &'static [&'static str] {
    match std::env::consts::ARCH {
        "x86_64" => &["-C", "llvm-args=-x86-experimental-pref-innermost-loop-alignment=6"],
        _ => &[],
    }
}

impl RayonPrograms {
    /// Builds both below `target`, unless they are built already. Checks that they run on different
    /// cores and compute the same results.
    pub fn build(target: &Path) -> Result<Self, String> {
        let [on_rayon, on_blitz] = [Core::Rayon, Core::Blitz].map(|core| -> Result<_, String> {
            let (program, folder) = core.recipe().build(target)?;
            let checked = proof::check(core, &program, &folder)?;
            Ok((program, checked))
        });
        let (on_rayon, on_blitz) = (on_rayon?, on_blitz?);
        if on_rayon.1.results != on_blitz.1.results {
            return Err(format!(
                "the rayon programs compute different results on the two cores:\n{}\n{}",
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
    /// Blitz, run in the build with the drop-in. All others run in the build with Rayon's core:
    /// Rayon itself, the other iterators, and the twin, which uses no core.
    pub fn of(&self, case: &Case, rival: RivalKind) -> &Path {
        match (case.workload, rival) {
            (Workload::Rayon(_), RivalKind::Blitz) | (_, RivalKind::RayonOnBlitz) => &self.on_blitz,
            _ => &self.on_rayon,
        }
    }
}
