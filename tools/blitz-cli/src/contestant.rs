//! The hidden commands: `contestant`, which `blitz bench` starts once per contestant, and `load`,
//! which a contestant that is a server starts for its clients.

use std::{env, ffi::OsStr, io, process};

use blitz_bench::{
    case::{Case, Contestant},
    catalogue, load, os,
    rival::RivalKind,
    workload::Pace,
};

use crate::{
    Failure,
    args::{ContestantArgs, LoadArgs},
};

/// Runs the turns that stdin asks for, until stdin ends.
pub fn run(args: &ContestantArgs) -> Result<(), Failure> {
    let unknown = |what, name: &str| Failure::new(format!("there is no {what}"), name);
    let rival = RivalKind::from_name(&args.rival).ok_or_else(|| unknown("rival", &args.rival))?;
    let pace = Pace::from_name(&args.pace).ok_or_else(|| unknown("pace", &args.pace))?;
    let case = catalogue::cases()
        .into_iter()
        .find(|case| case.name == args.case)
        .ok_or_else(|| unknown("case", &args.case))?;
    let contestant = Contestant::new(rival, args.workers);
    os::die_with_parent().map_err(|error| Failure::new("cannot end with the parent", error))?;
    let open = || case.workload.open(contestant.rival, contestant.workers, pace);
    blitz_contestant::serve(open, io::stdin().lock(), io::stdout().lock())
        .map_err(|error| Failure::new("cannot talk to the parent", error))
}

/// Sends requests to a contestant that is a server, until stdin ends.
pub fn load(args: &LoadArgs) -> Result<(), Failure> {
    os::die_with_parent().map_err(|error| Failure::new("cannot end with the parent", error))?;
    load::serve(args.load(), io::stdin().lock(), io::stdout().lock())
        .map_err(|error| Failure::new("cannot talk to the parent", error))
}

/// The command that starts `program` as a contestant: this program or one with the same options.
pub fn command(
    program: &std::path::Path,
    case: &Case,
    contestant: Contestant,
    pace: Pace,
) -> process::Command {
    let mut command = process::Command::new(program);
    // An older program gets the name that it knows itself by: `blitz`, not `blitz-before`.
    let rival = contestant.rival.newer().unwrap_or(contestant.rival);
    command
        .arg("contestant")
        .args(["--case", &case.name])
        .args(["--rival", rival.name()])
        .args(["--workers", &contestant.workers.to_string()])
        .args(["--pace", pace.name()]);
    remove_settings(&mut command);
    command
}

/// Removes from `command` the shell's variables that change a pool, so that a run measures the
/// defaults of every rival.
pub fn remove_settings(command: &mut process::Command) {
    for (name, _) in env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
}

/// Whether Blitz or Rayon may read the variable.
fn is_setting(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["BLITZ_", "RAYON_"].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn a_contestant_understands_its_own_command_line() {
        let case = &catalogue::cases()[0];
        let contestant = Contestant::new(RivalKind::Chili, 5);
        let command = command("blitz".as_ref(), case, contestant, Pace::Full);
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let Command::Contestant(args) = Cli::try_parse_from(words).unwrap().into_command() else {
            panic!("not a contestant");
        };
        assert_eq!(args.case, case.name);
        assert_eq!(RivalKind::from_name(&args.rival), Some(RivalKind::Chili));
        assert_eq!(args.workers, 5);
        assert_eq!(Pace::from_name(&args.pace), Some(Pace::Full));
    }

    #[test]
    fn no_variable_of_a_pool_reaches_a_contestant() {
        for name in ["BLITZ_WORKERS", "BLITZ_SPARES", "BLITZ_INSPECT", "RAYON_RS_NUM_CPUS"] {
            assert!(is_setting(name.as_ref()), "{name}");
        }
        for name in ["PATH", "RUST_BACKTRACE", "MY_BLITZ_WORKERS"] {
            assert!(!is_setting(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn the_error_names_an_unknown_case_or_rival() {
        let args = ContestantArgs {
            case: "fork-join/queens-12".to_owned(),
            rival: "threads".to_owned(),
            workers: 1,
            pace: "quick".to_owned(),
        };
        let Err(Failure(message)) = run(&args) else { panic!("accepted") };
        assert!(message.contains("rival") && message.contains("threads"));
    }
}
