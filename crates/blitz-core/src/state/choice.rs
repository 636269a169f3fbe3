//! The choice of a pool's scheduler.

#![forbid(unsafe_code)]

use crate::base::BuildError;
use std::ffi::OsStr;

/// The schedulers of tasks. Jobs are always stolen.
///
/// `docs/schedulers.md` in the repository says which to choose when, with measurements.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).scheduler(blitz::Scheduler::Signal).build()?;
/// assert_eq!(pool.scheduler(), blitz::Scheduler::Signal);
/// assert_eq!(pool.block_on(pool.spawn(async { 6 * 7 })).unwrap(), 42);
/// # Ok::<(), blitz::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Each worker has its own queues, and steals from others when its own are empty. The default.
    #[default]
    Stealing,
    /// Each runnable task is a bit in a tree that all workers share. Finding one costs the same for
    /// any number of workers, and waking a task takes no lock and allocates nothing.
    Signal,
}

impl Scheduler {
    /// The environment variable that sets the scheduler of pools whose builder chooses none.
    pub const VARIABLE: &'static str = "BLITZ_SCHEDULER";

    /// The name of the scheduler, as the variable has it.
    ///
    /// ```
    /// assert_eq!(blitz::Scheduler::Signal.name(), "signal");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Stealing => "stealing",
            Scheduler::Signal => "signal",
        }
    }

    /// Returns the scheduler that the variable names.
    pub(crate) fn from_env() -> Result<Scheduler, BuildError> {
        match std::env::var_os(Self::VARIABLE) {
            None => Ok(Scheduler::default()),
            Some(name) => Self::parse(&name),
        }
    }

    fn parse(name: &OsStr) -> Result<Scheduler, BuildError> {
        match name.to_str().map(str::trim) {
            // In unit files and shells, `VARIABLE=` sets a variable to the empty string.
            Some("") => Ok(Scheduler::default()),
            Some(name) if name == Scheduler::Stealing.name() => Ok(Scheduler::Stealing),
            Some(name) if name == Scheduler::Signal.name() => Ok(Scheduler::Signal),
            _ => Err(BuildError::config(format!(
                "{} is {name:?}; it must be \"stealing\" or \"signal\"",
                Self::VARIABLE
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scheduler;
    use std::ffi::OsStr;

    #[test]
    fn schedulers_have_names_and_others_are_refused() {
        let parse = |name: &str| Scheduler::parse(OsStr::new(name));
        assert_eq!(parse("stealing").unwrap(), Scheduler::Stealing);
        assert_eq!(parse(" signal ").unwrap(), Scheduler::Signal);
        assert_eq!(parse("").unwrap(), Scheduler::default());
        let error = parse("fair").unwrap_err();
        assert!(error.is_invalid_config());
        assert!(error.to_string().contains("\"signal\""), "{error}");
    }
}
