//! Files and directories by their paths.

#![forbid(unsafe_code)]

use super::errand::run;
use rustix::fs::OFlags;
use std::fs::{FileTimes, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Returns the metadata of the file or directory at `path`; links are followed.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let metadata = blitz::fs::metadata("Cargo.toml").await?;
/// assert!(metadata.is_file() && metadata.len() > 0);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If nothing exists at `path`, or if the system reports another error.
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::metadata(path)).await
}

/// Returns the metadata of what is at `path`; a link is not followed.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let name = format!("blitz-doc-symlink_metadata-{}", std::process::id());
/// # let dir = std::env::temp_dir().join(name);
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::symlink("elsewhere", dir.join("link")).await?;
/// assert!(blitz::fs::symlink_metadata(dir.join("link")).await?.is_symlink());
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// Fails as [`metadata`] does.
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::symlink_metadata(path)).await
}

/// Returns whether something exists at `path`. A dangling link counts as nothing.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// assert!(blitz::fs::try_exists("Cargo.toml").await?);
/// assert!(!blitz::fs::try_exists("no such file").await?);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    run(move || path.try_exists()).await
}

/// Returns the absolute path of `path`, with all links resolved.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let path = blitz::fs::canonicalize("src/../Cargo.toml").await?;
/// assert!(path.is_absolute() && path.ends_with("Cargo.toml"));
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If nothing exists at `path`, or if the system reports another error.
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::canonicalize(path)).await
}

/// Sets the permissions of the file or directory at `path`.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let name = format!("blitz-doc-set_permissions-{}", std::process::id());
/// # let dir = std::env::temp_dir().join(name);
/// # blitz::fs::create_dir_all(&dir).await?;
/// use std::os::unix::fs::PermissionsExt;
/// let path = dir.join("secret");
/// blitz::fs::write(&path, "hush").await?;
/// blitz::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).await?;
/// assert_eq!(blitz::fs::metadata(&path).await?.permissions().mode() & 0o777, 0o600);
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::set_permissions(path, permissions)).await
}

/// Sets the access and modification times of the file at `path`; links are followed.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-set_times-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// use std::fs::FileTimes;
/// use std::time::{Duration, SystemTime};
/// let (path, then) = (dir.join("old"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
/// blitz::fs::write(&path, "").await?;
/// blitz::fs::set_times(&path, FileTimes::new().set_modified(then)).await?;
/// assert_eq!(blitz::fs::metadata(&path).await?.modified()?, then);
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the file can be opened neither for reading nor for writing, or if the system reports another
/// error.
pub async fn set_times(path: impl AsRef<Path>, times: FileTimes) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    // A pipe without a peer must not block the thread.
    let flags = OFlags::NONBLOCK.bits() as i32;
    run(move || {
        let read = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let file = match read {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                OpenOptions::new().write(true).custom_flags(flags).open(&path)?
            }
            read => read?,
        };
        file.set_times(times)
    })
    .await
}

/// Renames `from` to `to`. Replaces a file at `to`, in one step.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-rename-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::write(dir.join("draft"), "hello").await?;
/// blitz::fs::rename(dir.join("draft"), dir.join("letter")).await?;
/// assert_eq!(blitz::fs::read(dir.join("letter")).await?, b"hello");
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the two paths are not in one file system, or if the system reports another error.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    run(move || std::fs::rename(from, to)).await
}

/// Removes the file or the link at `path`.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-remove_file-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::write(dir.join("old"), "").await?;
/// blitz::fs::remove_file(dir.join("old")).await?;
/// assert!(!blitz::fs::try_exists(dir.join("old")).await?);
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If there is no such file, or if the system reports another error.
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_file(path)).await
}

/// Creates a directory. Its parent must exist.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-create_dir-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::create_dir(dir.join("new")).await?;
/// assert!(blitz::fs::metadata(dir.join("new")).await?.is_dir());
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If something exists at `path`, or if the system reports another error.
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::create_dir(path)).await
}

/// Creates a directory and its missing parents.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let name = format!("blitz-doc-create_dir_all-{}", std::process::id());
/// # let dir = std::env::temp_dir().join(name);
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::create_dir_all(dir.join("a/b/c")).await?;
/// blitz::fs::create_dir_all(dir.join("a/b/c")).await?;
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::create_dir_all(path)).await
}

/// Removes an empty directory.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-remove_dir-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::create_dir(dir.join("empty")).await?;
/// blitz::fs::remove_dir(dir.join("empty")).await?;
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the directory is not empty, or if the system reports another error.
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_dir(path)).await
}

/// Removes a directory and its contents. Links are removed, not followed.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let name = format!("blitz-doc-remove_dir_all-{}", std::process::id());
/// # let dir = std::env::temp_dir().join(name);
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::create_dir_all(dir.join("a/b/c")).await?;
/// blitz::fs::remove_dir_all(dir.join("a")).await?;
/// assert!(!blitz::fs::try_exists(dir.join("a")).await?);
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::remove_dir_all(path)).await
}

/// Creates a hard link to the file at `original`.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-hard_link-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::write(dir.join("one"), "hello").await?;
/// blitz::fs::hard_link(dir.join("one"), dir.join("other")).await?;
/// assert_eq!(blitz::fs::read(dir.join("other")).await?, b"hello");
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the two paths are not in one file system, or if the system reports another error.
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    run(move || std::fs::hard_link(original, link)).await
}

/// Creates a symbolic link to `original`, which need not exist.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-symlink-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::symlink("there", dir.join("here")).await?;
/// assert_eq!(blitz::fs::read_link(dir.join("here")).await?.to_str(), Some("there"));
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If the system reports an error.
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    run(move || std::os::unix::fs::symlink(original, link)).await
}

/// Returns the target of the link at `path`.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-read_link-{}", std::process::id()));
/// # blitz::fs::create_dir_all(&dir).await?;
/// blitz::fs::symlink("there", dir.join("here")).await?;
/// assert_eq!(blitz::fs::read_link(dir.join("here")).await?.to_str(), Some("there"));
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
///
/// # Errors
/// If there is no link at `path`, or if the system reports another error.
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    run(move || std::fs::read_link(path)).await
}
