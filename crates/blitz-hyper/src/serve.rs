//! Servers: accept, answer, end gracefully.

#![forbid(unsafe_code)]

use crate::connection;
use crate::listener::{Accepted, AfterError, Listener, after};
use crate::{BlitzExecutor, BlitzTimer, BoxError, Report, Running, Shutdown};
use blitz::sync::mpsc;
use blitz::time::{Sleep, sleep};
use blitz::{JoinError, JoinSet};
use http_body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::server::conn::auto::Builder;
use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, Ready, pending, poll_fn, ready};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

/// Answers the connections of `listener` with clones of `service`.
///
/// The service may be an axum router, a tower service, or a function in tower's `service_fn`.
///
/// Await the returned future, or spawn it. Each connection is a task of its own. The first bytes of
/// the client decide between HTTP/1 and HTTP/2. A panic of the service goes to the pool's panic
/// handler. With HTTP/1 the panic ends the connection; with HTTP/2, only the request's stream.
///
/// ```
/// use axum::{Router, routing::get};
/// use blitz::net::TcpListener;
///
/// # fn main() -> Result<(), blitz_hyper::BoxError> {
/// # blitz::block_on(async {
/// let app = Router::new().route("/", get(|| async { "hello" }));
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let (stop, stopped) = blitz::sync::oneshot::channel::<()>();
/// let server = blitz_hyper::serve(listener, app).with_graceful_shutdown(async {
///     let _ = stopped.await;
/// });
/// let server = blitz::spawn(server);
/// drop(stop);
/// assert!(server.await??.is_clean());
/// # Ok(())
/// # })
/// # }
/// ```
pub fn serve<L: Listener, S: Clone>(
    listener: L,
    service: S,
) -> Serve<L, SharedService<S>, PlainHandshake<L::Stream>> {
    serve_make(listener, SharedService(service))
}

/// Answers the connections of `listener`, each with a service of its own.
///
/// `make` is a tower service that takes the peer and returns the service for its connection. A
/// panic of `make` goes to the pool's panic handler, and ends only the connection. For everything
/// else, see [`serve`].
///
/// ```
/// use axum::{Extension, Router, routing::get};
/// use blitz::net::TcpListener;
/// use std::{convert::Infallible, net::SocketAddr};
/// use tower::service_fn;
///
/// # fn main() -> std::io::Result<()> {
/// # blitz::block_on(async {
/// let app = Router::new()
///     .route("/", get(|Extension(peer): Extension<SocketAddr>| async move { format!("hello {peer}") }));
/// let with_peer = service_fn(move |peer: SocketAddr| {
///     let app = app.clone().layer(Extension(peer));
///     async move { Ok::<_, Infallible>(app) }
/// });
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let server = blitz_hyper::serve_make(listener, with_peer).with_graceful_shutdown(async {});
/// assert!(server.await?.is_clean());
/// # Ok(())
/// # })
/// # }
/// ```
pub fn serve_make<L: Listener, M>(listener: L, make: M) -> Serve<L, M, PlainHandshake<L::Stream>> {
    let mut builder = Builder::new(BlitzExecutor::new());
    builder.http1().timer(BlitzTimer::new());
    builder.http2().timer(BlitzTimer::new());
    let settings = Settings {
        listener,
        make,
        builder,
        signal: None,
        shutdown: Shutdown::new(),
        patience: None,
        on_error: Arc::new(|_| {}),
    };
    Serve(Stage::Set(settings, Arc::new(ready_as_it_is as PlainHandshake<L::Stream>)))
}

/// Future returned by [`serve`] and [`serve_make`]: a server that runs once it is polled.
///
/// Its output is either the [report](Report) of unfinished work or the error that ended the accept
/// loop. The report is empty unless a deadline passed. An error that ends the accept loop starts
/// the shutdown, and the future returns the error when the shutdown is over. Dropping the future
/// ends the server's connections at once, except upgraded ones, such as WebSockets. The server also
/// waits for upgraded connections, but only their handlers end them. Settings that are changed
/// after the first poll have no effect.
#[must_use = "a server does nothing unless awaited"]
pub struct Serve<L, M, H>(Stage<L, M, H>);

/// How far a server has come.
#[expect(clippy::large_enum_variant, reason = "there is one for each server")]
enum Stage<L, M, H> {
    /// The server was not polled yet. The handshake is a separate field, because a setter may
    /// replace it with a value of another type.
    Set(Settings<L, M>, Arc<H>),
    Runs(Pin<Box<dyn Future<Output = io::Result<Report>> + Send>>),
    /// The server has returned its output, or a poll of it has panicked.
    Over,
}

