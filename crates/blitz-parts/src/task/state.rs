//! The word of a task: everything that threads have to agree on, in one place.

#[cfg(all(test, not(blitz_loom)))]
mod test;

use crate::barrier;
use crate::prim::{
    self, AcqRel, Acquire, AtomicU64, MODELLED, Ordering, Relaxed, Release, SeqCst, Step, Turns,
    broken, fence,
};
use core::fmt;
use std::io::Write;

/// One reference.
const REF: u64 = 1 << 40;
/// From here on the count is treated as an overflow. It is half of the range, so that no number of
/// threads can wrap the count between the check and the end of the process.
const REFS_HOPELESS: u64 = 1 << 63;
/// One shield.
const SHIELD: u64 = 1 << 32;
const SHIELDS: u64 = 0xff * SHIELD;

/// Woken during its own poll: polled again.
const NOTIFIED: u64 = 1 << 24;
/// To be cancelled as soon as no shield forbids it.
const CANCELLED: u64 = 1 << 25;
/// The join handle exists. Stays set if the task ends first.
const JOIN_INTEREST: u64 = 1 << 26;
/// The join handle has left a waker in the header.
const JOIN_WAKER: u64 = 1 << 27;
/// The task is in an owned list, which has a reference of its own. Stays set when the runner takes
/// the task out at its end.
const LINKED: u64 = 1 << 28;
/// To be cancelled even if shielded: the runtime is ending.
const KILLED: u64 = 1 << 29;
/// The task has ended without an output.
const FAILED: u64 = 1 << 30;

const IDLE: u64 = 0;
const SCHEDULED: u64 = 1 << 16;
const RUNNING: u64 = 2 << 16;
const COMPLETE: u64 = 3 << 16;
const LIFE: u64 = 0xff << 16;

/// Bits of the high half of the task's serial number.
const SERIAL_BITS: u32 = u16::BITS;

/// The word of a task that was never run, woken or aborted, without its serial number.
const NEW: u64 = SCHEDULED | JOIN_INTEREST | (2 * REF);
/// No task has this word: the model checker finds it in a task that was freed.
const FREED: u64 = !0;

/// The word, shared.
///
/// A method that gives up a reference takes `&self`, like the methods of an atomic: after its
/// exchange the method does not touch the state.
pub(super) struct State {
    word: AtomicU64,
    turns: Turns,
}

/// The word at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The task waits for a wake.
    Idle,
    /// The task is to be polled.
    Scheduled,
    /// The task is being polled, or its future is being dropped.
    Running,
    /// The task has ended.
    Complete,
}

/// A task at one moment, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its state.
    pub life: Life,
    /// References that may wake it: wakers, and `TaskRef`s except the caller's own. For a task that
    /// has ended the number may be too small.
    pub wakers: usize,
}

/// What the runner of a SCHEDULED task has to do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Poll it.
    Poll,
    /// Drop its future.
    Cancel,
}

/// What the runner of a task has to do when its poll has left it pending.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing. The run's reference is gone, and with it the right to touch the task.
    Idle,
    /// Put it into a queue again, with the run's reference.
    Again,
    /// Drop its future: the task is still RUNNING.
    Cancel,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// An output.
    Output,
    /// A panic or a cancellation.
    Failure,
}

/// What the runner of a task that has ended has to do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    /// Nothing: the join handle owns the outcome, and the runner's references are gone.
    Done,
    /// Wake the waker in the header, then release the one reference that is left.
    WakeJoin,
    /// The task is still RUNNING, and no handle wants the outcome: drop it, then complete without
    /// it.
    Unwanted,
}

/// What a waker or an abort has to do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// Nothing.
    Nothing,
    /// Put the task into a queue, with a reference that the exchange has made or passed on.
    Schedule,
    /// Free the task: that was the last reference.
    Free,
}

/// What the closer of a list has to do with a task in it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kill {
    /// Drop its future: the closer runs the task now, with the list's reference.
    Cancel,
    /// Nothing: the thread that has the task ends it.
    Left,
}

/// Whether an exchange of the join handle has succeeded.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinSlot {
    /// The exchange succeeded.
    Yes,
    /// The task has ended.
    Complete,
}

