//! Sockets of tools, where the system has them.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use other::connect;
#[cfg(unix)]
pub use unix::connect;
