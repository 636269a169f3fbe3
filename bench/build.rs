//! Tells the crate which compiler builds it and which versions of the rivals it is built with.
//!
//! The versions come from the lock file, not from constants beside the adapters: a constant would
//! go on claiming the old version after `cargo update`.

use std::{env, ffi::OsStr, fs, path::PathBuf, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=BLITZ_BENCH_RUSTC={}", rustc_version());

    emit(
        &["..", "Cargo.lock"],
        &[
            ("rayon", "RAYON"),
            ("chili", "CHILI"),
            ("forte", "FORTE"),
            ("tokio", "TOKIO"),
            ("async-executor", "SMOL"),
            ("blitz-rt", "BLITZ"),
        ],
    );
    // Some rivals are only in the programs that are built separately.
    emit(&["rayon-programs", "Cargo.lock"], &[("orx-parallel", "ORX"), ("paralight", "PARALIGHT")]);
    emit(
        &["tokio-programs", "Cargo.lock"],
        &[("tokio", "TOKIO_UNSTABLE"), ("console-subscriber", "CONSOLE"), ("dial9", "DIAL9")],
    );
}

/// Sets a variable `BLITZ_BENCH_*` for each package to its version in a lock file.
fn emit(lock: &[&str], packages: &[(&str, &str)]) {
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let lock: PathBuf = [&*here].into_iter().chain(lock.iter().map(OsStr::new)).collect();
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_default();
    for (package, variable) in packages {
        let version = locked_version(&text, package).unwrap_or("unknown");
        println!("cargo::rustc-env=BLITZ_BENCH_{variable}={version}");
    }
}

fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Returns the version of `package`: in a lock file its line `version = "…"` follows the line
/// `name = "…"`.
fn locked_version<'text>(lock: &'text str, package: &str) -> Option<&'text str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}
