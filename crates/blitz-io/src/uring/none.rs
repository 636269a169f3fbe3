//! There is no io_uring here: the system has none, or Blitz was built without it.

#![forbid(unsafe_code)]

use super::Attempt;
use crate::poll::Reactor;
use blitz_core::driver::DriverWait;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;

/// A ring that cannot be made.
#[derive(Debug)]
pub(crate) struct Uring(Infallible);

impl Uring {
    pub(crate) fn new(_reactor: &Arc<Reactor>) -> io::Result<Arc<Uring>> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "io_uring needs Linux and the feature io-uring of blitz-rt: enable it, or use Backend::Auto",
        ))
    }

    pub(crate) async fn read_at(
        &self,
        _: BorrowedFd<'_>,
        _: Vec<u8>,
        _: usize,
        _: Option<u64>,
    ) -> Attempt {
        match self.0 {}
    }

    pub(crate) async fn write_at(
        &self,
        _: &Arc<File>,
        _: Vec<u8>,
        _: Range<usize>,
        _: Option<u64>,
    ) -> Attempt {
        match self.0 {}
    }

    pub(crate) async fn recv(&self, _: BorrowedFd<'_>, _: Vec<u8>) -> Attempt {
        match self.0 {}
    }

    pub(crate) async fn send(&self, _: BorrowedFd<'_>, _: Vec<u8>) -> Attempt {
        match self.0 {}
    }

    pub(crate) fn accept(
        self: &Arc<Uring>,
        _: BorrowedFd<'_>,
    ) -> Option<std::future::Pending<io::Result<(OwnedFd, SocketAddr)>>> {
        match self.0 {}
    }

    pub(crate) fn collect(&self, _: &mut VecDeque<Waker>) {
        match self.0 {}
    }

    pub(crate) fn end(&self, _: impl FnMut(VecDeque<Waker>)) {
        match self.0 {}
    }

    pub(crate) fn why_broken(&self) -> Option<String> {
        match self.0 {}
    }

    pub(crate) fn takes_operations(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn is_at_files(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn waits(&self) -> Vec<DriverWait> {
        match self.0 {}
    }

    pub(crate) fn under_way(&self) -> usize {
        match self.0 {}
    }
}

pub(super) fn is_cancelled(_: &io::Error) -> bool {
    false
}
