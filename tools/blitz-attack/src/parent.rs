//! Starts scenarios and mixes as children, so that a crash or a hang of one does not hide the
//! others.

use crate::options::Options;
use crate::scenario::{self, Scenario, Wanted};
use crate::watch::HANG;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the state of a child is checked.
const POLL: Duration = Duration::from_millis(20);
/// After this many broken mixes the attack ends.
const MIXES_MAX: u64 = 5;
/// How long a scenario may take before its own watchdog prints a dump and aborts: less than any
/// [`Scenario::limit`].
const PATIENCE: Duration = Duration::from_secs(20);
/// How far apart the seeds of two mixes are.
const SEEDS_APART: u64 = 1_000_000;
/// How many lines of a failed child's output are shown.
const SHOWN_LINES: usize = 25;
/// The beginning of the line in which a scenario says what the system lacks.
const SKIPPED: &str = "skipped: ";

/// Runs the scenarios and mixes of `options`.
#[must_use]
pub fn attack(options: &Options) -> ExitCode {
    match run(options) {
        Ok((passed, failed)) => {
            println!("{passed} passed, {failed} failed");
            if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("attack: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> io::Result<(u64, u64)> {
    let (mut passed, mut failed) = (0, 0);
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|only| name.starts_with(only));
    let wanted: Vec<Scenario> =
        scenario::all().into_iter().filter(|scenario| is_wanted(scenario.name)).collect();
    let mixes = is_wanted("mix") && !options.time.is_zero();
    if wanted.is_empty() && !mixes {
        return Err(io::Error::other("no scenario has such a name; --list shows them"));
    }
    for scenario in &wanted {
        let begin = Instant::now();
        let outcome = one(scenario)?;
        let took = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(skipped) => {
                let skipped = skipped.map_or(String::new(), |line| format!(", {line}"));
                println!("ok    {} ({took:.1} s){skipped}", scenario.name);
                passed += 1;
            }
            Err((why, text)) => {
                println!(
                    "FAIL  {} ({took:.1} s): {why}\n      wanted: {}",
                    scenario.name, scenario.what
                );
                text.iter().for_each(|line| println!("      | {line}"));
                failed += 1;
            }
        }
        io::stdout().flush()?;
    }
    if mixes {
        let broken = mix(options)?;
        failed += broken;
        passed += u64::from(broken == 0);
    }
    Ok((passed, failed))
}

/// How a scenario ended: the line that says what it skipped, or why it failed and its last output.
type Outcome = Result<Option<String>, (String, Vec<String>)>;

/// Runs a scenario in a child.
fn one(scenario: &Scenario) -> io::Result<Outcome> {
    let path = std::env::temp_dir().join(format!(
        "blitz-attack-{}-{}.txt",
        std::process::id(),
        scenario.name
    ));
    let mut log = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    let mut command = Command::new(std::env::current_exe()?);
    let slower = scenario::slower();
    let patience = (PATIENCE * slower).as_secs().to_string();
    command.args(["--child-scenario", scenario.name, "--patience", &patience]);
    command.stdin(Stdio::null());
    let child = command.stdout(log.try_clone()?).stderr(log.try_clone()?).spawn()?;
    let status = wait(child, scenario.limit * slower)?;
    let mut text = Vec::new();
    log.rewind()?;
    log.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(match verdict(scenario.end, status, &text) {
        Ok(()) => Ok(text.lines().find(|line| line.starts_with(SKIPPED)).map(str::to_owned)),
        Err(why) => Err((why, last_lines(&text))),
    })
}

/// Checks whether a child ended as expected; the error is the reason.
fn verdict(wanted: Wanted, status: Option<ExitStatus>, text: &str) -> Result<(), String> {
    let Some(status) = status else { return Err("it hangs".into()) };
    match wanted {
        Wanted::Success if status.success() => Ok(()),
        Wanted::Success => Err(format!("{status}")),
        Wanted::Abort(message) => match (status.success(), text.contains(message)) {
            _ if text.contains(HANG) => Err("it hangs, and its watchdog aborted it".into()),
            (true, _) => Err("it should abort, but returned".into()),
            (false, false) => Err(format!("{status}, without the message {message:?}")),
            (false, true) => Ok(()),
        },
    }
}

/// Waits for `child`, and kills it when the time is up; then there is no status.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(SHOWN_LINES);
    lines[left_out..].iter().map(|line| (*line).to_owned()).collect()
}

/// Runs mixes until the time is up; returns how many failed. A failed mix is followed by another
/// one with other seeds.
fn mix(options: &Options) -> io::Result<u64> {
    let seed = options.seed.unwrap_or_else(seed_of_the_clock);
    let (begin, mut broken) = (Instant::now(), 0);
    loop {
        let left = options.time.saturating_sub(begin.elapsed());
        let seed = seed.wrapping_add(broken * SEEDS_APART);
        let minutes = (left.as_secs_f64() / 60.0).to_string();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--child-mix", "--minutes", &minutes, "--seed", &seed.to_string()]);
        command.args(["--rounds", &options.rounds.to_string()]);
        command.args(["--patience", &options.patience.as_secs_f64().to_string()]);
        let status = command.stdin(Stdio::null()).status()?;
        if status.success() {
            println!("ok    mix from seed {seed}");
            return Ok(broken);
        }
        println!(
            "FAIL  mix from seed {seed}: {status}; the report above names the seed of the round"
        );
        broken += 1;
        if broken == MIXES_MAX || begin.elapsed() >= options.time || options.rounds != u64::MAX {
            return Ok(broken);
        }
    }
}

fn seed_of_the_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::verdict;
    use crate::scenario::Wanted;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn a_child_has_to_end_as_it_should() {
        let (good, abort) = (Some(ExitStatus::from_raw(0)), Some(ExitStatus::from_raw(6)));
        assert!(verdict(Wanted::Success, good, "").is_ok());
        assert!(verdict(Wanted::Success, abort, "").is_err());
        assert_eq!(verdict(Wanted::Success, None, ""), Err("it hangs".into()));
        assert!(verdict(Wanted::Abort("too many"), abort, "there are too many").is_ok());
        assert!(verdict(Wanted::Abort("too many"), abort, "").is_err());
        let hang = "attack: HANG: nothing got done for 20 s\nthere are too many";
        assert!(verdict(Wanted::Abort("too many"), abort, hang).is_err());
        assert!(verdict(Wanted::Abort("too many"), good, "too many").is_err());
    }
}
