//! Files and directories, with the names of [`std::fs`].
//!
//! | to | use |
//! |---|---|
//! | read or write a whole file | [`read`], [`read_to_string`], [`write()`], [`copy`] |
//! | read or write a part at a time | [`File`], [`OpenOptions`] |
//! | see what is in a directory | [`read_dir`] |
//! | make directories | [`create_dir`], [`create_dir_all`], [`DirBuilder`] |
//!
//! The system cannot say when a file would be ready, so operations run on threads where they may
//! block: see [`spawn_blocking`](blitz_core::spawn_blocking). With io_uring the system itself reads
//! and writes a [`File`]. Handing an operation to a thread costs microseconds. So one call that
//! reads all is better than many that read a little, and a [`BufReader`](crate::io::BufReader) is
//! better than one read for each line.
//!
//! An operation that has begun finishes, even if no task waits for it any more. Dropping its future
//! does not undo it, and the end of the runtime waits for it. The exception is a read by io_uring:
//! the drop of its [`File`] and the end of the runtime cancel it.
//!
//! ```
//! # fn main() -> std::io::Result<()> { blitz::block_on(async {
//! use blitz::fs;
//! # let dir = std::env::temp_dir().join(format!("blitz-doc-fs-{}", std::process::id()));
//! # fs::create_dir_all(&dir).await?;
//! let path = dir.join("greeting");
//! fs::write(&path, "hello").await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello");
//! fs::remove_file(&path).await?;
//! # fs::remove_dir_all(&dir).await
//! # }) }
//! ```

#![forbid(unsafe_code)]

mod buffer;
mod content;
mod dir_builder;
mod errand;
mod file;
mod open_options;
mod path;
mod read_dir;
mod stage;

pub use content::{copy, read, read_to_string, write};
pub use dir_builder::DirBuilder;
pub use file::File;
pub use open_options::OpenOptions;
pub use path::{
    canonicalize, create_dir, create_dir_all, hard_link, metadata, read_link, remove_dir,
    remove_dir_all, remove_file, rename, set_permissions, set_times, symlink, symlink_metadata,
    try_exists,
};
pub use read_dir::{DirEntry, ReadDir, read_dir};
