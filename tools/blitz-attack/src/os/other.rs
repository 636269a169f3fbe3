//! Other systems than Linux lack these functions: checks that need them are skipped.

/// Returns `None`: the number of threads is not known.
#[must_use]
pub fn threads() -> Option<usize> {
    None
}

/// Returns `None`: the number of open descriptors is not known.
#[must_use]
pub fn descriptors() -> Option<usize> {
    None
}

/// Does nothing.
///
/// # Errors
/// Always returns an error, so that the caller learns that nothing is forbidden.
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
