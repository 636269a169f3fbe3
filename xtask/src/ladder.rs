//! Runs one step after the other. Prints a header, progress and the time of each step, and a table
//! at the end.

use crate::tree::root;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How a step ended, unless it failed.
pub enum Done {
    /// It passed. The text is a remark for the table, and may be empty.
    Passed(String),
    /// It was skipped, for this reason.
    Skipped(String),
}

/// The steps that were run, and how they ended.
pub struct Ladder {
    results: Vec<Entry>,
    logs: PathBuf,
    begin: Instant,
}

struct Entry {
    name: &'static str,
    took: Duration,
    mark: &'static str,
    note: String,
}

/// A step while it runs: the output of its commands goes to its log.
pub struct Job {
    log: PathBuf,
    begin: Instant,
    shown: Instant,
}

/// A command that takes longer counts as hung and is killed. Its child processes are not killed.
const LIMIT: Duration = Duration::from_secs(40 * 60);
/// How often a step reports progress if there is no terminal.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// How often a command's state is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How many lines of a failed step's log are shown.
const SHOWN_LINES: usize = 300;

impl Ladder {
    /// Creates a ladder without steps; logs go into the folder `logs`.
    pub fn new(logs: PathBuf) -> io::Result<Ladder> {
        fs::create_dir_all(&logs)?;
        Ok(Ladder { results: Vec::new(), logs, begin: Instant::now() })
    }

    /// Runs one step. A failure is shown and remembered; later steps still run.
    pub fn step(
        &mut self,
        name: &'static str,
        what: &str,
        body: impl FnOnce(&mut Job) -> Result<Done, String>,
    ) {
        println!("\n── {name}: {what}");
        let now = Instant::now();
        let log = self.logs.join(format!("{name}.txt"));
        let mut job = Job { log, begin: now, shown: now };
        let outcome = File::create(&job.log)
            .map_err(|error| format!("its log cannot be written: {error}"))
            .and_then(|_| body(&mut job));
        let took = job.begin.elapsed();
        let (mark, note) = match outcome {
            Ok(Done::Passed(note)) => ("passed", note),
            Ok(Done::Skipped(why)) => ("skipped", why),
            Err(why) => {
                job.show_log();
                ("FAILED", why)
            }
        };
        let colon = if note.is_empty() { "" } else { ": " };
        println!("   {mark} after {}{colon}{note}", seconds(took));
        self.results.push(Entry { name, took, mark, note });
    }

    /// Prints the table; returns whether no step failed.
    pub fn summary(&self) -> bool {
        let width = self.results.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        println!("\n── summary");
        for Entry { name, took, mark, note } in &self.results {
            println!("   {name:width$}  {:>9}  {mark:7}  {note}", seconds(*took));
        }
        let failed = self.results.iter().filter(|entry| entry.mark == "FAILED").count();
        let all = seconds(self.begin.elapsed());
        println!("   {} steps, {failed} failed, {all}", self.results.len());
        failed == 0
    }
}

impl Job {
    /// Runs `command`, whose output goes to the log.
    pub fn run(&mut self, command: &mut Command) -> Result<(), String> {
        let line = describe(command);
        println!("   $ {line}");
        let status = self.wait(command, &line).map_err(|error| format!("`{line}`: {error}"))?;
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("`{line}`: {status}")),
            None => Err(format!("`{line}` did not end within {}", seconds(LIMIT))),
        }
    }

    /// Adds a text to the log.
    pub fn note(&self, text: &str) {
        let log = File::options().append(true).open(&self.log);
        // If the log cannot be written, the next command reports it.
        let _ = log.and_then(|mut log| writeln!(log, "{text}"));
    }

    fn wait(&mut self, command: &mut Command, line: &str) -> io::Result<Option<ExitStatus>> {
        self.note(&format!("$ {line}"));
        let log = File::options().append(true).open(&self.log)?;
        let begin = Instant::now();
        let mut child = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                self.clear();
                return Ok(Some(status));
            }
            if begin.elapsed() > LIMIT {
                self.clear();
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            self.show();
            std::thread::sleep(POLL);
        }
    }

    /// Shows how long the step has run and what it printed last.
    fn show(&mut self) {
        let terminal = io::stdout().is_terminal();
        if !terminal && self.shown.elapsed() < SIGN_OF_LIFE {
            return;
        }
        self.shown = Instant::now();
        let last = last_line(&self.log);
        let time = seconds(self.begin.elapsed());
        if terminal {
            print!("\r\x1b[K   … {time}  {last}");
            let _ = io::stdout().flush();
        } else {
            println!("   … {time}  {last}");
        }
    }

    fn clear(&self) {
        if io::stdout().is_terminal() {
            print!("\r\x1b[K");
        }
    }

    fn show_log(&self) {
        let text = read_lossy(&self.log);
        let lines: Vec<&str> = text.lines().collect();
        let left_out = lines.len().saturating_sub(SHOWN_LINES);
        if left_out > 0 {
            println!("   ({left_out} lines left out, see {})", self.log.display());
        }
        for line in &lines[left_out..] {
            println!("   | {line}");
        }
    }
}

/// The command as a user would type it, with the variables that it sets.
pub fn describe(command: &Command) -> String {
    let here = format!("{}/", root().display());
    let quoted = |text: &std::ffi::OsStr| {
        let text = text.to_string_lossy().replace(&here, "");
        if text.contains(' ') { format!("\"{text}\"") } else { text }
    };
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = [program].into_iter().chain(command.get_args()).map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn last_line(path: &Path) -> String {
    let text = read_lossy(path);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    line.trim().chars().take(90).collect()
}

fn seconds(time: Duration) -> String {
    let all = time.as_secs();
    if all < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} m {:02} s", all / 60, all % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, Ladder, describe, seconds};
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_failed_step_fails_the_ladder_and_later_steps_run() {
        let logs = std::env::temp_dir().join(format!("xtask-ladder-{}", std::process::id()));
        let mut ladder = Ladder::new(logs.clone()).unwrap();
        ladder.step("one", "passes", |_| Ok(Done::Passed(String::new())));
        assert!(ladder.summary());
        ladder.step("two", "fails", |job| {
            job.run(Command::new("no-such-program").arg("--x"))?;
            Ok(Done::Passed(String::new()))
        });
        let mut ran = false;
        ladder.step("three", "is skipped", |_| {
            ran = true;
            Ok(Done::Skipped("no reason".into()))
        });
        assert!(ran && !ladder.summary());
        std::fs::remove_dir_all(logs).unwrap();
    }

    #[test]
    fn commands_are_shown_as_one_would_type_them() {
        let mut command = Command::new("/somewhere/cargo");
        command.args(["test", "--lib"]).env("RUSTFLAGS", "--cfg x");
        assert_eq!(describe(&command), "RUSTFLAGS=\"--cfg x\" cargo test --lib");
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 m 05 s");
    }
}
