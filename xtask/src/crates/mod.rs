//! Runs crates that services use, each in a small program on Blitz. The workspace `ecosystem/` has
//! the programs, and `docs/crates.md` has the results.

#[path = "../../../tools/blitz-cli/src/crates/catalogue.rs"]
mod catalogue;
mod page;

pub use page::{findings, write};

use crate::commands::{self, target_dir};
use crate::ladder::describe;
use crate::suites::{Ended, executables, wait};
use crate::tree::root;
use catalogue::{ENTRIES, Entry};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The packages of `ecosystem/`. Those that CI builds come first.
const PACKAGES: &[&str] = &["light", "net", "data", "heavy"];
const FAST: &[&str] = &["light", "net", "data"];
/// The example of a service that was written for Tokio, in `examples/`. It is built with the crates
/// of the package `data`.
const PORT: &str = "port";

/// A build that takes longer counts as hung.
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);
/// A program that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether to run only what CI runs.
    pub fast: bool,
    /// If given, only the programs of this crate are run.
    pub only: Option<String>,
}

impl Options {
    /// Parses the command line; `None` if it is not valid.
    pub fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--fast" => options.fast = true,
                "--only" => options.only = Some((*words.next()?).to_owned()),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// How a test went.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped(String),
}

/// The four ways to use a crate: the name of the test, and the catalogue's text about it.
fn ways(entry: &Entry) -> [(&'static str, &'static str); 4] {
    [
        ("as_is", entry.as_is),
        ("by_trait", entry.by_trait),
        ("by_feature", entry.feature),
        ("as_a_guest", entry.guest),
    ]
}

/// The tests that the catalogue promises for the programs of `package`.
fn promised(package: &str) -> impl Iterator<Item = (&'static Entry, String)> {
    let entries = ENTRIES.iter().filter(move |entry| entry.package == package);
    entries.flat_map(|entry| {
        let module = entry.name.replace('-', "_");
        let used = ways(entry).into_iter().filter(|(_, what)| !what.is_empty());
        used.map(move |(way, _)| (entry, format!("{module}::{way}")))
    })
}

/// Builds and runs the programs, and prints a line for each test; returns whether no test failed.
pub fn run(options: &Options) -> io::Result<bool> {
    let only = match options.only.as_deref() {
        None => None,
        Some(name) => match ENTRIES.iter().find(|entry| entry.name == name) {
            Some(entry) if !entry.package.is_empty() => Some(entry),
            _ => return Err(io::Error::other(format!("there is no program for {name}"))),
        },
    };
    let packages = match (only, options.fast) {
        (Some(entry), _) => vec![entry.package],
        (None, true) => FAST.to_vec(),
        (None, false) => PACKAGES.to_vec(),
    };
    let folder = target_dir().join("ecosystem/logs");
    fs::create_dir_all(&folder)?;
    let mut good = true;
    for package in packages {
        let filter = only.map(|entry| entry.name.replace('-', "_") + "::");
        let Some(outcomes) = run_package(&folder, package, filter.as_deref())? else {
            good = false;
            continue;
        };
        let wanted: Vec<_> =
            promised(package).filter(|(entry, _)| only.is_none_or(|only| only == *entry)).collect();
        for (entry, test) in &wanted {
            let (mark, why) = match outcomes.get(test) {
                Some(Outcome::Passed) => ("ok", ""),
                Some(Outcome::Skipped(why)) => ("skipped", why.as_str()),
                Some(Outcome::Failed) => ("FAILED", ""),
                None => ("MISSING", "the catalogue promises a test of this name"),
            };
            good &= matches!(mark, "ok" | "skipped");
            let version = page::version(entry)?.unwrap_or_default();
            println!("{:28} {version:16} {:12} {mark} {why}", entry.name, way_of(test));
        }
        for (test, outcome) in outcomes {
            if wanted.iter().any(|(_, known)| *known == test) {
                continue;
            }
            if let Some(why) = objection(&test, &outcome) {
                println!("{test}: {why}");
                good = false;
            }
        }
    }
    if only.is_none() {
        let mut port = commands::ecosystem(&["run", "--locked", "--quiet", "--package", PORT]);
        println!("$ {}", describe(&port));
        good &= port.status()?.success();
        // Check the diff that leads from the service for Tokio to the port.
        let mut diff = commands::undo_port();
        println!("$ {}", describe(&diff));
        good &= diff.status()?.success();
    }
    Ok(good)
}

/// What is wrong with a test that the catalogue does not promise. Only tests with the name of a way
/// have to be promised; others may test something else, and have to pass.
fn objection(test: &str, outcome: &Outcome) -> Option<&'static str> {
    if ways(&ENTRIES[0]).iter().any(|(way, _)| *way == way_of(test)) {
        return Some("the catalogue does not list it");
    }
    (*outcome == Outcome::Failed).then_some("FAILED")
}

