//! Systems on which nothing of this is known: see the module above for what is missing then.

use std::{io, process::Child, time::Duration};

/// Not known.
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    None
}

/// Not known.
#[must_use]
pub fn thread_cpu_time() -> Option<Duration> {
    None
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

/// Not known.
#[must_use]
pub fn affinity() -> Option<Vec<usize>> {
    None
}
