//! The word of a task: everything that two threads can disagree about, in one place.

use crate::prim::{AcqRel, Acquire, AtomicU64, Relaxed};
use core::fmt;

/// One reference.
const REF: u64 = 1 << 40;
/// From here on counting is hopeless: half of the range, so that no crowd of threads can wrap the count
/// between the check and the end of the process.
const REFS_HOPELESS: u64 = 1 << 63;
/// One shield.
const SHIELD: u64 = 1 << 32;
const SHIELDS: u64 = 0xff * SHIELD;

/// Woken during its own poll: polled again.
const NOTIFIED: u64 = 1 << 24;
/// To be cancelled as soon as no shield forbids it.
const CANCELLED: u64 = 1 << 25;
/// The join handle exists and has not seen the task's end.
const JOIN_INTEREST: u64 = 1 << 26;
/// The join handle has left a waker in the header.
const JOIN_WAKER: u64 = 1 << 27;
/// The task is in an owned list, which has a reference of its own.
const LINKED: u64 = 1 << 28;
/// To be cancelled whatever the shields: whoever runs tasks is going away.
const KILLED: u64 = 1 << 29;

const IDLE: u64 = 0;
const SCHEDULED: u64 = 1 << 16;
const RUNNING: u64 = 2 << 16;
const COMPLETE: u64 = 3 << 16;
const LIFE: u64 = 0xff << 16;

/// The word, shared.
///
/// A method that gives up a reference takes `&self` as the methods of an atomic do: after the exchange
/// nothing is touched.
#[repr(transparent)]
pub(super) struct State(AtomicU64);

/// The word at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

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

/// What remains of a task that has ended, for its runner.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    /// Nothing: the output is the join handle's, and the runner's references are gone.
    Done,
    /// Wake the waker in the header, then release the one reference that is left.
    WakeJoin,
    /// The task is still RUNNING, and nobody wants the output: drop it, then complete without it.
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
    /// Nothing: whoever has it will.
    Left,
}

/// What the join handle has to do.
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
    /// The task has ended: drop the output unless it was taken, then release the reference.
    Complete,
}

/// One attempt of an exchange: the next value with what it obliges to, or none.
enum Next<D> {
    To(Word, D),
    Stay(D),
}

impl Word {
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

    fn is_shielded(self) -> bool {
        self.has(SHIELDS)
    }

    /// Whether the task is complete.
    pub(super) fn is_complete(self) -> bool {
        self.life() == COMPLETE
    }

    /// Whether the task is in an owned list.
    pub(super) fn is_linked(self) -> bool {
        self.has(LINKED)
    }

    /// Whether the task was woken during its poll.
    pub(super) fn is_notified(self) -> bool {
        self.has(NOTIFIED)
    }

    /// Whether somebody waits for the output, or may.
    pub(super) fn is_wanted(self) -> bool {
        self.has(JOIN_INTEREST)
    }

    /// Whether the join handle's waker is in the header.
    pub(super) fn has_join_waker(self) -> bool {
        self.has(JOIN_WAKER)
    }

    /// Whether whoever runs the task has to cancel it.
    pub(super) fn cancel_is_due(self) -> bool {
        self.has(KILLED) || self.has(CANCELLED) && !self.is_shielded()
    }
}

impl State {
    /// SCHEDULED, with one reference for the queue and one for the join handle.
    pub(super) fn new() -> State {
        State(AtomicU64::new(SCHEDULED | JOIN_INTEREST | (2 * REF)))
    }

    /// The word now.
    #[inline]
    pub(super) fn load(&self) -> Word {
        Word(self.0.load(Acquire))
    }

    /// Exchanges until `step` is satisfied.
    #[inline]
    fn exchange<D>(&self, step: impl Fn(Word) -> Next<D>) -> D {
        let mut word = self.load();
        loop {
            match step(word) {
                Next::Stay(duty) => return duty,
                Next::To(next, duty) => {
                    match self.0.compare_exchange(word.0, next.0, AcqRel, Acquire) {
                        Ok(_) => return duty,
                        Err(now) => word = Word(now),
                    }
                }
            }
        }
    }

    // What the holder of a queue entry does.

    /// SCHEDULED to RUNNING.
    #[inline]
    pub(super) fn start(&self) -> Start {
        let mut word = self.load();
        if word.refs() == 1 {
            // Nobody else can reach the task.
            self.0.store(word.to(RUNNING).0, Relaxed);
        } else {
            word = Word(self.0.fetch_add(RUNNING - SCHEDULED, AcqRel));
        }
        debug_assert_eq!(word.life(), SCHEDULED, "only a scheduled task is run");
        if word.cancel_is_due() { Start::Cancel } else { Start::Poll }
    }

    /// RUNNING to IDLE, or SCHEDULED if the task was woken meanwhile. `newly_linked` says that the runner
    /// has just put the task into a list, which needs a reference.
    #[inline]
    pub(super) fn rest(&self, newly_linked: bool) -> Rest {
        self.exchange(|word| {
            if word.cancel_is_due() {
                return Next::Stay(Rest::Cancel);
            }
            let listed = if newly_linked { word.with(LINKED).one_more() } else { word };
            if word.is_notified() {
                Next::To(listed.to(SCHEDULED).without(NOTIFIED), Rest::Again)
            } else {
                debug_assert!(listed.is_linked(), "an idle task is in a list");
                Next::To(listed.to(IDLE).fewer(1), Rest::Idle)
            }
        })
    }

