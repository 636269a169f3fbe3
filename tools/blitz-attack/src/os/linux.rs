//! Linux: `/proc`, and filters of system calls.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::BTreeMap;

/// How many threads this process has.
#[must_use]
pub fn threads() -> Option<usize> {
    entries("/proc/self/task")
}

/// How many descriptors this process has open.
#[must_use]
pub fn descriptors() -> Option<usize> {
    entries("/proc/self/fd")
}

fn entries(folder: &str) -> Option<usize> {
    std::fs::read_dir(folder).ok().map(Iterator::count)
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

/// Makes these system calls fail on every thread of the process.
///
/// # Errors
/// If the system has no filters, or refuses this one.
pub fn forbid(calls: &[Call]) -> Result<(), String> {
    let rules: BTreeMap<i64, Vec<_>> =
        calls.iter().map(|call| (number(*call), Vec::new())).collect();
    let refused = SeccompAction::Errno(rustix::io::Errno::PERM.raw_os_error() as u32);
    let arch = std::env::consts::ARCH.try_into().map_err(|error| format!("{error}"))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    let program: BpfProgram =
        filter.and_then(TryInto::try_into).map_err(|error| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

/// The number of the call. The numbers for io_uring are the same on every architecture, the older
/// one for `membarrier` is not.
fn number(call: Call) -> i64 {
    match call {
        Call::UringSetup => 425,
        Call::UringEnter => 426,
        Call::Membarrier => match std::env::consts::ARCH {
            "x86_64" => 324,
            _ => 283,
        },
    }
}
