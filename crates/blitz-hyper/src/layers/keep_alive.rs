//! Filler items that keep an idle stream of events open.

#![forbid(unsafe_code)]

use blitz::time::{Sleep, sleep};
use futures_core::Stream;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Inserts an item made by `make` into `stream` whenever `stream` was silent for `interval`.
///
/// Server-sent events need such items, because clients and proxies close idle connections. axum's
/// own `Sse::keep_alive` needs a Tokio guest.
///
/// ```
/// use axum::response::sse::{Event, Sse};
/// use blitz_hyper::keep_alive;
/// use std::{convert::Infallible, time::Duration};
///
/// async fn events() -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
///     let events = futures_util::stream::iter([Ok(Event::default().data("first"))]);
///     let comment = || Ok(Event::default().comment(""));
///     Sse::new(keep_alive(events, Duration::from_secs(15), comment))
/// }
/// # let app: axum::Router = axum::Router::new().route("/", axum::routing::get(events));
/// ```
pub fn keep_alive<S: Stream, F: FnMut() -> S::Item>(
    stream: S,
    interval: Duration,
    make: F,
) -> KeepAlive<S, F> {
    KeepAlive { stream, make, interval, sleep: sleep(interval), ended: false }
}

pin_project! {
    /// A stream that is never silent for long: see [`keep_alive`].
    #[derive(Debug)]
    pub struct KeepAlive<S, F> {
        #[pin]
        stream: S,
        make: F,
        interval: Duration,
        #[pin]
        sleep: Sleep,
        ended: bool,
    }
}

impl<S: Stream, F: FnMut() -> S::Item> Stream for KeepAlive<S, F> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let item = match this.stream.poll_next(cx) {
            Poll::Ready(Some(item)) => item,
            Poll::Ready(None) => {
                *this.ended = true;
                return Poll::Ready(None);
            }
            Poll::Pending => {
                std::task::ready!(this.sleep.as_mut().poll(cx));
                (this.make)()
            }
        };
        this.sleep.set(sleep(*this.interval));
        Poll::Ready(Some(item))
    }
}
