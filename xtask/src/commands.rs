//! The commands that the steps run. Each can also be run alone.

use crate::tree::root;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target of sanitizer builds. It must be named, so that build scripts get no sanitizer.
const SANITIZER_TARGET: &str = "x86_64-unknown-linux-gnu";

/// The folders of the drop-in `rayon-core` and of the facade for Rayon's tests of `blitz-par`.
pub const SHIMS: &[&str] = &["shims/rayon-core", "shims/rayon"];
/// The folder of the programs that `blitz bench` runs on Rayon's core and on Blitz's.
pub const RAYON_PROGRAMS: &str = "bench/rayon-programs";
/// The folder of the program with the tools that look inside of Tokio.
pub const TOKIO_PROGRAMS: &str = "bench/tokio-programs";
/// The folder of the programs that use other crates.
pub const ECOSYSTEM: &str = "ecosystem";

/// Part of the names of tests that measure or need very deep stacks. Sanitizer builds skip them:
/// AddressSanitizer keeps frames elsewhere, and ThreadSanitizer follows calls only to a depth of
/// 64 Ki.
const DEEP_STACKS: &str = "deep_nesting";

/// Part of the names of tests whose signals may hit a sleeping thread.
const SIGNALS_FROM_OUTSIDE: &str = "signal_from_outside";

/// Part of the paths of stress tests in the target `bitmap_scheduler`, which runs them again on the
/// signal scheduler. There they are in modules such as `stress_net`; their own targets have no such
/// modules. Optimised builds run them on both schedulers; sanitizer builds run them once, because
/// they are slow.
pub const STRESS_AGAIN: &str = "stress_";

/// `cargo` of the toolchain that runs this program.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// Where cargo builds.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Makes `command` build into `folder`, so that commands do not evict each other's caches.
fn apart(mut command: Command, folder: &str) -> Command {
    command.env("CARGO_TARGET_DIR", target_dir().join(folder));
    command
}

/// The models of blitz-parts, or those whose name contains `filter`.
pub fn loom(filter: Option<&str>) -> Command {
    let mut command = modelled("loom", "blitz-parts", &["test", "--release", "--lib"]);
    command.args(filter);
    command
}

/// The pools of blitz-core under random schedules, or the programs whose path begins with `filter`.
/// The other tests of the library are compiled, too, but cannot run: shuttle's atomics need a
/// schedule.
pub fn shuttle(filter: Option<&str>) -> Command {
    let mut command = modelled("shuttle", "blitz-core", &["test", "--release", "--lib"]);
    command.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    command.arg(format!("check::{}", filter.unwrap_or_default()));
    command
}

/// Clippy over `package` with the code that is only compiled for this checker.
pub fn clippy_under(checker: &str, package: &str) -> Command {
    let mut command = modelled(checker, package, &["clippy", "--lib", "--tests"]);
    command.args(["--", "-D", "warnings"]);
    command
}

/// A cargo command for `package` under the checker of this name.
fn modelled(checker: &str, package: &str, arguments: &[&str]) -> Command {
    let mut command = apart(cargo(), checker);
    command.env("RUSTFLAGS", format!("--cfg blitz_{checker}"));
    command.args(arguments).args(["--package", package]);
    command
}

/// A cargo command for a shim, which is a workspace of its own.
pub fn shim(folder: &str, arguments: &[&str]) -> Command {
    elsewhere(folder, "shim", arguments)
}

/// A cargo command for the programs that use Rayon, which are a workspace of their own.
pub fn rayon_programs(arguments: &[&str]) -> Command {
    elsewhere(RAYON_PROGRAMS, "rayon-programs/lint", arguments)
}

/// A cargo command for the program with the tools that look inside of Tokio, which is a workspace
/// of its own.
pub fn tokio_programs(arguments: &[&str]) -> Command {
    let mut command = elsewhere(TOKIO_PROGRAMS, "tokio-programs/lint", arguments);
    command.env("RUSTFLAGS", "--cfg tokio_unstable");
    command
}

/// A cargo command for the programs that use other crates, which are a workspace of their own.
pub fn ecosystem(arguments: &[&str]) -> Command {
    elsewhere(ECOSYSTEM, "ecosystem", arguments)
}

/// Checks that the diff of the example port can be reversed.
pub fn undo_port() -> Command {
    let mut command = Command::new("git");
    command.args(["apply", "--reverse", "--check", "--directory=examples/port"]);
    command.arg("examples/port/from-tokio.diff").current_dir(root());
    command
}

/// A cargo command for the workspace in `folder`, which builds into a folder of its own.
fn elsewhere(folder: &str, build: &str, arguments: &[&str]) -> Command {
    let mut command = apart(cargo(), build);
    command.current_dir(root().join(folder)).args(arguments);
    command
}

/// Builds the `blitz` program of the checkout in `folder`, into that checkout's own `target`.
pub fn build_blitz_in(folder: &Path) -> Command {
    let mut command = cargo();
    command.current_dir(folder).env_remove("CARGO_TARGET_DIR");
    command.args(["build", "--release", "--package", "blitz-cli"]);
    command
}

