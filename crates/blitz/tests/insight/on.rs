//! Files that a pool writes when something happens.

use super::common::{wait_for, watched};
use blitz::{Pool, TraceTrigger};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Returns the path of a folder for one test. The folder does not exist yet.
fn folder(test: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("blitz-insight-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    dir
}

/// Returns the finished files in a folder.
fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "pftrace")).collect()
}

/// Returns the only file in a folder, once it is there. Removes the folder.
fn only_file(dir: &Path, word: &str) -> Vec<u8> {
    wait_for(|| !files(dir).is_empty());
    let found = files(dir);
    assert_eq!(found.len(), 1, "a trigger writes one file in ten seconds: {found:?}");
    let name = found[0].file_name().unwrap().to_str().unwrap();
    assert!(name.contains(word), "{name}");
    let file = fs::read(&found[0]).unwrap();
    fs::remove_dir_all(dir).unwrap();
    file
}

#[test]
fn a_stall_leaves_a_file_while_it_lasts() {
    watched("a_stall_leaves_a_file_while_it_lasts", |watch| {
        let dir = folder("stall");
        let builder = Pool::builder().workers(1).spares(1);
        let pool = watch.pool(builder.trace_on(TraceTrigger::Stall, &dir, 2).build().unwrap());
        let begun = Arc::new(AtomicBool::new(false));
        let stuck = pool.spawn({
            let (dir, begun) = (dir.clone(), begun.clone());
            async move {
                begun.store(true, SeqCst);
                // The task returns once the file exists: a thread outside the pool writes it.
                wait_for(|| !files(&dir).is_empty());
            }
        });
        wait_for(|| begun.load(SeqCst));
        // This job waits behind the stuck task. A relief worker would take a task, but takes no
        // jobs.
        let waits = pool.spawn_cpu(|| ());
        stuck.join().unwrap();
        waits.join().unwrap();
        let file = only_file(&dir, "stall");
        let name = b"worker 0";
        assert!(file.windows(name.len()).any(|part| part == name));
    });
}

#[test]
fn a_slow_poll_and_a_late_poll_leave_a_file_each() {
    watched("a_slow_poll_and_a_late_poll_leave_a_file_each", |watch| {
        let (slow, late) = (folder("slow"), folder("late"));
        let builder = Pool::builder()
            .workers(1)
            .trace_on(TraceTrigger::SlowPoll(Duration::ZERO), &slow, 1)
            .trace_on(TraceTrigger::ScheduleDelay(Duration::ZERO), &late, 1);
        let pool = watch.pool(builder.build().unwrap());
        // Only some of the short polls are measured, so the test spawns tasks until both files
        // exist.
        wait_for(|| {
            pool.spawn(async {}).join().unwrap();
            !files(&slow).is_empty() && !files(&late).is_empty()
        });
        assert!(!only_file(&slow, "slow-poll").is_empty());
        assert!(!only_file(&late, "delay").is_empty());
    });
}

#[test]
fn without_an_event_no_file_is_written() {
    let dir = folder("nothing");
    let builder = Pool::builder().workers(2);
    let pool = builder.trace_on(TraceTrigger::SlowPoll(Duration::MAX), &dir, 1).build().unwrap();
    pool.spawn(async {}).join().unwrap();
    drop(pool);
    assert!(!dir.exists());
}

#[test]
fn a_folder_that_cannot_be_written_to_harms_nothing() {
    watched("a_folder_that_cannot_be_written_to_harms_nothing", |watch| {
        let dir = folder("in-the-way");
        fs::write(&dir, "a file").unwrap();
        let builder = Pool::builder().workers(1);
        let trigger = TraceTrigger::SlowPoll(Duration::ZERO);
        let pool = watch.pool(builder.trace_on(trigger, dir.join("below"), 1).build().unwrap());
        for i in 0..100 {
            assert_eq!(pool.spawn(async move { i }).join().unwrap(), i);
        }
        fs::remove_file(&dir).unwrap();
    });
}

#[test]
fn a_trigger_that_keeps_no_file_is_a_mistake() {
    let error = Pool::builder().trace_on(TraceTrigger::Stall, "unused", 0).build().unwrap_err();
    assert!(error.is_invalid_config() && error.to_string().contains("trace_on"), "{error}");
}
