//! The operations that are under way, with the buffers that the system uses for them.
//!
//! ```text
//!            insert              complete                poll, leave
//!  (vacant) ────────▶ UNDER WAY ──────────▶ DONE ───────────────────▶ (vacant)
//!                        │ leave
//!                        ▼         complete                  cancelled
//!                     ABANDONED ──────────▶ (vacant) or OVER ─────────▶ (vacant)
//! ```
//!
//! The key of a slot is the operation's name in the ring: the operation and its cancellation use
//! it. A slot becomes vacant only when no completion is outstanding, neither of the operation nor
//! of its cancellation. So a cancellation never names another operation, however often slots are
//! reused. A generation counter in the name would wrap around some day; this scheme does not. Only
//! after [`Slots::close`] may a slot become vacant before its cancellation is answered: from then
//! on no operation takes a slot.
//!
//! A write is reported as done to its task as soon as it has begun. The system may abandon the
//! write half-way, because the thread that began it has ended. If the write's future is gone by
//! then, the rest is written without the ring.
//!
//! All of this is behind a lock, and no method calls a waker: cloning, waking and dropping a waker
//! may use the same ring. The caller passes wakers in and out as values, and makes and drops them
//! without the lock.

#![forbid(unsafe_code)]

use crate::room;
use rustix::io::Errno;
use slab::Slab;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::task::Waker;

/// The kind of an operation, which decides what happens when its future is dropped. The end of the
/// pool cancels the same operations as a drop does, and waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is cancelled.
    Transfer,
    /// It is cancelled.
    Read,
    /// It is cancelled. If that comes too late, the descriptor that it has made is closed.
    Accept,
    /// It goes on, and the pool ends after it: a write that has begun was reported as done.
    Write,
}

/// Every operation that the system has not completed, or whose result was not fetched.
#[derive(Debug)]
pub(super) struct Slots {
    table: Slab<Slot>,
    /// Operations that the system has not completed.
    under_way: usize,
    /// How many of these operations write files, and how many read files.
    writes: usize,
    reads: usize,
    /// Completions that have not come yet: of operations and of cancellations.
    owed: usize,
    /// How many completions the system's queue holds.
    room: usize,
    /// More completions were outstanding than the queue holds, and nothing has checked since
    /// whether the system keeps some elsewhere.
    crowded: bool,
    /// No more operations begin, because the pool ends.
    closed: bool,
    /// The pool has ended, and no worker collects completions any more.
    ended: bool,
    /// Why the system takes no more operations; `None` if it does.
    broken: Option<String>,
    /// Completions were lost, or cannot be fetched any more.
    deaf: bool,
}

#[derive(Debug)]
struct Slot {
    buffer: Vec<u8>,
    kind: Kind,
    /// The target of a write, to write the rest if its future is gone.
    write: Option<Target>,
    state: State,
    /// A cancellation of the operation was sent, or is about to be, and is not answered yet.
    cancelling: bool,
}

#[derive(Debug)]
enum State {
    /// The system has not completed it.
    UnderWay(Option<Waker>),
    /// The system has not completed it, and its future is gone.
    Abandoned,
    /// The system's result.
    Done(i32),
    /// The system has completed it, its future is gone, and the cancellation is not answered yet.
    Over,
}

/// Why an operation was not registered; with its buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The pool is ending or has ended.
    Ended(Vec<u8>),
    /// The system takes no more operations.
    Broken(Vec<u8>),
}

/// The result of polling an operation.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Progress {
    /// The system's result, and the buffer.
    Done(i32, Vec<u8>),
    /// The system has not completed it, and the pool that would collect its completion has ended.
    Ended,
    /// The system may have done it, and its completion is lost.
    Lost,
    /// The task is woken when it is done.
    Pending,
    /// The task has to wait, and a clone of its waker is needed for that.
    WakerWanted,
}

