//! The runner's side of a contestant's process.
//!
//! Why a process each? A pool that ticks while idle (Forte, chili) would run during the turns of
//! the others, so a contestant is stopped between its turns, and a single process cannot be stopped
//! in part. Also, Forte's pools cannot be shut down at all, and a contestant that hangs or crashes
//! affects only its own rows.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::Arena;
use blitz_contestant::Reply;

use crate::{
    case::{Case, Contestant},
    os,
    workload::{Contest, Sample},
};

/// Starts contestants with a command that ends in a call of [`blitz_contestant::serve`].
pub struct Processes<F> {
    command: F,
}

impl<F: FnMut(&Case, Contestant) -> Result<Command, String>> Processes<F> {
    /// Creates an arena that will start each contestant with the command that `command` returns. An
    /// error of `command` says why there is no command.
    pub fn new(command: F) -> Self {
        Self { command }
    }
}

impl<F: FnMut(&Case, Contestant) -> Result<Command, String>> Arena for Processes<F> {
    fn open(&mut self, case: &Case, contestant: Contestant) -> Result<Box<dyn Contest>, String> {
        let mut command = (self.command)(case, contestant)?;
        let child = os::apart(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
            .and_then(Command::spawn)
            .map_err(|error| format!("cannot be started: {error}"))?;
        Ok(Box::new(Process::new(child)))
    }
}

struct Process {
    child: Child,
    replies: Receiver<String>,
    has_ended: bool,
}

impl Process {
    fn new(mut child: Child) -> Self {
        let (sender, replies) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            // Read the pipe on a thread, since a read has no time limit. The thread ends with the
            // child.
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                for line in lines {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Self { child, replies, has_ended: false }
    }

    /// Waits for one reply, then stops the process until its next turn.
    fn reply(&mut self) -> Result<Reply, String> {
        let line = self.replies.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("hangs: no answer for {PATIENCE:?}"),
            RecvTimeoutError::Disconnected => self.cause_of_death(),
        })?;
        os::hold(&self.child).map_err(|error| format!("cannot be stopped: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("answered {line:?}: {error}"))
    }

    /// Ends the process and those that it started. Does so only once: `os::end` waits for them, and
    /// from then on the system may give the number of their group to other processes.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            // The process may have ended already.
            let _ = os::end(&mut self.child);
        }
    }

    /// Waits for a process that has closed its pipes. The kill in `end` no longer changes its exit
    /// status, because the system stores that status before it closes the pipes.
    fn cause_of_death(&mut self) -> String {
        self.end();
        match self.child.wait() {
            Ok(status) => format!("ended early with {status}"),
            Err(error) => format!("ended early: {error}"),
        }
    }
}

impl Contest for Process {
    fn settle(&mut self) -> Result<(), String> {
        match self.reply()? {
            Reply::Ready => Ok(()),
            Reply::Error(error) => Err(error),
            Reply::Sample(_) => Err("answered before it was asked".to_owned()),
        }
    }

    fn turn(&mut self) -> Result<Sample, String> {
        let asked = os::release(&self.child).and_then(|()| match &mut self.child.stdin {
            Some(input) => input.write_all(b"turn\n"),
            None => Ok(()),
        });
        if asked.is_err() {
            return Err(self.cause_of_death());
        }
        match self.reply()? {
            Reply::Sample(sample) => Ok(sample),
            Reply::Error(error) => Err(error),
            Reply::Ready => Err("answered what it was not asked".to_owned()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Do not just close its input: freeing 16 million nodes takes a second, some pools cannot
        // be shut down, and a process that hangs would not notice.
        self.end();
    }
}

/// A turn that takes longer than this constant hangs. The slowest turn takes about two seconds.
const PATIENCE: Duration = Duration::from_secs(60);
