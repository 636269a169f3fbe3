//! The chores of the workspace; `cargo xtask help` lists them.

#![forbid(unsafe_code)]

mod ci;
mod commands;
mod coverage;
mod crates;
mod dependencies;
mod ladder;
mod modules;
mod orderings;
mod package;
mod page;
mod source;
mod suites;
mod tidy;
/// The load tools for HTTP servers. This is the benchmarks' file, because this crate has no
/// dependencies.
#[path = "../../bench/src/load/tool.rs"]
mod tool;
mod tree;
mod user;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use tool::Tool;
use tree::{Tree, root};

const HELP: &str = "\
Chores of the Blitz workspace.

cargo xtask ci               everything that CI checks, with a table at the end
cargo xtask ci --fast        only formatting, lints, tidy and documentation
cargo xtask ci --tested      without `cargo test --workspace`, which you have run yourself
cargo xtask ci --sweep       removes build folders that no later step uses: for machines with little disk
cargo xtask tidy             the rules of the house
cargo xtask graph [CRATE]    which module names which, and the circles among them; --write draws the order in
                             ARCHITECTURE.md
cargo xtask unsafe           how much unsafe code each file has; --write puts it into SECURITY.md
cargo xtask coverage-check   whether docs/coverage.md names what exists, and blitz-par has what Rayon has
cargo xtask loom [FILTER]    the models of blitz-parts (those with FILTER in their name)
cargo xtask orderings        weakens each ordering and fence of blitz-parts in turn, and expects some model to fail
    [FOLDER…] [--changed] [--own] [--listed] [--only TEXT] [--jobs N]
cargo xtask shuttle [FILTER] pools in random schedules (the programs whose path begins with FILTER)
cargo xtask asan [FILTER]    the library's tests under AddressSanitizer; needs a nightly toolchain
cargo xtask tsan [FILTER]    the same under ThreadSanitizer; the nightly needs its component rust-src
cargo xtask compare FOLDER   this checkout's speed beside that of the checkout in FOLDER, in turns
    [OPTIONS]                what `blitz bench` understands, for example --only fork-join --full
cargo xtask attack           programs that have broken the pool, then random mixes of every operation
    [--minutes N] [--seed N] [--only NAME] [--asan]
cargo xtask load-tools       HTTP servers driven by wrk and h2load, which have to be installed
cargo xtask page [--write]   the page of a live pool in Chromium, and a trace in Perfetto's engine; --write makes the
                             screenshots of docs/insight.md
cargo xtask suites           Rayon's tests on the drop-in rayon-core and on blitz-par; tests of crates that use Rayon
    [--fast | --long] [--only NAME] [--repeat N] [--threads N,N]
