//! Tasks that live as long as their runtime. They wait, and every poll does the same work.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Barrier, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
};

use blitz_contestant::Clock;

use super::arrivals::Arrivals;
use crate::runtime::{Runtime, Tasks};

/// Calls `wake` on each of `threads` foreign threads, with the thread's number. All calls begin
/// together. When all have returned, returns a clock that was started as they began.
pub(super) fn from_threads(threads: usize, wake: impl Fn(usize) + Sync) -> Clock {
    let (ready, start) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    thread::scope(|scope| {
        for thread in 0..threads {
            let (ready, start, wake) = (&ready, &start, &wake);
            scope.spawn(move || {
                ready.wait();
                start.wait();
                wake(thread);
            });
        }
        ready.wait();
        let clock = Clock::start();
        start.wait();
        clock
    })
}

/// A member of a crowd.
pub(super) trait Member: Default + Send + Sync + 'static {
    /// What all members share.
    type Common: Send + Sync + 'static;

    /// Called in every poll of the member at `index` except the first, which stores the waker.
    fn polled(crowd: &'static Crowd<Self>, index: usize);
}

/// The members, leaked once per contest, so that tasks need no reference count for them.
pub(super) struct Crowd<M: Member> {
    seats: Vec<Seat<M>>,
    pub(super) common: M::Common,
}

/// A member and its waker, in cache lines of their own as the state of an actor would be.
#[repr(align(64))]
#[derive(Default)]
struct Seat<M> {
    /// A future that never moves to another task has the same waker for ever.
    waker: OnceLock<Waker>,
    /// Only polls write it, one at a time.
    polls: AtomicU32,
    member: M,
}

impl<M: Member> Crowd<M> {
    /// Creates a crowd to which no member has come yet.
    pub(super) fn leaked(members: usize, common: M::Common) -> &'static Self {
        let seats = (0..members).map(|_| Seat::default()).collect();
        Box::leak(Box::new(Self { seats, common }))
    }

    /// Starts the tasks from a task of the runtime, and returns when all of them wait.
    pub(super) fn gather<R: Runtime>(&'static self, runtime: &R) {
        let tasks = runtime.tasks();
        runtime.block_on(async move { tasks.spawn(self.gather_with(tasks)).await });
    }

    async fn gather_with<T: Tasks>(&'static self, tasks: T) {
        let seated = Arrivals::leaked(self.seats.len() as u64);
        let complete = seated.expect();
        for index in 0..self.seats.len() {
            tasks.detach(Attending { crowd: self, index, seated });
        }
        // This cannot fail: `seated` is leaked, so its sender is not dropped before it sends.
        let _ = complete.await;
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn member(&self, index: usize) -> &M {
        &self.seats[index].member
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &M> {
        self.seats.iter().map(|seat| &seat.member)
    }

    /// How often all members together were polled after they had come. The count wraps around.
    pub(super) fn polls(&self) -> u32 {
        let polls = self.seats.iter().map(|seat| seat.polls.load(Ordering::Relaxed));
        polls.fold(0, u32::wrapping_add)
    }

    /// Returns clones of all wakers. A wake through such a clone touches the task, but no seat.
    pub(super) fn wakers(&self) -> Vec<Waker> {
        let waker = |seat: &Seat<M>| seat.waker.get().expect("a crowd is gathered first").clone();
        self.seats.iter().map(waker).collect()
    }

    /// Wakes a member that has come.
    #[inline]
    pub(super) fn wake(&self, index: usize) {
        match self.seats[index].waker.get() {
            Some(waker) => waker.wake_by_ref(),
            None => unreachable!("a crowd is gathered before it is woken"),
        }
    }
}

struct Attending<M: Member> {
    crowd: &'static Crowd<M>,
    index: usize,
    seated: &'static Arrivals,
}

impl<M: Member> Future for Attending<M> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let seat = &self.crowd.seats[self.index];
        match seat.waker.get() {
            Some(_) => {
                seat.polls.store(seat.polls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                M::polled(self.crowd, self.index);
            }
            None => {
                seat.waker.get_or_init(|| context.waker().clone());
                self.seated.arrive();
            }
        }
        Poll::Pending
    }
}
