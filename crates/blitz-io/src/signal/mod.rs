//! Signals that the system or other processes send to this one.
//!
//! [`ctrl_c`] waits for an interrupt from the keyboard, [`unix::signal`] listens to any signal that
//! can be caught.
//!
//! Once a program has listened to a signal, the default action of that signal is off until the
//! process ends. So after the first `ctrl_c` an interrupt no longer ends the process, even when no
//! task waits.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> { blitz::block_on(async {
//! println!("press Ctrl+C to end this");
//! blitz::signal::ctrl_c().await?;
//! println!("good-bye");
//! # Ok(()) }) }
//! ```

mod bell;
mod hook;
mod kind;
mod listener;

use kind::SignalKind;
use std::io;

/// Signals by their names.
pub mod unix {
    pub use super::kind::SignalKind;
    pub use super::listener::{Signal, signal};
}

/// Waits for the next interrupt from the keyboard (`SIGINT`), starting at the first poll.
///
/// If no interrupt may be missed between two waits, use [`unix::signal`], or call `ctrl_c` once and
/// keep the future.
///
/// ```no_run
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let work = blitz::spawn(async { std::future::pending::<()>().await });
/// blitz::signal::ctrl_c().await?;
/// work.abort();
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If the system refuses, or if the runtime has ended.
pub async fn ctrl_c() -> io::Result<()> {
    match unix::signal(unix::SignalKind::interrupt())?.recv().await {
        Some(()) => Ok(()),
        None => Err(io::Error::other("the runtime in which `ctrl_c` waits has ended")),
    }
}
