//! Bytes on their way between a task and the thread that reads or writes the file.

#![forbid(unsafe_code)]

use crate::borrowed::ReadBuf;
use crate::room;
use crate::uring::Uring;
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::File;
use std::io::{self, IoSlice, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Reusable memory, and the range of it that is filled.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// All of it is initialised once, when it grows.
    memory: Vec<u8>,
    filled: Range<usize>,
}

impl Buffer {
    pub(super) fn len(&self) -> usize {
        self.filled.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0..0;
    }

    /// Moves as much as fits into `to`.
    pub(super) fn give(&mut self, to: &mut ReadBuf<'_>) {
        let count = self.len().min(to.remaining());
        let start = self.filled.start;
        to.put_slice(&self.memory[start..start + count]);
        self.filled.start += count;
    }

    /// Takes at most `max` bytes of `from`; returns how many.
    pub(super) fn take(&mut self, from: &[IoSlice<'_>], max: usize) -> usize {
        self.clear();
        for slice in from {
            let count = slice.len().min(max - self.len());
            let start = self.filled.end;
            self.grow(start + count);
            self.memory[start..start + count].copy_from_slice(&slice[..count]);
            self.filled.end += count;
        }
        self.len()
    }

    /// Makes one read, of at most `max` bytes.
    pub(super) fn read(&mut self, mut file: &File, max: usize) -> io::Result<()> {
        self.clear();
        self.grow(max);
        let count = loop {
            match file.read(&mut self.memory[..max]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.filled = 0..count;
        Ok(())
    }

    /// Writes all bytes; the buffer is empty afterwards.
    pub(super) fn write(&mut self, file: &File) -> io::Result<()> {
        let result = room::write_all(file, &self.memory[self.filled.clone()]);
        self.clear();
        result
    }

    /// Works like [`read`](Buffer::read), by io_uring. If the ring does not take the request, the
    /// error contains the buffer.
    ///
    /// The system does not move the position of the file if the thread that began the read ends
    /// half-way. So the read names its offset, and the position is moved here.
    pub(super) async fn read_by(
        mut self,
        uring: &Uring,
        mut file: &File,
        max: usize,
    ) -> Result<(Buffer, io::Result<()>), Buffer> {
        self.clear();
        self.grow(max);
        // The offset is `None` for a file without a position, such as a FIFO.
        let offset = file.stream_position().ok();
        let result = loop {
            let memory = std::mem::take(&mut self.memory);
            match uring.read_at(file.as_fd(), memory, max, offset).await {
                Ok((count, memory)) => {
                    self.memory = memory;
                    match count {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        result => break result,
                    }
                }
                Err(memory) => {
                    self.memory = memory;
                    return Err(self);
                }
            }
        };
        let result = result.and_then(|count| {
            if offset.is_some() && count > 0 {
                file.seek(SeekFrom::Current(count as i64))?;
            }
            self.filled = 0..count;
            Ok(())
        });
        Ok((self, result))
    }

    /// Works like [`write`](Buffer::write), by io_uring. The error contains the bytes that the ring
    /// did not write.
    ///
    /// Moves the position of the file before the bytes are written (see
    /// [`read_by`](Buffer::read_by) for the reason), and back over bytes that could not be written.
    /// So the position is right even if the future is dropped and the system goes on writing.
    pub(super) async fn write_by(
        mut self,
        uring: &Uring,
        file: &Arc<File>,
    ) -> Result<(Buffer, io::Result<()>), Buffer> {
        let mut offset = pass_over(file, self.len());
        let (mut result, mut refused) = (Ok(()), false);
        while result.is_ok() && !refused && !self.is_empty() {
            let memory = std::mem::take(&mut self.memory);
            match uring.write_at(file, memory, self.filled.clone(), offset).await {
                Ok((count, memory)) => {
                    self.memory = memory;
                    match count {
                        Ok(0) => result = Err(io::ErrorKind::WriteZero.into()),
                        Ok(count) => {
                            self.filled.start += count;
                            offset = offset.map(|offset| offset + count as u64);
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        // The ring does not wait for room in a non-blocking file: a thread does.
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => refused = true,
                        Err(error) => result = Err(error),
                    }
                }
                Err(memory) => {
                    self.memory = memory;
                    refused = true;
                }
            }
        }
        let back = offset.map_or(Ok(()), |_| step_back(file, self.len()));
        if refused && back.is_ok() {
            return Err(self);
        }
        self.clear();
        Ok((self, result.and(back)))
    }

    fn grow(&mut self, len: usize) {
        if self.memory.len() < len {
            self.memory.resize(len, 0);
        }
    }
}

/// Moves the position of `file` over the next `len` bytes; returns where they begin.
///
/// Returns `None`, and does not move the position, if the system chooses the place: at the end of a
/// file that is appended to, or in a file without a position.
fn pass_over(mut file: &File, len: usize) -> Option<u64> {
    let appends = fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::APPEND));
    if appends {
        return None;
    }
    let end = file.seek(SeekFrom::Current(len as i64)).ok()?;
    // Some devices return zero for every seek.
    end.checked_sub(len as u64)
}

/// Seeks back over `ahead` bytes that were read but not consumed, or that were not written.
pub(super) fn step_back(mut file: &File, ahead: usize) -> io::Result<()> {
    if ahead > 0 {
        file.seek(SeekFrom::Current(-(ahead as i64)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use crate::borrowed::ReadBuf;
    use std::io::IoSlice;

    #[test]
    fn buffered_bytes_come_out_piece_by_piece() {
        let mut buffer = Buffer::default();
        let slices = [IoSlice::new(b"abc"), IoSlice::new(b""), IoSlice::new(b"defg")];
        assert_eq!(buffer.take(&slices, 5), 5);
        let mut memory = [0; 3];
        let mut to = ReadBuf::new(&mut memory);
        buffer.give(&mut to);
        assert_eq!((to.filled(), buffer.len()), (&b"abc"[..], 2));
        to.clear();
        buffer.give(&mut to);
        assert_eq!(to.filled(), b"de");
        assert!(buffer.is_empty());
        assert_eq!(buffer.take(&slices[..1], 100), 3);
    }
}
