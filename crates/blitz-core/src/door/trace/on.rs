//! The thread that writes timelines to files when a trigger fires.
//!
//! It is not a worker, so it also writes when all workers are stuck. It does not keep the pool
//! alive, and ends when the pool is gone.

#![forbid(unsafe_code)]

use super::model::Trace;
use crate::base::panic::say;
use crate::state::{TraceOn, Triggers};
use crate::team::Team;
use blitz_parts::prim::{Instant, park_for, thread};
use blitz_parts::ticks;
use blitz_parts::tuning::TRACE_ON_PERIOD;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

const PREFIX: &str = "blitz-trace-";
const SUFFIX: &str = ".pftrace";

/// Starts the thread that writes, if the team has triggers. If it cannot be started, there will be
/// no files.
pub(in crate::door) fn start(team: &Team) {
    if team.config.triggers.list().is_empty() {
        return;
    }
    let folders = team.config.triggers.list().iter().map(Folder::new).collect();
    let mut writer = Writer { team: team.weak(), folders };
    let builder = thread::Builder::new().name("blitz-trace".to_owned());
    match builder.spawn(move || while writer.step() {}) {
        Ok(handle) => team.config.triggers.served_by(handle.thread().clone()),
        Err(error) => {
            say(&format!("trace_on could not start its thread and writes nothing: {error}"))
        }
    }
}

struct Writer {
    team: Weak<Team>,
    /// One per trigger.
    folders: Vec<Folder>,
}

impl Writer {
    /// Writes the requested files, and sleeps until the next request. Returns false once the team
    /// is gone.
    fn step(&mut self) -> bool {
        let Some(team) = self.team.upgrade() else { return false };
        let trace = || Trace::of(&team, Duration::MAX).to_perfetto();
        let rests = serve(&mut self.folders, &team.config.triggers, Instant::now, trace);
        // Drop the team only now: this may be the last reference.
        drop(team);
        match rests {
            Some(rest) => park_for(rest),
            None => thread::park(),
        }
        true
    }
}

/// Writes the requested files. Returns the time until a requested trigger may write or fire again;
/// `None` if no trigger is requested.
fn serve(
    folders: &mut [Folder],
    triggers: &Triggers,
    now: impl Fn() -> Instant,
    trace: impl Fn() -> Vec<u8>,
) -> Option<Duration> {
    let mut rests = None;
    for index in triggers.asked() {
        let Some(folder) = folders.get_mut(index) else { continue };
        let rest = match folder.rests(now()) {
            // Triggers in the meantime are ignored.
            Some(rest) => rest,
            None if folder.is_served => {
                folder.is_served = false;
                triggers.let_go(index);
                continue;
            }
            None => {
                folder.write(&trace());
                TRACE_ON_PERIOD
            }
        };
        rests = Some(rests.map_or(rest, |least: Duration| least.min(rest)));
    }
    rests
}

/// Where the files of one trigger go.
struct Folder {
    on: TraceOn,
    /// When a file was last written.
    written: Option<Instant>,
    /// Whether the file for the current request was written.
    is_served: bool,
    files: u64,
    /// Whether an error was reported. Only the first error is reported.
    is_reported: bool,
}

impl Folder {
    fn new(on: &TraceOn) -> Folder {
        Folder { on: on.clone(), written: None, is_served: false, files: 0, is_reported: false }
    }

