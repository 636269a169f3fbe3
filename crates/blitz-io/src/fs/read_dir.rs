//! Reads the entries of a directory.

#![forbid(unsafe_code)]

use super::errand::{Pending, run};
use blitz_parts::tuning::DIR_ENTRIES_BATCH;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{DirEntry as StdEntry, FileType, Metadata, ReadDir as StdReadDir};
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Returns the entries of the directory at `path`, in no particular order.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let mut entries = blitz::fs::read_dir(".").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.iter().any(|name| name == "Cargo.toml"));
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// If there is no such directory, or if the system reports another error.
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let batch = run(move || {
        let mut batch = Batch { entries: VecDeque::new(), rest: Some(std::fs::read_dir(path)?) };
        batch.fill();
        Ok(batch)
    })
    .await?;
    Ok(ReadDir { state: State::Idle(batch) })
}

/// The entries that [`read_dir`] returns. They are read many at a time.
#[derive(Debug)]
#[must_use = "call `next_entry` until it returns none"]
pub struct ReadDir {
    state: State,
}

#[derive(Debug)]
enum State {
    Idle(Batch),
    Busy(Pending<Batch>),
}

/// Entries that were read in one go, and the source of the others, if there are any.
#[derive(Debug)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    rest: Option<StdReadDir>,
}

impl ReadDir {
    /// Returns the next entry, or `None` at the end. Dropping the future loses no entry.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Works like [`next_entry`](ReadDir::next_entry), as a poll function.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.state {
                State::Idle(batch) => match (batch.entries.pop_front(), batch.rest.take()) {
                    (Some(entry), rest) => {
                        batch.rest = rest;
                        return Poll::Ready(entry.map(Some));
                    }
                    (None, None) => return Poll::Ready(Ok(None)),
                    (None, rest) => {
                        let mut batch = Batch { entries: std::mem::take(&mut batch.entries), rest };
                        self.state = State::Busy(Pending::new(move || {
                            batch.fill();
                            batch
                        }));
                    }
                },
                State::Busy(pending) => {
                    let none = || Batch { entries: VecDeque::new(), rest: None };
                    self.state = State::Idle(ready!(pending.poll(cx)).unwrap_or_else(none));
                }
            }
        }
    }
}

impl Batch {
    /// Reads more entries; after an error there are no more.
    fn fill(&mut self) {
        while let Some(rest) = self.rest.as_mut().filter(|_| self.entries.len() < DIR_ENTRIES_BATCH)
        {
            match rest.next() {
                Some(Ok(entry)) => self.entries.push_back(Ok(DirEntry::new(entry))),
                end => {
                    self.rest = None;
                    self.entries.extend(end.and_then(Result::err).map(Err));
                }
            }
        }
    }
}

/// An entry of a directory.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// let mut entries = blitz::fs::read_dir("src").await?;
/// while let Some(entry) = entries.next_entry().await? {
///     let kind = entry.file_type().await?;
///     assert_eq!(kind.is_file(), entry.metadata().await?.is_file());
///     assert_eq!(entry.path().file_name(), Some(entry.file_name().as_os_str()));
/// }
/// # Ok(()) }) }
/// ```
#[derive(Clone, Debug)]
pub struct DirEntry {
    std: Arc<StdEntry>,
    /// The type as it was when the entry was read, so that `file_type` makes no system call.
    kind: Option<FileType>,
}

impl DirEntry {
    /// Converts an entry. Called on a thread that may block: if the directory does not store the
    /// type, finding the type takes a system call.
    fn new(entry: StdEntry) -> DirEntry {
        let kind = entry.file_type().ok();
        DirEntry { std: Arc::new(entry), kind }
    }

    /// Returns the path of the entry: the path given to [`read_dir`], joined with the name.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the name of the entry.
    #[must_use]
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns the metadata of the entry. Links are not followed.
    ///
    /// # Errors
    /// If the entry is gone, or if the system reports another error.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let entry = self.std.clone();
        run(move || entry.metadata()).await
    }

    /// Returns whether the entry is a file, a directory, a link or something else.
    ///
    /// # Errors
    /// If the entry is gone, or if the system reports another error.
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(kind) = self.kind {
            return Ok(kind);
        }
        let entry = self.std.clone();
        run(move || entry.file_type()).await
    }

    /// Returns the inode number of the entry.
    #[must_use]
    pub fn ino(&self) -> u64 {
        self.std.ino()
    }
}
