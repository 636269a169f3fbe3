//! Functions of the operating system that the runner needs and the standard library lacks.
//!
//! On systems other than Unix the benchmarks run without these functions: contestants are not
//! stopped between their turns, processes that a contestant started may outlive it, and there are
//! no CPU times.

#[cfg(not(target_os = "linux"))]
mod no_slice;
#[cfg(not(unix))]
mod other;
#[cfg(target_os = "linux")]
mod slice;
#[cfg(unix)]
mod unix;

#[cfg(not(target_os = "linux"))]
pub use no_slice::{go_before_all, sharpen_timers, shorten_slice};
#[cfg(target_os = "linux")]
pub use slice::{go_before_all, sharpen_timers, shorten_slice};

#[cfg(not(unix))]
pub use other::{affinity, apart, cpu_time, die_with_parent, end, hold, release, thread_cpu_time};
#[cfg(unix)]
pub use unix::{affinity, apart, cpu_time, die_with_parent, end, hold, release, thread_cpu_time};