/// Where [`build_blitz_in`] puts the program.
pub fn blitz_of(folder: &Path) -> PathBuf {
    folder.join("target/release/blitz")
}

/// `blitz bench` of this checkout beside the older program `before`.
pub fn bench_beside(before: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(blitz_of(&root()));
    command.args(["bench", "--before"]).arg(before).args(options);
    command
}

/// The tests in which `wrk` and `h2load` drive servers.
pub fn load_tools() -> Command {
    let mut command = cargo();
    command.args(["test", "--release", "--package", "blitz-hyper", "--test", "load_tools"]);
    command.args(["--", "--ignored", "--test-threads", "1"]);
    command
}

/// Checks that there is a nightly toolchain. The error says why it cannot be used.
pub fn nightly() -> Result<(), String> {
    on_nightly("--version").map(drop)
}

/// Checks that the nightly toolchain can build the standard library. The error says why not.
pub fn nightly_with_sources() -> Result<(), String> {
    let sysroot = on_nightly("--print=sysroot")?;
    let library = PathBuf::from(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if library.exists() {
        return Ok(());
    }
    Err("the nightly toolchain has no component rust-src".into())
}

/// Runs the nightly compiler and returns its answer.
fn on_nightly(question: &str) -> Result<String, String> {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "rustc", question]);
    match command.stderr(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(_) => Err("no nightly toolchain is installed".into()),
        Err(_) => Err("rustup is not installed".into()),
    }
}

/// The library's unit and integration tests under AddressSanitizer, which also reports leaks and
/// uses of a stack frame after its return.
pub fn asan(filter: Option<&str>) -> Command {
    let mut command = sanitized("asan", ADDRESS, &[], filter);
    under_address_sanitizer(&mut command);
    command
}

/// The compiler flags for AddressSanitizer.
const ADDRESS: &str = "-Zsanitizer=address --cfg blitz_asan";

/// Sets the environment of a program with AddressSanitizer, and of its build.
fn under_address_sanitizer(command: &mut Command) {
    command.env("RUSTFLAGS", format!("{ADDRESS} {THROUGH_LIBC}"));
    command.env("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=1");
    // AddressSanitizer keeps locals elsewhere. So a worker cannot see how much of its stack is
    // used, and nests waits until no task is left.
    command.env("RUST_MIN_STACK", (64 << 20).to_string());
}

/// `blitz-attack` with its `options`: optimised, or under AddressSanitizer.
pub fn attack(options: &[&str], sanitizer: bool) -> Command {
    let run = ["run", "--release", "--package", "blitz-attack"];
    if !sanitizer {
        let mut command = cargo();
        command.args(run).arg("--").args(options);
        return command;
    }
    let mut command = Command::new("rustup");
    command.current_dir(root());
    let mut command = apart(command, "asan");
    under_address_sanitizer(&mut command);
    command.args(["run", "nightly", "cargo"]).args(run).args(["--target", SANITIZER_TARGET]);
    // A program with a sanitizer is slow: give it more time before it counts as hung.
    command.env("BLITZ_ATTACK_SLOWER", "5").args(["--", "--patience", "150"]).args(options);
    command
}

/// The library's unit and integration tests under ThreadSanitizer. The standard library is built
/// with it, too: as shipped, its mutexes and reference counts are invisible, and the data they
/// guard looks racy.
pub fn tsan(filter: Option<&str>) -> Command {
    let mut command = sanitized("tsan", "-Zsanitizer=thread", &["-Zbuild-std"], filter);
    // ThreadSanitizer delays a signal until the thread makes an intercepted call. A sleeping thread
    // makes none.
    command.args(["--skip", SIGNALS_FROM_OUTSIDE]);
    command
}

/// Makes rustix call the C library: sanitizers intercept its calls and know which bytes they write.
const THROUGH_LIBC: &str = "--cfg rustix_use_libc";

fn sanitized(folder: &str, flags: &str, options: &[&str], filter: Option<&str>) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(root());
    let mut command = apart(command, folder);
    command.env("RUSTFLAGS", format!("{flags} {THROUGH_LIBC}"));
    command.args(["run", "nightly", "cargo", "test", "--target", SANITIZER_TARGET]);
    command.args(options);
    for package in ["blitz-parts", "blitz-core", "blitz-io", "blitz-rt"] {
        command.args(["--package", package]);
    }
    command.args(["--features", "blitz-io/io-uring", "--lib"]);
    for test in integration_tests() {
        command.args(["--test", &test]);
    }
    command.args(filter);
    command.args(["--", "--skip", DEEP_STACKS, "--skip", STRESS_AGAIN]);
    command
}

/// The names of the library's integration tests.
fn integration_tests() -> Vec<String> {
    let mut found = Vec::new();
    for package in ["blitz-parts", "blitz-core", "blitz-io", "blitz"] {
        found.extend(targets(&format!("crates/{package}/tests")));
    }
    found
}

/// Returns the names of the targets in `folder`: Rust files, and folders with a `main.rs`.
pub fn targets(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A folder that does not exist has no targets.
    for entry in std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".rs") {
            found.push(name.to_owned());
        } else if entry.path().join("main.rs").exists() {
            found.push(name);
        }
    }
    found.sort();
    found
}
