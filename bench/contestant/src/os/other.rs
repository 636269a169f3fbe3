//! Stand-ins for systems other than Unix. The parent module says what is missing there.

use std::{
    io,
    process::{Child, Command},
    time::Duration,
};

/// Returns `None`: the CPU time of this process is not known.
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    None
}

/// Returns `None`: the CPU time of a thread is not known.
#[must_use]
pub fn thread_cpu_time() -> Option<Duration> {
    None
}

/// Does nothing.
///
/// # Errors
///
/// Never.
pub fn apart(command: &mut Command) -> io::Result<&mut Command> {
    Ok(command)
}

/// Kills the process and waits for its end. It does not kill the processes that `child` started.
///
/// # Errors
///
/// Returns the system's error.
pub fn end(child: &mut Child) -> io::Result<usize> {
    child.kill()?;
    child.wait()?;
    Ok(0)
}

/// Does nothing.
///
/// # Errors
///
/// Never.
pub fn hold(_child: &Child) -> io::Result<()> {
    Ok(())
}

/// Does nothing.
///
/// # Errors
///
/// Never.
pub fn release(_child: &Child) -> io::Result<()> {
    Ok(())
}

/// Does nothing.
///
/// # Errors
///
/// Never.
pub fn die_with_parent() -> io::Result<()> {
    Ok(())
}

/// Returns `None`: the processors of this process are not known.
#[must_use]
pub fn affinity() -> Option<Vec<usize>> {
    None
}
