//! How a child process is started.

use super::{Child, orphans};
use blitz_core::Handle;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command as StdCommand, ExitStatus, Output, Stdio};

/// Starts a program as a child: [`std::process::Command`] with children that can be awaited.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::process::Command;
/// let output = Command::new("sh")
///     .args(["-c", "echo $GREETING from $(pwd)"])
///     .env("GREETING", "hello")
///     .current_dir("/")
///     .output()
///     .await?;
/// assert_eq!(output.stdout, b"hello from /\n");
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct Command {
    std: StdCommand,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command for `program`, which is looked up in `PATH` unless it contains a slash.
    ///
    /// The program gets no arguments, and inherits the environment, the directory and the
    /// descriptors of this process.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        StdCommand::new(program).into()
    }

    /// Returns the standard library's command that this type wraps.
    #[must_use]
    pub fn as_std(&self) -> &StdCommand {
        &self.std
    }

    /// Returns the standard library's command, for settings that this type lacks.
    ///
    /// ```
    /// let mut command = blitz::process::Command::new("true");
    /// command.as_std_mut().env("KEY", "value");
    /// assert_eq!(command.as_std().get_envs().count(), 1);
    /// ```
    pub fn as_std_mut(&mut self) -> &mut StdCommand {
        &mut self.std
    }

    /// Converts this command to the standard library's; the setting
    /// [`kill_on_drop`](Command::kill_on_drop) is lost.
    #[must_use]
    pub fn into_std(self) -> StdCommand {
        self.std
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds several arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Command {
        self.std.args(args);
        self
    }

    /// Sets the name that the program sees as its own (`argv[0]`).
    pub fn arg0(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.std.arg0(arg);
        self
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.std.env(key, value);
        self
    }

    /// Sets variables of the environment.
    pub fn envs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Command {
        self.std.envs(vars);
        self
    }

    /// Removes a variable of the environment.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::process::Command;
    ///
    /// let mut command = Command::new("/usr/bin/env");
    /// command.env_clear().envs([("A", "1"), ("B", "2")]).env_remove("A");
    /// assert_eq!(command.output().await?.stdout, b"B=2\n");
    /// # Ok(()) }) }
    /// ```
    pub fn env_remove(&mut self, key: impl AsRef<OsStr>) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Removes all variables of the environment.
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the working directory of the child.
    pub fn current_dir(&mut self, dir: impl AsRef<Path>) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets the child's standard input. By default it is inherited.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Command {
        self.std.stdin(stdin);
        self
    }

    /// Sets the child's standard output. By default it is inherited.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Command {
        self.std.stdout(stdout);
        self
    }

    /// Sets the child's standard error. By default it is inherited.
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Command {
        self.std.stderr(stderr);
        self
    }

    /// Sets the user of the child.
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group of the child.
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets the child's process group; 0 makes a new one.
    ///
    /// Interrupts from the keyboard do not reach a child in a group of its own.
    pub fn process_group(&mut self, group: i32) -> &mut Command {
        self.std.process_group(group);
        self
    }

    /// Calls `f` in the child, after the fork and before the program starts. If `f` returns an
    /// error the program is not started, and [`spawn`](Command::spawn) returns the error.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut command = blitz::process::Command::new("true");
    /// // SAFETY: the closure calls nothing.
    /// unsafe { command.pre_exec(|| Err(std::io::ErrorKind::Other.into())) };
    /// assert!(command.spawn().is_err());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Safety
    /// 1. The child is a copy of this process with one thread, the one that spawns. `f` may only
    ///    do what is allowed after `fork` in a program with threads: it takes no lock, allocates
    ///    nothing and does not panic.
    /// 2. It does not touch the runtime: workers and drivers do not exist in the child.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the standard library asks only for obligation 1, which the caller fulfils.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Sets whether the child is killed when its [`Child`] is dropped before it was waited for. By
    /// default it is not.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use std::process::Stdio;
    /// let mut command = blitz::process::Command::new("cat");
    /// let cat = command.stdin(Stdio::piped()).kill_on_drop(true).spawn()?;
    /// drop(cat);
    /// # Ok(()) }) }
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns the value of [`kill_on_drop`](Command::kill_on_drop).
    #[must_use]
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Starts the child.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut child = blitz::process::Command::new("true").spawn()?;
    /// assert!(child.wait().await?.success());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If there is no such program, if the system reports another error, or if the runtime has
    /// ended. If the error comes after the child has started, the child is killed.
    pub fn spawn(&mut self) -> io::Result<Child> {
        orphans::sweep();
        let home = match Handle::try_current() {
            Ok(handle) => handle,
            Err(_) => blitz_core::global().map_err(io::Error::other)?.handle(),
        };
        Child::new(self.std.spawn()?, home, self.kill_on_drop)
    }

    /// Starts the child at once; the future waits until the child has ended. Before that, it drops
    /// this process's ends of requested pipes.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let status = blitz::process::Command::new("false").status().await?;
    /// assert!(!status.success());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`spawn`](Command::spawn) and [`Child::wait`] do.
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // Drop the pipes: a child that writes to a pipe without a reader ends, and one whose
            // reader does not read would block.
            drop((child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the child at once; the future waits until the child has ended, and collects its
    /// output. This method overrides the settings for standard output and standard error.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let output = blitz::process::Command::new("echo").arg("hello").output().await?;
    /// assert_eq!(output.stdout, b"hello\n");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`spawn`](Command::spawn) and [`Child::wait_with_output`] do.
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<StdCommand> for Command {
    fn from(std: StdCommand) -> Command {
        Command { std, kill_on_drop: false }
    }
}