/// The settings of a server.
struct Settings<L, M> {
    listener: L,
    make: M,
    builder: Builder<BlitzExecutor>,
    /// Starts the shutdown.
    signal: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    shutdown: Shutdown,
    /// How long the shutdown may take.
    patience: Option<Duration>,
    on_error: Arc<dyn Fn(BoxError) + Send + Sync>,
}

impl<L: Listener, M, H> Serve<L, M, H> {
    /// Shuts the server down gracefully when `signal` completes.
    ///
    /// From then on the server accepts no connection. It answers requests that have begun, and
    /// closes connections without such a request, also those whose handshake has not ended.
    pub fn with_graceful_shutdown(self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.change(|settings| settings.signal = Some(Box::pin(signal)))
    }

    /// Ends the server with `shutdown`, which also tracks each connection. Other servers and tasks
    /// may share `shutdown`: they end together, also if the listener of one server fails for good.
    pub fn with_shutdown(self, shutdown: &Shutdown) -> Self {
        self.change(|settings| settings.shutdown = shutdown.clone())
    }

    /// Limits the shutdown: connections that are left after `patience` are dropped, except upgraded
    /// ones. Without a limit, and without that of [`Shutdown::finish`], the shutdown waits for all
    /// connections.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use blitz::net::{TcpListener, TcpStream};
    /// use std::{future::pending, time::Duration};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # blitz::block_on(async {
    /// use blitz::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// let (entered, is_in) = blitz::sync::oneshot::channel();
    /// let entered = std::sync::Arc::new(std::sync::Mutex::new(Some(entered)));
    /// let app = Router::new().route("/", get(move || async move {
    ///     entered.lock().unwrap().take().unwrap().send(()).unwrap();
    ///     pending::<()>().await // never answers
    /// }));
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let mut client = TcpStream::connect(listener.local_addr()?).await?;
    /// client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    /// let server = blitz_hyper::serve(listener, app)
    ///     .with_graceful_shutdown(async { is_in.await.unwrap() })
    ///     .with_deadline(Duration::from_millis(5));
    /// let report = server.await?;
    /// assert!(!report.is_clean()); // the request was still running
    /// assert_eq!(client.read(&mut [0; 16]).await.unwrap_or(0), 0);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn with_deadline(self, patience: Duration) -> Self {
        self.change(|settings| settings.patience = Some(patience))
    }

    /// Passes each connection through `handshake`, for example that of TLS.
    ///
    /// Each connection is a task of its own, so a slow handshake delays no other connection.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use blitz::net::{TcpListener, TcpStream};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # blitz::block_on(async {
    /// let app = Router::new().route("/", get(|| async { "hello" }));
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let server = blitz_hyper::serve(listener, app)
    ///     // With tokio-rustls this would be `move |stream| acceptor.accept(stream)`.
    ///     .with_handshake(|stream: TcpStream| async move { stream.set_ttl(64).map(|()| stream) })
    ///     .with_graceful_shutdown(async {});
    /// server.await?;
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn with_handshake<F, R, I>(self, handshake: F) -> Serve<L, M, F>
    where
        F: Fn(L::Stream) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<I>> + Send,
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Serve(match self.0 {
            Stage::Set(settings, _) => Stage::Set(settings, Arc::new(handshake)),
            Stage::Runs(server) => Stage::Runs(server),
            Stage::Over => Stage::Over,
        })
    }

    /// Changes hyper's settings: time limits, sizes, one protocol only.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # blitz::block_on(async {
    /// # let listener = blitz::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let app: axum::Router = axum::Router::new();
    /// let server = blitz_hyper::serve(listener, app).with_settings(|builder| {
    ///     builder.http1().half_close(true);
    ///     builder.http2().max_concurrent_streams(200);
    /// });
    /// # drop(server);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn with_settings(self, change: impl FnOnce(&mut Builder<BlitzExecutor>)) -> Self {
        self.change(|settings| change(&mut settings.builder))
    }

    /// Calls `handler` with each error of a connection and of `accept`. Clients that vanish cause
    /// such errors, too, so without a handler all errors are ignored. An error that ends the server
    /// goes to `handler` at once, and the server's future returns it when the server has ended. A
    /// panic of `handler` goes to the pool's panic handler.
    ///
    /// ```
    /// use blitz::io::AsyncWriteExt;
    /// use blitz::net::{TcpListener, TcpStream};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # blitz::block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let mut client = TcpStream::connect(listener.local_addr()?).await?;
    /// client.write_all(b"this is not HTTP\r\n\r\n").await?;
    /// let (tell, mut errors) = blitz::sync::mpsc::unbounded_channel();
    /// let server = blitz_hyper::serve(listener, axum::Router::new())
    ///     .on_error(move |error| drop(tell.send(error.to_string())));
    /// let server = blitz::spawn(server);
    /// assert!(!errors.recv().await.unwrap().is_empty());
    /// server.abort();
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn on_error(self, handler: impl Fn(BoxError) + Send + Sync + 'static) -> Self {
        self.change(|settings| settings.on_error = Arc::new(handler))
    }

    /// Changes the settings of a server that does not run yet.
    fn change(mut self, change: impl FnOnce(&mut Settings<L, M>)) -> Self {
        if let Stage::Set(settings, _) = &mut self.0 {
            change(settings);
        }
        self
    }
}

