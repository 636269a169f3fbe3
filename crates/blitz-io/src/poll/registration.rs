//! One descriptor's place in the reactor, and how its operations wait.

#![forbid(unsafe_code)]

use super::Reactor;
use crate::driver;
use blitz_core::driver::poll_spend;
use blitz_core::task::consume_budget;
use blitz_parts::readiness::{Ended, Evidence, Interest, Place, Readiness, Sight};
use mio::event::Source;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A descriptor that the reactor of some pool watches, until [`remove`](Registration::remove).
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Arc<Reactor>,
    readiness: Arc<Readiness>,
    token: usize,
}

/// What an operation that has to wait says when nobody will tell it to go on.
#[cold]
pub(crate) fn ended() -> io::Error {
    io::Error::other(
        "the runtime that this waits with has ended: keep it as long as its sockets, children and signals are used",
    )
}

impl Registration {
    /// Has the current pool, else the global one, watch `source` for `interest`.
    pub(crate) fn new(source: &mut impl Source, interest: Interest) -> io::Result<Registration> {
        driver::with_current(|driver, _| Registration::with(driver.reactor(), source, interest))?
    }

    /// Has `reactor` watch `source` for `interest`.
    pub(crate) fn with(
        reactor: &Arc<Reactor>,
        source: &mut impl Source,
        interest: Interest,
    ) -> io::Result<Registration> {
        let (token, readiness) = reactor.register(source, interest)?;
        Ok(Registration { reactor: reactor.clone(), readiness, token })
    }

    /// Nobody watches `source` any more. Once, with the source that this was made for.
    pub(crate) fn remove(&self, source: &mut impl Source) -> io::Result<()> {
        self.reactor.deregister(source, self.token)
    }

    /// What an attempt has shown to be over is no longer ready.
    pub(crate) fn clear(&self, sight: Sight, evidence: Evidence) {
        self.readiness.clear(sight, evidence);
    }

    /// What is ready; else the task is woken once something is. The newest task of each direction counts.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<io::Result<Sight>> {
        let spent = ready!(poll_spend(cx));
        let seen = ready!(self.readiness.poll(cx, interest));
        spent.made_progress();
        Poll::Ready(seen.map_err(|_| ended()))
    }

    /// Waits until something of `interest` is ready. Any number of tasks may wait.
    pub(crate) fn ready(&self, interest: Interest) -> Waiting<'_> {
        Waiting { registration: self, interest, place: None }
    }

    /// Calls `attempt`, again and again, until it does not say that it would block.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_seen(cx, interest, |_| attempt())
    }

    /// As [`poll_io`](Registration::poll_io), for transfers of at most `room` bytes by streams of which a short
    /// transfer says that there is no more.
    #[inline]
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        room: usize,
        mut attempt: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_seen(cx, interest, |sight| {
            let moved = attempt()?;
            if let Some(sight) = sight.filter(|_| 0 < moved && moved < room) {
                self.clear(sight, Evidence::ShortTransfer);
            }
            Ok(moved)
        })
    }

    /// As [`poll_io`](Registration::poll_io), with what was ready before the attempt, if anything was: what comes
    /// during it must not be taken for over.
    #[inline]
    fn poll_seen<R>(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut(Option<Sight>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let spent = ready!(poll_spend(cx));
        let mut tried = false;
        let result = loop {
            let sight = ready!(self.poll_worth_it(cx, interest, tried));
            let result = attempt(sight.ok().flatten());
            if !would_block(&result) {
                break result;
            }
            match sight {
                Ok(Some(sight)) => self.clear(sight, Evidence::WouldBlock),
                Ok(None) => tried = true,
                Err(_) => break Err(ended()),
            }
        };
        spent.made_progress();
        Poll::Ready(result)
    }

    /// Waits until an attempt is worth it: because something is ready, because no event has come that could say so
    /// and it was not `tried`, or because no more events come and what can be had without waiting can still be had.
    #[inline]
    fn poll_worth_it(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        tried: bool,
    ) -> Poll<Result<Option<Sight>, Ended>> {
        if !tried && self.readiness.is_fresh() {
            return Poll::Ready(Ok(None));
        }
        self.readiness.poll(cx, interest).map_ok(Some)
    }

    /// As [`poll_io`](Registration::poll_io), for any number of tasks.
    pub(crate) async fn io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        if self.readiness.is_fresh() {
            // What is ready at once spends budget, as what waits does.
            consume_budget().await;
            if let Some(result) = self.begin(&mut attempt) {
                return result;
            }
        }
        loop {
            let sight = match self.ready(interest).await {
                Ok(sight) => sight,
                Err(_) => return at_the_end(&mut attempt),
            };
            if let Some(result) = self.attempt(sight, &mut attempt) {
                return result;
            }
        }
    }

    /// Calls `attempt` unless it is known that it would block.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let blocks = || Err(io::ErrorKind::WouldBlock.into());
        match self.readiness.look(interest) {
            Ok(Some(sight)) => self.attempt(sight, &mut attempt).unwrap_or_else(blocks),
            Ok(None) if !self.readiness.is_fresh() => blocks(),
            _ => attempt(),
        }
    }

    /// The first attempt of a fresh descriptor: no event has come that could say whether it is worth it.
    fn begin<R>(&self, attempt: &mut impl FnMut() -> io::Result<R>) -> Option<io::Result<R>> {
        if self.readiness.is_fresh() { unless_it_blocks(attempt()) } else { None }
    }

    fn attempt<R>(
        &self,
        sight: Sight,
        attempt: &mut impl FnMut() -> io::Result<R>,
    ) -> Option<io::Result<R>> {
        let result = unless_it_blocks(attempt());
        if result.is_none() {
            self.clear(sight, Evidence::WouldBlock);
        }
        result
    }
}

fn unless_it_blocks<R>(result: io::Result<R>) -> Option<io::Result<R>> {
    if would_block(&result) { None } else { Some(result) }
}

fn would_block<R>(result: &io::Result<R>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// The last attempt: what can be had without waiting can still be had.
#[cold]
fn at_the_end<R>(attempt: &mut impl FnMut() -> io::Result<R>) -> io::Result<R> {
    unless_it_blocks(attempt()).unwrap_or_else(|| Err(ended()))
}

/// A task that waits for a descriptor, in the list of those who do.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Waiting<'a> {
    registration: &'a Registration,
    interest: Interest,
    place: Option<Place>,
}

impl Future for Waiting<'_> {
    type Output = io::Result<Sight>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Sight>> {
        let Waiting { registration, interest, place } = self.get_mut();
        let spent = ready!(poll_spend(cx));
        let seen = ready!(registration.readiness.poll_listed(cx, *interest, place));
        spent.made_progress();
        Poll::Ready(seen.map_err(|_| ended()))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.registration.readiness.unlist(place);
        }
    }
}
