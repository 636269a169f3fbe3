//! Builds a suite with the shim patched in, runs its programs one by one and counts their tests.

use super::Options;
use super::catalogue::{Source, Suite};
use super::fetch::place;
use crate::commands::cargo;
use crate::ladder::describe;
use crate::tree::root;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The shim that has our own parallel iterators.
const FACADE: &str = "rayon";

/// A program that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(10 * 60);
/// A build that takes longer counts as hung.
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);
const POLL: Duration = Duration::from_millis(20);

/// What `cargo test` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub ignored: usize,
}

impl Counts {
    pub fn all(self) -> usize {
        self.passed + self.failed
    }

    /// Adds up the counts in the output of test programs.
    fn read(text: &str) -> Counts {
        let mut counts = Counts::default();
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
            let number = |what: &str| -> usize {
                let before = line.split(what).next().unwrap_or("");
                before.rsplit([' ', '.']).find_map(|word| word.parse().ok()).unwrap_or(0)
            };
            counts.passed += number(" passed");
            counts.failed += number(" failed");
            counts.ignored += number(" ignored");
        }
        counts
    }

    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The record that the shim wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Whether programs could have run on another core. Programs on the facade of our iterators
    /// cannot, and the shim does not start or count their global pool.
    pub is_needed: bool,
    pub pools: u64,
    pub jobs: u64,
}

impl Proof {
    fn read(text: &str) -> Proof {
        let mut proof = Proof { is_needed: true, ..Proof::default() };
        for word in
            text.lines().filter(|line| line.starts_with("blitz ")).flat_map(str::split_whitespace)
        {
            match word.split_once('=') {
                Some(("pools", number)) => proof.pools += number.parse().unwrap_or(0),
                Some(("jobs", number)) => proof.jobs += number.parse().unwrap_or(0),
                _ => {}
            }
        }
        proof
    }
}

/// How a suite went.
#[derive(Debug, Default)]
pub struct Outcome {
    pub runs: usize,
    pub counts: Counts,
    pub time: Duration,
    pub proof: Proof,
    /// Whether the suite's dependencies, as cargo resolves them, include every shim.
    pub in_graph: bool,
    pub complaints: Vec<String>,
}

impl Outcome {
    pub fn is_good(&self) -> bool {
        self.complaints.is_empty()
            && self.counts.failed == 0
            && self.counts.passed > 0
            && self.in_graph
            && (self.proof.jobs > 0 || !self.proof.is_needed)
    }
}

/// Runs one suite.
pub struct Runner<'a> {
    suite: &'a Suite,
    options: &'a Options,
    /// The package.
    package: PathBuf,
    /// Where all suites are built.
    build: PathBuf,
    logs: PathBuf,
}