cargo xtask package          the packages that would be published, in order; --verify builds each of them
cargo xtask crates           crates that services use, each in a small program against real peers
    [--fast] [--only NAME]   --write makes the table of docs/crates.md
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["ci", options @ ..] => match extent(options) {
            Some(extent) => ci::climb(extent),
            None => usage(),
        },
        ["tidy"] => Tree::load(&root()).map(|tree| {
            for (rule, what, _) in tidy::RULES {
                println!("{rule:10} {what}");
            }
            for placeholder in tidy::placeholders(&tree) {
                println!("{placeholder}");
            }
            show(&tidy::findings(&tree))
        }),
        ["package"] => package::run(false),
        ["package", "--verify"] => package::run(true),
        ["graph", "--write"] => tidy::draw(&root()),
        ["graph", name @ ..] if name.len() < 2 => Tree::load(&root()).map(|tree| {
            print!("{}", tidy::graphs(&tree, name.first().copied()));
            true
        }),
        ["unsafe", "--write"] => tidy::write_inventory(&root()),
        ["unsafe"] => Tree::load(&root()).map(|tree| {
            print!("{}", tidy::inventory(&tree));
            true
        }),
        ["coverage-check"] => Tree::load(&root()).map(|tree| show(&coverage::findings(&tree))),
        ["loom", filter @ ..] if filter.len() < 2 => run(commands::loom(filter.first().copied())),
        ["shuttle", filter @ ..] if filter.len() < 2 => {
            run(commands::shuttle(filter.first().copied()))
        }
        ["asan", filter @ ..] if filter.len() < 2 => {
            sanitize(commands::nightly(), commands::asan(filter.first().copied()))
        }
        ["tsan", filter @ ..] if filter.len() < 2 => {
            sanitize(commands::nightly_with_sources(), commands::tsan(filter.first().copied()))
        }
        ["orderings", options @ ..] => match orderings::Options::parse(options) {
            Some(options) => orderings::run(&options),
            None => usage(),
        },
        ["compare", folder, options @ ..] => compare(folder, options),
        ["attack", options @ ..] => {
            let sanitizer = options.contains(&"--asan");
            let options: Vec<&str> =
                options.iter().copied().filter(|word| *word != "--asan").collect();
            let command = commands::attack(&options, sanitizer);
            if sanitizer { sanitize(commands::nightly(), command) } else { run(command) }
        }
        ["load-tools"] => match tool::installed(&Tool::ALL) {
            Ok(()) => run(commands::load_tools()),
            Err(why) => {
                println!("skipped: {why}");
                Ok(true)
            }
        },
        ["page", options @ ..] => match page::Options::parse(options) {
            Some(options) => look_at_page(options),
            None => usage(),
        },
        ["suites", options @ ..] => match suites::Options::parse(options) {
            Some(options) => suites::run(&options),
            None => usage(),
        },
        ["crates", "--write"] => crates::write(),
        ["crates", options @ ..] => match crates::Options::parse(options) {
            Some(options) => crates::run(&options),
            None => usage(),
        },
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        _ => usage(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn extent(options: &[&str]) -> Option<ci::Extent> {
    let mut extent = ci::Extent::default();
    for option in options {
        match *option {
            "--fast" => extent.fast = true,
            "--tested" => extent.tested = true,
            "--sweep" => extent.sweep = true,
            _ => return None,
        }
    }
    Some(extent)
}

fn usage() -> io::Result<bool> {
    eprint!("{HELP}");
    Ok(false)
}

fn run(mut command: Command) -> io::Result<bool> {
    println!("$ {}", ladder::describe(&command));
    Ok(command.status()?.success())
}

/// Builds the `blitz` program of this checkout and of the one in `folder`, and lets them take
/// turns.
fn compare(folder: &str, options: &[&str]) -> io::Result<bool> {
    let other = Path::new(folder);
    if !other.join("Cargo.toml").is_file() {
        return Err(io::Error::other(format!("{folder} is no checkout: it has no Cargo.toml")));
    }
    let mut builds = [commands::build_blitz_in(other), commands::build_blitz_in(&root())];
    for build in &mut builds {
        println!("$ {}", ladder::describe(build));
        if !build.status()?.success() {
            return Ok(false);
        }
    }
    run(commands::bench_beside(&commands::blitz_of(other), options))
}

/// Tests the page of a demo in a browser, if one is installed.
fn look_at_page(options: page::Options) -> io::Result<bool> {
    let browser = match page::Browser::find() {
        Ok(browser) => browser,
        Err(why) => {
            println!("skipped: {why}");
            return Ok(true);
        }
    };
    if !run(page::build())? || !run(browser.test(options))? {
        return Ok(false);
    }
    match browser.perfetto() {
        Ok(command) => run(command),
        Err(why) => {
            println!("skipped: {why}");
            Ok(true)
        }
    }
}

/// Runs `command` if the toolchain for it is there.
fn sanitize(toolchain: Result<(), String>, command: Command) -> io::Result<bool> {
    let hint = "rustup toolchain install nightly --component rust-src";
    toolchain.map_err(|why| io::Error::other(format!("{why}; `{hint}` would help")))?;
    run(command)
}

fn show<F: Display>(findings: &[F]) -> bool {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("nothing found"),
        1 => println!("1 finding"),
        n => println!("{n} findings"),
    }
    findings.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{ci::Extent, extent};

    #[test]
    fn options_of_ci() {
        assert_eq!(extent(&[]), Some(Extent::default()));
        let all = Extent { fast: true, tested: true, sweep: true };
        assert_eq!(extent(&["--fast", "--tested", "--sweep"]), Some(all));
        assert_eq!(extent(&["--slow"]), None);
    }
}