/// How an operation was left by its future.
#[must_use]
pub(super) enum Left {
    /// The system has not completed it, and has to be asked to cancel it.
    Cancel,
    /// The system has not completed it, and nothing is left to do: it is a write, which goes on, or
    /// its cancellation was requested before.
    UnderWay,
    /// It was done; this is left to do.
    Done(Leftover),
}

/// Duties after the completion of an operation whose future is gone. The caller does them without
/// the lock.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Leftover {
    /// A descriptor that the operation has made, to be closed.
    pub(super) descriptor: Option<i32>,
    /// The part that a write has not written.
    pub(super) unwritten: Option<Unwritten>,
    /// The caller drops it, which may close the file.
    _file: Option<Arc<File>>,
}

/// The part of its buffer that a write writes, and where to.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) file: Arc<File>,
    pub(super) range: Range<usize>,
    /// The offset of the first byte; `None` for the position of the file.
    pub(super) offset: Option<u64>,
}

/// A write, or a part of one, that the system has not done: the thread that began it has ended, a
/// signal came, or there was no room for all. It still has to be written.
#[derive(Debug)]
pub(super) struct Unwritten {
    target: Target,
    buffer: Vec<u8>,
}

impl Unwritten {
    /// Writes the bytes on this thread.
    ///
    /// # Blocking
    /// Blocks as long as the file has no room.
    pub(super) fn write(self) {
        let Target { file, range, offset } = self.target;
        let bytes = &self.buffer[range];
        // The task that would have got the error is gone.
        let _ = match offset {
            Some(offset) => file.write_all_at(bytes, offset),
            None => room::write_all(&file, bytes),
        };
    }
}

impl Kind {
    /// Returns the name of the kind, for lists of waiting tasks.
    fn name(self) -> &'static str {
        match self {
            Kind::Transfer => "transfer",
            Kind::Read => "file read",
            Kind::Accept => "accept",
            Kind::Write => "file write",
        }
    }
}

