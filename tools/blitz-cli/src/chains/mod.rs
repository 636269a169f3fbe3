//! `blitz bench --build`: measures the build of a program with 40 parallel loops, once with Blitz's
//! iterators and once with Rayon's.

mod source;

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Failure, print, target, units};

/// Whose iterators the program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Iterators {
    Blitz,
    Rayon,
}

/// What a build costs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    /// The build time of the program alone. Its dependencies are built before.
    seconds: f64,
    llvm_lines: f64,
    stripped_bytes: f64,
}

/// Builds both programs, in turns, and prints what they cost.
pub fn run() -> Result<(), Failure> {
    let folder = target::folder()?.join("chains");
    let mut programs = Vec::new();
    for iterators in [Iterators::Blitz, Iterators::Rayon] {
        programs.push((iterators, lay_out(iterators, &folder.join(iterators.name()))?));
    }
    let mut answers = Vec::new();
    for (iterators, folder) in &programs {
        eprintln!("building the dependencies of the program with {}", iterators.name());
        build(folder)?;
        answers.push(answer(folder)?);
    }
    if answers[0] != answers[1] {
        return Err(Failure::new("the programs have different results", answers.join(", ")));
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for ((iterators, folder), times) in programs.iter().zip(&mut times) {
            fs::write(folder.join("src/main.rs"), source::program(iterators.prelude(), round))
                .map_err(|error| Failure::new("cannot change the program", error))?;
            let start = Instant::now();
            build(folder)?;
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let mut costs = Vec::new();
    for ((_, folder), times) in programs.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let (llvm_lines, stripped_bytes) = (llvm_lines(folder)?, size(folder)?);
        costs.push(Cost { seconds: times[ROUNDS / 2], llvm_lines, stripped_bytes });
    }
    print(&table(costs[0], costs[1]))
}

impl Iterators {
    fn name(self) -> &'static str {
        match self {
            Self::Blitz => "blitz",
            Self::Rayon => "rayon",
        }
    }

    fn prelude(self) -> &'static str {
        match self {
            Self::Blitz => "blitz::prelude",
            Self::Rayon => "rayon::prelude",
        }
    }

    fn dependency(self, checkout: &str) -> String {
        match self {
            Self::Blitz => {
                format!("blitz = {{ package = \"blitz-rt\", path = \"{checkout}/crates/blitz\" }}")
            }
            Self::Rayon => "rayon = \"1.12\"".to_owned(),
        }
    }
}

/// Writes the package into `folder`, and returns that folder.
fn lay_out(iterators: Iterators, folder: &Path) -> Result<PathBuf, Failure> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let checkout = checkout.canonicalize().unwrap_or(checkout);
    let dependency = iterators.dependency(&checkout.to_string_lossy().replace('\\', "/"));
    let manifest = format!(
        "[package]\nname = \"chains\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependency}\n\n[profile.release]\nstrip = \"symbols\"\n\n[workspace]\n"
    );
    // This lock file covers the dependencies of both programs, so cargo needs no network.
    let lock = checkout.join("bench").join("rayon-programs").join("Cargo.lock");
    fs::create_dir_all(folder.join("src"))
        .and_then(|()| fs::write(folder.join("Cargo.toml"), manifest))
        .and_then(|()| fs::copy(lock, folder.join("Cargo.lock")))
        .and_then(|_| {
            let program = source::program(iterators.prelude(), ROUNDS);
            fs::write(folder.join("src/main.rs"), program)
        })
        .map_err(|error| Failure::new(format!("cannot write to {}", folder.display()), error))?;
    Ok(folder.to_owned())
}

fn cargo(folder: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .current_dir(folder)
        .args(arguments)
        .env("CARGO_TARGET_DIR", folder.join("build"))
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
        .stderr(Stdio::piped());
    let output = command.output().map_err(|error| Failure::new("cargo cannot be run", error))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Failure::new(format!("cargo cannot build {}", folder.display()), said.trim()))
        }
    }
}

