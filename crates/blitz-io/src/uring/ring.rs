//! The ring: hands operations to the system and collects their results.

use super::peer;
use super::slots::{Kind, Left, Leftover, Progress, Refused, Slots, Target, Unwritten};
use super::{Attempt, Outcome, RESTARTS};
use crate::io::Interest;
use crate::poll::{Reactor, ended};
use blitz_core::driver::{Awaited, DriverWait, task_of};
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{EnterFlags, IoUring, Probe, opcode};
use mio::unix::SourceFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::ops::{Deref, Range};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Entries of the submission queue. At most one is in use: threads submit one after the other, and
/// the system takes each entry before the next one is pushed.
const ENTRIES: u32 = 64;
/// Completions that the system's queue holds. If the queue is full, the system keeps further
/// completions apart until [`Uring::flush`] asks for them.
const COMPLETIONS: u32 = 1024;
/// How often an operation is submitted to a system that has no memory for it, before the ring is
/// given up.
const TRIES: u32 = 1_000;
/// How often in a row the queue has to be found empty before the completions that the system keeps
/// apart count as lost.
const LOOKS_BEFORE_LOST: u32 = 1_000;
/// How long to sleep between looks at the completion queue if the system does not let us wait for
/// it.
const GLANCE: Duration = Duration::from_millis(1);
/// The offset that stands for the position of the file, which the operation then advances.
const WHERE_IT_IS: u64 = u64::MAX;

/// The operations that Blitz needs.
const NEEDED: [u8; 6] = [
    opcode::Read::CODE,
    opcode::Write::CODE,
    opcode::Recv::CODE,
    opcode::Send::CODE,
    opcode::Accept::CODE,
    opcode::AsyncCancel::CODE,
];

/// A completion. Its name in the ring is the key of the operation's slot and a bit for the kind.
enum Completion {
    Operation(usize),
    /// The answer to the request to cancel an operation.
    Cancellation(usize),
}

impl Completion {
    fn name(&self) -> u64 {
        match *self {
            Completion::Operation(key) => (key as u64) << 1,
            Completion::Cancellation(key) => (key as u64) << 1 | 1,
        }
    }

    fn of(name: u64) -> Completion {
        match (usize::try_from(name >> 1), name & 1) {
            (Ok(key), 0) => Completion::Operation(key),
            (Ok(key), _) => Completion::Cancellation(key),
            (Err(_), _) => unreachable!("names are made of keys"),
        }
    }
}

/// One io_uring of one pool.
///
/// Its locks are taken in the order of the fields, and no waker is cloned, called or dropped under
/// any of them: a waker may start and drop operations itself.
pub(crate) struct Uring {
    ring: ManuallyDrop<IoUring>,
    reactor: Arc<Reactor>,
    /// The name of the ring in the reactor, which watches it for completions.
    token: usize,
    /// A thread holds this lock while it uses the submission queue.
    submitting: Mutex<()>,
    completing: Mutex<Completing>,
    slots: ManuallyDrop<Mutex<Slots>>,
}

/// The right to use the completion queue. There is one, behind a lock.
#[derive(Default)]
struct Completing {
    /// Wakers of completed operations. The driver calls them, since the thread that collects may
    /// hold a lock.
    late: VecDeque<Waker>,
    /// Parts of writes that are not written yet. [`Uring::end`] writes them, or the ring's drop.
    unwritten: Vec<Unwritten>,
    /// How many completions the system has lost so far.
    lost: u32,
}