impl<'a> Runner<'a> {
    pub fn new(folder: &Path, suite: &'a Suite, options: &'a Options) -> io::Result<Runner<'a>> {
        let package = match suite.source {
            Source::Package { copy, version, .. } => place(folder, copy, version),
            Source::Folder(path) | Source::Program(path) => root().join(path),
        };
        let name: String =
            suite.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let logs = folder.join("logs").join(name);
        if logs.exists() {
            fs::remove_dir_all(&logs)?;
        }
        fs::create_dir_all(&logs)?;
        Ok(Runner { suite, options, package, build: folder.join("build"), logs })
    }

    /// Builds and runs the suite.
    pub fn run(&self) -> io::Result<Outcome> {
        println!("\n── {}", self.suite.name);
        let mut outcome =
            Outcome { in_graph: self.shims_are_in_the_graph()?, ..Outcome::default() };
        let Some(commands) = self.commands(&mut outcome)? else {
            return Ok(outcome);
        };
        let threads: Vec<Option<usize>> = match &self.options.threads {
            none if none.is_empty() => vec![None],
            some => some.iter().map(|&number| Some(number)).collect(),
        };
        for threads in threads {
            for turn in 0..self.options.repeat.max(1) {
                let before = (outcome.counts, Instant::now());
                for (name, command) in &commands {
                    self.run_one(&mut outcome, name, command, threads, turn)?;
                }
                outcome.runs += 1;
                println!(
                    "   run {}, threads {}: {} passed, {} failed, {:.1} s",
                    outcome.runs,
                    threads.map_or("by default".to_owned(), |n| n.to_string()),
                    outcome.counts.passed - before.0.passed,
                    outcome.counts.failed - before.0.failed,
                    before.1.elapsed().as_secs_f64()
                );
            }
        }
        let proof = fs::read_to_string(self.proof_file()).unwrap_or_default();
        outcome.proof =
            Proof { is_needed: !self.suite.shims.contains(&FACADE), ..Proof::read(&proof) };
        Ok(outcome)
    }

    fn proof_file(&self) -> PathBuf {
        self.logs.join("proof.txt")
    }

    /// `cargo` in the package, with the shims in place of published packages.
    fn patched_cargo(&self, words: &[&str]) -> Command {
        let mut command = cargo();
        command.current_dir(&self.package).args(words);
        if let Source::Package { .. } = self.suite.source {
            for shim in self.suite.shims {
                let path = root().join("shims").join(shim);
                let path = path.to_string_lossy().replace('\\', "/");
                command.args(["--config", &format!("patch.crates-io.{shim}.path=\"{path}\"")]);
            }
        }
        command
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_TEST_DEBUG", "0")
            .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback");
        command
    }

    /// Asks cargo whether it builds all of the shims.
    fn shims_are_in_the_graph(&self) -> io::Result<bool> {
        for shim in self.suite.shims {
            if !self.is_in_the_graph(shim)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_in_the_graph(&self, shim: &str) -> io::Result<bool> {
        let mut words = vec!["tree", "--invert", shim, "--depth", "0", "--prefix", "none"];
        let mut options = self.suite.options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--no-default-features" => words.push(option),
                "--features" => words.extend([Some(option), options.next()].into_iter().flatten()),
                _ => {}
            }
        }
        let output = self.patched_cargo(&words).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        println!("   cargo tree: {}", text.trim());
        if !output.status.success() {
            println!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(text.trim_end().ends_with(&format!("shims/{shim})")))
    }

    /// The programs to run, by name. Builds them first where possible; `None` if the build fails.
    fn commands(&self, outcome: &mut Outcome) -> io::Result<Option<Vec<(String, Command)>>> {
        if let Source::Program(_) = self.suite.source {
            return Ok(Some(vec![("program".into(), self.patched_cargo(&["run", "--quiet"]))]));
        }
        if self.suite.options.contains(&"--doc") {
            let words = [&["test"], self.suite.options].concat();
            return Ok(Some(vec![("documentation".into(), self.patched_cargo(&words))]));
        }
        let words = [&["test", "--no-run"], self.suite.options].concat();
        let mut command = self.patched_cargo(&words);
        println!("   $ {}", describe(&command));
        let begin = Instant::now();
        let log = self.logs.join("build.txt");
        if !matches!(wait(&mut command, &log, BUILD_LIMIT)?, Ended::Well) {
            outcome.complaints.push(format!("cannot be built, see {}", log.display()));
            return Ok(None);
        }
        println!("   built in {:.1} s", begin.elapsed().as_secs_f64());
        let text = fs::read_to_string(&log)?;
        let mut commands = Vec::new();
        for (name, program) in executables(&text) {
            if self.options.fast && self.suite.slow.contains(&name.as_str()) {
                continue;
            }
            let mut command = Command::new(self.package.join(program));
            command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
            commands.push((name, command));
        }
        Ok(Some(commands))
    }

    fn run_one(
        &self,
        outcome: &mut Outcome,
        name: &str,
        template: &Command,
        threads: Option<usize>,
        turn: usize,
    ) -> io::Result<()> {
        let mut command = again(template);
        command.env("BLITZ_SHIM_PROOF", self.proof_file());
        command.envs(self.suite.variables.iter().copied());
        let mut log = format!("{name}-{turn}");
        if let Some(threads) = threads {
            // Set both: the suite uses the pool of a shim or that of our iterators.
            for variable in ["RAYON_NUM_THREADS", "BLITZ_WORKERS"] {
                command.env(variable, threads.to_string());
            }
            log.push_str(&format!("-threads-{threads}"));
        }
        let log = self.logs.join(log + ".txt");
        let begin = Instant::now();
        let ended = wait(&mut command, &log, LIMIT)?;
        let took = begin.elapsed();
        outcome.time += took;
        let mut counts = Counts::read(&String::from_utf8_lossy(&fs::read(&log)?));
        let complaint = match ended {
            Ended::Well => None,
            Ended::Badly(how) => Some(how),
            Ended::Not => Some(format!("did not end within {} s", LIMIT.as_secs())),
        };
        if counts == Counts::default() {
            // A program without tests, or one that died before it could count.
            let died = usize::from(complaint.is_some());
            let program = matches!(self.suite.source, Source::Program(_));
            counts = Counts {
                passed: usize::from(program) - died.min(usize::from(program)),
                failed: died,
                ignored: 0,
            };
        }
        outcome.counts.add(counts);
        if let Some(how) = complaint {
            println!("   {name}: {how}, see {}", log.display());
            outcome.complaints.push(format!("{name}: {how}, see {}", log.display()));
        } else if turn == 0 {
            println!("   {name}: {} passed, {:.1} s", counts.passed, took.as_secs_f64());
        }
        Ok(())
    }
}

