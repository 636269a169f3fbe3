//! The global pool, built when it is first used.

#![forbid(unsafe_code)]

use super::builder::PoolBuilder;
use super::pool::Pool;
use super::threads::ThreadBuilder;
use crate::base::BuildError;
use crate::team::Team;
use blitz_parts::prim::{Mutex, MutexGuard, OnceLock, thread_local};
use std::cell::Cell;
use std::io;
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
    /// Waits until no other thread builds the pool. Fails if a closure of the builder needs the
    /// pool that is being built.
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

/// Returns the global pool, which never ends. The first use builds it, with `BLITZ_WORKERS` workers
/// or one per core.
///
/// ```
/// let pool = blitz::global()?;
/// assert!(pool.num_workers() >= 1);
/// # Ok::<(), blitz::BuildError>(())
/// ```
///
/// # Errors
/// If the system starts no thread, or if a variable such as `BLITZ_WORKERS` is invalid.
pub fn global() -> Result<&'static Pool, BuildError> {
    global_or_build(|| Ok(PoolBuilder::new().for_global()))
}

/// The team of the global pool, if that was built.
pub(crate) fn built() -> Option<&'static Team> {
    GLOBAL.get().map(Pool::team)
}

/// Returns the global pool. If it does not exist yet, builds it with `builder`. This is for layers
/// on top of Blitz with their own defaults.
///
/// ```
/// let builder = || Ok(blitz_core::Pool::builder().workers(3));
/// let pool = blitz_core::global_or_build(builder)?;
/// assert_eq!(pool.num_workers(), 3);
/// # Ok::<(), blitz_core::BuildError>(())
/// ```
///
/// # Errors
/// If `builder` fails, or the pool cannot be built.
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

impl PoolBuilder {
    /// Builds the global pool, which the free functions use outside any pool. Without this call,
    /// its first use builds it with defaults and `BLITZ_WORKERS` workers.
    ///
    /// ```
    /// // First thing in `main`.
    /// blitz::Pool::builder().thread_name(|index| format!("global-{index}")).build_global()?;
    /// assert_eq!(blitz::join(|| 1, || 2), (1, 2));
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`build`](PoolBuilder::build) does. Also fails if the global pool exists already,
    /// or if `BLITZ_WORKERS` is needed and invalid.
    pub fn build_global(self) -> Result<(), BuildError> {
        build_global(self)
    }

    /// Works like [`build_global`](PoolBuilder::build_global), with threads that `spawn` starts, as
    /// in [`build_with`](PoolBuilder::build_with).
    ///
    /// # Errors
    /// Fails as [`build_global`](PoolBuilder::build_global) does.
    pub fn build_global_with(
        self,
        spawn: impl FnMut(ThreadBuilder) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        build_global_by(self, |builder| builder.build_with(spawn))
    }
}

/// Works like [`PoolBuilder::build_global`].
///
/// # Errors
/// Fails as [`PoolBuilder::build_global`] does.
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
    let _ = GLOBAL.set(build(builder.for_global())?);
    drop(building);
    Ok(())
}

/// The global pool's team.
///
/// # Panics
/// If it cannot be built.
#[cold]
#[track_caller]
pub(crate) fn team() -> &'static Team {
    match global() {
        Ok(pool) => pool.team(),
        Err(error) => panic!("the global pool could not be built: {error}"),
    }
}
