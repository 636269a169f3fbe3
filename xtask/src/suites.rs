//! Runs the tests of other crates on the drop-in `rayon-core`, and Rayon's tests on our parallel
//! iterators. The tests are fetched through cargo, patched on the command line, run and counted.
//! The repository keeps no copy.
//!
//! Two facts show that a suite used the shim: `cargo tree` names the shim's path, and every process
//! that used a pool appends that pool's counters to a file.

mod catalogue;
mod facade;
mod fetch;
mod moved;
mod run;

pub use run::{Ended, executables, wait};

use crate::commands::target_dir;
use catalogue::{SUITES, Suite};
use run::{Outcome, Runner};
use std::io;
use std::time::Duration;

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether to run only what CI runs.
    pub fast: bool,
    /// Whether to run also suites that take long to build.
    pub long: bool,
    /// If given, the suite of this name is run. If no suite has this name, all suites whose names
    /// contain it are run.
    pub only: Option<String>,
    /// How many times to run each suite; 0 means once.
    pub repeat: usize,
    /// The numbers of threads to run each suite with; empty means the default.
    pub threads: Vec<usize>,
}

impl Options {
    /// Parses the command line; `None` if it is not valid.
    pub fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--fast" => options.fast = true,
                "--long" => options.long = true,
                "--only" => options.only = Some((*words.next()?).to_owned()),
                "--repeat" => options.repeat = words.next()?.parse().ok()?,
                "--threads" => {
                    for number in words.next()?.split(',') {
                        options.threads.push(number.parse().ok()?);
                    }
                }
                _ => return None,
            }
        }
        Some(options)
    }

    fn wants(&self, suite: &Suite) -> bool {
        let exact = |name: &str| SUITES.iter().any(|suite| suite.name == name);
        let named = match self.only.as_deref() {
            None => true,
            Some(name) if exact(name) => suite.name == name,
            Some(part) => suite.name.contains(part),
        };
        named && (!self.fast || suite.fast) && (!suite.long || self.long || self.only.is_some())
    }
}

/// Fetches and runs the suites and prints the table; returns whether all of them passed.
pub fn run(options: &Options) -> io::Result<bool> {
    let wanted: Vec<&Suite> = SUITES.iter().filter(|suite| options.wants(suite)).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(io::Error::other(format!("no such suite; there are: {}", names.join(", "))));
    }
    let folder = target_dir().join("suites");
    fetch::fetch(&folder, &wanted)?;
    let mut rows = Vec::new();
    for &suite in &wanted {
        let runner = Runner::new(&folder, suite, options)?;
        rows.push((suite.name, runner.run()?));
    }
    print_table(&rows);
    wanted.iter().for_each(|suite| print_left_out(suite));
    Ok(rows.iter().all(|(_, outcome)| outcome.is_good()))
}

fn print_table(rows: &[(&str, Outcome)]) {
    println!(
        "\n{:26} {:>6} {:>5} {:>7} {:>7} {:>8} {:>6} {:>6} {:>10}  on Blitz",
        "suite", "tests", "runs", "passed", "failed", "ignored", "time", "pools", "jobs"
    );
    for (name, outcome) in rows {
        let Outcome { runs, counts, time, proof, in_graph, complaints } = outcome;
        println!(
            "{name:26} {:>6} {runs:>5} {:>7} {:>7} {:>8} {:>6} {:>6} {:>10}  {}",
            counts.all() / (*runs).max(1),
            counts.passed,
            counts.failed,
            counts.ignored,
            seconds(*time),
            proof.pools,
            proof.jobs,
            match (in_graph, proof.jobs) {
                (true, 1..) => "yes",
                (true, 0) if !proof.is_needed => "yes: these programs can use no other rayon-core",
                (true, 0) => "NO: no pool ran a job",
                (false, _) => "NO: the shim is not in the graph",
            }
        );
        for complaint in complaints {
            println!("  ! {complaint}");
        }
    }
}

/// Prints which tests of a suite are not run.
fn print_left_out(suite: &Suite) {
    for (file, tests, why) in suite.left_out {
        println!("\n{}, not run: {} of {file}: {why}", suite.name, tests.len());
        println!("  {}", tests.join(", "));
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Options, SUITES};

    #[test]
    fn options_of_suites() {
        let words = ["--fast", "--repeat", "20", "--threads", "2,8", "--only", "rayon"];
        let options = Options::parse(&words).unwrap();
        assert!(options.fast && !options.long);
        assert_eq!((options.repeat, options.threads), (20, vec![2, 8]));
        assert_eq!(options.only.as_deref(), Some("rayon"));
        for bad in [&["--slow"][..], &["--repeat"], &["--threads", "x"], &["rayon"]] {
            assert_eq!(Options::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn slow_suites_run_only_if_asked_for() {
        let names = |words: &[&str]| -> Vec<&str> {
            let options = Options::parse(words).unwrap();
            SUITES.iter().filter(|suite| options.wants(suite)).map(|suite| suite.name).collect()
        };
        assert!(!names(&[]).contains(&"rav1e"));
        assert!(names(&["--long"]).contains(&"rav1e"));
        assert_eq!(names(&["--only", "rav1e"]), ["rav1e"]);
        assert_eq!(names(&["--only", "rayon"]), ["rayon"]);
        assert_eq!(names(&["--only", "documentation"]).len(), 3);
        assert!(names(&["--fast"]).len() < names(&[]).len());
    }
}
