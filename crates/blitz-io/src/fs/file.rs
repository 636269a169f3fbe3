//! Open files.

#![forbid(unsafe_code)]

use super::buffer::step_back;
use super::stage::Stage;
use crate::borrowed::Mutex;
use crate::borrowed::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use std::fs::{File as StdFile, FileTimes, Metadata, Permissions};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// An open file, to be read, written and sought with the methods of
/// [`AsyncReadExt`](crate::io::AsyncReadExt), [`AsyncWriteExt`](crate::io::AsyncWriteExt) and
/// [`AsyncSeekExt`](crate::io::AsyncSeekExt).
///
/// A write copies its bytes and returns. The bytes are written in the background, and the next
/// operation waits for that. The next write or flush returns an error of the last write. So **flush
/// before you rely on what was written**: a dropped file still writes all, but no task learns
/// whether that worked. A write waits for room even in a file that was opened with `O_NONBLOCK`,
/// such as a full FIFO.
///
/// At most one operation is in flight. A read whose future is dropped goes on, and the next read
/// gets its bytes.
///
/// When the runtime ends it waits for a write in flight. With io_uring it cancels a read, which
/// then returns an error. Without io_uring a thread reads, and the runtime waits for it: for ever
/// if nothing comes, for example from a FIFO. Use [`AsyncFd`](crate::io::unix::AsyncFd) for such
/// files, or `Runtime::shutdown_within`, which reports unfinished work.
///
/// ```
/// # fn main() -> std::io::Result<()> { blitz::block_on(async {
/// use blitz::fs::File;
/// use blitz::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
/// # let path = std::env::temp_dir().join(format!("blitz-doc-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create_new(true).open(&path).await?;
/// file.write_all(b"hello").await?;
/// file.flush().await?;
/// file.rewind().await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # blitz::fs::remove_file(&path).await
/// # }) }
/// ```
#[derive(Debug)]
pub struct File {
    file: Arc<StdFile>,
    /// Methods with `&self` take the lock; methods with `&mut self` bypass it.
    stage: Mutex<Stage>,
}