impl Slots {
    /// Calls `each` with the waker of each task that waits for an operation, and with the kind of
    /// the operation. `each` must not clone the waker or wake with it.
    pub(super) fn for_each_waiting(&self, each: &mut dyn FnMut(&Waker, &'static str)) {
        for (_, slot) in &self.table {
            if let State::UnderWay(Some(waker)) = &slot.state {
                each(waker, slot.kind.name());
            }
        }
    }

    /// Makes the table of a ring whose completion queue has `room` entries.
    pub(super) fn new(room: usize) -> Slots {
        Slots {
            table: Slab::new(),
            under_way: 0,
            writes: 0,
            reads: 0,
            owed: 0,
            room,
            crowded: false,
            closed: false,
            ended: false,
            broken: None,
            deaf: false,
        }
    }

    /// Registers an operation; returns the buffer if the ring is closed or broken.
    pub(super) fn insert(
        &mut self,
        buffer: Vec<u8>,
        kind: Kind,
        write: Option<Target>,
    ) -> Result<usize, Refused> {
        if self.closed {
            return Err(Refused::Ended(buffer));
        }
        if self.is_broken() {
            return Err(Refused::Broken(buffer));
        }
        let state = State::UnderWay(None);
        self.under_way += 1;
        self.writes += usize::from(kind == Kind::Write);
        self.reads += usize::from(kind == Kind::Read);
        self.owe();
        Ok(self.table.insert(Slot { buffer, kind, write, state, cancelling: false }))
    }

    /// Removes an operation that could not be started; returns its buffer.
    pub(super) fn take_back(&mut self, key: usize) -> Vec<u8> {
        let slot = self.table.remove(key);
        self.is_complete(slot.kind);
        // The pool may be ending, and may be about to cancel the operation.
        self.owed -= usize::from(slot.cancelling);
        slot.buffer
    }

    /// Counts one more completion that is to come.
    fn owe(&mut self) {
        self.owed += 1;
        self.crowded |= self.owed > self.room;
    }

    /// Counts an operation of this kind as completed.
    fn is_complete(&mut self, kind: Kind) {
        self.owed -= 1;
        self.under_way -= 1;
        self.writes -= usize::from(kind == Kind::Write);
        self.reads -= usize::from(kind == Kind::Read);
    }

    /// Whether the system may keep completions elsewhere, because its queue was full.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Notes that the system keeps no completions elsewhere at this moment, and that its queue is
    /// empty.
    pub(super) fn settle(&mut self) {
        self.crowded = self.owed > self.room;
    }

    /// The address and the length of the buffer, for the system.
    pub(super) fn buffer(&mut self, key: usize) -> (*mut u8, u32) {
        let buffer = &mut self.table[key].buffer;
        // A longer one is transferred in part, as any transfer may be.
        (buffer.as_mut_ptr(), u32::try_from(buffer.len()).unwrap_or(u32::MAX))
    }

    /// Looks at the operation for the task of `waker`. A task that has to wait leaves a clone of
    /// its waker, which the caller puts into `clone` when it is [wanted](Progress::WakerWanted). If
    /// `clone` holds a waker afterwards, the caller drops it.
    pub(super) fn poll(
        &mut self,
        key: usize,
        waker: &Waker,
        clone: &mut Option<Waker>,
    ) -> Progress {
        let slot = &mut self.table[key];
        match &mut slot.state {
            State::Done(result) => {
                let result = *result;
                Progress::Done(result, self.table.remove(key).buffer)
            }
            State::UnderWay(_) if self.ended => Progress::Ended,
            State::UnderWay(_) if self.deaf => Progress::Lost,
            State::UnderWay(Some(left)) if left.will_wake(waker) => Progress::Pending,
            State::UnderWay(_) if clone.is_none() => Progress::WakerWanted,
            State::UnderWay(left) => {
                std::mem::swap(left, clone);
                Progress::Pending
            }
            State::Abandoned | State::Over => unreachable!("a future that is gone does not poll"),
        }
    }

    /// Notes that the future of the operation is gone. After [`Left::Cancel`] the caller sends a
    /// cancellation, or else calls [`cancelled`](Slots::cancelled). The caller drops the waker.
    pub(super) fn leave(&mut self, key: usize) -> (Left, Option<Waker>) {
        let slot = &mut self.table[key];
        let waker = match std::mem::replace(&mut slot.state, State::Abandoned) {
            State::Done(result) => {
                return (Left::Done(self.table.remove(key).leftover(result)), None);
            }
            State::UnderWay(waker) => waker,
            State::Abandoned | State::Over => unreachable!("a future goes once"),
        };
        if slot.kind == Kind::Write {
            return (Left::UnderWay, waker);
        }
        if std::mem::replace(&mut slot.cancelling, true) {
            return (Left::UnderWay, waker);
        }
        self.owe();
        (Left::Cancel, waker)
    }

    /// Takes the target of a write whose task gets an error instead of the system's result. So the
    /// rest is not written any more. The caller drops the target, which may close the file. The
    /// system has its own reference to the file.
    pub(super) fn forget_target(&mut self, key: usize) -> Option<Target> {
        self.table[key].write.take()
    }

    /// Notes the system's result of the operation. Returns what is left to do if its future is
    /// gone.
    pub(super) fn complete(
        &mut self,
        key: usize,
        result: i32,
        batch: &mut VecDeque<Waker>,
    ) -> Option<Leftover> {
        let kind = self.table.get(key)?.kind;
        self.is_complete(kind);
        let slot = self.table.get_mut(key)?;
        match std::mem::replace(&mut slot.state, State::Done(result)) {
            State::UnderWay(waker) => {
                batch.extend(waker);
                None
            }
            _ => {
                let leftover = slot.leftover(result);
                slot.state = State::Over;
                slot.buffer = Vec::new();
                self.vacate(key);
                Some(leftover)
            }
        }
    }

    /// Notes that the system has answered the cancellation of the operation, or will never get it.
    pub(super) fn cancelled(&mut self, key: usize) {
        if let Some(slot) = self.table.get_mut(key) {
            slot.cancelling = false;
            self.owed -= 1;
            self.vacate(key);
        }
    }

    /// Frees the slot if the system owes nothing for it and its future is gone.
    fn vacate(&mut self, key: usize) {
        let slot = &self.table[key];
        if matches!(slot.state, State::Over) && !slot.cancelling {
            self.table.remove(key);
        }
    }

    /// Begins the end of the pool: no more operations begin. Returns the operations under way,
    /// except writes and those that are being cancelled already. The caller sends a cancellation to
    /// each of them, or else calls [`cancelled`](Slots::cancelled).
    pub(super) fn close(&mut self) -> Vec<usize> {
        self.closed = true;
        let mut keys = Vec::new();
        for (key, slot) in &mut self.table {
            let is_under_way = matches!(slot.state, State::UnderWay(_) | State::Abandoned);
            if slot.kind != Kind::Write && is_under_way && !slot.cancelling {
                slot.cancelling = true;
                keys.push(key);
            }
        }
        keys.iter().for_each(|_| self.owe());
        keys
    }

    /// Whether only writes are left to wait for at the end.
    pub(super) fn has_only_writes(&self) -> bool {
        // A broken ring cannot cancel: operations other than writes may never complete.
        self.is_broken() || self.under_way == self.writes
    }

    /// Ends the table: no completions are collected any more. Returns false, and does nothing,
    /// while there are operations to wait for: writes, and those that were cancelled. A broken ring
    /// waits only for writes, and a deaf one for nothing.
    pub(super) fn end(&mut self, batch: &mut VecDeque<Waker>) -> bool {
        let is_over = self.has_only_writes() && self.writes == 0;
        if !is_over && !self.deaf {
            return false;
        }
        self.ended = true;
        self.wake_all(batch);
        true
    }

    /// Notes that the system takes no more operations. Those that are under way go on.
    pub(super) fn break_off(&mut self, why: &str) {
        self.broken.get_or_insert_with(|| why.to_owned());
    }

    /// Why the system takes no more operations.
    pub(super) fn why_broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Notes that completions of unknown operations are lost. All buffers stay, because the system
    /// may use them.
    pub(super) fn deafen(&mut self, why: &str, batch: &mut VecDeque<Waker>) {
        self.break_off(why);
        self.deaf = true;
        self.wake_all(batch);
    }

    /// Notes the wakers of all tasks that wait, so that they poll again.
    fn wake_all(&mut self, batch: &mut VecDeque<Waker>) {
        for (_, slot) in &mut self.table {
            if let State::UnderWay(waker) = &mut slot.state {
                batch.extend(waker.take());
            }
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// How many operations of files are under way; none if their completions are lost.
    pub(super) fn files(&self) -> usize {
        if self.deaf { 0 } else { self.reads + self.writes }
    }

    /// How many operations are under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }
}

impl Slot {
    /// Returns the duties after the operation completed with `result` and its future is gone.
    fn leftover(&mut self, result: i32) -> Leftover {
        let descriptor = (self.kind == Kind::Accept && result >= 0).then_some(result);
        let Some(Target { file, range, offset }) = self.write.take() else {
            return Leftover { descriptor, ..Leftover::default() };
        };
        // The thread that began it has ended (see `was_given_up`), or a signal came.
        let again = [Errno::CANCELED, Errno::FAULT, Errno::INTR].map(|code| -code.raw_os_error());
        let written = match usize::try_from(result) {
            Ok(count) => count,
            Err(_) if again.contains(&result) => 0,
            // An error: the rest would fail as well.
            Err(_) => range.len(),
        };
        let range = range.start + written..range.end;
        let offset = offset.map(|offset| offset + written as u64);
        // A file that takes no byte would not take the rest, either.
        if range.is_empty() || result == 0 {
            return Leftover { _file: Some(file), ..Leftover::default() };
        }
        let target = Target { file, range, offset };
        let unwritten = Unwritten { target, buffer: std::mem::take(&mut self.buffer) };
        Leftover { unwritten: Some(unwritten), ..Leftover::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Left, Leftover, Progress, Refused, Slots, Target, Unwritten};
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    fn insert(slots: &mut Slots, buffer: Vec<u8>, kind: Kind) -> Result<usize, Refused> {
        slots.insert(buffer, kind, None)
    }

    /// Returns the descriptor to close after the operation completed with `result`.
    fn unwanted(slots: &mut Slots, key: usize, result: i32) -> Option<i32> {
        slots.complete(key, result, &mut VecDeque::new()).unwrap().descriptor
    }

    fn poll(slots: &mut Slots, key: usize) -> Progress {
        slots.poll(key, Waker::noop(), &mut Some(Waker::noop().clone()))
    }

    #[test]
    fn a_result_comes_with_its_buffer() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let key = insert(&mut slots, vec![1, 2, 3], Kind::Transfer).unwrap();
        assert_eq!(poll(&mut slots, key), Progress::Pending);
        assert_eq!((slots.under_way(), slots.files(), slots.buffer(key).1), (1, 0, 3));
        assert!(slots.complete(key, 2, &mut batch).is_none());
        assert_eq!((batch.len(), slots.under_way()), (1, 0));
        assert_eq!(poll(&mut slots, key), Progress::Done(2, vec![1, 2, 3]));
    }

    #[test]
    fn wakers_come_and_go_as_values() {
        struct Deaf;
        impl Wake for Deaf {
            fn wake(self: Arc<Self>) {}
        }
        let mut slots = Slots::new(8);
        let key = insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap();
        let (one, other) = (Waker::from(Arc::new(Deaf)), Waker::from(Arc::new(Deaf)));
        let mut clone = None;
        assert_eq!(slots.poll(key, &one, &mut clone), Progress::WakerWanted);
        clone = Some(one.clone());
        assert_eq!(slots.poll(key, &one, &mut clone), Progress::Pending);
        assert!(clone.is_none(), "the slot has taken the clone");
        assert_eq!(slots.poll(key, &one, &mut clone), Progress::Pending);
        assert!(clone.is_none(), "the slot has a waker of this task already");
        assert_eq!(slots.poll(key, &other, &mut clone), Progress::WakerWanted);
        clone = Some(other.clone());
        assert_eq!(slots.poll(key, &other, &mut clone), Progress::Pending);
        assert!(clone.is_some_and(|old| old.will_wake(&one)), "to be dropped by the caller");
        let (left, waker) = slots.leave(key);
        assert!(matches!(left, Left::Cancel) && waker.is_some_and(|last| last.will_wake(&other)));
    }

    #[test]
    fn a_buffer_stays_until_the_system_is_done_with_it() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let key = insert(&mut slots, vec![0; 8], Kind::Write).unwrap();
        let address = slots.buffer(key).0;
        assert!(matches!(slots.leave(key).0, Left::UnderWay));
        let other = insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap();
        assert_ne!(other, key, "the slot is taken");
        assert_eq!(slots.buffer(key).0, address);
        assert_eq!(unwanted(&mut slots, key, 5), None);
        assert!(batch.is_empty());
        assert!(slots.complete(other, -4, &mut batch).is_none());
        assert!(matches!(slots.leave(other).0, Left::Done(_)));
        assert_eq!(slots.under_way(), 0);
    }

    #[test]
    fn a_descriptor_without_a_future_comes_back_to_be_closed() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let late = insert(&mut slots, Vec::new(), Kind::Accept).unwrap();
        assert!(matches!(slots.leave(late).0, Left::Cancel));
        assert_eq!(unwanted(&mut slots, late, 5), Some(5));
        let failed = insert(&mut slots, Vec::new(), Kind::Accept).unwrap();
        assert!(matches!(slots.leave(failed).0, Left::Cancel));
        assert_eq!(unwanted(&mut slots, failed, -24), None);
        let early = insert(&mut slots, Vec::new(), Kind::Accept).unwrap();
        assert!(slots.complete(early, 6, &mut batch).is_none());
        let (left, _) = slots.leave(early);
        assert!(matches!(left, Left::Done(Leftover { descriptor: Some(6), .. })));
    }

    #[test]
    fn a_name_is_taken_until_its_cancellation_is_answered() {
        let mut slots = Slots::new(8);
        // The operation completes before its cancellation is answered.
        let key = insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap();
        assert!(matches!(slots.leave(key).0, Left::Cancel));
        assert_eq!(unwanted(&mut slots, key, 8), None);
        assert_eq!(slots.under_way(), 0);
        let other = insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap();
        assert_ne!(other, key, "a cancellation with this name may be on its way");
        slots.cancelled(key);
        assert_eq!(insert(&mut slots, vec![0; 8], Kind::Transfer), Ok(key));
        // The cancellation is answered first.
        assert!(matches!(slots.leave(other).0, Left::Cancel));
        slots.cancelled(other);
        assert_ne!(
            insert(&mut slots, vec![0; 8], Kind::Transfer),
            Ok(other),
            "the operation goes on"
        );
        assert_eq!(unwanted(&mut slots, other, -125), None);
        assert_eq!(insert(&mut slots, vec![0; 8], Kind::Transfer), Ok(other));
    }

    #[test]
    fn the_unwritten_rest_of_a_write_comes_back() {
        let to = |range| {
            let file = Arc::new(std::fs::File::open("/dev/null").unwrap());
            Some(Target { file, range, offset: Some(100) })
        };
        let rest_after = |result| {
            let (mut slots, write) = (Slots::new(8), to(2..8));
            let key = slots.insert(vec![0; 10], Kind::Write, write).unwrap();
            assert!(matches!(slots.leave(key).0, Left::UnderWay));
            let leftover = slots.complete(key, result, &mut VecDeque::new()).unwrap();
            assert_eq!(slots.under_way(), 0);
            leftover.unwritten.map(|Unwritten { target, buffer }| {
                assert_eq!(buffer.len(), 10);
                (target.range, target.offset.unwrap())
            })
        };
        assert_eq!(rest_after(6), None);
        assert_eq!(rest_after(4), Some((6..8, 104)));
        assert_eq!(rest_after(0), None, "the file takes no more");
        assert_eq!(rest_after(-125), Some((2..8, 100)), "the thread that began it has ended");
        assert_eq!(
            rest_after(-14),
            Some((2..8, 100)),
            "that thread has ended while the write waited for a page"
        );
        assert_eq!(rest_after(-4), Some((2..8, 100)), "interrupted");
        assert_eq!(rest_after(-28), None, "an error, and no task is left to return it to");
        // The future goes after the system is done.
        let mut slots = Slots::new(8);
        let key = slots.insert(vec![0; 10], Kind::Write, to(0..10)).unwrap();
        assert!(slots.complete(key, -125, &mut VecDeque::new()).is_none());
        let (left, _) = slots.leave(key);
        assert!(matches!(left, Left::Done(Leftover { unwritten: Some(_), .. })));
    }

    #[test]
    fn possible_overflows_are_noted() {
        let (mut slots, mut batch) = (Slots::new(2), VecDeque::new());
        let keys: Vec<_> =
            (0..2).map(|_| insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap()).collect();
        assert!(!slots.is_crowded(), "there is room for both");
        assert!(matches!(slots.leave(keys[0]).0, Left::Cancel));
        assert!(slots.is_crowded(), "a cancellation completes, too");
        assert!(slots.complete(keys[1], 8, &mut batch).is_none());
        assert!(slots.is_crowded(), "the first completions may have overflowed");
        slots.settle();
        assert!(!slots.is_crowded());
        let late = insert(&mut slots, vec![0; 8], Kind::Transfer).unwrap();
        assert!(slots.is_crowded());
        drop(slots.take_back(late));
        slots.settle();
        assert!(!slots.is_crowded());
    }

    #[test]
    fn the_end_waits_for_all_and_cancels_all_but_writes() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let key = insert(&mut slots, vec![7], Kind::Transfer).unwrap();
        assert_eq!(poll(&mut slots, key), Progress::Pending);
        let writes = insert(&mut slots, vec![6], Kind::Write).unwrap();
        let reads = insert(&mut slots, vec![5], Kind::Read).unwrap();
        let accepts = insert(&mut slots, Vec::new(), Kind::Accept).unwrap();
        assert!(!slots.is_closed());
        assert_eq!((slots.close(), slots.is_closed()), (vec![key, reads, accepts], true));
        assert_eq!(slots.close(), [], "they are being cancelled");
        assert_eq!(slots.files(), 2);
        assert!(!slots.end(&mut batch), "all are waited for");
        assert!(slots.complete(writes, 1, &mut batch).is_none());
        assert!(slots.complete(accepts, -125, &mut batch).is_none());
        assert!(!slots.end(&mut batch), "two are waited for");
        assert!(matches!(slots.leave(reads).0, Left::UnderWay), "it is being cancelled");
        assert_eq!(unwanted(&mut slots, reads, -125), None);
        assert!(!slots.end(&mut batch), "one is waited for");
        assert!(slots.complete(key, -125, &mut batch).is_none());
        assert!(slots.end(&mut batch));
        assert_eq!(batch.len(), 1);
        assert_eq!(poll(&mut slots, key), Progress::Done(-125, vec![7]), "its buffer comes back");
        assert_eq!(insert(&mut slots, vec![8], Kind::Transfer), Err(Refused::Ended(vec![8])));
        assert_eq!(slots.under_way(), 0);
    }

