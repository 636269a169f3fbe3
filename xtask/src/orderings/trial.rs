//! Runs single models of blitz-parts: with one ordering weakened, or unchanged, to learn which
//! sites they reach.

use crate::commands;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// Environment variables, named as in `prim/weaken.rs`.
const WEAKEN: &str = "BLITZ_WEAKEN";
const REACHED: &str = "BLITZ_REACHED";
const EXECUTIONS: &str = "BLITZ_EXECUTIONS";

/// How many executions of a model usually show which sites it reaches.
const GLANCE: usize = 1_000;

/// How often a model's state is looked at.
const POLL: Duration = Duration::from_millis(10);
/// A model without a weakened ordering that takes longer counts as hung.
const UNCHANGED_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The models: one program, which holds all of them as tests.
pub struct Models {
    program: PathBuf,
    built: SystemTime,
    folder: PathBuf,
    pub tests: Vec<Model>,
}

/// One test of the program.
pub struct Model {
    /// With its modules: `deque::model::deque_1_once`.
    pub name: String,
    glance: OnceLock<Reach>,
    whole: OnceLock<Reach>,
}

/// How many executions of a model are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The first ones.
    Glance,
    /// All.
    Whole,
}

/// The sites that a model reaches, and its time, when no ordering is weakened.
#[derive(Clone, Default)]
pub struct Reach {
    /// How long the unchanged model took.
    pub took: Duration,
    sites: BTreeSet<String>,
}

/// How a model with a weakened ordering ended.
pub enum Outcome {
    Passed,
    /// The model failed with this message.
    Failed(String),
    TimedOut,
}

impl Models {
    /// Builds the program and lists its tests, canaries excepted.
    pub fn build() -> io::Result<Models> {
        let mut build = commands::loom(None);
        build.args(["--no-run", "--message-format", "json"]).stderr(Stdio::inherit());
        let output = build.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let program = executable(&text).filter(|_| output.status.success());
        let program = program.ok_or_else(|| io::Error::other("the models do not build"))?;
        let built = fs::metadata(&program)?.modified()?;
        let folder = commands::target_dir().join("xtask/orderings");
        fs::create_dir_all(&folder)?;
        // A concurrent build would replace the program, and its lines would no longer match the
        // sites.
        let copy = folder.join(format!("models-{}", std::process::id()));
        fs::copy(&program, &copy)?;
        let program = copy;
        let list = Command::new(&program).args(["--list", "--format", "terse"]).output()?;
        let list = String::from_utf8_lossy(&list.stdout);
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        let models = names.filter(|name| !name.contains("::canary_"));
        let tests = models.map(Model::new);
        Ok(Models { program, built, folder, tests: tests.collect() })
    }

    /// The sites that `model` reaches and its time; cached until the program changes.
    pub fn reach<'a>(&self, model: &'a Model, extent: Extent) -> &'a Reach {
        let (known, name) = match extent {
            Extent::Glance => (&model.glance, "glance"),
            Extent::Whole => (&model.whole, "whole"),
        };
        known.get_or_init(|| {
            // The name has the time of the build, because another run may still write the cache
            // of an older program.
            let built = self.built.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let path = self.log(&model.name, &format!("{name}-{}", built.as_millis()));
            let text = fs::read_to_string(&path).ok().unwrap_or_else(|| {
                let (text, passed) = self.look(model, extent);
                if passed {
                    // If the cache cannot be written, only time is lost.
                    let _ = fs::write(&path, &text);
                }
                text
            });
            Reach::parse(&text)
        })
    }

    /// Runs `model` unchanged. Returns lines, first the time in milliseconds and then the sites;
    /// also returns whether the model passed. A model that failed may have missed sites.
    fn look(&self, model: &Model, extent: Extent) -> (String, bool) {
        let sites = self.log(&model.name, "sites");
        let _ = fs::remove_file(&sites);
        let mut variables = vec![(REACHED, sites.to_string_lossy().into_owned())];
        if extent == Extent::Glance {
            variables.push((EXECUTIONS, GLANCE.to_string()));
        }
        let begin = Instant::now();
        let outcome = self.run(&model.name, &variables, UNCHANGED_LIMIT, "plain");
        match &outcome {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::Failed(why)) => println!("   {} fails as it is: {why}", model.name),
            Ok(Outcome::TimedOut) => println!("   {} does not end", model.name),
            Err(why) => println!("   {} cannot be looked at: {why}", model.name),
        }
        let took = begin.elapsed().as_millis();
        let text = fs::read_to_string(&sites).unwrap_or_default();
        let _ = fs::remove_file(&sites);
        (format!("{took}\n{text}"), matches!(outcome, Ok(Outcome::Passed)))
    }

    /// Runs the model of this name with the ordering at `place` weakened.
    pub fn weaken(&self, model: &str, place: &str, limit: Duration) -> io::Result<Outcome> {
        let first = place.split(',').next().unwrap_or_default();
        let log = first.replace(['/', ':'], "-");
        self.run(model, &[(WEAKEN, place.to_owned())], limit, &log)
    }

    fn run(
        &self,
        model: &str,
        variables: &[(&str, String)],
        limit: Duration,
        log: &str,
    ) -> io::Result<Outcome> {
        let log = self.log(model, log);
        let output = fs::File::create(&log)?;
        let mut command = Command::new(&self.program);
        command.current_dir(crate::tree::root());
        command.args(["--exact", model, "--test-threads", "1", "--nocapture"]);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        // Only the panic message is read.
        command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        let mut child = command.stdout(output.try_clone()?).stderr(output).spawn()?;
        let begin = Instant::now();
        let outcome = loop {
            match child.try_wait()? {
                Some(status) if status.success() => break Outcome::Passed,
                Some(status) => {
                    let text = fs::read(&log)?;
                    let why = failure(&String::from_utf8_lossy(&text), &status.to_string());
                    let foreign = || io::Error::other(format!("{model} was ended: {status}"));
                    break Outcome::Failed(why.ok_or_else(foreign)?);
                }
                None if begin.elapsed() > limit => {
                    child.kill()?;
                    child.wait()?;
                    break Outcome::TimedOut;
                }
                None => std::thread::sleep(POLL),
            }
        };
        let _ = fs::remove_file(&log);
        Ok(outcome)
    }

    fn log(&self, model: &str, what: &str) -> PathBuf {
        self.folder.join(format!("{}.{what}.txt", model.replace("::", "-")))
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        // If removal fails, the copy stays in the build folder.
        let _ = fs::remove_file(&self.program);
    }
}

