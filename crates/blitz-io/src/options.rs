//! What a runtime's builder says about its driver.

#![forbid(unsafe_code)]

use crate::backend::Backend;
use blitz_parts::tuning::IO_EVENTS_MAX;

/// The settings of a driver, for `PoolBuilder::driver_options`.
///
/// ```
/// let options = blitz_io::IoOptions { start_paused: true, ..Default::default() };
/// let pool = blitz::Pool::builder().workers(1).driver_options(options).build().unwrap();
/// # drop(pool);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoOptions {
    /// The clock stands from the beginning: see [`time::pause`](crate::time::pause).
    pub start_paused: bool,
    /// What files and sockets are used with.
    pub backend: Backend,
    /// Events that one wait in the driver can bring; more come with the next one. At least 1.
    pub max_io_completions: usize,
}

impl Default for IoOptions {
    fn default() -> IoOptions {
        IoOptions {
            start_paused: false,
            backend: Backend::default(),
            max_io_completions: IO_EVENTS_MAX,
        }
    }
}
