//! `BLITZ_WAIT` has one value. A child process has the variable, since a test must not change its
//! own environment.

use std::env;
use std::process::Command;

#[test]
#[ignore = "run by another test"]
fn build_pools() {
    let local = rayon_core::ThreadPoolBuilder::new().num_threads(1).build();
    let global = rayon_core::ThreadPoolBuilder::new().num_threads(1).build_global();
    for result in [local.map(drop), global] {
        match result {
            Ok(()) => println!("built"),
            Err(error) => println!("refused: {error}"),
        }
    }
}

/// Builds pools in a process with this value of the variable; returns what it writes.
fn with_wait(value: &str) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "build_pools"]).env("BLITZ_WAIT", value);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_misspelt_wait_policy_is_an_error() {
    let text = with_wait("descendant");
    assert_eq!(text.matches("refused: BLITZ_WAIT is \"descendant\"").count(), 2, "{text}");
    for value in ["descendants", " descendants ", ""] {
        let text = with_wait(value);
        assert_eq!(text.matches("built").count(), 2, "{text}");
    }
}