impl<L, M, H> fmt::Debug for Serve<L, M, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Serve");
        match &self.0 {
            Stage::Set(Settings { shutdown, patience, .. }, _) => {
                text.field("shutdown", shutdown).field("patience", patience)
            }
            Stage::Runs(_) => text.field("runs", &true),
            Stage::Over => text.field("runs", &false),
        }
        .finish_non_exhaustive()
    }
}

// The future is in a box, and the settings move into it.
impl<L, M, H> Unpin for Serve<L, M, H> {}

impl<L, M, H, R, I, S, B> Future for Serve<L, M, H>
where
    L: Listener,
    M: Service<L::Peer, Response = S> + Send + 'static,
    M::Future: Send + 'static,
    M::Error: Into<BoxError>,
    H: Fn(L::Stream) -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<I>> + Send + 'static,
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Output = io::Result<Report>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Report>> {
        let mut server = match std::mem::replace(&mut self.0, Stage::Over) {
            // Accepts connections and answers them until the end.
            Stage::Set(settings, handshake) => Box::pin(async move {
                let Settings { listener, mut make, builder, signal, shutdown, patience, on_error } =
                    settings;
                // A panic of the handler ends neither the server nor other connections.
                let on_error: Arc<dyn Fn(BoxError) + Send + Sync> =
                    Arc::new(move |error| or_panicked(|| on_error(error)).unwrap_or_default());
                let builder = Arc::new(builder);
                let signal = signal.unwrap_or_else(|| Box::pin(pending()));
                let stop = pin!(until_either(signal, shutdown.draining()));
                let mut accepting =
                    Accepting { listener, stop, pause: None, connections: JoinSet::new() };

                // No value is ever sent. Each connection holds a sender as long as it lives.
                let (present, all_gone) = mpsc::channel(1);

                let mut broken = None;
                while let Some(accepted) = poll_fn(|cx| accepting.poll(cx, &*on_error)).await {
                    let (stream, peer) = match accepted {
                        Ok(accepted) => accepted,
                        Err(error) => {
                            // The shutdown may take long, so the handler gets the error now.
                            on_error(io::Error::new(error.kind(), error.to_string()).into());
                            broken = Some(error);
                            break;
                        }
                    };
                    let mut running = shutdown.track(peer.clone());
                    let ready = poll_fn(|cx| match accepting.poll_stop(cx) {
                        Poll::Ready(()) => Poll::Ready(None),
                        Poll::Pending => match or_panicked(|| make.poll_ready(cx)) {
                            Some(polled) => polled.map(|ready| Some(ready.map_err(Some))),
                            None => Poll::Ready(Some(Err(None))),
                        },
                    });
                    let made = match ready.await {
                        None => break,
                        Some(Ok(())) => or_panicked(|| make.call(peer)),
                        Some(Err(error)) => {
                            // Without an error, `make` has panicked.
                            error.into_iter().for_each(|error| on_error(error.into()));
                            None
                        }
                    };
                    // Without a service, the connection ends here.
                    let Some(service) = made else { continue };
                    let (handshake, builder) = (Arc::clone(&handshake), Arc::clone(&builder));
                    let (on_error, present) = (Arc::clone(&on_error), present.clone());
                    accepting.connections.spawn(async move {
                        let conversation = async {
                            let begun = begin(service, || handshake(stream), &mut running).await?;
                            let Some((service, stream)) = begun else { return Ok(()) };
                            connection::drive(&builder, stream, service, &mut running, &present)
                                .await
                        };
                        if let Err(error) = conversation.await {
                            on_error(error);
                        }
                    });
                }

                let Accepting { listener, connections, .. } = accepting;
                // From now on the system refuses new connections.
                drop((listener, present));
                shutdown.start();
                let report = drain(connections, all_gone, &shutdown, patience).await;
                broken.map_or(Ok(report), Err)
            }),
            Stage::Runs(server) => server,
            Stage::Over => panic!("a server was polled after it had ended"),
        };
        let polled = server.as_mut().poll(cx);
        if polled.is_pending() {
            self.0 = Stage::Runs(server);
        }
        polled
    }
}

