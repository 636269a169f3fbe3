//! The program with the tools that look inside of Tokio. It is built twice, because the tools need
//! different features of Tokio.

use std::path::{Path, PathBuf};

use blitz_bench::rival::RivalKind;

use super::{build::Recipe, proof::run_check};

/// The builds. If one build fails, the tools of the other one still run.
#[derive(Debug)]
pub struct TokioPrograms {
    metrics: Result<PathBuf, String>,
    console: Result<PathBuf, String>,
    /// Shows that each tool sees tasks.
    pub evidence: Vec<String>,
}

impl TokioPrograms {
    /// Builds the program below `target`, unless it is built already, and checks its workloads and
    /// tools.
    pub fn build(target: &Path) -> Self {
        let mut evidence = Vec::new();
        let [metrics, console] = ["metrics", "console"].map(|feature| {
            let recipe = recipe(feature);
            let (program, _) = recipe.build(target)?;
            let seen = run_check(&program, &recipe.name, |_| ())?;
            evidence.extend(seen.lines().map(str::to_owned));
            Ok(program)
        });
        Self { metrics, console, evidence }
    }

    /// The program that runs `rival`.
    pub fn of(&self, rival: RivalKind) -> Result<&Path, String> {
        let build = match rival {
            RivalKind::TokioConsole => &self.console,
            _ => &self.metrics,
        };
        build.as_deref().map_err(Clone::clone)
    }
}

/// Tokio creates spans if the feature `console` is on, so the other tools are built without it.
fn recipe(feature: &'static str) -> Recipe {
    Recipe {
        workspace: "tokio-programs",
        build: feature,
        name: format!("the tokio programs with {feature}"),
        patch: None,
        features: Some(feature),
        flags: &["--cfg", "tokio_unstable"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_run_in_their_build_and_a_missing_build_says_why() {
        let programs = TokioPrograms {
            metrics: Ok("/b/metrics".into()),
            console: Err("cannot be built".to_owned()),
            evidence: Vec::new(),
        };
        assert_eq!(programs.of(RivalKind::TokioMetrics), Ok(Path::new("/b/metrics")));
        assert_eq!(programs.of(RivalKind::TokioDial9), Ok(Path::new("/b/metrics")));
        assert_eq!(programs.of(RivalKind::TokioConsole), Err("cannot be built".to_owned()));
    }
}
