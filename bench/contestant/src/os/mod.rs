//! What the runner needs from the operating system and the standard library does not offer.
//!
//! Elsewhere than on Unix the benchmarks run without it: contestants are not held between their
//! turns and there are no CPU times.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use other::{affinity, cpu_time, die_with_parent, hold, release, thread_cpu_time};
#[cfg(unix)]
pub use unix::{affinity, cpu_time, die_with_parent, hold, release, thread_cpu_time};