/// Makes the service of a connection, then its stream. Returns `None` if `running` starts to drain
/// before both are made: then no request has begun.
async fn begin<S, I, E: Into<BoxError>>(
    service: impl Future<Output = Result<S, E>>,
    handshake: impl AsyncFnOnce() -> io::Result<I>,
    running: &mut Running,
) -> Result<Option<(S, I)>, BoxError> {
    let mut begun = pin!(async {
        let service = service.await.map_err(Into::into)?;
        Ok((service, handshake().await?))
    });
    poll_fn(|cx| match begun.as_mut().poll(cx) {
        Poll::Ready(begun) => Poll::Ready(begun.map(Some)),
        Poll::Pending => running.poll_draining(cx).map(|()| Ok(None)),
    })
    .await
}

/// The part of a server's life in which it accepts connections.
struct Accepting<'a, L, F> {
    listener: L,
    /// Completes when the server should accept no more connections.
    stop: Pin<&'a mut F>,
    /// The pause after a resource has run out. The server accepts nothing until it has passed.
    pause: Option<Pin<Box<Sleep>>>,
    connections: JoinSet<()>,
}

impl<L: Listener, F: Future<Output = ()>> Accepting<'_, L, F> {
    /// Polls for the next connection; returns a permanent error, or `None` when it is time to stop.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        on_error: &dyn Fn(BoxError),
    ) -> Poll<Option<io::Result<Accepted<L>>>> {
        if self.poll_stop(cx).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            let error = match std::task::ready!(self.listener.poll_accept(cx)) {
                Ok(accepted) => return Poll::Ready(Some(Ok(accepted))),
                Err(error) => error,
            };
            match after(&error) {
                AfterError::GiveUp => return Poll::Ready(Some(Err(error))),
                AfterError::AcceptNext => {}
                AfterError::Pause => self.pause = Some(Box::pin(sleep(PAUSE))),
            }
            on_error(error.into());
        }
    }

    /// Ready when it is time to stop; after that, the caller must not call this method again. Frees
    /// the memory of connections that have ended.
    fn poll_stop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The number of connections that are left does not matter here.
        let _ = poll_reap(&mut self.connections, cx);
        self.stop.as_mut().poll(cx)
    }
}

/// How long a server pauses after it has run out of a resource.
///
/// The pause is long enough that a server without free descriptors does not spin, and short enough
/// that clients do not give up.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until all connections are gone, including upgraded ones, or until the time is over.
/// Returns a report of the work that is left, and ends the connections that were not upgraded.
async fn drain(
    mut connections: JoinSet<()>,
    mut all_gone: mpsc::Receiver<Infallible>,
    shutdown: &Shutdown,
    patience: Option<Duration>,
) -> Report {
    let mut patience = patience.map(|patience| Box::pin(sleep(patience)));
    let mut expired = pin!(shutdown.expired());
    let drained = poll_fn(|cx| {
        if poll_reap(&mut connections, cx).is_ready() && all_gone.poll_recv(cx).is_ready() {
            return Poll::Ready(true);
        }
        let impatient = patience.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
        match impatient || expired.as_mut().poll(cx).is_ready() {
            true => Poll::Ready(false),
            false => Poll::Pending,
        }
    });
    let report = match drained.await {
        true => Report::default(),
        false => shutdown.report(),
    };
    connections.abort_all();
    poll_fn(|cx| poll_reap(&mut connections, cx)).await;
    report
}

/// Forgets connections that have ended; ready when none is left.
fn poll_reap(connections: &mut JoinSet<()>, cx: &mut Context<'_>) -> Poll<()> {
    while let Some(ended) = std::task::ready!(connections.poll_join_next(cx)) {
        // An error without a panic comes from the abort at the end of a server.
        if let Err(Ok(panic)) = ended.map_err(JoinError::try_into_panic) {
            hand_over(panic);
        }
    }
    Poll::Ready(())
}

/// Calls `f`, which is code of the user. If it panics, hands the panic over and returns `None`.
fn or_panicked<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).map_err(hand_over).ok()
}

/// Hands a panic to the pool's panic handler, because no caller waits for it.
fn hand_over(panic: Box<dyn Any + Send>) {
    drop(blitz::spawn(async { resume_unwind(panic) }));
}

async fn until_either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(cx),
    })
    .await;
}

/// The handshake of connections that need none.
pub type PlainHandshake<I> = fn(I) -> Ready<io::Result<I>>;

fn ready_as_it_is<I>(stream: I) -> Ready<io::Result<I>> {
    ready(Ok(stream))
}

/// Gives each connection a clone of the same service.
#[derive(Clone, Debug)]
pub struct SharedService<S>(S);

impl<S: Clone, P> Service<P> for SharedService<S> {
    type Response = S;
    type Error = Infallible;
    type Future = Ready<Result<S, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: P) -> Self::Future {
        ready(Ok(self.0.clone()))
    }
}
