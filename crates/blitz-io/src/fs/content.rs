//! Reads, writes and copies whole files.

#![forbid(unsafe_code)]

use super::errand::run;
use std::io;
use std::path::Path;

/// Reads the whole file at `path`.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let bytes = blitz::fs::read("Cargo.toml").await?;
/// assert!(bytes.starts_with(b"[package]"));
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If there is no such file, or if the system reports another error.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read(path)).await
}

/// Reads the whole file at `path` as text.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let text = blitz::fs::read_to_string("Cargo.toml").await?;
/// assert!(text.contains("[package]"));
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If the file is not UTF-8, or if [`read`] would fail.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read_to_string(path)).await
}

/// Replaces the whole file at `path` by `contents`. Creates the file if there is none.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let path = std::env::temp_dir().join(format!("blitz-doc-write-{}", std::process::id()));
/// blitz::fs::write(&path, b"hello").await?;
/// assert_eq!(blitz::fs::read(&path).await?, b"hello");
/// # blitz::fs::remove_file(&path).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    run(move || std::fs::write(path, contents)).await
}

/// Copies the file at `from`, with its permissions, to `to`. Returns the number of bytes.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let path = std::env::temp_dir().join(format!("blitz-doc-copy-{}", std::process::id()));
/// let bytes = blitz::fs::copy("Cargo.toml", &path).await?;
/// assert_eq!(blitz::fs::metadata(&path).await?.len(), bytes);
/// # blitz::fs::remove_file(&path).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::fs::copy(from, to)).await
}