    /// How long to wait before the next file; `None` if one may be written now.
    fn rests(&self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.written?);
        TRACE_ON_PERIOD.checked_sub(passed).filter(|rest| !rest.is_zero())
    }

    /// Writes a file, and removes old ones. Reports the first error.
    fn write(&mut self, trace: &[u8]) {
        self.written = Some(Instant::now());
        self.is_served = true;
        if let Err(error) = self.try_write(trace) {
            if !std::mem::replace(&mut self.is_reported, true) {
                say(&format!(
                    "trace_on cannot write to {}: {error} (reported once)",
                    self.on.dir.display()
                ));
            }
        }
    }

    fn try_write(&mut self, trace: &[u8]) -> io::Result<()> {
        let dir = &self.on.dir;
        fs::create_dir_all(dir)?;
        let (millis, process, word) =
            (ticks::refine().wall.as_millis(), std::process::id(), self.on.trigger.word());
        let name = format!("{PREFIX}{millis:015}-{process}-{:04}-{word}{SUFFIX}", self.files);
        self.files += 1;
        // Readers of the folder must see only complete files.
        let unfinished = dir.join(format!("{name}.part"));
        fs::write(&unfinished, trace)
            .and_then(|()| fs::rename(&unfinished, dir.join(name)))
            .inspect_err(|_| {
                // The first error is the one to report.
                let _ = fs::remove_file(&unfinished);
            })?;
        let old = traces_in(dir)?;
        let surplus = old.len().saturating_sub(self.on.keep);
        old[..surplus].iter().try_for_each(|path| match fs::remove_file(path) {
            // Another pool may have the same folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        })
    }
}

/// The files in this folder that were written by a trigger, oldest first.
fn traces_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours =
            name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours {
            files.push(entry.path());
        }
    }
    // Their names begin with the time.
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Folder, TRACE_ON_PERIOD, serve, traces_in};
    use crate::state::{TraceOn, TraceTrigger, Triggers};
    use blitz_parts::prim::Instant;
    use std::fs;
    use std::path::Path;

    /// A folder of this test alone, which does not exist yet.
    fn folder(test: &str, keep: usize) -> Folder {
        let dir = std::env::temp_dir().join(format!("blitz-on-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Folder::new(&TraceOn { trigger: TraceTrigger::Stall, dir, keep })
    }

    fn contents(dir: &Path) -> Vec<Vec<u8>> {
        traces_in(dir).unwrap().iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn old_traces_are_removed_and_other_files_stay() {
        let mut folder = folder("keep", 2);
        for i in 0..4 {
            folder.write(&[i]);
            fs::write(folder.on.dir.join("blitz-trace-mine.txt"), "mine").unwrap();
        }
        assert_eq!(contents(&folder.on.dir), [[2], [3]]);
        assert_eq!(fs::read_dir(&folder.on.dir).unwrap().count(), 3);
        assert!(!folder.is_reported);
        fs::remove_dir_all(&folder.on.dir).unwrap();
    }

    #[test]
    fn a_folder_rests_after_each_file() {
        let mut folder = folder("rests", 1);
        assert_eq!(folder.rests(Instant::now()), None);
        folder.write(&[]);
        let written = folder.written.unwrap();
        assert_eq!(folder.rests(written), Some(TRACE_ON_PERIOD));
        assert_eq!(folder.rests(written + TRACE_ON_PERIOD), None);
        fs::remove_dir_all(&folder.on.dir).unwrap();
    }

    #[test]
    fn a_trigger_that_writes_does_not_prolong_the_rest_of_another() {
        let mut triggers = Triggers::default();
        let mut folders = [folder("rested", 1), folder("fresh", 1)];
        folders.iter().for_each(|folder| triggers.add(folder.on.clone()));
        folders[0].write(&[]);
        let now = folders[0].written.unwrap() + TRACE_ON_PERIOD / 4;
        triggers.on_stall();
        let rests = serve(&mut folders, &triggers, || now, Vec::new);
        assert!(folders[1].is_served, "the second trigger had written no file before");
        assert_eq!(rests, Some(TRACE_ON_PERIOD * 3 / 4));
        folders.iter().for_each(|folder| fs::remove_dir_all(&folder.on.dir).unwrap());
    }

    #[test]
    fn an_error_is_reported_once_and_ends_nothing() {
        let mut folder = folder("error", 1);
        fs::write(&folder.on.dir, "a file is in the way").unwrap();
        folder.write(&[1]);
        assert!(folder.is_reported);
        folder.write(&[2]);
        fs::remove_file(&folder.on.dir).unwrap();
        folder.write(&[3]);
        assert_eq!(contents(&folder.on.dir), [[3]]);
        fs::remove_dir_all(&folder.on.dir).unwrap();
    }
}
