//! Shows which core a build runs on, and what its programs compute.

use std::{fs, io, path::Path, process::Command};

use super::rayon::Core;
use crate::contestant;

/// The result of a run of all programs at a small size.
#[derive(Debug)]
pub struct Checked {
    /// One line per program.
    pub results: String,
    /// One line about the core.
    pub evidence: String,
}

/// Runs `program`, which was built on `core` in `folder`.
pub fn check(core: Core, program: &Path, folder: &Path) -> Result<Checked, String> {
    let file = folder.join("proof.txt");
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("{} cannot be removed: {error}", file.display()));
        }
        _ => {}
    }
    let name = format!("the rayon programs on {}", core.name());
    let results = run_check(program, &name, |command| {
        command.env("BLITZ_SHIM_PROOF", &file);
    })?;
    let written = fs::read_to_string(&file).unwrap_or_default();
    let evidence = evidence(core, &written).map_err(|why| format!("the rayon programs {why}"))?;
    Ok(Checked { results, evidence })
}

/// Runs the check of `program`, which is called `name` in messages, and returns its output.
pub fn run_check(
    program: &Path,
    name: &str,
    set: impl FnOnce(&mut Command),
) -> Result<String, String> {
    let mut command = Command::new(program);
    contestant::remove_settings(&mut command);
    set(command.arg("check"));
    let output = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} fail: {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that a program built on `core` ran on that core. `written` is the record that the drop-in
/// makes of its pools: a program ran on the drop-in if and only if the record exists and counts
/// jobs.
fn evidence(core: Core, written: &str) -> Result<String, String> {
    let record = written.lines().find(|line| line.starts_with("blitz "));
    let ran = record.is_some_and(|record| {
        let jobs = record.split(' ').find_map(|word| word.strip_prefix("jobs="));
        jobs.is_some_and(|jobs| jobs.parse::<u64>().is_ok_and(|jobs| jobs > 0))
    });
    let name = core.name();
    match (core, record) {
        (Core::Rayon, None) => Ok(format!("on {name}: no pool of Blitz was started")),
        (Core::Blitz, Some(record)) if ran => Ok(format!("on {name}: {record}")),
        (_, None) => Err(format!("should run on {name}, but no pool of Blitz ran")),
        (_, Some(record)) => Err(format!("should run on {name}, but the record is {record}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_believed_only_with_evidence() {
        let ran = "blitz program=x pools=1 workers=2 jobs=12 pushes=40 steals=3 parks=1\n";
        let idle = "blitz program=x pools=1 workers=2 jobs=0 pushes=0 steals=0 parks=1\n";
        assert!(evidence(Core::Blitz, ran).unwrap().contains("jobs=12"));
        assert!(evidence(Core::Blitz, idle).unwrap_err().contains("jobs=0"));
        assert!(evidence(Core::Blitz, "").unwrap_err().contains("drop-in"));
        assert!(evidence(Core::Rayon, "").is_ok());
        assert!(evidence(Core::Rayon, ran).unwrap_err().contains("Rayon's own"));
    }
}