    /// RUNNING to COMPLETE with the output in its place; gives up `held` references.
    #[inline]
    pub(super) fn complete(&self, held: u64) -> Complete {
        self.exchange(|word| {
            if !word.is_wanted() {
                return Next::Stay(Complete::Unwanted);
            }
            let ended = word.to(COMPLETE).without(LINKED);
            if word.has(JOIN_WAKER) {
                Next::To(ended.fewer(held - 1), Complete::WakeJoin)
            } else {
                Next::To(ended.fewer(held), Complete::Done)
            }
        })
    }

    /// RUNNING to COMPLETE without an output, after the join handle has gone. Gives up `held` references
    /// and says whether they were the last.
    #[inline]
    pub(super) fn complete_unwanted(&self, held: u64) -> bool {
        if self.load().refs() == held {
            return true;
        }
        let ended = (COMPLETE - RUNNING).wrapping_sub(held * REF);
        Word(self.0.fetch_add(ended, AcqRel)).refs() == held
    }

    // What wakers and other references do.

    /// One reference more.
    #[inline]
    pub(super) fn add_reference(&self) {
        check_count(Word(self.0.fetch_add(REF, Relaxed)));
    }

    /// One reference less; says whether it was the last.
    #[inline]
    pub(super) fn release(&self) -> bool {
        if self.load().refs() == 1 {
            return true;
        }
        Word(self.0.fetch_sub(REF, AcqRel)).refs() == 1
    }

    /// A wake that keeps its reference.
    #[inline]
    pub(super) fn wake_by_ref(&self) -> Wake {
        self.exchange(|word| match word.life() {
            IDLE => Next::To(word.to(SCHEDULED).one_more(), Wake::Schedule),
            // The exchange changes nothing, but the next poll sees what this thread has written.
            SCHEDULED => Next::To(word, Wake::Nothing),
            RUNNING => Next::To(word.with(NOTIFIED), Wake::Nothing),
            _ => Next::Stay(Wake::Nothing),
        })
    }

    /// A wake that uses its reference up.
    #[inline]
    pub(super) fn wake_by_value(&self) -> Wake {
        self.exchange(|word| match word.life() {
            IDLE => Next::To(word.to(SCHEDULED), Wake::Schedule),
            SCHEDULED => Next::To(word.fewer(1), Wake::Nothing),
            RUNNING => Next::To(word.with(NOTIFIED).fewer(1), Wake::Nothing),
            _ if word.refs() == 1 => Next::Stay(Wake::Free),
            _ => Next::To(word.fewer(1), Wake::Nothing),
        })
    }

    /// Asks for the task to be cancelled.
    pub(super) fn abort(&self) -> Wake {
        self.exchange(|word| {
            let asked = word.with(CANCELLED);
            match word.life() {
                COMPLETE => Next::Stay(Wake::Nothing),
                IDLE if !word.is_shielded() => {
                    Next::To(asked.to(SCHEDULED).one_more(), Wake::Schedule)
                }
                RUNNING if !word.is_shielded() => Next::To(asked.with(NOTIFIED), Wake::Nothing),
                _ => Next::To(asked, Wake::Nothing),
            }
        })
    }

    /// One shield more; says whether there was room.
    pub(super) fn add_shield(&self) -> bool {
        self.exchange(|word| match word.0 & SHIELDS {
            SHIELDS => Next::Stay(false),
            _ => Next::To(Word(word.0 + SHIELD), true),
        })
    }

    /// One shield less. `None`: there was none.
    pub(super) fn remove_shield(&self) -> Option<Wake> {
        self.exchange(|word| {
            if !word.is_shielded() {
                return Next::Stay(None);
            }
            let less = Word(word.0 - SHIELD);
            if less.life() == IDLE && less.cancel_is_due() {
                Next::To(less.to(SCHEDULED).one_more(), Some(Wake::Schedule))
            } else {
                Next::To(less, Some(Wake::Nothing))
            }
        })
    }

    /// What the closer of the list does to a task in it.
    pub(super) fn kill(&self) -> Kill {
        self.exchange(|word| match word.life() {
            IDLE => Next::To(word.to(RUNNING).without(LINKED), Kill::Cancel),
            _ => Next::To(word.with(KILLED | CANCELLED), Kill::Left),
        })
    }

    // What the join handle does.

    /// Says that a waker is in the header, unless the task has ended.
    pub(super) fn set_join_waker(&self) -> JoinSlot {
        self.exchange(|word| match word.life() {
            COMPLETE => Next::Stay(JoinSlot::Complete),
            _ => Next::To(word.with(JOIN_WAKER), JoinSlot::Yes),
        })
    }

    /// Takes the place of the waker back, unless the task has ended.
    pub(super) fn unset_join_waker(&self) -> JoinSlot {
        self.exchange(|word| match word.life() {
            COMPLETE => Next::Stay(JoinSlot::Complete),
            _ => Next::To(word.without(JOIN_WAKER), JoinSlot::Yes),
        })
    }

    /// The join handle goes.
    #[inline]
    pub(super) fn leave(&self) -> Leave {
        self.exchange(|word| {
            let left = word.without(JOIN_INTEREST | JOIN_WAKER);
            match word.life() {
                COMPLETE => Next::Stay(Leave::Complete),
                _ if word.has(JOIN_WAKER) => Next::To(left, Leave::TakeWaker),
                _ => Next::To(left.fewer(1), Leave::Gone),
            }
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let life = match self.life() {
            IDLE => "IDLE",
            SCHEDULED => "SCHEDULED",
            RUNNING => "RUNNING",
            _ => "COMPLETE",
        };
        f.write_str(life)?;
        let flags = [
            (NOTIFIED, "NOTIFIED"),
            (CANCELLED, "CANCELLED"),
            (JOIN_INTEREST, "JOIN_INTEREST"),
            (JOIN_WAKER, "JOIN_WAKER"),
            (LINKED, "LINKED"),
            (KILLED, "KILLED"),
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
        std::process::abort();
    }
}
