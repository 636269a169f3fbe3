//! Child processes, with the names of [`std::process`].
//!
//! ```
//! use blitz::process::Command;
//!
//! # fn main() -> std::io::Result<()> { blitz::block_on(async {
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(()) }) }
//! ```
//!
//! The workers of the pool wait for a child's pipes and for its end, as they do for sockets:
//!
//! ```
//! use blitz::io::{AsyncReadExt, AsyncWriteExt};
//! use blitz::process::Command;
//! use std::process::Stdio;
//!
//! # fn main() -> std::io::Result<()> { blitz::block_on(async {
//! let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let (mut stdin, mut stdout) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
//! let writer = blitz::spawn(async move { stdin.write_all(b"meow").await });
//! let mut text = String::new();
//! stdout.read_to_string(&mut text).await?;
//! assert_eq!(text, "meow");
//! writer.await.unwrap()?;
//! assert!(cat.wait().await?.success());
//! # Ok(()) }) }
//! ```
//!
//! # Children that are dropped
//! A [`Child`] that is dropped goes on running, unless [`Command::kill_on_drop`] is set. The
//! runtime waits for it in the background, so that no zombie is left. If the runtime ends first,
//! the child is reaped when the next child is started or dropped.

mod child;
mod command;
mod exit;
mod orphans;
mod part;
mod pidfd;
mod pipe;
mod running;

pub use child::Child;
pub use command::Command;
pub use pipe::{ChildStderr, ChildStdin, ChildStdout};
