//! Raft with openraft on the pool.

use blitz::sync::{mpsc, oneshot, watch};
use blitz::time::{Duration, Elapsed, Sleep, Timeout};
use blitz::{JoinError, JoinHandle, Runtime};
use openraft_rt as rt;
use rt::AsyncRuntime;
use std::future::Future;

/// Tasks, timers, channels and locks of the current pool.
///
/// `declare_raft_types!` takes it as `AsyncRuntime`. `BlitzRuntime<true>` is for tests: the clock
/// of a runtime that openraft builds with it is paused, so that a busy machine makes no timer late.
///
/// ```
/// use blitz_adapters::openraft::BlitzRuntime;
/// use openraft_rt::AsyncRuntime;
/// use std::time::Duration;
///
/// # blitz::block_on(async {
/// // This is how openraft calls its runtime.
/// let task = BlitzRuntime::<false>::spawn(async { 6 * 7 });
/// BlitzRuntime::<false>::sleep(Duration::from_millis(1)).await;
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
#[derive(Debug)]
pub struct BlitzRuntime<const PAUSED: bool = false>(Runtime);

impl<const PAUSED: bool> AsyncRuntime for BlitzRuntime<PAUSED> {
    type JoinError = JoinError;
    type JoinHandle<T: Send + 'static> = JoinHandle<T>;
    type Sleep = Sleep;
    type Instant = Instant;
    type TimeoutError = Elapsed;
    type Timeout<R, T: Future<Output = R> + Send> = Timeout<T>;
    type ThreadLocalRng = rand::rngs::ThreadRng;
    type Mpsc = Channels;
    type Watch = Watches;
    type Oneshot = Oneshots;
    type Mutex<T: Send + 'static> = Lock<T>;

    fn spawn<T>(future: T) -> JoinHandle<T::Output>
    where
        T: Future + Send + 'static,
        T::Output: Send + 'static,
    {
        blitz::spawn(future)
    }

    fn sleep(duration: Duration) -> Sleep {
        blitz::time::sleep(duration)
    }

    fn sleep_until(deadline: Instant) -> Sleep {
        blitz::time::sleep_until(deadline.0)
    }

    fn timeout<R, F: Future<Output = R> + Send>(duration: Duration, future: F) -> Timeout<F> {
        blitz::time::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + Send>(deadline: Instant, future: F) -> Timeout<F> {
        blitz::time::timeout_at(deadline.0, future)
    }

    fn is_panic(error: &JoinError) -> bool {
        error.is_panic()
    }

    fn thread_rng() -> rand::rngs::ThreadRng {
        rand::rng()
    }

    fn new(threads: usize) -> Self {
        let builder = Runtime::builder().workers(threads).start_paused(PAUSED);
        BlitzRuntime(builder.build().expect("the runtime cannot be built"))
    }

    fn block_on<F: Future<Output = T>, T>(&mut self, future: F) -> T {
        self.0.block_on(future)
    }
}

/// An instant of Blitz, wrapped in a type of this crate.
///
/// This crate cannot implement openraft's trait for a type of another crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(blitz::time::Instant);

impl rt::Instant for Instant {
    fn now() -> Instant {
        Instant(blitz::time::Instant::now())
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}

impl std::ops::AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

impl std::ops::Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, time: Duration) -> Instant {
        Instant(self.0 - time)
    }
}

impl std::ops::SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, time: Duration) {
        self.0 -= time;
    }
}

impl std::ops::Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.0 - earlier.0
    }
}

/// Bounded channels with many senders.
#[derive(Debug)]
pub struct Channels;

/// Sends into a bounded channel.
#[derive(Debug)]
pub struct Sender<T>(mpsc::Sender<T>);

/// Receives from a bounded channel.
#[derive(Debug)]
pub struct Receiver<T>(mpsc::Receiver<T>);

/// Can become a sender while the channel has another one.
#[derive(Debug)]
pub struct WeakSender<T>(mpsc::WeakSender<T>);

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender(self.0.clone())
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> WeakSender<T> {
        WeakSender(self.0.clone())
    }
}

impl rt::Mpsc for Channels {
    type Sender<T: Send> = Sender<T>;
    type Receiver<T: Send> = Receiver<T>;
    type WeakSender<T: Send> = WeakSender<T>;

    fn channel<T: Send>(buffer: usize) -> (Sender<T>, Receiver<T>) {
        let (send, receive) = mpsc::channel(buffer);
        (Sender(send), Receiver(receive))
    }
}