impl File {
    /// Converts a file of the standard library.
    ///
    /// Other descriptors of the same open file, in this process or in another one, share its
    /// position. The system does not lock the position for io_uring. So two descriptors that read
    /// at once may get the same bytes, and a write that fails may step back over bytes of another
    /// descriptor. Use [`try_clone`](File::try_clone) for copies within Blitz, or open the file
    /// once more.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let file = blitz::fs::File::from_std(std::fs::File::open("Cargo.toml")?);
    /// assert!(file.metadata().await?.is_file());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn from_std(file: StdFile) -> File {
        File { file: Arc::new(file), stage: Mutex::default() }
    }

    /// Converts this file to one of the standard library, once nothing is in flight.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let file: std::fs::File = blitz::fs::File::open("Cargo.toml").await?.into_std().await;
    /// assert!(file.metadata()?.is_file());
    /// # Ok(()) }) }
    /// ```
    pub async fn into_std(mut self) -> StdFile {
        let stage = self.stage.get_mut();
        stage.idle().await;
        let ahead = stage.discard();
        let Ok(file) = Arc::try_unwrap(self.file) else {
            unreachable!("only an operation in flight holds the file, and there is none");
        };
        // This seek changes only a number in the system's memory, so it does not block. The seek of
        // a file without a position, such as a pipe, fails without harm.
        let _ = step_back(&file, ahead);
        file
    }

    /// Works like [`into_std`](File::into_std), without waiting.
    ///
    /// # Errors
    /// The file itself, if an operation is in flight, or if bytes were read ahead. A write counts
    /// as in flight until the next operation, such as a flush, has waited for it.
    pub fn try_into_std(mut self) -> Result<StdFile, File> {
        if !self.stage.get_mut().is_settled() {
            return Err(self);
        }
        let File { file, stage } = self;
        Arc::try_unwrap(file).map_err(|file| File { file, stage })
    }

    /// Waits until all written bytes and the file's metadata are on the disk.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// use blitz::io::AsyncWriteExt;
    /// # let path = std::env::temp_dir().join(format!("blitz-doc-sync-{}", std::process::id()));
    /// let mut file = blitz::fs::File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.sync_all().await?;
    /// # blitz::fs::remove_file(&path).await
    /// # }) }
    /// ```
    ///
    /// # Errors
    /// If an earlier write has failed, or if the system reports an error.
    pub async fn sync_all(&self) -> io::Result<()> {
        let mut stage = self.stage.lock().await;
        stage.flush().await?;
        stage.ask(&self.file, StdFile::sync_all).await
    }

    /// Works like [`sync_all`](File::sync_all), but syncs only the metadata that is needed to read
    /// the file.
    ///
    /// # Errors
    /// Fails as [`sync_all`](File::sync_all) does.
    pub async fn sync_data(&self) -> io::Result<()> {
        let mut stage = self.stage.lock().await;
        stage.flush().await?;
        stage.ask(&self.file, StdFile::sync_data).await
    }

    /// Truncates the file to `size`, or extends it with zeros.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// # let path = std::env::temp_dir().join(format!("blitz-doc-len-{}", std::process::id()));
    /// let file = blitz::fs::File::create(&path).await?;
    /// file.set_len(7).await?;
    /// assert_eq!(file.metadata().await?.len(), 7);
    /// # blitz::fs::remove_file(&path).await
    /// # }) }
    /// ```
    ///
    /// # Errors
    /// If the file is not open for writing, or if the system reports another error.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        let mut stage = self.stage.lock().await;
        stage.idle().await;
        // Bytes that were read ahead may be cut off.
        let ahead = stage.discard();
        let cut = move |file: &StdFile| {
            step_back(file, ahead)?;
            file.set_len(size)
        };
        stage.ask(&self.file, cut).await
    }

    /// Returns the file's metadata, once no operation is in flight.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        self.stage.lock().await.ask(&self.file, StdFile::metadata).await
    }

    /// Sets the permissions of the file.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        let set = move |file: &StdFile| file.set_permissions(permissions);
        self.stage.lock().await.ask(&self.file, set).await
    }

    /// Sets the file's access and modification times, once pending writes are done.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        let set = move |file: &StdFile| file.set_times(times);
        self.stage.lock().await.ask(&self.file, set).await
    }

    /// Duplicates the open file. Both share one position: a read of one moves both.
    ///
    /// From now on blocking threads read and write both, even in a runtime with io_uring. That does
    /// not apply to files without a position, such as FIFOs. Open the file twice to use io_uring
    /// for both.
    ///
    /// # Errors
    /// If the system reports an error.
    pub async fn try_clone(&self) -> io::Result<File> {
        let mut stage = self.stage.lock().await;
        let clone = |mut file: &StdFile| Ok((file.try_clone()?, file.stream_position().is_ok()));
        let (file, has_position) = stage.ask(&self.file, clone).await?;
        stage.shares_position |= has_position;
        let mut file = File::from_std(file);
        file.stage.get_mut().shares_position = has_position;
        Ok(file)
    }

    /// Returns how many bytes one operation moves at most. The file keeps as much memory as its
    /// largest operation so far has needed.
    #[must_use]
    pub fn max_buf_size(&mut self) -> usize {
        self.stage.get_mut().max
    }

    /// Sets [`max_buf_size`](File::max_buf_size); at least one byte.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> { blitz::block_on(async {
    /// let mut file = blitz::fs::File::open("Cargo.toml").await?;
    /// file.set_max_buf_size(64 * 1024);
    /// assert_eq!(file.max_buf_size(), 64 * 1024);
    /// # Ok(()) }) }
    /// ```
    pub fn set_max_buf_size(&mut self, bytes: usize) {
        self.stage.get_mut().max = bytes.max(1);
    }
}

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let File { file, stage } = self.get_mut();
        stage.get_mut().poll_read(cx, file, buf)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let File { file, stage } = self.get_mut();
        stage.get_mut().poll_write(cx, file, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stage.get_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let File { file, stage } = self.get_mut();
        stage.get_mut().seek(file, position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.get_mut().stage.get_mut().poll_sought(cx)
    }
}

impl From<StdFile> for File {
    fn from(file: StdFile) -> File {
        File::from_std(file)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
