//! `blitz bench`: runs the cases, prints the table, writes the reports.

use std::{
    env,
    fs::{self, OpenOptions},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use blitz_bench::{
    case::{Case, Contestant},
    catalogue,
    contest::{self, Budget, Processes},
    load::{self, tool},
    machine::{self, MachineCard},
    others::Watch,
    report::{CaseReport, Report},
    rng::Rng,
    workload::Pace,
};

use crate::{
    Failure,
    args::BenchArgs,
    contestant, print,
    programs::{self, Programs},
    progress::Progress,
    report, table, target,
};

/// Does what the command line asks for.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    if args.list {
        // List every case, including those that a quick run leaves out.
        return print(&list(&chosen(args.only.as_deref(), Pace::Full)?));
    }
    let mut cases = chosen(args.only.as_deref(), args.pace())?;
    if let Some(program) = &args.before {
        cases = beside(program, cases)?;
    }
    // Check that the results can be written before measuring for minutes, not after.
    if let Some(path) = &args.json {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?;
    }
    if let Some(folder) = args.svg.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::new(format!("there is no folder {}", folder.display()), "make it"));
    }

    let report = measure(&cases, args)?;
    print(&table::render(&report))?;
    let html = report::write(&report)?;
    print(&format!("\nreport: {}\n", html.display()))?;
    if let Some(folder) = &args.svg {
        let count = report::write_pictures(&report, folder)?;
        print(&format!("plots: {count} in {}\n", folder.display()))?;
    }
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::new("cannot make JSON of the report", error))?;
        fs::write(path, json)
            .map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?;
    }
    Ok(())
}

fn chosen(only: Option<&str>, pace: Pace) -> Result<Vec<Case>, Failure> {
    let cases = catalogue::matching(only, pace);
    match only {
        Some(only) if cases.is_empty() => Err(Failure(format!(
            "nothing has {only:?} in its name; `blitz bench --list` shows all names"
        ))),
        _ => Ok(cases),
    }
}

/// The cases in which this build is compared with `program`, an older one.
fn beside(program: &Path, cases: Vec<Case>) -> Result<Vec<Case>, Failure> {
    if !program.is_file() {
        let advice = "build it by `cargo build --release` in the other checkout";
        return Err(Failure::new(format!("there is no program {}", program.display()), advice));
    }
    // The rayon programs are built below target/, from this checkout only.
    let cases = cases.into_iter().filter(|case| !programs::needed(case));
    let cases: Vec<Case> = cases.filter_map(Case::beside_older).collect();
    match cases.is_empty() {
        true => Err(Failure("none of these cases can be run by an older build".to_owned())),
        false => Ok(cases),
    }
}

fn list(cases: &[Case]) -> String {
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let line = |case: &Case| format!("{:width$}  {}\n", case.name, case.title);
    cases.iter().map(line).collect()
}

fn measure(cases: &[Case], args: &BenchArgs) -> Result<Report, Failure> {
    let pace = args.pace();
    let program = env::current_exe()
        .map_err(|error| Failure::new("cannot find this program to start it again", error))?;
    let programs = build_programs(cases)?;
    let mut arena = Processes::new(|case: &Case, contestant: Contestant| {
        let built = programs.of(case, contestant.rival)?;
        let contestants = match (built, &args.before) {
            (Some(built), _) => built,
            (_, Some(before)) if contestant.rival.newer().is_some() => before,
            _ => &program,
        };
        let mut command = contestant::command(contestants, case, contestant, pace);
        if built.is_some() {
            command.env(load::CLIENTS, &program);
        }
        Ok(command)
    });

    let seed = args.seed.unwrap_or_else(seed_of_the_clock);
    let mut rng = Rng::new(seed);
    let mut report = Report::new(pace, seed, MachineCard::read());
    report.evidence = programs.evidence();
    let mut progress = Progress::new(cases.len());
    for case in cases {
        progress.begin(&case.name);
        let lack = || lack_of_tool(case).or_else(|| lack_of_memory(case));
        let measured = match programs.lack(case).or_else(lack) {
            Some(why) => CaseReport::skipped(case, why),
            None => {
                let budget = Budget::of_case(case, pace);
                let advance = |part| progress.advance(part);
                let watch = Watch::start();
                let outcome = contest::run(case, &mut arena, &budget, &mut rng, advance);
                CaseReport::new(case, &outcome, watch.and_then(|watch| watch.others_cpus()))
            }
        };
        progress.end(&case.name, measured.rounds);
        report.cases.push(measured);
    }
    progress.finish();
    Ok(report)
}

/// Builds the programs that `cases` need. It is an error if nothing can run without them.
fn build_programs(cases: &[Case]) -> Result<Programs, Failure> {
    let programs = Programs::build(cases, &target::folder()?);
    let lacks: Option<Vec<String>> = cases.iter().map(|case| programs.lack(case)).collect();
    match lacks.and_then(|lacks| lacks.into_iter().next()) {
        Some(why) => Err(Failure::new("none of these cases can be run", why)),
        None => Ok(programs),
    }
}

/// Why the load tool of `case` cannot be run, if the case needs a tool and the tool is missing.
fn lack_of_tool(case: &Case) -> Option<String> {
    tool::installed(&[case.workload.tool()?]).err()
}

/// Why `case` does not fit into memory: all its contestants hold their data at the same time.
fn lack_of_memory(case: &Case) -> Option<String> {
    let needed = case.workload.memory_bytes() * case.contestants.len() as u64;
    let available = machine::memory_available_bytes()?;
    // Leave a quarter to the other programs on the machine.
    (needed > available / 4 * 3).then(|| {
        let [needed, available] = [needed, available].map(|bytes| bytes >> 20);
        format!("needs {needed} MiB of memory and {available} MiB are available")
    })
}

fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_matches_nothing_is_an_error_with_advice() {
        let Err(Failure(message)) = chosen(Some("fork-jion"), Pace::Quick) else {
            panic!("accepted");
        };
        assert!(message.contains("fork-jion") && message.contains("--list"));
        assert_eq!(chosen(Some("queens"), Pace::Quick).unwrap().len(), 1);
    }

    #[test]
    fn a_quick_run_skips_cases_that_must_be_built_first_unless_named() {
        let quick = chosen(None, Pace::Quick).unwrap();
        assert!(!quick.is_empty() && !quick.iter().any(programs::needed));
        let named = chosen(Some("rayon"), Pace::Quick).unwrap();
        assert!(named.len() > 20 && named.iter().all(programs::needed));
        assert!(chosen(None, Pace::Full).unwrap().iter().any(programs::needed));
    }

    #[test]
    fn an_older_build_takes_part_in_all_cases_but_those_of_programs() {
        let here = env::current_exe().unwrap();
        let cases = beside(&here, chosen(None, Pace::Full).unwrap()).unwrap();
        assert!(cases.len() > 50 && !cases.iter().any(programs::needed));
        let Err(Failure(message)) = beside("no/such/blitz".as_ref(), cases) else {
            panic!("accepted");
        };
        assert!(message.contains("no/such/blitz") && message.contains("cargo build --release"));
    }

    #[test]
    fn the_list_has_a_line_per_case() {
        let cases = chosen(None, Pace::Full).unwrap();
        let list = list(&cases);
        assert_eq!(list.lines().count(), cases.len());
        assert!(list.lines().all(|line| line.ends_with('.')));
    }

    #[test]
    fn small_cases_need_no_memory_to_speak_of() {
        assert_eq!(lack_of_memory(&chosen(Some("queens"), Pace::Quick).unwrap()[0]), None);
    }
}
