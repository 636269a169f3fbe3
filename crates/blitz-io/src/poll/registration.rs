//! A descriptor that the reactor watches, and how its operations wait.

#![forbid(unsafe_code)]

use super::ended::ended;
use super::reactor::Reactor;
use blitz_core::driver::poll_spend;
use blitz_core::task::consume_budget;
use blitz_parts::readiness::{Evidence, Interest, Place, Readiness, Sight};
use mio::event::Source;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

/// A descriptor that the reactor of a pool watches as long as this value lives.
pub(crate) struct Registration<E: Source> {
    reactor: Arc<Reactor>,
    readiness: Arc<Readiness>,
    token: usize,
    /// `None` once `take` has taken it out.
    source: Option<E>,
}

/// Prints the source alone: programs log their sockets, which all share the reactor.
impl<E: Source + fmt::Debug> fmt::Debug for Registration<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => source.fmt(f),
            None => f.write_str("taken"),
        }
    }
}

impl<E: Source> Registration<E> {
    /// Makes `reactor` watch `source` for `interest`.
    ///
    /// # Errors
    /// If the system refuses, or if the pool has ended. The source comes back with the error.
    pub(crate) fn new(
        reactor: Arc<Reactor>,
        mut source: E,
        interest: Interest,
    ) -> Result<Registration<E>, (E, io::Error)> {
        match reactor.register(&mut source, interest) {
            Ok((token, readiness)) => {
                Ok(Registration { reactor, readiness, token, source: Some(source) })
            }
            Err(error) => Err((source, error)),
        }
    }

    /// Returns the watched source.
    #[inline]
    pub(crate) fn get(&self) -> &E {
        match &self.source {
            Some(source) => source,
            None => unreachable!("only `take` takes the source out"),
        }
    }

    /// Returns the watched source. Its descriptor must stay the same.
    pub(crate) fn get_mut(&mut self) -> &mut E {
        match &mut self.source {
            Some(source) => source,
            None => unreachable!("only `take` takes the source out"),
        }
    }

    /// Stops watching. Returns the source, and whether the system could deregister it.
    pub(crate) fn take(mut self) -> (E, io::Result<()>) {
        let Some(mut source) = self.source.take() else {
            unreachable!("only `take` takes the source out");
        };
        let result = self.reactor.deregister(&mut source, self.token);
        (source, result)
    }

    /// Stops watching, and returns the source.
    ///
    /// # Errors
    /// If the system cannot deregister it.
    pub(crate) fn into_inner(self) -> io::Result<E> {
        let (source, result) = self.take();
        result.map(|()| source)
    }

    /// Clears the readiness in `sight`, because an attempt has shown that it is over.
    pub(crate) fn clear(&self, sight: Sight, evidence: Evidence) {
        self.readiness.clear(sight, evidence);
    }

    /// Returns what is ready. If nothing is ready, the task is woken later. Only the task that
    /// polled last in each direction is woken.
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
        Waiting { readiness: &self.readiness, interest, place: None }
    }

    /// Calls `attempt` when `interest` is ready. Repeats that while `attempt` returns `WouldBlock`.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_seen(cx, interest, |source, _| attempt(source))
    }

    /// Works like [`poll_io`](Registration::poll_io), for transfers of at most `room` bytes by
    /// streams where a short transfer means that there is no more.
    #[inline]
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        room: usize,
        mut attempt: impl FnMut(&E) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_seen(cx, interest, |source, sight| {
            let moved = attempt(source)?;
            if let Some(sight) = sight.filter(|_| 0 < moved && moved < room) {
                self.clear(sight, Evidence::ShortTransfer);
            }
            Ok(moved)
        })
    }

    /// Works like [`poll_io`](Registration::poll_io), and tells `attempt` what was ready before it.
    ///
    /// Clearing that readiness does not clear an event that comes during the attempt.
    ///
    /// It makes an attempt in three cases: something is ready; no event has come yet and this is
    /// the first try; or the runtime has ended, since operations that need not wait still work
    /// then.
    #[inline]
    fn poll_seen<R>(
        &self,
        cx: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut(&E, Option<Sight>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let spent = ready!(poll_spend(cx));
        let mut tried = false;
        let result = loop {
            let sight = if !tried && self.readiness.is_fresh() {
                Ok(None)
            } else {
                ready!(self.readiness.poll(cx, interest)).map(Some)
            };
            let result = attempt(self.get(), sight.ok().flatten());
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

    /// Works like [`poll_io`](Registration::poll_io), for any number of tasks.
    pub(crate) async fn io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        if self.readiness.is_fresh() {
            // An operation that is ready at once spends budget, as one that waits does.
            consume_budget().await;
            // An event may have come while this task had no budget.
            if self.readiness.is_fresh() {
                let result = attempt(self.get());
                if !would_block(&result) {
                    return result;
                }
            }
        }
        loop {
            let sight = self.ready(interest).await.ok();
            let result = attempt(self.get());
            if !would_block(&result) {
                return result;
            }
            match sight {
                Some(sight) => self.clear(sight, Evidence::WouldBlock),
                // The runtime has ended, and the attempt was the last one.
                None => return Err(ended()),
            }
        }
    }

    /// Calls `attempt`, unless the source is known not to be ready.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        let sight = self.worth_it(interest)?;
        let result = attempt(self.get());
        self.note(sight, result)
    }

    /// Works like [`try_io`](Registration::try_io), with exclusive access to the source.
    pub(crate) fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        mut attempt: impl FnMut(&mut E) -> io::Result<R>,
    ) -> io::Result<R> {
        let sight = self.worth_it(interest)?;
        let result = attempt(self.get_mut());
        self.note(sight, result)
    }

    /// Returns the known readiness, if there is any.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it is known that an attempt would block.
    fn worth_it(&self, interest: Interest) -> io::Result<Option<Sight>> {
        match self.readiness.look(interest) {
            Ok(None) if !self.readiness.is_fresh() => Err(io::ErrorKind::WouldBlock.into()),
            sight => Ok(sight.ok().flatten()),
        }
    }

    /// Returns the result of an attempt. If it would have blocked, clears the readiness in `sight`.
    fn note<R>(&self, sight: Option<Sight>, result: io::Result<R>) -> io::Result<R> {
        if let Some(sight) = sight.filter(|_| would_block(&result)) {
            self.clear(sight, Evidence::WouldBlock);
        }
        result
    }
}

impl<E: Source> Drop for Registration<E> {
    fn drop(&mut self) {
        if let Some(source) = &mut self.source {
            // A failure does not matter: the descriptor is closed next, which also deregisters it,
            // or its owner has closed it already.
            let _ = self.reactor.deregister(source, self.token);
        }
    }
}

fn would_block<R>(result: &io::Result<R>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A task in the list of tasks that wait for a descriptor.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Waiting<'a> {
    readiness: &'a Readiness,
    interest: Interest,
    place: Option<Place>,
}

impl Future for Waiting<'_> {
    type Output = io::Result<Sight>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Sight>> {
        let Waiting { readiness, interest, place } = self.get_mut();
        let spent = ready!(poll_spend(cx));
        let seen = ready!(readiness.poll_listed(cx, *interest, place));
        spent.made_progress();
        Poll::Ready(seen.map_err(|_| ended()))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.readiness.unlist(place);
        }
    }
}
