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
/// Dropping a `Child` does not end the process: see
/// [`Command::kill_on_drop`](super::Command::kill_on_drop). The runtime reaps the process, so no
/// zombie is left.
#[derive(Debug)]
pub struct Child {
    /// The child's standard input, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// The child's standard output, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The child's standard error, if that is a pipe.
    pub stderr: Option<ChildStderr>,
    state: State,
}

#[derive(Debug)]
enum State {
    Running(Running),
    Ended(ExitStatus),
}

impl Child {
    /// Watches a child and its pipes. If one of them cannot be watched, the child is killed.
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

    /// Returns the child's process id; `None` once the child was waited for.
    ///
    /// From then on the system may give the id to another process.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut child = blitz::process::Command::new("true").spawn()?;
    /// assert!(child.id().is_some());
    /// child.wait().await?;
    /// assert!(child.id().is_none());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(running) => running.id(),
            State::Ended(_) => None,
        }
    }

    /// Waits until the child has ended; returns its exit status. Drops [`stdin`](Child::stdin)
    /// first, because the child may wait for the end of its input.
    ///
    /// If the future is dropped, the exit status is not lost.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut child = blitz::process::Command::new("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If the system reports an error, or if the runtime in which the child was spawned has ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let status = match &mut self.state {
            State::Running(running) => running.wait().await?,
            State::Ended(status) => return Ok(*status),
        };
        self.state = State::Ended(status);
        Ok(status)
    }

    /// Returns the exit status, or `None` if the child has not ended.
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
    /// If the system reports an error.
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
    /// If the child was waited for already, or if the system reports an error.
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
    /// Fails as [`start_kill`](Child::start_kill) and [`wait`](Child::wait) do.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits until the child has ended and its pipes are closed; returns its exit status and the
    /// bytes from the pipes. A process that has inherited a pipe from the child keeps it open.
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
    /// If the system reports an error, or if the runtime in which the child was spawned has ended.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        // Reads both pipes at once: a child that fills one pipe while the other is read would never
        // end.
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