/// Copies a command, so that it can run again.
fn again(template: &Command) -> Command {
    let mut command = Command::new(template.get_program());
    command.args(template.get_args());
    if let Some(folder) = template.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in template.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// The programs that `cargo test --no-run` says it has built, by the names of their files.
pub fn executables(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("Executable ")) {
        let Some((source, program)) = line.strip_suffix(')').and_then(|line| line.split_once(" ("))
        else {
            continue;
        };
        let source = source.rsplit([' ', '/', '\\']).next().unwrap_or(source);
        found.push((source.trim_end_matches(".rs").to_owned(), program.to_owned()));
    }
    found
}

/// How a program has ended.
pub enum Ended {
    /// With success.
    Well,
    /// With this exit status.
    Badly(String),
    /// Not in time: it was killed.
    Not,
}

/// Runs `command`, with its output in `log`, and kills it after `limit`.
pub fn wait(command: &mut Command, log: &Path, limit: Duration) -> io::Result<Ended> {
    let file = File::create(log)?;
    let begin = Instant::now();
    let mut child = command.stdout(file.try_clone()?).stderr(file).spawn()?;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(Ended::Well),
            Some(status) => return Ok(Ended::Badly(status.to_string())),
            None if begin.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                return Ok(Ended::Not);
            }
            None => std::thread::sleep(POLL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Proof, executables};

    #[test]
    fn results_of_several_programs_add_up() {
        let text = "running 2 tests\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Counts::read(text), Counts { passed: 15, failed: 2, ignored: 1 });
        assert_eq!(Counts::read("nothing"), Counts::default());
    }

    #[test]
    fn the_records_of_the_shim_add_up() {
        let text =
            "blitz program=a pools=2 workers=4 jobs=10\nother jobs=5\nblitz pools=1 jobs=1\n";
        assert_eq!(Proof::read(text), Proof { is_needed: true, pools: 3, jobs: 11 });
    }

    #[test]
    fn programs_are_named_after_their_files() {
        let text = "    Finished `test` profile\n  Executable unittests src/lib.rs (/b/deps/x-1)\n  \
            Executable tests/sort-panic-safe.rs (/b/deps/sort_panic_safe-2)\n";
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            executables(text),
            [pair("lib", "/b/deps/x-1"), pair("sort-panic-safe", "/b/deps/sort_panic_safe-2")]
        );
    }
}