/// What the drop of the join handle has to do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Nothing: interest and reference are gone.
    Gone,
    /// Take the waker out of the header, then release the reference.
    TakeWaker,
    /// The task has ended: drop the outcome unless it was taken, then release the reference.
    Complete,
}

/// One attempt of an exchange: the word changes to the next value or stays, and the caller gets a
/// duty.
enum Next<D> {
    To(Word, D),
    Stay(D),
}

impl Word {
    /// Checks the value that an atomic access returned.
    #[inline(always)]
    fn seen(word: u64) -> Word {
        if MODELLED {
            assert_ne!(word & LIFE, FREED & LIFE, "a task is used after it was freed");
        }
        Word(word)
    }

    fn life(self) -> u64 {
        self.0 & LIFE
    }

    fn to(self, life: u64) -> Word {
        Word(self.0 & !LIFE | life)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn with(self, flags: u64) -> Word {
        Word(self.0 | flags)
    }

    fn without(self, flags: u64) -> Word {
        Word(self.0 & !flags)
    }

    /// The high half of the task's serial number.
    pub(super) fn serial(self) -> u16 {
        self.0 as u16
    }

    /// Returns the task as the holder of a `TaskRef` sees it.
    pub(super) fn glance(self) -> Glance {
        let life = match self.life() {
            IDLE => Life::Idle,
            SCHEDULED => Life::Scheduled,
            RUNNING => Life::Running,
            _ => Life::Complete,
        };
        // A queue entry or a run has a reference, and the caller has one, too.
        let entry = matches!(life, Life::Scheduled | Life::Running);
        let known =
            1 + u64::from(entry) + u64::from(self.is_linked()) + u64::from(self.is_wanted());
        Glance { life, wakers: self.refs().saturating_sub(known) as usize }
    }

    fn refs(self) -> u64 {
        self.0 / REF
    }

    fn one_more(self) -> Word {
        check_count(self);
        Word(self.0 + REF)
    }

    fn fewer(self, refs: u64) -> Word {
        debug_assert!(self.refs() >= refs, "more references released than there were");
        Word(self.0 - refs * REF)
    }

    pub(super) fn is_shielded(self) -> bool {
        self.has(SHIELDS)
    }

    /// Whether the task is in an owned list.
    pub(super) fn is_linked(self) -> bool {
        self.has(LINKED)
    }

    /// Whether the task was woken during its poll.
    pub(super) fn is_notified(self) -> bool {
        self.has(NOTIFIED)
    }

    /// Whether a poll comes anyway, or no poll comes any more.
    fn needs_no_wake(self) -> bool {
        match self.life() {
            SCHEDULED | COMPLETE => true,
            RUNNING => self.is_notified(),
            _ => false,
        }
    }

    /// Whether a handle waits for the output, or may.
    pub(super) fn is_wanted(self) -> bool {
        self.has(JOIN_INTEREST)
    }

    /// Whether the join handle's waker is in the header.
    pub(super) fn has_join_waker(self) -> bool {
        self.has(JOIN_WAKER)
    }

    /// Whether the task has ended.
    pub(super) fn is_complete(self) -> bool {
        self.life() == COMPLETE
    }

    /// How a COMPLETE task ended.
    pub(super) fn ended(self) -> Ended {
        if self.has(FAILED) { Ended::Failure } else { Ended::Output }
    }

    /// Whether the runner has to cancel the task.
    pub(super) fn cancel_is_due(self) -> bool {
        self.has(KILLED) || self.has(CANCELLED) && !self.is_shielded()
    }
}

impl State {
    /// SCHEDULED, with one reference for the queue and one for the join handle. `serial`: the high
    /// half of the task's serial number.
    #[inline]
    pub(super) fn new(serial: u16) -> State {
        State { word: AtomicU64::new(NEW | u64::from(serial)), turns: Turns::default() }
    }

    /// The word now.
    #[inline]
    pub(super) fn load(&self) -> Word {
        self.look(Acquire)
    }

    #[inline(always)]
    #[cfg_attr(blitz_loom, track_caller)]
    fn look(&self, order: Ordering) -> Word {
        self.turns.take();
        Word::seen(self.word.load(order))
    }

    /// Adds `sum`, which may wrap; returns the word before.
    #[inline(always)]
    #[cfg_attr(blitz_loom, track_caller)]
    fn add(&self, sum: u64, order: Ordering) -> Word {
        self.turns.take();
        Word::seen(self.word.fetch_add(sum, order))
    }

