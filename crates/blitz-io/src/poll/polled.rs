//! A descriptor together with its registration.

#![forbid(unsafe_code)]

use super::Registration;
use blitz_parts::readiness::{Interest, Ready};
use mio::event::Source;
use std::io;
use std::task::{Context, Poll};

/// A descriptor that is watched for as long as it is here.
#[derive(Debug)]
pub(crate) struct Polled<E: Source> {
    registration: Registration,
    /// None once it was taken out.
    source: Option<E>,
}

impl<E: Source> Polled<E> {
    /// Has the current pool, else the global one, watch `source`.
    pub(crate) fn new(source: E) -> io::Result<Polled<E>> {
        Polled::with_interest(source, Interest::READABLE | Interest::WRITABLE)
    }

    /// As [`new`](Polled::new), for what is good for one direction only.
    pub(crate) fn with_interest(mut source: E, interest: Interest) -> io::Result<Polled<E>> {
        let registration = Registration::new(&mut source, interest)?;
        Ok(Polled { registration, source: Some(source) })
    }

    pub(crate) fn get(&self) -> &E {
        match &self.source {
            Some(source) => source,
            None => unreachable!("the source is taken out at the end only"),
        }
    }

    /// The descriptor, which nobody watches any more.
    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        let Some(mut source) = self.source.take() else {
            unreachable!("the source is taken out at the end only");
        };
        self.registration.remove(&mut source)?;
        Ok(source)
    }

    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<io::Result<Ready>> {
        self.registration.poll_ready(cx, interest).map_ok(|sight| sight.ready())
    }

    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.registration.ready(interest).await.map(|sight| sight.ready())
    }

    /// See [`Registration::poll_io`].
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, interest, || attempt(self.get()))
    }

    /// See [`Registration::poll_transfer`].
    #[inline]
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        room: usize,
        mut attempt: impl FnMut(&E) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registration.poll_transfer(cx, interest, room, || attempt(self.get()))
    }

    /// See [`Registration::io`].
    pub(crate) async fn io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.io(interest, || attempt(self.get())).await
    }

    /// See [`Registration::try_io`].
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || attempt(self.get()))
    }
}

impl<E: Source> Drop for Polled<E> {
    fn drop(&mut self) {
        if let Some(source) = &mut self.source {
            // The descriptor is closed next, and with it goes what the system knows of it.
            let _ = self.registration.remove(source);
        }
    }
}
