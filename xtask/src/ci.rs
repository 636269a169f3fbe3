//! The ladder: every check that a change must pass before it is merged. Developers and CI run the
//! same ladder.

use crate::commands::{self, cargo, targets};
use crate::coverage;
use crate::dependencies;
use crate::ladder::{Done, Job, Ladder};
use crate::package;
use crate::page;
use crate::tidy;
use crate::tool::{self, Tool};
use crate::tree::{Tree, root};
use crate::user;
use std::fmt::Display;
use std::process::Command;
use std::{fs, io};

/// The cases of `blitz bench` that show that the tool works. The second case also starts a process
/// with clients for each contestant.
const SMOKE_CASES: [&str; 2] = ["fork-join/empty-tree-10/inside", "io/echo-64/64-connections"];

/// The shortest case for which `blitz bench` builds and checks the Rayon programs on both cores.
const PROGRAM_CASE: &str = "rayon/loop-100/outside";

/// The packages whose examples are run, with their folders.
const WITH_EXAMPLES: &[(&str, &str)] =
    &[("blitz-rt", "crates/blitz"), ("blitz-hyper", "crates/blitz-hyper")];

/// How much of the ladder to climb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Whether to run only the steps that take seconds once everything is built.
    pub fast: bool,
    /// Whether the caller has run `cargo test --workspace` itself.
    pub tested: bool,
    /// Whether to remove build folders that no later step uses.
    pub sweep: bool,
}

impl Extent {
    /// Removes the build folder `folder`, if the caller asked for it.
    ///
    /// All folders together take tens of gigabytes, which a small machine does not have.
    fn sweep(self, folder: &str) {
        if self.sweep {
            // A folder that cannot be removed only takes space.
            let _ = fs::remove_dir_all(commands::target_dir().join(folder));
        }
    }
}