impl<T: Send> rt::MpscSender<Channels, T> for Sender<T> {
    async fn send(&self, message: T) -> Result<(), rt::SendError<T>> {
        self.0.send(message).await.map_err(|refused| rt::SendError(refused.0))
    }

    fn downgrade(&self) -> WeakSender<T> {
        WeakSender(self.0.downgrade())
    }
}

impl<T: Send> rt::MpscReceiver<T> for Receiver<T> {
    async fn recv(&mut self) -> Option<T> {
        self.0.recv().await
    }

    fn try_recv(&mut self) -> Result<T, rt::TryRecvError> {
        self.0.try_recv().map_err(|error| match error {
            mpsc::error::TryRecvError::Empty => rt::TryRecvError::Empty,
            mpsc::error::TryRecvError::Disconnected => rt::TryRecvError::Disconnected,
        })
    }
}

impl<T: Send> rt::MpscWeakSender<Channels, T> for WeakSender<T> {
    fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(Sender)
    }
}

/// Channels that keep only the newest value.
#[derive(Debug)]
pub struct Watches;

/// Changes the value of a watch channel.
#[derive(Debug)]
pub struct WatchSender<T>(watch::Sender<T>);

/// Sees the value of a watch channel.
#[derive(Debug)]
pub struct WatchReceiver<T>(watch::Receiver<T>);

impl<T> Clone for WatchSender<T> {
    fn clone(&self) -> WatchSender<T> {
        WatchSender(self.0.clone())
    }
}

impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> WatchReceiver<T> {
        WatchReceiver(self.0.clone())
    }
}

impl rt::Watch for Watches {
    type Sender<T: Send + Sync> = WatchSender<T>;
    type Receiver<T: Send + Sync> = WatchReceiver<T>;
    type Ref<'a, T: Send + 'a> = watch::Ref<'a, T>;

    fn channel<T: Send + Sync>(value: T) -> (WatchSender<T>, WatchReceiver<T>) {
        let (send, receive) = watch::channel(value);
        (WatchSender(send), WatchReceiver(receive))
    }
}

impl<T: Send + Sync> rt::WatchSender<Watches, T> for WatchSender<T> {
    fn send(&self, value: T) -> Result<(), rt::watch::SendError<T>> {
        self.0.send(value).map_err(|refused| rt::watch::SendError(refused.0))
    }

    fn send_if_modified<F: FnOnce(&mut T) -> bool>(&self, modify: F) -> bool {
        self.0.send_if_modified(modify)
    }

    fn borrow_watched(&self) -> watch::Ref<'_, T> {
        self.0.borrow()
    }

    fn subscribe(&self) -> WatchReceiver<T> {
        WatchReceiver(self.0.subscribe())
    }
}

impl<T: Send + Sync> rt::WatchReceiver<Watches, T> for WatchReceiver<T> {
    async fn changed(&mut self) -> Result<(), rt::RecvError> {
        self.0.changed().await.map_err(|_| rt::RecvError(()))
    }

    fn borrow_watched(&self) -> watch::Ref<'_, T> {
        self.0.borrow()
    }

    fn borrow_and_update(&mut self) -> watch::Ref<'_, T> {
        self.0.borrow_and_update()
    }
}

/// Channels for one value.
#[derive(Debug)]
pub struct Oneshots;

/// Sends the value of a channel for one value.
#[derive(Debug)]
pub struct OneshotSender<T>(oneshot::Sender<T>);

impl rt::Oneshot for Oneshots {
    type Sender<T: Send> = OneshotSender<T>;
    type Receiver<T: Send> = oneshot::Receiver<T>;
    type ReceiverError = oneshot::error::RecvError;

    fn channel<T: Send>() -> (OneshotSender<T>, oneshot::Receiver<T>) {
        let (send, receive) = oneshot::channel();
        (OneshotSender(send), receive)
    }
}

impl<T: Send> rt::OneshotSender<T> for OneshotSender<T> {
    fn send(self, value: T) -> Result<(), T> {
        self.0.send(value)
    }
}

/// A lock that tasks can hold while they wait.
#[derive(Debug)]
pub struct Lock<T>(blitz::sync::Mutex<T>);

impl<T: Send + 'static> rt::Mutex<T> for Lock<T> {
    type Guard<'a> = blitz::sync::MutexGuard<'a, T>;

    fn new(value: T) -> Lock<T> {
        Lock(blitz::sync::Mutex::new(value))
    }

    async fn lock(&self) -> blitz::sync::MutexGuard<'_, T> {
        self.0.lock().await
    }
}
