//! Shows which core a build runs on, and what its programs compute.

use std::{fs, io, path::Path, process::Command};

use super::Core;

/// What a run of all programs at a small size showed.
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
    let name = core.name();
    let output = Command::new(program)
        .arg("check")
        .env("BLITZ_SHIM_PROOF", &file)
        .env_remove("RAYON_NUM_THREADS")
        .output()
        .map_err(|error| format!("cannot be started on {name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("fail on {name}: {}: {}", output.status, said.trim()));
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    Ok(Checked {
        results: String::from_utf8_lossy(&output.stdout).into_owned(),
        evidence: evidence(core, &written)?,
    })
}

/// What `written`, the drop-in's own record of what its pools did, says about a program that was
/// built on `core`: it is the drop-in if and only if there is one, and jobs are in it.
fn evidence(core: Core, written: &str) -> Result<String, String> {
    let record = written.lines().find(|line| line.starts_with("blitz "));
    let ran = record.is_some_and(|record| {
        let jobs = record.split(' ').find_map(|word| word.strip_prefix("jobs="));
        jobs.is_some_and(|jobs| jobs.parse::<u64>().is_ok_and(|jobs| jobs > 0))
    });
    let name = core.name();
    match (core, record) {
        (Core::Rayon, None) => Ok(format!("on {name}: no pool of Blitz's was started")),
        (Core::Blitz, Some(record)) if ran => Ok(format!("on {name}: {record}")),
        (_, None) => Err(format!("were to be built on {name}, and no pool of Blitz's ran")),
        (_, Some(record)) => Err(format!("were to be built on {name}, and the record is {record}")),
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
