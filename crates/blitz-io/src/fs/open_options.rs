//! Options for opening a file.

#![forbid(unsafe_code)]

use super::errand::run;
use super::file::File;
use std::fs::OpenOptions as StdOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Options for opening a file: [`std::fs::OpenOptions`] with an async [`open`](OpenOptions::open).
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::fs::OpenOptions;
/// use blitz::io::AsyncWriteExt;
/// # let path = std::env::temp_dir().join(format!("blitz-doc-options-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).await?;
/// log.write_all(b"a line\n").await?;
/// log.flush().await?;
/// # blitz::fs::remove_file(&path).await
/// # }) }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: StdOptions,
}

impl OpenOptions {
    /// Creates options that allow neither reads nor writes yet.
    #[allow(clippy::new_without_default, reason = "std's options are not `Default`, either")]
    #[must_use]
    pub fn new() -> OpenOptions {
        OpenOptions { std: StdOptions::new() }
    }

    /// Sets whether the file can be read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.std.read(read);
        self
    }

    /// Sets whether the file can be written.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.std.write(write);
        self
    }

    /// Sets whether each write goes to the end that the file has at the time of the write.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.std.append(append);
        self
    }

    /// Sets whether an existing file is emptied.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.std.truncate(truncate);
        self
    }

    /// Sets whether a missing file is created.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.std.create(create);
        self
    }

    /// Sets whether the file is created and must not exist yet.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.std.create_new(create_new);
        self
    }

    /// Sets the permission bits of a new file, from which the umask is removed; `0o666` by default.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.std.mode(mode);
        self
    }

    /// Sets further flags for the system's `open`.
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.std.custom_flags(flags);
        self
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (options, path) = (self.std.clone(), path.as_ref().to_owned());
        run(move || options.open(path)).await.map(File::from_std)
    }
}

impl File {
    /// Opens the file at `path` for reading.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::AsyncReadExt;
    /// let mut file = blitz::fs::File::open("Cargo.toml").await?;
    /// let mut text = String::new();
    /// file.read_to_string(&mut text).await?;
    /// assert!(text.contains("[package]"));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// If there is no such file, or if the system reports another error.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens the file at `path` for writing. Creates it, or empties it if it exists.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::AsyncWriteExt;
    /// # let path = std::env::temp_dir().join(format!("blitz-doc-create-{}", std::process::id()));
    /// let mut file = blitz::fs::File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.flush().await?;
    /// assert_eq!(file.metadata().await?.len(), 5);
    /// # blitz::fs::remove_file(&path).await
    /// # }) }
    /// ```
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path).await
    }

    /// Creates a file at `path` and opens it for reading and writing.
    ///
    /// # Errors
    /// If something exists at `path`, or if the system reports another error.
    pub async fn create_new(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path).await
    }

    /// Returns options to open a file in other ways.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }
}

impl From<StdOptions> for OpenOptions {
    fn from(std: StdOptions) -> OpenOptions {
        OpenOptions { std }
    }
}