    #[test]
    fn the_end_of_a_broken_ring_wakes_waiting_tasks() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let key = insert(&mut slots, vec![7], Kind::Transfer).unwrap();
        assert_eq!(poll(&mut slots, key), Progress::Pending);
        slots.break_off("forbidden");
        assert_eq!(slots.close(), [key]);
        slots.cancelled(key);
        assert!(slots.end(&mut batch));
        assert_eq!((batch.len(), poll(&mut slots, key)), (1, Progress::Ended));
        assert!(matches!(slots.leave(key).0, Left::Cancel));
        assert_eq!(slots.under_way(), 1, "the system may still write to it");
    }

    #[test]
    fn a_broken_ring_takes_nothing_and_completes_what_it_has() {
        let (mut slots, mut batch) = (Slots::new(8), VecDeque::new());
        let keys: Vec<_> =
            (0..2).map(|_| insert(&mut slots, vec![0; 8], Kind::Write).unwrap()).collect();
        slots.break_off("forbidden");
        slots.break_off("a consequence");
        assert_eq!(slots.why_broken(), Some("forbidden"));
        assert_eq!(insert(&mut slots, vec![8], Kind::Transfer), Err(Refused::Broken(vec![8])));
        assert_eq!(poll(&mut slots, keys[0]), Progress::Pending);
        assert!(slots.complete(keys[0], 8, &mut batch).is_none());
        assert_eq!(poll(&mut slots, keys[0]), Progress::Done(8, vec![0; 8]));
        assert_eq!(poll(&mut slots, keys[1]), Progress::Pending);
        assert!(!slots.end(&mut batch), "a write is waited for");
        slots.deafen("no completions", &mut batch);
        assert_eq!((batch.len(), poll(&mut slots, keys[1])), (2, Progress::Lost));
        assert!(matches!(slots.leave(keys[1]), (Left::UnderWay, None)));
        assert_eq!(slots.under_way(), 1, "the system may still read from it");
        assert!(slots.end(&mut batch), "no completion would announce its end");
        // A read that cannot be cancelled is not waited for.
        let mut slots = Slots::new(8);
        let reads = insert(&mut slots, vec![0; 8], Kind::Read).unwrap();
        slots.break_off("forbidden");
        assert_eq!(slots.close(), [reads]);
        slots.cancelled(reads);
        assert!(slots.end(&mut batch) && slots.under_way() == 1);
    }
}