    /// Exchanges until `step` is satisfied.
    #[inline]
    #[cfg_attr(blitz_loom, track_caller)]
    fn exchange<D>(&self, order: Ordering, step: impl Fn(Word) -> Next<D>) -> D {
        let mut word = self.load();
        loop {
            match step(word) {
                Next::Stay(duty) => return duty,
                Next::To(next, duty) => {
                    self.turns.take();
                    match self.word.compare_exchange(word.0, next.0, order, Acquire) {
                        Ok(_) => return duty,
                        Err(now) => word = Word::seen(now),
                    }
                }
            }
        }
    }

    // Operations of the holder of the queue entry.

    /// SCHEDULED to RUNNING.
    #[inline]
    pub(super) fn start(&self) -> Start {
        let acquire = !broken(Step::TaskStartAcquire);
        let mut word = self.look(if acquire { Acquire } else { Relaxed }); // O1
        if word.refs() == 1 || broken(Step::TaskStartExchange) {
            // No other thread can reach the task.
            self.turns.take();
            self.word.store(word.to(RUNNING).0, Relaxed);
        } else {
            let order = if acquire { AcqRel } else { Release };
            word = self.add(RUNNING - SCHEDULED, order); // O1
            if !broken(Step::TaskStartFence) {
                barrier::after_exchange(); // O10
            }
        }
        debug_assert_eq!(word.life(), SCHEDULED, "only a scheduled task is run");
        if word.cancel_is_due() { Start::Cancel } else { Start::Poll }
    }

    /// RUNNING to IDLE, or SCHEDULED if the task was woken meanwhile, or has `yielded`.
    /// `newly_linked` says that the runner has just put the task into a list, which needs a
    /// reference.
    #[inline]
    pub(super) fn rest(&self, newly_linked: bool, yielded: bool) -> Rest {
        let order = if broken(Step::TaskRestRelease) { Acquire } else { AcqRel }; // O3
        self.exchange(order, |word| {
            if word.cancel_is_due() && !broken(Step::TaskRestCancels) {
                return Next::Stay(Rest::Cancel);
            }
            let listed = if newly_linked { word.with(LINKED).one_more() } else { word };
            if (word.is_notified() || yielded) && !broken(Step::TaskRestNotified) {
                Next::To(listed.to(SCHEDULED).without(NOTIFIED), Rest::Again)
            } else {
                debug_assert!(listed.is_linked(), "an idle task is in a list");
                Next::To(listed.to(IDLE).without(NOTIFIED).fewer(1), Rest::Idle)
            }
        })
    }

    /// RUNNING to COMPLETE with the outcome in its place; gives up `held` references.
    #[inline]
    pub(super) fn complete(&self, held: u64, with: Ended) -> Complete {
        let order = if broken(Step::TaskCompleteRelease) { Acquire } else { AcqRel }; // O4
        self.exchange(order, |word| {
            let flags = if with == Ended::Failure { FAILED } else { 0 };
            let ended = word.to(COMPLETE).with(flags);
            if !word.is_wanted() && !broken(Step::TaskCompleteUnwanted) {
                Next::Stay(Complete::Unwanted)
            } else if word.has_join_waker() && !broken(Step::TaskCompleteWakes) {
                Next::To(ended.fewer(held - 1), Complete::WakeJoin)
            } else {
                Next::To(ended.fewer(held), Complete::Done)
            }
        })
    }

    /// RUNNING to COMPLETE without an outcome, after the join handle has gone. Gives up `held`
    /// references and returns whether they were the last.
    #[inline]
    pub(super) fn complete_unwanted(&self, held: u64) -> bool {
        if self.load().refs() == held {
            return true; // O8
        }
        let ended = (COMPLETE - RUNNING).wrapping_sub(held * REF);
        self.add(ended, AcqRel).refs() == held // O7
    }

    // Operations of wakers and other references.

    /// Adds a reference.
    #[inline]
    pub(super) fn add_reference(&self) {
        check_count(self.add(REF, Relaxed)); // O9
    }

