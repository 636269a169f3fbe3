//! Child processes that were started.

#![forbid(unsafe_code)]

use super::part::Part;
use super::running::Running;
use super::{ChildStderr, ChildStdin, ChildStdout};
use crate::borrowed::{AsyncRead, AsyncReadExt};
use blitz_core::Handle;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::{Child as StdChild, ExitStatus, Output};
use std::task::Poll;

/// A child process, made by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it does not end the process: see
/// [`Command::kill_on_drop`](super::Command::kill_on_drop). The runtime sees to it that no zombie
/// is left.
#[derive(Debug)]
pub struct Child {
    /// What the child reads, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// What the child writes, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// What the child has to complain about, if that is a pipe.
    pub stderr: Option<ChildStderr>,
    state: State,
}

#[derive(Debug)]
enum State {
    Running(Running),
    Ended(ExitStatus),
}

impl Child {
    /// If anything of it cannot be watched, the child is killed.
    pub(super) fn new(mut child: StdChild, home: Handle, kill_on_drop: bool) -> io::Result<Child> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut running = Running::new(child, home, true)?;
        let stdin = stdin.map(ChildStdin::from_std).transpose()?;
        let stdout = stdout.map(ChildStdout::from_std).transpose()?;
        let stderr = stderr.map(ChildStderr::from_std).transpose()?;
        running.kill_on_drop = kill_on_drop;
        Ok(Child { stdin, stdout, stderr, state: State::Running(running) })
    }

    /// Returns its process id; `None` once its end was waited for.
    ///
    /// The system may give the id to another process then.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut child = blitz::process::Command::new("true").spawn()?;
    /// assert!(child.id().is_some());
    /// child.wait().await?;
    /// assert!(child.id().is_none());
    /// # Ok(()) }) }
    /// ```
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(running) => running.id(),
            State::Ended(_) => None,
        }
    }

    /// Waits until the child has ended; how it did. It gets nothing more to read meanwhile:
    /// [`stdin`](Child::stdin) is dropped first, for it may wait for the end of that.
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut child = blitz::process::Command::new("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// What the system says, or that the runtime that it was made in has ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let status = match &mut self.state {
            State::Running(running) => running.wait().await?,
            State::Ended(status) => return Ok(*status),
        };
        self.state = State::Ended(status);
        Ok(status)
    }

    /// How the child has ended; none if it has not.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use std::process::Stdio;
    /// let mut cat = blitz::process::Command::new("cat").stdin(Stdio::piped()).spawn()?;
    /// assert!(cat.try_wait()?.is_none());
    /// drop(cat.stdin.take());
    /// cat.wait().await?;
    /// assert!(cat.try_wait()?.is_some());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// What the system says.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.state {
            State::Running(running) => running.child().try_wait()?,
            State::Ended(status) => return Ok(Some(*status)),
        };
        if let Some(status) = status {
            self.state = State::Ended(status);
        }
        Ok(status)
    }

    /// Kills the child (`SIGKILL`) and does not wait.
    ///
    /// # Errors
    /// If its end was waited for already, or what the system says.
    pub fn start_kill(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Running(running) => running.child().kill(),
            State::Ended(_) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "the child has ended already"))
            }
        }
    }

    /// Kills the child and waits for its end.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use std::process::Stdio;
    /// let mut cat = blitz::process::Command::new("cat").stdin(Stdio::piped()).spawn()?;
    /// cat.kill().await?;
    /// assert!(!cat.wait().await?.success());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// As [`start_kill`](Child::start_kill) and [`wait`](Child::wait).
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits until the child has ended; how it did, and what it has written to its pipes.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::process::Command;
    /// use std::process::Stdio;
    /// let child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output().await?.stdout, b"hello\n");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// What the system says, or that the runtime that it was made in has ended.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        // All at once: a child that fills one pipe while the other is read would never end.
        let mut stdout = pin!(Part::of(read_all(stdout)));
        let mut stderr = pin!(Part::of(read_all(stderr)));
        let mut status = pin!(Part::of(self.wait()));
        poll_fn(|cx| {
            let pending = [
                status.as_mut().is_pending(cx),
                stdout.as_mut().is_pending(cx),
                stderr.as_mut().is_pending(cx),
            ];
            if pending.contains(&true) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        Ok(Output { status: status.take()?, stdout: stdout.take()?, stderr: stderr.take()? })
    }
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
