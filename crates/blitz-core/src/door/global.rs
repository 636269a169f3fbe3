//! The global pool, built when it is first used.

#![forbid(unsafe_code)]

use super::builder::PoolBuilder;
use super::pool::Pool;
use crate::base::BuildError;
use crate::state::default_workers;
use crate::team::Team;
use blitz_parts::prim::{Mutex, MutexGuard, OnceLock, thread_local};
use blitz_parts::sleep::WORKERS_MAX;
use std::cell::Cell;
use std::ffi::OsString;
use std::sync::PoisonError;

static GLOBAL: OnceLock<Pool> = OnceLock::new();
/// Held while the global pool is built, so that it is built once.
static BUILDING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether the current thread is the one that builds the global pool.
    static BUILDING_HERE: Cell<bool> = const { Cell::new(false) };
}

/// The right to build the global pool.
struct Building {
    _turn: MutexGuard<'static, ()>,
}

impl Building {
    /// Waits for its turn. The builder's own closures may not need what they are building.
    fn begin() -> Result<Building, BuildError> {
        if BUILDING_HERE.with(Cell::get) {
            return Err(BuildError::config(
                "the global pool is used by a closure that takes part in building it; use a pool of \
                 your own there, or none"
                    .to_owned(),
            ));
        }
        let turn = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        BUILDING_HERE.with(|here| here.set(true));
        Ok(Building { _turn: turn })
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        BUILDING_HERE.with(|here| here.set(false));
    }
}

/// The variable that sets the number of the global pool's workers.
pub(crate) const WORKERS_VARIABLE: &str = "BLITZ_WORKERS";

/// The global pool, which never ends. Built on first use, with `BLITZ_WORKERS` workers or one per
/// core.
///
/// ```
/// let pool = blitz::global()?;
/// assert!(pool.num_workers() >= 1);
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// # Errors
/// If `BLITZ_WORKERS` cannot be used or the system starts no thread.
pub fn global() -> Result<&'static Pool, BuildError> {
    global_or_build(|| Ok(PoolBuilder::new().workers(workers_from_env()?)))
}

/// The team of the global pool, if that was built.
pub(crate) fn built() -> Option<&'static Team> {
    GLOBAL.get().map(Pool::team)
}

/// The global pool, or, if it does not exist yet, what `builder` describes: for a layer on top of
/// Blitz with defaults of its own.
///
/// ```
/// let builder = || Ok(blitz_core::Pool::builder().workers(3));
/// let pool = blitz_core::global_or_build(builder)?;
/// assert_eq!(pool.num_workers(), 3);
/// # Ok::<(), blitz_core::BuildError>(())
/// ```
///
/// # Errors
/// If `builder` fails or what it returns does.
pub fn global_or_build(
    builder: impl FnOnce() -> Result<PoolBuilder, BuildError>,
) -> Result<&'static Pool, BuildError> {
    if let Some(pool) = GLOBAL.get() {
        return Ok(pool);
    }
    let building = Building::begin()?;
    if GLOBAL.get().is_none() {
        let _ = GLOBAL.set(builder()?.build()?);
    }
    drop(building);
    match GLOBAL.get() {
        Some(pool) => Ok(pool),
        None => unreachable!("set above, and never cleared"),
    }
}

/// As [`PoolBuilder::build_global`].
///
/// # Errors
/// As there.
pub fn build_global(builder: PoolBuilder) -> Result<(), BuildError> {
    build_global_by(builder, PoolBuilder::build)
}

/// Builds the global pool with `build`.
pub(crate) fn build_global_by(
    builder: PoolBuilder,
    build: impl FnOnce(PoolBuilder) -> Result<Pool, BuildError>,
) -> Result<(), BuildError> {
    let building = Building::begin()?;
    if GLOBAL.get().is_some() {
        return Err(BuildError::global_exists());
    }
    let workers = match builder.asked_workers() {
        0 => workers_from_env()?,
        asked => asked,
    };
    let _ = GLOBAL.set(build(builder.workers(workers))?);
    drop(building);
    Ok(())
}

/// The global pool's team.
///
/// # Panics
/// If it cannot be built.
#[cold]
pub(crate) fn team() -> &'static Team {
    match global() {
        Ok(pool) => pool.team(),
        Err(error) => panic!("the global pool could not be built: {error}"),
    }
}

/// What `BLITZ_WORKERS` asks for; 0 if it is not set.
pub(crate) fn workers_from_env() -> Result<usize, BuildError> {
    match std::env::var_os(WORKERS_VARIABLE) {
        None => Ok(0),
        // `VARIABLE=` is how unit files and shells unset one.
        Some(text) if text.is_empty() => Ok(0),
        Some(text) => parse_workers(&text),
    }
}

fn parse_workers(text: &OsString) -> Result<usize, BuildError> {
    let number = text.to_str().and_then(|text| text.trim().parse::<usize>().ok());
    number.filter(|&number| number <= WORKERS_MAX).ok_or_else(|| {
        BuildError::config(format!(
            "{WORKERS_VARIABLE} is {text:?}; it must be a whole number from 1 to {WORKERS_MAX}, or 0 \
             for one worker per core (here {})",
            default_workers()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::{WORKERS_MAX, parse_workers};
    use std::ffi::OsString;

    #[test]
    fn good_numbers_are_taken() {
        for (text, number) in [("0", 0), ("1", 1), (" 12 ", 12), ("65535", WORKERS_MAX)] {
            assert_eq!(parse_workers(&OsString::from(text)).unwrap(), number);
        }
    }

    #[test]
    fn bad_numbers_are_quoted_and_what_is_allowed_is_said() {
        for text in ["", "two", "-1", "65536", "1.5", "99999999999999999999"] {
            let error = parse_workers(&OsString::from(text)).unwrap_err();
            assert!(error.is_invalid_config());
            let message = error.to_string();
            assert!(message.contains(&format!("{text:?}")), "{message}");
            assert!(message.contains("from 1 to 65535"), "{message}");
        }
    }
}