fn build(folder: &Path) -> Result<(), Failure> {
    cargo(folder, &["build", "--release"])
}

fn executable(folder: &Path) -> PathBuf {
    let name = format!("chains{}", env::consts::EXE_SUFFIX);
    folder.join("build").join("release").join(name)
}

/// Returns what the program prints.
fn answer(folder: &Path) -> Result<String, Failure> {
    let output = Command::new(executable(folder)).output();
    let output = output.map_err(|error| Failure::new("the program cannot be run", error))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(Failure::new("the program fails", output.status)),
    }
}

fn size(folder: &Path) -> Result<f64, Failure> {
    let metadata = fs::metadata(executable(folder));
    let metadata = metadata.map_err(|error| Failure::new("cargo has left no program", error))?;
    Ok(metadata.len() as f64)
}

/// Returns how many lines of code the compiler hands to LLVM, before any optimisation.
fn llvm_lines(folder: &Path) -> Result<f64, Failure> {
    let flags = ["--emit=llvm-ir", "-Ccodegen-units=1", "-Cno-prepopulate-passes"];
    // Keep the measured program: build elsewhere.
    let emit = ["rustc", "--release", "--target-dir", "ir", "--bin", "chains", "--"];
    cargo(folder, &[&emit[..], &flags].concat())?;
    let failed = |error| Failure::new("cannot read the code for LLVM", error);
    let written = newest_ir(&folder.join("ir").join("release").join("deps")).map_err(failed)?;
    let nothing = || Failure("the compiler wrote nothing for LLVM".to_owned());
    let text = fs::read_to_string(written.ok_or_else(nothing)?).map_err(failed)?;
    Ok(text.lines().count() as f64)
}

/// Finds the code for LLVM that was written last. Files that an older compiler wrote stay in the
/// folder.
fn newest_ir(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("ll")) {
            let written = fs::metadata(&path)?.modified()?;
            newest = newest.max(Some((written, path)));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

fn table(blitz: Cost, rayon: Cost) -> String {
    let mut text =
        format!("{:<16}{:>12}{:>12}{:>8}{:>8}\n", "40 loops", "blitz", "rayon", "", "goal");
    let rows = [
        ("build, seconds", blitz.seconds, rayon.seconds, 2, 0.7),
        ("LLVM lines", blitz.llvm_lines, rayon.llvm_lines, 0, 0.6),
        ("stripped, bytes", blitz.stripped_bytes, rayon.stripped_bytes, 0, 0.8),
    ];
    for (name, blitz, rayon, digits, goal) in rows {
        let (ratio, goal) = (units::ratio(blitz / rayon), units::ratio(goal));
        let costs = format!("{blitz:>12.digits$}{rayon:>12.digits$}");
        text.push_str(&format!("{name:<16}{costs}{ratio:>8}{goal:>8}\n"));
    }
    text
}

/// The number of measured builds of each program. The median counts.
const ROUNDS: usize = 3;

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_table_has_a_ratio_and_a_goal_per_cost() {
        let cost = |seconds| Cost { seconds, llvm_lines: 100.0, stripped_bytes: 1_000.0 };
        let text = table(cost(3.0), cost(6.0));
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("0.50x") && text.contains("0.70x") && text.contains("6.00"));
    }

    #[test]
    fn only_the_newest_code_for_llvm_counts() {
        let folder = env::temp_dir().join(format!("blitz-cli-ir-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let now = SystemTime::now();
        for (name, age) in [("chains-1.ll", 60), ("chains-2.ll", 30), ("chains-2.d", 0)] {
            let file = fs::File::create(folder.join(name)).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let newest = newest_ir(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(newest, Some(folder.join("chains-2.ll")));
    }

    #[test]
    fn either_program_names_its_own_crate_only() {
        assert!(Iterators::Blitz.dependency("/c").contains("/c/crates/blitz"));
        assert!(!Iterators::Rayon.dependency("/c").contains("blitz"));
    }
}