fn way_of(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// The result of each test of a package, by name; `None` if the package cannot be built, or if one
/// of its programs hangs or crashes without a failed test.
fn run_package(
    folder: &Path,
    package: &str,
    filter: Option<&str>,
) -> io::Result<Option<BTreeMap<String, Outcome>>> {
    let mut build = commands::ecosystem(&["test", "--locked", "--no-run", "--package", package]);
    println!("$ {}", describe(&build));
    let log = folder.join(format!("{package}-build.txt"));
    if !matches!(wait(&mut build, &log, BUILD_LIMIT)?, Ended::Well) {
        println!("{package} cannot be built, see {}", log.display());
        return Ok(None);
    }
    let home = root().join(commands::ECOSYSTEM).join(package);
    let mut all = BTreeMap::new();
    for (_, program) in executables(&fs::read_to_string(&log)?) {
        let mut run = Command::new(home.parent().unwrap_or(&home).join(program));
        run.current_dir(&home).arg("--show-output").args(filter);
        let log = folder.join(format!("{package}.txt"));
        let ended = wait(&mut run, &log, LIMIT)?;
        let found = outcomes(&fs::read_to_string(&log)?);
        if let Some(why) = complaint(&ended, &found) {
            println!("{package} {why}, see {}", log.display());
            return Ok(None);
        }
        all.extend(found);
    }
    Ok(Some(all))
}

/// Why the outcomes in `found` cannot be trusted, if the program's end shows that.
fn complaint(ended: &Ended, found: &BTreeMap<String, Outcome>) -> Option<String> {
    match ended {
        Ended::Well => None,
        Ended::Not => Some("hangs".to_owned()),
        Ended::Badly(_) if found.values().any(|outcome| *outcome == Outcome::Failed) => None,
        Ended::Badly(status) => Some(format!("crashes without a failed test: {status}")),
    }
}

/// Parses the output of a test program.
fn outcomes(text: &str) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    let mut speaks = "";
    for line in text.lines() {
        if let Some((name, result)) =
            line.strip_prefix("test ").and_then(|line| line.split_once(" ... "))
        {
            let outcome = if result == "ok" { Outcome::Passed } else { Outcome::Failed };
            outcomes.insert(name.to_owned(), outcome);
        } else if let Some(name) =
            line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"))
        {
            speaks = name;
        } else if let Some(why) = line.strip_prefix("skipped: ") {
            // A test may print this line and fail afterwards.
            if let Some(outcome @ Outcome::Passed) = outcomes.get_mut(speaks) {
                *outcome = Outcome::Skipped(why.to_owned());
            }
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::catalogue::ENTRIES;
    use super::{
        Ended, FAST, Options, Outcome, PACKAGES, complaint, objection, outcomes, promised,
    };

    #[test]
    fn options_of_crates() {
        let options = Options::parse(&["--fast", "--only", "axum"]).unwrap();
        assert!(options.fast);
        assert_eq!(options.only.as_deref(), Some("axum"));
        assert_eq!(Options::parse(&["--slow"]), None);
        assert_eq!(Options::parse(&["--only"]), None);
    }

    #[test]
    fn the_catalogue_is_sorted_and_every_entry_says_something() {
        assert!(ENTRIES.windows(2).all(|pair| pair[0].name < pair[1].name));
        for entry in ENTRIES {
            assert!(entry.package.is_empty() || PACKAGES.contains(&entry.package), "{entry:?}");
            let said = [entry.as_is, entry.by_trait, entry.guest];
            assert!(said.iter().any(|text| !text.is_empty()), "{entry:?}");
        }
        let tried = ENTRIES.iter().filter(|entry| !entry.package.is_empty()).count();
        assert!(tried >= 25, "{tried}");
        assert!(promised("light").any(|(_, test)| test == "tokio_util::as_a_guest"));
        assert!(FAST.contains(&"net") && FAST.iter().all(|package| PACKAGES.contains(package)));
        assert!(promised("net").any(|(_, test)| test == "redis::by_feature"));
        // Only a crate that needs a guest for something has a feature that avoids it.
        assert!(ENTRIES.iter().all(|entry| entry.feature.is_empty() || !entry.guest.is_empty()));
    }

    #[test]
    fn a_test_that_speaks_of_skipping_and_fails_has_failed() {
        let text = "test a::as_is ... FAILED\n\n---- a::as_is stdout ----\nskipped: no server\n";
        assert_eq!(outcomes(text)["a::as_is"], Outcome::Failed);
    }

    #[test]
    fn tests_of_something_else_need_no_entry() {
        assert!(objection("flume::by_feature", &Outcome::Passed).is_some());
        assert_eq!(objection("flume::others_go_on", &Outcome::Passed), None);
        assert_eq!(objection("flume::others_go_on", &Outcome::Failed), Some("FAILED"));
    }

    #[test]
    fn a_program_that_crashes_after_its_tests_is_reported() {
        let (good, bad) = (outcomes("test a ... ok\n"), outcomes("test a ... FAILED\n"));
        let signal = || Ended::Badly("signal: 11".to_owned());
        assert_eq!(complaint(&Ended::Well, &good), None);
        assert_eq!(complaint(&signal(), &bad), None, "the failed test is the reason");
        assert!(complaint(&signal(), &good).is_some_and(|why| why.contains("signal: 11")));
        assert!(complaint(&Ended::Not, &good).is_some());
    }

    #[test]
    fn results_of_tests_are_read() {
        let text = "running 3 tests\ntest a::as_is ... ok\ntest b::as_is ... FAILED\n\
                    test c::as_a_guest ... ok\n\n---- c::as_a_guest stdout ----\n\
                    skipped: no server\n";
        let read = outcomes(text);
        assert_eq!(read["a::as_is"], Outcome::Passed);
        assert_eq!(read["b::as_is"], Outcome::Failed);
        assert_eq!(read["c::as_a_guest"], Outcome::Skipped("no server".to_owned()));
        assert_eq!(read.len(), 3);
    }
}