impl Model {
    fn new(name: &str) -> Model {
        Model { name: name.to_owned(), glance: OnceLock::new(), whole: OnceLock::new() }
    }

    /// Whether the model belongs to the protocol in `folder`.
    pub fn is_of(&self, folder: &str) -> bool {
        let modules = folder.replace('/', "::");
        self.name.strip_prefix(&modules).is_some_and(|rest| rest.starts_with("::"))
    }

    /// The sites that it is known to reach.
    pub fn reached(&self) -> Vec<String> {
        let known = [&self.glance, &self.whole].into_iter().filter_map(OnceLock::get);
        known.flat_map(|reach| reach.sites.iter().cloned()).collect()
    }
}

impl Reach {
    /// Parses lines: the time in milliseconds, then the sites.
    fn parse(text: &str) -> Reach {
        let mut lines = text.lines();
        let took = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        let sites = lines.map(|line| line.rsplit_once("/src/").map_or(line, |(_, site)| site));
        Reach { took: Duration::from_millis(took), sites: sites.map(str::to_owned).collect() }
    }

    /// Whether the model reaches `place`.
    pub fn has(&self, place: &str) -> bool {
        place.split(',').any(|place| self.sites.contains(place))
    }
}

/// The last program in cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let named = messages.lines().rev().find_map(|line| line.split_once("\"executable\":\""));
    named.and_then(|(_, rest)| rest.split_once('"')).map(|(path, _)| PathBuf::from(path))
}

/// Why a model failed, by its output and its status. Returns `None` if neither a panic nor an abort
/// ended the model: the system may have killed it for lack of memory.
fn failure(output: &str, status: &str) -> Option<String> {
    let aborted = status.contains("SIGABRT").then(|| status.to_owned());
    complaint(output).or(aborted)
}

/// The message of a model's first panic.
fn complaint(output: &str) -> Option<String> {
    let mut lines = output.lines().skip_while(|line| !line.contains("panicked at"));
    lines.next()?;
    let said: Vec<&str> = lines.take(3).map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(said.first()?.chars().take(120).collect())
}

#[cfg(test)]
mod tests {
    use super::{Model, Reach, complaint, executable, failure};

    #[test]
    fn the_output_of_cargo_and_models_is_parsed() {
        let messages =
            "{\"executable\":null}\n{\"executable\":\"/x/parts-1\",\"fresh\":true}\n{\"reason\":1}";
        assert_eq!(executable(messages).unwrap().to_str(), Some("/x/parts-1"));
        let output =
            "7 executions\nthread 'a' panicked at src/a.rs:1:2:\nboth missed the other\nnote: x";
        assert_eq!(complaint(output).as_deref(), Some("both missed the other"));
        assert_eq!(complaint("ok"), None);
        let reach = Reach::parse("1500\ncrates/blitz-parts/src/deque/mod.rs:1:2:0\n");
        assert!(reach.has("deque/mod.rs:1:2:0") && reach.took.as_millis() == 1_500);
    }

    #[test]
    fn only_a_panic_or_an_abort_is_a_failure() {
        let panic = "thread 'a' panicked at src/a.rs:1:2:\nboth missed the other";
        let why = failure(panic, "exit status: 101");
        assert_eq!(why.as_deref(), Some("both missed the other"));
        assert!(failure("", "signal: 6 (SIGABRT) (core dumped)").is_some());
        assert_eq!(failure("7 executions", "signal: 9 (SIGKILL)"), None);
    }

    #[test]
    fn models_belong_to_the_folder_that_they_lie_in() {
        assert!(Model::new("park::futex::model::a").is_of("park/futex"));
        assert!(!Model::new("deque::model::a").is_of("de"));
    }
}
