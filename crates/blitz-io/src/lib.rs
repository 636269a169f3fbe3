//! Sockets and timers of the Blitz runtime. Use it through `blitz-rt`.

mod async_fd;
mod driver;
pub mod fs;
pub mod io;
pub mod net;
mod options;
mod poll;
pub mod process;
pub mod signal;
pub mod time;

pub use driver::{IoDriver, IoMetrics};
pub use options::IoOptions;
