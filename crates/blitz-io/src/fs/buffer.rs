//! Bytes on their way between a task and the thread that reads or writes the file.

#![forbid(unsafe_code)]

use crate::uring::Uring;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::io::ReadBuf;

/// Memory that is used again and again, and where in it there is something.
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

    /// Takes at most `max` bytes of `from`; how many.
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

    /// Reads at most `max` bytes once.
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

    /// Writes all that is there; there is nothing afterwards.
    pub(super) fn write(&mut self, mut file: &File) -> io::Result<()> {
        let result = file.write_all(&self.memory[self.filled.clone()]);
        self.clear();
        result
    }

    /// As [`read`](Buffer::read), by the system itself. As an error comes back what the ring did not take.
    pub(super) async fn read_by(
        mut self,
        uring: &Uring,
        file: &File,
        max: usize,
    ) -> Result<(Buffer, io::Result<()>), Buffer> {
        self.clear();
        self.grow(max);
        let result = loop {
            let memory = std::mem::take(&mut self.memory);
            match uring.read_at(file.as_fd(), memory, max, None).await {
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
        let result = result.map(|count| self.filled = 0..count);
        Ok((self, result))
    }

    /// As [`write`](Buffer::write), by the system itself. As an error comes back what the ring did not take, which
    /// is still to be written.
    pub(super) async fn write_by(
        mut self,
        uring: &Uring,
        file: &Arc<File>,
    ) -> Result<(Buffer, io::Result<()>), Buffer> {
        let mut result = Ok(());
        while result.is_ok() && !self.is_empty() {
            let memory = std::mem::take(&mut self.memory);
            match uring.write(file, memory, self.filled.clone()).await {
                Ok((count, memory)) => {
                    self.memory = memory;
                    match count {
                        Ok(0) => result = Err(io::ErrorKind::WriteZero.into()),
                        Ok(count) => self.filled.start += count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => result = Err(error),
                    }
                }
                Err(memory) => {
                    self.memory = memory;
                    return Err(self);
                }
            }
        }
        self.clear();
        Ok((self, result))
    }

    fn grow(&mut self, len: usize) {
        if self.memory.len() < len {
            self.memory.resize(len, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use std::io::IoSlice;
    use tokio::io::ReadBuf;

    #[test]
    fn what_was_taken_is_given_bit_by_bit() {
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
