//! Other systems than Linux lack these functions: checks that need them are skipped.

/// How many threads this process has.
#[must_use]
pub fn threads() -> Option<usize> {
    None
}

/// How many descriptors this process has open.
#[must_use]
pub fn descriptors() -> Option<usize> {
    None
}

/// Makes these system calls fail on every thread of the process.
///
/// # Errors
/// Always.
pub fn forbid(_calls: &[Call]) -> Result<(), String> {
    Err("this system has no filters for system calls".into())
}

/// A system call that can be forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `io_uring_enter`.
    UringEnter,
    /// `io_uring_setup`.
    UringSetup,
    /// `membarrier`.
    Membarrier,
}