    /// Gives up a reference; returns whether it was the last.
    #[inline]
    pub(super) fn release(&self) -> bool {
        let last_look = if broken(Step::TaskFreeAcquire) { Relaxed } else { Acquire };
        if self.look(last_look).refs() == 1 {
            return true; // O8
        }
        let order = if broken(Step::TaskReleaseRelease) { Acquire } else { AcqRel };
        self.add(REF.wrapping_neg(), order).refs() == 1 // O7
    }

    /// A wake that keeps its reference.
    #[inline]
    pub(super) fn wake_by_ref(&self) -> Wake {
        if self.is_woken() {
            return Wake::Nothing;
        }
        self.exchange(AcqRel, |word| match word.life() {
            _ if broken(Step::TaskWakeShielded) && word.has(CANCELLED) => Next::Stay(Wake::Nothing),
            IDLE => Next::To(word.to(SCHEDULED).one_more(), Wake::Schedule),
            SCHEDULED if broken(Step::TaskWakeExchanges) => Next::Stay(Wake::Nothing),
            // The exchange changes nothing, but the next poll sees this thread's writes.
            SCHEDULED => Next::To(word, Wake::Nothing),
            RUNNING => Next::To(word.with(NOTIFIED), Wake::Nothing),
            _ => Next::Stay(Wake::Nothing),
        }) // O2
    }

    /// Whether a poll will come that sees this thread's writes, or no poll comes at all. So if many
    /// threads wake one task, most of them only read its word.
    #[inline]
    fn is_woken(&self) -> bool {
        if !self.look(Relaxed).needs_no_wake() {
            return false;
        }
        if !broken(Step::TaskWakeFence) {
            fence(SeqCst); // O10
        }
        // If a poll misses this thread's writes, its run began before the fence. Then this load
        // sees RUNNING.
        self.look(Relaxed).needs_no_wake()
    }

    /// A wake that consumes its reference.
    #[inline]
    pub(super) fn wake_by_value(&self) -> Wake {
        self.exchange(AcqRel, |word| match word.life() {
            IDLE => Next::To(word.to(SCHEDULED), Wake::Schedule),
            SCHEDULED => Next::To(word.fewer(1), Wake::Nothing),
            RUNNING => Next::To(word.with(NOTIFIED).fewer(1), Wake::Nothing),
            _ if word.refs() == 1 => Next::Stay(Wake::Free), // O8
            _ => Next::To(word.fewer(1), Wake::Nothing),     // O7
        }) // O2
    }

    /// Asks for the task to be cancelled.
    pub(super) fn abort(&self) -> Wake {
        self.exchange(AcqRel, |word| {
            let asked = word.with(CANCELLED);
            match word.life() {
                COMPLETE => Next::Stay(Wake::Nothing),
                IDLE if !word.is_shielded() && !broken(Step::TaskAbortSchedules) => {
                    Next::To(asked.to(SCHEDULED).one_more(), Wake::Schedule)
                }
                RUNNING if !word.is_shielded() => Next::To(asked.with(NOTIFIED), Wake::Nothing),
                _ => Next::To(asked, Wake::Nothing),
            }
        }) // O2
    }

    /// Adds a shield; returns whether there was room.
    pub(super) fn add_shield(&self) -> bool {
        // O11
        self.exchange(Relaxed, |word| match word.0 & SHIELDS {
            SHIELDS => Next::Stay(false),
            _ => Next::To(Word(word.0 + SHIELD), true),
        })
    }

    /// Removes a shield. Returns `None` if there was none.
    pub(super) fn remove_shield(&self) -> Option<Wake> {
        self.exchange(AcqRel, |word| {
            if !word.is_shielded() {
                return Next::Stay(None);
            }
            let less = Word(word.0 - SHIELD);
            let due = less.cancel_is_due() && !broken(Step::TaskUnshieldSchedules);
            if less.life() == IDLE && due {
                Next::To(less.to(SCHEDULED).one_more(), Some(Wake::Schedule))
            } else {
                Next::To(less, Some(Wake::Nothing))
            }
        }) // O2
    }

    /// Makes an idle task RUNNING for the closer of its list, and marks any other task.
    pub(super) fn kill(&self) -> Kill {
        self.exchange(AcqRel, |word| match word.life() {
            IDLE => Next::To(word.to(RUNNING).without(LINKED), Kill::Cancel), // O1
            _ if broken(Step::TaskKillMarks) => Next::Stay(Kill::Left),
            _ => Next::To(word.with(KILLED), Kill::Left),
        })
    }

