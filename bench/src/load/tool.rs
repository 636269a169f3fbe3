//! Independent programs that drive HTTP servers, and whether they are installed.
//!
//! `xtask`, which may use no crate, includes this file.

use std::process::{Command, Stdio};

/// A program that drives HTTP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `wrk`.
    Wrk,
    /// `h2load`, of nghttp2.
    H2load,
}

impl Tool {
    /// Every such program.
    pub const ALL: [Self; 2] = [Self::Wrk, Self::H2load];

    /// The name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
        }
    }

    /// The Debian package that has the program.
    fn package(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "nghttp2-client",
        }
    }

    fn is_installed(self) -> bool {
        let mut command = Command::new(self.name());
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ignore the exit code: `wrk --version` exits like a program that failed.
        command.status().is_ok()
    }
}

/// Checks that all of `tools` can be run.
///
/// # Errors
///
/// Returns the missing programs, and the packages that contain them.
pub fn installed(tools: &[Tool]) -> Result<(), String> {
    let missing = tools.iter().filter(|tool| !tool.is_installed());
    let missing: Vec<String> =
        missing.map(|tool| format!("{} (Debian: {})", tool.name(), tool.package())).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("not installed: {}", missing.join(", "))) }
}