/// Runs the ladder; returns whether no step failed.
pub fn climb(extent: Extent) -> io::Result<bool> {
    let mut ladder = Ladder::new(commands::target_dir().join("xtask"))?;
    ladder
        .step("fmt", "is everything formatted?", |job| command(job, &["fmt", "--all", "--check"]));
    ladder.step("clippy", "does the linter agree, on every target?", |job| {
        command(job, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
    });
    ladder.step("tidy", "are the rules of the house kept?", |job| {
        let tree = Tree::load(&root()).map_err(|error| error.to_string())?;
        no_findings(job, &tidy::findings(&tree))
    });
    ladder.step("docs", "does the documentation build, without a dead link?", |job| {
        let mut docs = cargo();
        docs.env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--no-deps", "--workspace"]);
        job.run(&mut docs)?;
        passed()
    });
    if !extent.fast {
        deep(&mut ladder, extent);
    }
    Ok(ladder.summary())
}

fn deep(ladder: &mut Ladder, extent: Extent) {
    ladder.step("coverage", "does everything exist that docs/coverage.md names?", |job| {
        let tree = Tree::load(&root()).map_err(|error| error.to_string())?;
        no_findings(job, &coverage::findings(&tree))
    });
    ladder.step("dependencies", "do users get no second runtime, and no checker?", |job| {
        let findings = dependencies::PACKAGES.iter().map(|package| {
            Ok::<_, String>(dependencies::findings(package, &dependencies::tree(package)?))
        });
        no_findings(job, &findings.collect::<Result<Vec<_>, _>>()?.concat())
    });
    ladder.step("msrv", "is the minimum compiler stated?", |_| {
        let tree = Tree::load(&root()).map_err(|error| error.to_string())?;
        let version = tidy::rust_version(&tree).ok_or("rust-version is not set")?;
        Ok(Done::Passed(format!("rust-version {version}, by clippy; not built with it here")))
    });
    ladder.step("package", "can every crate be packaged?", |job| {
        job.run(&mut package::make(false))?;
        passed()
    });
    ladder.step("test", "unit, integration and documentation tests", |job| {
        if extent.tested {
            return Ok(Done::Skipped("the caller has run them".into()));
        }
        command(job, &["test", "--workspace"])
    });
    ladder.step(
        "features",
        "do all features and a user's docs build, and files and sockets work without io_uring?",
        |job| {
            let lints = ["--all-targets", "--", "-D", "warnings"];
            let io = ["clippy", "--package", "blitz-io"];
            command(job, &[&io[..], &lints].concat())?;
            command(job, &[&io[..], &["--all-features"], &lints].concat())?;
            // In a build of the workspace `io-uring` is on, because the tools need it.
            command(job, &["test", "--package", "blitz-io", "--lib", "--test", "backends"])?;
            command(job, &["test", "--package", "blitz-rt", "--test", "fs", "--test", "fs_file"])?;
            let macros = ["--package", "blitz-rt", "--features", "macros", "--test", "macros"];
            command(job, &[&["clippy"], &macros[..], &["--", "-D", "warnings"]].concat())?;
            command(job, &[&["test"], &macros[..]].concat())?;
            let stream = ["--package", "blitz-rt", "--features", "stream", "--test", "par_async"];
            let stream = [&stream[..], &["--test", "traits"]].concat();
            command(job, &[&["clippy"], &stream[..], &["--", "-D", "warnings"]].concat())?;
            command(job, &[&["test"], &stream[..]].concat())?;
            let client = ["--package", "blitz-hyper", "--features", "client-tls"];
            command(job, &[&["clippy"], &client[..], &lints].concat())?;
            let targets = ["--test", "client", "--test", "traits"];
            command(job, &[&["test"], &client[..], &targets].concat())?;
            command(job, &[&["test"], &client[..], &["--doc", "client"]].concat())?;
            let events = ["--package", "blitz-rt", "--features", "tracing", "--test", "trace"];
            command(job, &[&["clippy"], &events[..], &["--", "-D", "warnings"]].concat())?;
            command(job, &[&["test"], &events[..]].concat())?;
            let page =
                ["--package", "blitz-rt", "--features", "inspect", "--test", "inspect_pools"];
            let page = [&page[..], &["--test", "inspect_limits", "--test", "traits"]].concat();
            command(job, &[&["clippy"], &page[..], &["--", "-D", "warnings"]].concat())?;
            command(job, &[&["test"], &page[..]].concat())?;
            let bridge = ["--package", "blitz-rt", "--features", "metrics", "--test", "bridge"];
            command(job, &[&["clippy"], &bridge[..], &["--", "-D", "warnings"]].concat())?;
            command(job, &[&["test"], &bridge[..]].concat())?;
            let examples = ["--package", "blitz-rt", "--features", "metrics,tracing", "--examples"];
            command(job, &[&["clippy"], &examples[..], &["--", "-D", "warnings"]].concat())?;
            let guest = ["--package", "blitz-rt", "--features", "tokio-guest"];
            let targets = ["--test", "guest", "--test", "guest_limits"];
            command(job, &[&["clippy"], &guest[..], &lints].concat())?;
            command(job, &[&["test"], &guest[..], &targets].concat())?;
            command(
                job,
                &[&["test"], &guest[..], &["--test", "bitmap_scheduler", "guest::"]].concat(),
            )?;
            let docs = ["--package", "blitz-core", "--features", "tokio-guest", "--doc", "tokio"];
            command(job, &[&["test"], &docs[..]].concat())?;
            // The pages of `docs/` and the examples of items behind features, too.
            let docs = "macros,stream,metrics,tokio-guest,util";
            command(job, &["test", "--package", "blitz-rt", "--features", docs, "--doc"])?;
            job.run(&mut user::docs().map_err(|error| error.to_string())?)?;
            passed()
        },
    );
    ladder.step("loom", "every model in every interleaving, every canary", |job| {
        job.run(&mut commands::clippy_under("loom", "blitz-parts"))?;
        job.run(&mut commands::loom(None))?;
        passed()
    });
    ladder.step("orderings", "does a model need each ordering of the changed parts?", |job| {
        command(job, &["run", "--quiet", "--package", "xtask", "--", "orderings", "--changed"])
    });
    extent.sweep("loom");
    extent.sweep("xtask/orderings");
    ladder.step("shuttle", "pools in random schedules, their canaries", |job| {
        job.run(&mut commands::clippy_under("shuttle", "blitz-parts"))?;
        job.run(&mut commands::clippy_under("shuttle", "blitz-core"))?;
        job.run(&mut commands::shuttle(None))?;
        passed()
    });
    extent.sweep("shuttle");
    ladder.step("stress", "many workers, few cores, optimised", |job| {
        let mut tests = targets("crates/blitz/tests");
        tests.retain(|name| name.starts_with("stress"));
        if tests.is_empty() {
            return Ok(Done::Skipped("crates/blitz/tests has no stress*.rs".into()));
        }
        for test in &tests {
            command(job, &["test", "--release", "--package", "blitz-rt", "--test", test])?;
        }
        let signal = ["test", "--release", "--package", "blitz-rt", "--test"];
        let again = ["bitmap_scheduler", commands::STRESS_AGAIN];
        command(job, &[&signal[..], &again].concat())?;
        command(job, &[&signal[..], &["bitmap_tree"]].concat())?;
        Ok(Done::Passed(format!("{}; signals", tests.join(", "))))
    });
    ladder.step("attack", "programs that have broken the pool; random mixes for a minute", |job| {
        job.run(&mut commands::attack(&["--minutes", "1"], false))?;
        passed()
    });
    ladder.step("examples", "does each example run?", |job| {
        let mut ran = 0;
        for (package, folder) in WITH_EXAMPLES {
            for name in targets(&format!("{folder}/examples")) {
                let program = ["run", "--release", "--all-features", "--package", package];
                command(job, &[&program[..], &["--example", &name]].concat())?;
                ran += 1;
            }
        }
        Ok(Done::Passed(format!("{ran} examples")))
    });
    ladder.step("load-tools", "do wrk and h2load get every answer?", |job| {
        if let Err(why) = tool::installed(&Tool::ALL) {
            return Ok(Done::Skipped(why));
        }
        job.run(&mut commands::load_tools())?;
        passed()
    });
    ladder.step("tool", "does the blitz program run?", |job| {
        let blitz = ["run", "--release", "--package", "blitz-cli", "--"];
        command(job, &[&blitz[..], &["doctor"]].concat())?;
        for case in SMOKE_CASES {
            command(job, &[&blitz[..], &["bench", "--quick", "--only", case]].concat())?;
        }
        passed()
    });
    ladder.step(
        "page",
        "does the page show each fault in a browser, without errors of its own?",
        |job| {
            let browser = match page::Browser::find() {
                Ok(browser) => browser,
                Err(why) => return Ok(Done::Skipped(why)),
            };
            job.run(&mut page::build())?;
            job.run(&mut browser.test(page::Options::default()))?;
            match browser.perfetto() {
                Ok(mut command) => job.run(&mut command).and_then(|()| passed()),
                Err(why) => Ok(Done::Passed(why)),
            }
        },
    );
    ladder.step("shim", "the drop-in rayon-core and the facade, workspaces of their own", |job| {
        for shim in commands::SHIMS {
            if !root().join(shim).exists() {
                return Ok(Done::Skipped(format!("{shim} does not exist")));
            }
            job.run(&mut commands::shim(shim, &["fmt", "--check"]))?;
            let strict = ["clippy", "--all-targets", "--", "-D", "warnings"];
            job.run(&mut commands::shim(shim, &strict))?;
            job.run(&mut commands::shim(shim, &["test"]))?;
        }
        passed()
    });
    extent.sweep("shim");
    ladder.step("programs", "do Rayon programs run on each core, with equal results?", |job| {
        job.run(&mut commands::rayon_programs(&["fmt", "--check"]))?;
        job.run(&mut commands::rayon_programs(&["clippy", "--locked", "--", "-D", "warnings"]))?;
        job.run(&mut commands::tokio_programs(&["fmt", "--check"]))?;
        let strict = ["clippy", "--locked", "--all-features", "--", "-D", "warnings"];
        job.run(&mut commands::tokio_programs(&strict))?;
        let blitz = ["run", "--release", "--package", "blitz-cli", "--", "bench", "--only"];
        command(job, &[&blitz[..], &[PROGRAM_CASE]].concat())
    });
    extent.sweep("rayon-programs");
    extent.sweep("tokio-programs");
    ladder.step("suites", "Rayon's own tests on the drop-in rayon-core and on blitz-par", |job| {
        command(job, &["run", "--quiet", "--package", "xtask", "--", "suites", "--fast"])
    });
    extent.sweep("suites");
    ladder.step("crates", "crates that services use, on Blitz, with real peers", |job| {
        job.run(&mut commands::ecosystem(&["fmt", "--check"]))?;
        command(job, &["run", "--quiet", "--package", "xtask", "--", "crates", "--fast"])?;
        job.run(&mut commands::ecosystem(&["test", "--locked", "--doc", "--package", "light"]))?;
        // The adapter for rdkafka would build librdkafka, which takes minutes.
        let adapters = ["--package", "blitz-adapters", "--features", "aws,hickory,lapin,openraft"];
        let docs = [&["test", "--locked", "--doc"], &adapters[..]].concat();
        job.run(&mut commands::ecosystem(&docs))?;
        passed()
    });
    extent.sweep("ecosystem");
    extent.sweep("debug");
    extent.sweep("release");
    ladder.step("asan", "AddressSanitizer over the library's tests", |job| {
        sanitize(job, commands::nightly(), commands::asan(None))
    });
    extent.sweep("asan");
    ladder.step("tsan", "ThreadSanitizer over the library's tests and std", |job| {
        sanitize(job, commands::nightly_with_sources(), commands::tsan(None))
    });
}

fn sanitize(
    job: &mut Job,
    toolchain: Result<(), String>,
    mut tests: Command,
) -> Result<Done, String> {
    match toolchain {
        Ok(()) => {
            job.run(&mut tests)?;
            passed()
        }
        Err(why) => Ok(Done::Skipped(why)),
    }
}

fn passed() -> Result<Done, String> {
    Ok(Done::Passed(String::new()))
}

fn command(job: &mut Job, arguments: &[&str]) -> Result<Done, String> {
    job.run(cargo().args(arguments))?;
    passed()
}

fn no_findings<F: Display>(job: &Job, findings: &[F]) -> Result<Done, String> {
    for finding in findings {
        job.note(&finding.to_string());
    }
    if findings.is_empty() { passed() } else { Err(format!("{} findings", findings.len())) }
}
