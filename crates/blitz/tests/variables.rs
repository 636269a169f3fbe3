//! `#[blitz::main]` and `#[blitz::test]` obey `BLITZ_WORKERS` and `BLITZ_SCHEDULER`. These tests
//! are not part of the target of the signal scheduler, because that target sets `BLITZ_SCHEDULER`
//! for all of its tests.

use std::env;
use std::process::Command;

/// The environment variable that is set in child processes only.
const ROLE: &str = "BLITZ_TEST_VARIABLES_ROLE";

fn tell(who: &str) {
    println!("{who}: {} {}", blitz::current_num_workers(), blitz::scheduler().name());
}

#[blitz::main]
async fn main_without_arguments() {
    tell("main");
}

#[blitz::main(workers = 2, scheduler = "stealing")]
async fn main_with_arguments() {
    tell("main with arguments");
}

#[blitz::test]
async fn a_test_for_another_process() {
    if env::var_os(ROLE).is_some() {
        tell("test");
    }
}

#[test]
fn programs_for_another_process() {
    if env::var_os(ROLE).is_some() {
        main_with_arguments();
        main_without_arguments();
    }
}

/// Runs the test of this name in a process with these variables.
///
/// Returns whether it passed, and its output.
fn elsewhere(variables: &[(&str, &str)], test: &str) -> (bool, String) {
    let output = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env_remove("BLITZ_WORKERS")
        .env_remove("BLITZ_SCHEDULER")
        .env(ROLE, "child")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.success(), texts.concat())
}

const MAIN: &str = "programs_for_another_process";
const TEST: &str = "a_test_for_another_process";

#[test]
fn the_variables_count_unless_the_attribute_says_otherwise() {
    let variables = [("BLITZ_WORKERS", "3"), ("BLITZ_SCHEDULER", "signal")];
    let (passed, text) = elsewhere(&variables, MAIN);
    assert!(passed && text.contains("main: 3 signal"), "{text}");
    assert!(text.contains("main with arguments: 2 stealing"), "{text}");
    let (passed, text) = elsewhere(&variables, TEST);
    assert!(passed && text.contains("test: 3 signal"), "{text}");
    let (passed, text) = elsewhere(&[], TEST);
    assert!(passed && text.contains("test: 1 stealing"), "{text}");
    // An empty variable counts as unset.
    let (passed, text) = elsewhere(&[("BLITZ_WORKERS", "")], TEST);
    assert!(passed && text.contains("test: 1 stealing"), "{text}");
}

#[test]
fn an_invalid_variable_is_reported_at_the_start() {
    for (variable, advice) in
        [("BLITZ_WORKERS", "a whole number from 1 to 65535"), ("BLITZ_SCHEDULER", "stealing")]
    {
        for test in [MAIN, TEST] {
            let (passed, text) = elsewhere(&[(variable, "many")], test);
            assert!(!passed, "{variable}, {test}: {text}");
            let told = text.contains(&format!("{variable} is \"many\"")) && text.contains(advice);
            assert!(told && text.contains("the runtime could not be built"), "{text}");
            assert!(text.contains("variables.rs:"), "the panic points at the function: {text}");
            assert!(!text.contains("main: ") && !text.contains("test: "), "{text}");
        }
    }
}

/// The number of threads of this process.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[cfg(target_os = "linux")]
#[test]
fn an_analysis_for_another_process() {
    if env::var_os(ROLE).is_some() {
        let pool = blitz::Pool::builder().workers(1).spares(0).build().unwrap();
        // The worker starts the watch before it runs jobs.
        let before = pool.install(threads);
        let _entered = pool.enter();
        println!("threads of an analysis: {}", blitz::analyze(threads).value - before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_analysis_has_one_thread_even_if_stalls_are_reported() {
    let variables = [("BLITZ_STALLS", "1")];
    let (passed, text) = elsewhere(&variables, "an_analysis_for_another_process");
    assert!(passed && text.contains("threads of an analysis: 1"), "{text}");
}