    // Operations of the join handle.

    /// Whether the task has ended, and its outcome can be taken.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        let order = if broken(Step::TaskJoinAcquire) { Relaxed } else { Acquire }; // O5
        self.look(order).is_complete()
    }

    /// Announces that a waker is in the header, unless the task has ended.
    pub(super) fn set_join_waker(&self) -> JoinSlot {
        let order = if broken(Step::TaskJoinWakerRelease) { Acquire } else { AcqRel }; // O6
        self.exchange(order, |word| match word.life() {
            COMPLETE if broken(Step::TaskJoinSeesEnd) => Next::Stay(JoinSlot::Yes),
            COMPLETE => Next::Stay(JoinSlot::Complete), // O5
            _ => Next::To(word.with(JOIN_WAKER), JoinSlot::Yes),
        })
    }

    /// Takes the place of the waker back, unless the task has ended.
    pub(super) fn unset_join_waker(&self) -> JoinSlot {
        if broken(Step::TaskJoinTakesBack) {
            return JoinSlot::Yes;
        }
        // O11
        self.exchange(Relaxed, |word| match word.life() {
            COMPLETE => Next::Stay(JoinSlot::Complete), // O5
            _ => Next::To(word.without(JOIN_WAKER), JoinSlot::Yes),
        })
    }

    /// Drops the join handle of a task to which nothing has happened yet. Returns false if
    /// something has.
    #[inline]
    pub(super) fn leave_new(&self) -> bool {
        let word = self.look(Relaxed);
        // Without the serial number, the word of a new task fits into an instruction.
        if word.0 >> SERIAL_BITS != NEW >> SERIAL_BITS {
            return false;
        }
        // One subtraction instead of a mask for each change.
        let left = word.0 - (JOIN_INTEREST + REF);
        self.turns.take();
        self.word.compare_exchange(word.0, left, AcqRel, Relaxed).is_ok() // O7
    }

    /// Drops the join handle.
    pub(super) fn leave(&self) -> Leave {
        self.exchange(AcqRel, |word| {
            let left = word.without(JOIN_INTEREST | JOIN_WAKER);
            match word.life() {
                COMPLETE => Next::Stay(Leave::Complete), // O5
                _ if word.has_join_waker() => Next::To(left, Leave::TakeWaker),
                _ => Next::To(left.fewer(1), Leave::Gone), // O7
            }
        })
    }

    /// Poisons the word of a task that is about to be freed.
    pub(super) fn poison(&mut self) {
        prim::poison(&mut self.word, FREED);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = match self.glance().life {
            Life::Idle => "IDLE",
            Life::Scheduled => "SCHEDULED",
            Life::Running => "RUNNING",
            Life::Complete => "COMPLETE",
        };
        f.write_str(life)?;
        let flags = [
            (NOTIFIED, "NOTIFIED"),
            (CANCELLED, "CANCELLED"),
            (JOIN_INTEREST, "JOIN_INTEREST"),
            (JOIN_WAKER, "JOIN_WAKER"),
            (LINKED, "LINKED"),
            (KILLED, "KILLED"),
            (FAILED, "FAILED"),
        ];
        for (flag, name) in flags {
            if self.has(flag) {
                write!(f, " {name}")?;
            }
        }
        write!(f, " shields {} references {}", (self.0 & SHIELDS) / SHIELD, self.refs())
    }
}

/// Ends the process when references are leaked by the million, before their count can wrap.
#[inline]
fn check_count(before: Word) {
    if before.0 >= REFS_HOPELESS {
        too_many_references();
    }
}

/// Prints why the process ends, without allocating, and ends it. A panic is not possible: the extra
/// reference has been counted, and its holder may be a `Waker`, whose clone must not unwind.
#[cold]
#[inline(never)]
fn too_many_references() -> ! {
    const WHY: &str = "blitz: a task has more than 8,388,608 references: its wakers or abort \
                       handles are kept or leaked by the million; aborting\n";
    const { assert!(REFS_HOPELESS / REF == 8_388_608) };
    // A failed write changes nothing: the process ends either way.
    let _ = std::io::stderr().write_all(WHY.as_bytes());
    std::process::abort();
}
