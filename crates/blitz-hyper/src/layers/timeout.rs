//! A limit on the time that a service may take for its answer.

#![forbid(unsafe_code)]

use blitz::time::{Sleep, sleep};
use hyper::{Request, Response, StatusCode};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

/// Replaces the answer with an empty one if the service takes too long.
///
/// The limit covers the head of the answer; the body may take longer. The service's future is
/// dropped when the time is over.
///
/// ```
/// use axum::{Router, routing::get};
/// use blitz_hyper::TimeoutLayer;
/// use tower::ServiceExt;
/// use std::{future::pending, time::Duration};
///
/// # blitz::block_on(async {
/// let app: Router = Router::new()
///     .route("/", get(|| async { pending::<()>().await }))
///     .layer(TimeoutLayer::new(Duration::from_millis(1)));
/// let request = hyper::Request::get("/").body(axum::body::Body::empty()).unwrap();
/// assert_eq!(app.oneshot(request).await.unwrap().status(), 408);
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeoutLayer {
    patience: Duration,
    status: StatusCode,
}

impl TimeoutLayer {
    /// Answers `408 Request Timeout` after `patience`.
    #[must_use]
    pub fn new(patience: Duration) -> TimeoutLayer {
        TimeoutLayer { patience, status: StatusCode::REQUEST_TIMEOUT }
    }

    /// Answers with `status` instead: `504 Gateway Timeout`, for example.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use blitz_hyper::TimeoutLayer;
    /// use hyper::{Request, StatusCode};
    /// use std::{future::pending, time::Duration};
    /// use tower::ServiceExt;
    ///
    /// # blitz::block_on(async {
    /// let limit = TimeoutLayer::new(Duration::from_millis(1));
    /// let app: Router = Router::new()
    ///     .route("/", get(|| async { pending::<()>().await }))
    ///     .layer(limit.with_status(StatusCode::GATEWAY_TIMEOUT));
    /// let request = Request::get("/").body(axum::body::Body::empty()).unwrap();
    /// assert_eq!(app.oneshot(request).await.unwrap().status(), 504);
    /// # });
    /// ```
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> TimeoutLayer {
        self.status = status;
        self
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, service: S) -> Timeout<S> {
        Timeout { service, limit: *self }
    }
}

/// A service with a time limit, made by [`TimeoutLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Timeout<S> {
    service: S,
    limit: TimeoutLayer,
}

impl<S, A, B> Service<Request<A>> for Timeout<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    B: Default,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = TimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let TimeoutLayer { patience, status } = self.limit;
        TimeoutFuture { answer: self.service.call(request), sleep: sleep(patience), status }
    }
}

pin_project! {
    /// The answer of a service, if it comes in time.
    #[derive(Debug)]
    pub struct TimeoutFuture<F> {
        #[pin]
        answer: F,
        #[pin]
        sleep: Sleep,
        status: StatusCode,
    }
}

impl<F, B, E> Future for TimeoutFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Default,
{
    type Output = Result<Response<B>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.answer.poll(cx) {
            return Poll::Ready(answer);
        }
        this.sleep.poll(cx).map(|()| {
            let mut answer = Response::new(B::default());
            *answer.status_mut() = *this.status;
            Ok(answer)
        })
    }
}
