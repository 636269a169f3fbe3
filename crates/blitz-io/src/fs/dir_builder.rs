//! Options for making a directory.

#![forbid(unsafe_code)]

use super::errand::run;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Options for making a directory: [`std::fs::DirBuilder`] with an async
/// [`create`](DirBuilder::create).
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("blitz-doc-builder-{}", std::process::id()));
/// use blitz::fs::DirBuilder;
/// DirBuilder::new().recursive(true).mode(0o700).create(dir.join("private/notes")).await?;
/// # blitz::fs::remove_dir_all(&dir).await
/// # }) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    mode: Option<u32>,
}

impl DirBuilder {
    /// Creates options for one directory whose parent exists.
    #[must_use]
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Sets whether missing parents are made, too, and an existing directory is not an error.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.recursive = recursive;
        self
    }

    /// Sets the permission bits, from which the umask is removed; `0o777` by default.
    pub fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.mode = Some(mode);
        self
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// If something exists at `path`, or if the system reports another error. With
    /// [`recursive`](DirBuilder::recursive) a directory may exist there.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let (this, path) = (*self, path.as_ref().to_owned());
        let create = move || {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(this.recursive);
            if let Some(mode) = this.mode {
                builder.mode(mode);
            }
            builder.create(path)
        };
        run(create).await
    }
}