impl Uring {
    /// Makes a ring that `reactor` watches.
    ///
    /// # Errors
    /// If the system has no io_uring, forbids it, or lacks an operation that Blitz needs.
    pub(crate) fn new(reactor: &Arc<Reactor>) -> io::Result<Arc<Uring>> {
        let ring = IoUring::builder().setup_cqsize(COMPLETIONS).dontfork().build(ENTRIES)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if let Some(missing) = NEEDED.into_iter().find(|&code| !probe.is_supported(code)) {
            let why = format!("this system's io_uring lacks operation {missing}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        if !ring.params().is_feature_nodrop() || !ring.params().is_feature_rw_cur_pos() {
            let why = "this system's io_uring may lose completions, or ignores file positions";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let slots = Slots::new(ring.params().cq_entries() as usize);
        // No task waits for the ring's readiness: an event makes the worker in the reactor return
        // and collect.
        let (token, _) = reactor.register(&mut SourceFd(&ring.as_raw_fd()), Interest::READABLE)?;
        Ok(Arc::new(Uring {
            ring: ManuallyDrop::new(ring),
            reactor: reactor.clone(),
            token,
            submitting: Mutex::default(),
            completing: Mutex::default(),
            slots: ManuallyDrop::new(Mutex::new(slots)),
        }))
    }

    /// Reads at most `room` bytes into `buffer`. Reads at `offset`, or at the position of the file
    /// if that is `None`.
    pub(crate) async fn read_at(
        &self,
        file: BorrowedFd<'_>,
        buffer: Vec<u8>,
        room: usize,
        offset: Option<u64>,
    ) -> Attempt {
        let fd = Fd(file.as_raw_fd());
        let make = |at, len: u32| {
            let len = u32::try_from(room).map_or(len, |room| len.min(room));
            opcode::Read::new(fd, at, len).offset(offset.unwrap_or(WHERE_IT_IS)).build()
        };
        self.transfer(buffer, Kind::Read, make).await
    }

    /// Writes the bytes in `range` of `buffer`, or a part of them. Writes at `offset`, or at the
    /// position of the file if that is `None`. If the future is dropped early, all bytes are
    /// written.
    pub(crate) async fn write_at(
        &self,
        file: &Arc<File>,
        buffer: Vec<u8>,
        range: Range<usize>,
        offset: Option<u64>,
    ) -> Attempt {
        let Range { start, end } = range;
        let fd = Fd(file.as_raw_fd());
        assert!(start <= end && end <= buffer.len(), "{start}..{end} of {}", buffer.len());
        let len = u32::try_from(end - start).unwrap_or(u32::MAX);
        let make = |at: *mut u8, _| {
            let from = at.wrapping_add(start);
            opcode::Write::new(fd, from, len).offset(offset.unwrap_or(WHERE_IT_IS)).build()
        };
        let target = Target { file: file.clone(), range, offset };
        self.transfer_of(buffer, Kind::Write, Some(target), make).await
    }

    /// Receives into `buffer`, at most as much as the buffer is long.
    pub(crate) async fn recv(&self, socket: BorrowedFd<'_>, buffer: Vec<u8>) -> Attempt {
        let fd = Fd(socket.as_raw_fd());
        self.transfer(buffer, Kind::Transfer, |at, len| opcode::Recv::new(fd, at, len).build())
            .await
    }

    /// Sends `buffer`, or a part of it.
    pub(crate) async fn send(&self, socket: BorrowedFd<'_>, buffer: Vec<u8>) -> Attempt {
        let fd = Fd(socket.as_raw_fd());
        let no_signal = rustix::net::SendFlags::NOSIGNAL.bits() as i32;
        let make = |at: *mut u8, len| opcode::Send::new(fd, at, len).flags(no_signal).build();
        self.transfer(buffer, Kind::Transfer, make).await
    }

    /// Begins to accept a connection of the non-blocking `listener`. Returns `None` if the ring
    /// takes no more operations.
    ///
    /// The address of the peer comes with the connection: the system does not return it later if
    /// the peer has reset the connection.
    pub(crate) fn accept(
        self: &Arc<Uring>,
        listener: BorrowedFd<'_>,
    ) -> Option<impl Future<Output = io::Result<(OwnedFd, SocketAddr)>> + Send + use<>> {
        let fd = Fd(listener.as_raw_fd());
        let flags = (SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).bits() as i32;
        let make = |at: *mut u8, _| {
            let length = at.wrapping_add(peer::LENGTH_AT);
            opcode::Accept::new(fd, at.cast(), length.cast()).flags(flags).build()
        };
        let op = match Uring::start(self.clone(), peer::room(), Kind::Accept, None, make) {
            Ok(op) => Ok(op),
            Err(Refused::Ended(_)) => Err(ended()),
            Err(Refused::Broken(_)) => return None,
        };
        Some(async {
            let (accepted, room) = op?.await;
            let Ok(fd) = i32::try_from(accepted?) else {
                unreachable!("descriptors are small numbers")
            };
            // SAFETY: the system has made this descriptor for this operation, and nothing else owns
            // it.
            let connection = unsafe { OwnedFd::from_raw_fd(fd) };
            Ok((connection, peer::address(&room)?))
        })
    }

    async fn transfer(
        &self,
        buffer: Vec<u8>,
        kind: Kind,
        make: impl Fn(*mut u8, u32) -> Entry,
    ) -> Attempt {
        self.transfer_of(buffer, kind, None, make).await
    }

    /// Runs a transfer, and repeats it if the system gave it up. `write` is the target of a write.
    async fn transfer_of(
        &self,
        mut buffer: Vec<u8>,
        kind: Kind,
        write: Option<Target>,
        make: impl Fn(*mut u8, u32) -> Entry,
    ) -> Attempt {
        let mut restarts = 0;
        loop {
            let op = match Uring::start(self, buffer, kind, write.clone(), &make) {
                Ok(op) => op,
                // The write was reported as done, so the caller has to do it without the ring.
                Err(Refused::Ended(buffer)) if kind == Kind::Write => return Err(buffer),
                Err(Refused::Ended(buffer)) => return Ok((Err(ended()), buffer)),
                Err(Refused::Broken(buffer)) => return Err(buffer),
            };
            match op.await {
                (Err(error), untouched) if was_given_up(&error) && restarts < RESTARTS => {
                    buffer = untouched;
                    restarts += 1;
                }
                outcome => return Ok(outcome),
            }
        }
    }

    /// Hands an operation to the system. `make` names descriptors that are open until this returns.
    fn start<U: Deref<Target = Uring>>(
        uring: U,
        buffer: Vec<u8>,
        kind: Kind,
        write: Option<Target>,
        make: impl FnOnce(*mut u8, u32) -> Entry,
    ) -> Result<Op<U>, Refused> {
        let turn = lock(&uring.submitting);
        let mut slots = uring.slots();
        let key = slots.insert(buffer, kind, write)?;
        let (at, len) = slots.buffer(key);
        drop(slots);
        let entry = make(at, len).user_data(Completion::Operation(key).name());
        let taken = uring.submit(&turn, &entry);
        drop(turn);
        if taken {
            return Ok(Op { uring, key: Some(key) });
        }
        let buffer = uring.slots().take_back(key);
        Err(Refused::Broken(buffer))
    }

    /// Returns true once the system has taken `entry`. If the system refuses it, returns false, and
    /// the ring takes no others, either. The buffer of an entry that was taken stays in its slot
    /// until its completion is collected.
    ///
    /// An entry that was not taken stays in the submission queue. The system takes entries only
    /// when this function asks it to, on a thread that has `submitting`. Once the ring is broken
    /// the function asks for nothing any more. So the entry is never taken, and its buffer is the
    /// caller's again.
    fn submit(&self, _turn: &MutexGuard<'_, ()>, entry: &Entry) -> bool {
        if self.slots().is_broken() {
            return false;
        }
        // SAFETY: `submitting` is held, so this is the only submission queue; it is made nowhere
        // else.
        let mut queue = unsafe { self.ring.submission_shared() };
        // SAFETY: the buffer that the entry names stays where it is until the entry has completed
        // (`Slots`), and its descriptor is open until the system has taken the entry, for which the
        // loop below waits.
        if unsafe { queue.push(entry) }.is_err() {
            unreachable!("each entry is taken before the next one is pushed");
        }
        drop(queue);
        let mut tries = 0;
        loop {
            match self.ring.submit() {
                Ok(1..) => return true,
                // The system took nothing and gave no reason: treat it as busy.
                Ok(0) => {}
                // The system keeps too many completions apart, so it takes no operation now.
                Err(error) if is_busy(&error) => {}
                // The system has no memory for operations at this moment.
                Err(error) if is_short(&error) && tries < TRIES => tries += 1,
                Err(error) => {
                    let why = format!("io_uring takes no more operations: {error}");
                    self.slots().break_off(&why);
                    return false;
                }
            }
            self.collect_for_driver();
            std::thread::yield_now();
        }
    }

    /// Asks the system to cancel the operation of this slot, which is marked as being cancelled. A
    /// request that comes too late changes nothing.
    fn cancel(&self, key: usize) {
        let cancel = opcode::AsyncCancel::new(Completion::Operation(key).name()).build();
        let cancel = cancel.user_data(Completion::Cancellation(key).name());
        let taken = self.submit(&lock(&self.submitting), &cancel);
        if !taken {
            self.slots().cancelled(key);
        }
    }

    /// Collects completions, and moves the wakers of their tasks into `batch`. Called by the worker
    /// that has the driver's lease.
    pub(crate) fn collect(&self, batch: &mut VecDeque<Waker>) {
        let mut completing = lock(&self.completing);
        self.collect_in(&mut completing);
        batch.append(&mut completing.late);
    }

    /// Makes room for completions on behalf of a thread that cannot submit. That thread may hold a
    /// lock, so it leaves the wakers to the driver.
    fn collect_for_driver(&self) {
        // If another thread holds the lock, it makes room as well. It may keep the lock while it
        // waits for completions, so do not wait for it.
        let mut completing = match self.completing.try_lock() {
            Ok(completing) => completing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.collect_in(&mut completing);
        if !completing.late.is_empty() {
            self.reactor.wake();
        }
    }

    /// Takes the completions in the queue, and then those that the system keeps apart because the
    /// queue was full. Once the queue is empty, no event announces the ones that are kept apart.
    /// They exist only if more completions were outstanding than the queue holds.
    fn collect_in(&self, completing: &mut Completing) {
        let mut flushed = false;
        while self.take_queued(completing) {
            if !self.slots().is_crowded() {
                return;
            }
            if let Err(error) = self.flush() {
                return self.collect_without_flush(completing, &error);
            }
            self.deafen_if_lost(completing);
            flushed = true;
        }
        if flushed {
            self.slots().settle();
        }
    }

    /// Collects although the system refuses to hand out the completions that it keeps apart. If
    /// there are any, the ring can no longer wait for the operations under way.
    #[cold]
    fn collect_without_flush(&self, completing: &mut Completing, error: &io::Error) {
        // If the queue is empty and the ring's descriptor is readable, the system keeps completions
        // apart. If this cannot be checked, no completion counts as lost. The system sets some
        // completions apart before it publishes the rest of their batch, so look several times.
        let mut empty_looks = 0;
        while let Ok(true) = self.is_readable(Some(Duration::ZERO)) {
            if self.take_queued(completing) {
                empty_looks = 0;
            } else if empty_looks < LOOKS_BEFORE_LOST {
                empty_looks += 1;
                std::thread::yield_now();
            } else {
                let why = format!("io_uring keeps completions back: {error}");
                self.slots().deafen(&why, &mut completing.late);
                return;
            }
        }
    }

    /// Notes completions that the system has lost: the queue was full and there was no memory to
    /// keep them apart. The system counts them, and returns no error to a thread that does not wait
    /// for completions.
    fn deafen_if_lost(&self, completing: &mut Completing) {
        // SAFETY: there is one `Completing`, which this call borrows, so this is the only
        // completion queue; it is dropped before the next one is made.
        let lost = unsafe { self.ring.completion_shared() }.overflow();
        if std::mem::replace(&mut completing.lost, lost) != lost {
            let why = "io_uring has lost completions, since there was no memory for them";
            self.slots().deafen(why, &mut completing.late);
        }
    }

    /// Takes the completions in the queue; returns whether there were any.
    fn take_queued(&self, Completing { late, unwritten, .. }: &mut Completing) -> bool {
        // SAFETY: there is one `Completing`, which this call borrows, so this is the only
        // completion queue.
        let queue = unsafe { self.ring.completion_shared() };
        if queue.is_empty() {
            return false;
        }
        let mut leftovers = Vec::new();
        let mut slots = self.slots();
        // The loop drops `queue` at its end, which makes room in the system's queue. The lock of
        // `slots` is released after that, so a thread that sees these operations completed can use
        // the room.
        for done in queue {
            match Completion::of(done.user_data()) {
                Completion::Operation(key) => {
                    leftovers.extend(slots.complete(key, done.result(), late));
                }
                Completion::Cancellation(key) => slots.cancelled(key),
            }
        }
        drop(slots);
        for Leftover { descriptor, unwritten: rest, .. } in leftovers {
            descriptor.into_iter().for_each(close);
            unwritten.extend(rest);
        }
        true
    }

    /// Asks the system to move completions that it keeps apart into the queue, as many as fit.
    ///
    /// # Errors
    /// If the system forbids it. Lost completions are not an error here: see
    /// [`deafen_if_lost`](Uring::deafen_if_lost).
    fn flush(&self) -> io::Result<()> {
        loop {
            // SAFETY: nothing is submitted, and there is no argument.
            let entered = unsafe {
                self.ring.submitter().enter::<()>(0, 0, EnterFlags::GETEVENTS.bits(), None)
            };
            match entered {
                Err(error) if is_busy(&error) => std::thread::yield_now(),
                result => return result.map(drop),
            }
        }
    }

    /// Ends the ring with its pool. Waits for writes to files, since they were reported as done.
    /// Cancels all other operations and waits for them: a read might never complete, and an accept
    /// would make a connection that belongs to no task. The tasks that wait get an error.
    ///
    /// Calls `wake` with wakers as operations complete, without a lock, so that no task waits for
    /// another task's writes.
    pub(crate) fn end(&self, mut wake: impl FnMut(VecDeque<Waker>)) {
        // Each operation in the table was submitted, or its thread holds `submitting`. A
        // cancellation needs that lock, too, so it never comes before its operation.
        let cancelled = self.slots().close();
        cancelled.into_iter().for_each(|key| self.cancel(key));
        let mut unwritten = Vec::new();
        loop {
            let mut completing = lock(&self.completing);
            self.collect_in(&mut completing);
            unwritten.append(&mut completing.unwritten);
            let mut slots = self.slots();
            // Writing the rest may block, so wait for the cancelled operations first.
            let writes = !unwritten.is_empty() && slots.has_only_writes();
            // `completing` is locked, so no other thread adds a waker or the rest of a write after
            // this.
            let is_over = unwritten.is_empty() && slots.end(&mut completing.late);
            drop(slots);
            let wakers = std::mem::take(&mut completing.late);
            if !is_over && !writes && wakers.is_empty() {
                // `completing` stays locked, so that no other thread takes the completion that this
                // thread waits for.
                self.wait(&mut completing);
                continue;
            }
            drop(completing);
            wake(wakers);
            if writes {
                unwritten.drain(..).for_each(Unwritten::write);
            }
            if is_over {
                return;
            }
        }
    }

    /// Waits for a completion. At least one completion has to be outstanding.
    fn wait(&self, completing: &mut Completing) {
        if self.is_readable(None).is_err() {
            // The queue is shared memory, so polling it still works.
            std::thread::sleep(GLANCE);
        }
        self.collect_in(completing);
    }

    /// Whether there are completions, in the queue or kept apart. Waits for them for at most
    /// `patience`, or for ever if that is `None`. It works even if io_uring itself is forbidden by
    /// now.
    ///
    /// # Errors
    /// If the system has no memory for it, or a filter or a limit forbids it.
    fn is_readable(&self, patience: Option<Duration>) -> io::Result<bool> {
        let patience = patience.map(|patience| Timespec {
            tv_sec: patience.as_secs() as _,
            tv_nsec: patience.subsec_nanos().into(),
        });
        loop {
            let ring = self.ring.as_fd();
            match poll(&mut [PollFd::new(&ring, PollFlags::IN)], patience.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns why the ring is broken; `None` if it is not.
    pub(crate) fn why_broken(&self) -> Option<String> {
        self.slots().why_broken().map(str::to_owned)
    }

    /// Whether operations may begin: not if the pool ends, and not if the ring is broken.
    pub(crate) fn takes_operations(&self) -> bool {
        let slots = self.slots();
        !slots.is_closed() && !slots.is_broken()
    }

    /// Whether operations of files are under way, or tasks of completed operations still have to
    /// be woken.
    pub(crate) fn is_at_files(&self) -> bool {
        // While this lock is held, each operation is either under way or noted as completed.
        let completing = lock(&self.completing);
        !completing.late.is_empty() || self.slots().files() > 0
    }

    /// Returns the tasks that wait for an operation.
    pub(crate) fn waits(&self) -> Vec<DriverWait> {
        let mut waits = Vec::new();
        self.slots().for_each_waiting(&mut |waker, name| {
            let wait = |task| DriverWait { task, event: Awaited::Io(format!("io_uring {name}")) };
            waits.extend(task_of(waker).map(wait));
        });
        waits
    }

    /// How many operations are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.slots().under_way()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }
}

/// The error of an operation whose completion is lost.
#[cold]
fn lost() -> io::Error {
    io::Error::other(
        "io_uring was forbidden or had no memory while this operation was under way: the operation \
         may or may not have happened",
    )
}

/// Whether the operation was cancelled before it did anything. Blitz cancels it only when its
/// future is dropped or its pool ends. The system also cancels the operations of a thread that
/// ends.
pub(super) fn is_cancelled(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::CANCELED.raw_os_error())
}

/// Whether the system gave a transfer up, before it moved a byte, because the thread that began it
/// has ended. A read that waits for the disk then fails with EFAULT, which has no other cause here:
/// the buffers in the slots are valid.
fn was_given_up(error: &io::Error) -> bool {
    is_cancelled(error) || error.raw_os_error() == Some(Errno::FAULT.raw_os_error())
}

/// Whether the next try may succeed.
fn is_busy(error: &io::Error) -> bool {
    [Errno::BUSY, Errno::INTR].iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

/// Whether the system lacks memory.
fn is_short(error: &io::Error) -> bool {
    [Errno::AGAIN, Errno::NOMEM]
        .iter()
        .any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

/// Closes a descriptor that the system has made for a future that is gone.
fn close(descriptor: i32) {
    // SAFETY: the system has made the descriptor, and its number went nowhere else.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under these locks leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Ignore an error: the ring's descriptor is closed below, which also ends the watch.
        let _ = self.reactor.deregister(&mut SourceFd(&self.ring.as_raw_fd()), self.token);
        let mut completing = lock(&self.completing);
        self.collect_in(&mut completing);
        // Every future is gone, so all operations except writes were cancelled, unless the ring was
        // broken.
        while self.under_way() > 0 && !self.slots().is_broken() {
            self.wait(&mut completing);
        }
        completing.unwritten.drain(..).for_each(Unwritten::write);
        drop(completing);
        // If an operation is still under way, the system may use its buffer for ever: the buffers
        // are leaked.
        if self.under_way() == 0 {
            // SAFETY: this is the only place that drops it, and it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.slots) };
        }
        // SAFETY: this is the only place that drops it, and `self` is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
    }
}

impl fmt::Debug for Uring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uring").field("under_way", &self.under_way()).finish_non_exhaustive()
    }
}

/// An operation under way. Dropping this future cancels the operation, if it is not too late;
/// [a write](Kind::Write) goes on.
#[must_use = "futures do nothing unless awaited"]
struct Op<U: Deref<Target = Uring>> {
    uring: U,
    /// `None` once the result was fetched.
    key: Option<usize>,
}

impl<U: Deref<Target = Uring> + Unpin> Future for Op<U> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(key) = self.key else { panic!("an operation was polled after its end") };
        let mut clone = None;
        loop {
            // The lock is released before the waker in `clone` is dropped or created.
            let progress = self.uring.slots().poll(key, cx.waker(), &mut clone);
            match progress {
                Progress::Done(result, buffer) => {
                    self.key = None;
                    let error = |_| io::Error::from_raw_os_error(-result);
                    return Poll::Ready((usize::try_from(result).map_err(error), buffer));
                }
                Progress::Ended => return self.give_up(key, ended()),
                Progress::Lost => return self.give_up(key, lost()),
                Progress::Pending => return Poll::Pending,
                Progress::WakerWanted => clone = Some(cx.waker().clone()),
            }
        }
    }
}

impl<U: Deref<Target = Uring>> Op<U> {
    /// Returns `error`, since the completion does not come. Only the buffer stays with the system.
    fn give_up(&self, key: usize, error: io::Error) -> Poll<Outcome> {
        let target = self.uring.slots().forget_target(key);
        drop(target);
        Poll::Ready((Err(error), Vec::new()))
    }
}

impl<U: Deref<Target = Uring>> Drop for Op<U> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let (left, waker) = self.uring.slots().leave(key);
        match left {
            Left::Done(Leftover { descriptor, unwritten, .. }) => {
                descriptor.into_iter().for_each(close);
                // The runtime that would have written the rest has ended: write the rest here.
                unwritten.into_iter().for_each(Unwritten::write);
            }
            Left::UnderWay => {}
            Left::Cancel => self.uring.cancel(key),
        }
        drop(waker);
    }
}
