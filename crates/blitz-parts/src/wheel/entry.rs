//! One timer. It lies in the sleeping future, and the wheel points to it.

use super::Wheel;
use super::levels::Node;
use crate::prim::{Acquire, AtomicU32, Relaxed, Release, Step, Witness, broken, model_has_failed};
use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomPinned;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::Waker;
use std::fmt;

const IDLE: u32 = 0;
const WAITING: u32 = 1;
const FIRED: u32 = 2;
const CLOSED: u32 = 3;

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The entry is in no wheel.
    No,
    /// The entry is in a wheel.
    Yes,
    /// The entry's time has come.
    Fired,
    /// The entry's wheel was closed before the entry's time came.
    Closed,
}

/// A timer, in a wheel or not. Dropping it takes it out of its wheel.
pub struct Entry {
    state: AtomicU32,
    /// The wheel that the entry is in, or was in last. Only the owner uses this field.
    wheel: Cell<Option<&'static Wheel>>,
    node: UnsafeCell<Node>,
    witness: Witness,
    /// The wheel points to the entry.
    _pinned: PhantomPinned,
}

// SAFETY: the wheel, the node and the waker in it may go to any thread; the state says which thread
// may touch them (WHEEL-4, WHEEL-6).
unsafe impl Send for Entry {}
// SAFETY: public methods with `&self` only read the state.
unsafe impl Sync for Entry {}

impl Entry {
    /// A timer in no wheel.
    #[inline]
    pub fn new() -> Entry {
        Entry {
            state: AtomicU32::new(IDLE),
            wheel: Cell::new(None),
            node: UnsafeCell::new(Node::new()),
            witness: Witness::default(),
            _pinned: PhantomPinned,
        }
    }

    /// The state of the entry now. A fired entry stays fired until its owner resets or cancels it.
    #[inline]
    pub fn state(&self) -> Waiting {
        // O3
        match self.state.load(Acquire) {
            IDLE => Waiting::No,
            WAITING => Waiting::Yes,
            FIRED => Waiting::Fired,
            _ => Waiting::Closed,
        }
    }

    /// As [`Entry::state`]; if the entry waits, `waker` replaces the entry's waker.
    pub fn poll(self: Pin<&mut Self>, waker: &Waker) -> Waiting {
        let mut state = self.state();
        if state == Waiting::Yes {
            let entry = self.as_ref().get_ref();
            let mut newer = None;
            // Most often the waker is the same. Cloning a waker runs foreign code, so it happens
            // without the lock.
            let same = entry
                .while_waiting(|node| node.waker.as_ref().is_some_and(|old| old.will_wake(waker)));
            if same == Some(false) {
                newer = Some(waker.clone());
                entry.while_waiting(|node| core::mem::swap(&mut node.waker, &mut newer));
            }
            state = self.state();
            drop(newer);
        }
        state
    }

    /// Takes the entry out of its wheel, if it is in one. Afterwards the entry is idle.
    #[inline]
    pub fn cancel(self: Pin<&mut Self>) {
        self.as_ref().get_ref().leave();
    }

    /// If the entry waits, makes it wait until `tick`, in the same wheel and with the same waker,
    /// and returns true. Otherwise makes the entry idle, and returns false.
    pub fn reset(self: Pin<&mut Self>, tick: u64) -> bool {
        let entry = self.as_ref().get_ref();
        let moved = entry.in_wheel(|wheel, timers| {
            // SAFETY: the entry is in a slot of this wheel, whose lock is held.
            unsafe { timers.levels.unlink(NonNull::from(entry)) };
            // SAFETY: it is in no slot now, and the lock is still held.
            unsafe { wheel.place(timers, NonNull::from(entry), tick) }
        });
        match moved {
            Some(earlier) => {
                earlier.tell();
                true
            }
            None => {
                entry.leave();
                false
            }
        }
    }

    /// Marks the idle entry as waiting in `wheel`. The caller is its owner and holds the wheel's
    /// lock.
    #[inline]
    pub(super) fn begin(&self, wheel: &'static Wheel, waker: Waker) -> NonNull<Entry> {
        self.wheel.set(Some(wheel));
        // SAFETY: the entry is idle, so only the owner uses the node.
        unsafe { self.node() }.waker = Some(waker);
        self.state.store(WAITING, Relaxed); // O4
        NonNull::from(self)
    }

    /// Calls `f` with the node, if the entry waits.
    fn while_waiting<R>(&self, f: impl FnOnce(&mut Node) -> R) -> Option<R> {
        self.in_wheel(|_, _| {
            // SAFETY: the entry waits, and the lock is held.
            f(unsafe { self.node() })
        })
    }

    /// Calls `f` under the wheel's lock, if the entry waits then.
    #[inline]
    fn in_wheel<R>(&self, f: impl FnOnce(&'static Wheel, &mut super::Timers) -> R) -> Option<R> {
        // O3: unless the entry waits, no other thread touches it, and no lock is needed.
        if self.state() != Waiting::Yes {
            return None;
        }
        let wheel = self.wheel.get()?;
        let mut timers = wheel.lock();
        // The driver may have fired the entry before this thread got the lock.
        let waits = self.state.load(Relaxed) == WAITING || broken(Step::WheelLookAgain); // O4
        waits.then(|| f(wheel, &mut timers))
    }

    #[inline]
    fn leave(&self) {
        let waker = self.in_wheel(|_, timers| {
            // SAFETY: the entry is in a slot of this wheel, whose lock is held.
            unsafe { timers.levels.unlink(NonNull::from(self)) };
            self.state.store(IDLE, Relaxed); // O4
            // SAFETY: the lock is held.
            unsafe { self.node() }.waker.take()
        });
        if waker.is_none() {
            self.state.store(IDLE, Relaxed); // O4
        }
    }

    /// The node.
    ///
    /// # Safety
    /// 1. The entry's state allows the caller to use the node, and the caller has no other
    ///    reference to it.
    #[expect(clippy::mut_from_ref, reason = "the state says which thread may use it")]
    #[inline]
    pub(super) unsafe fn node(&self) -> &mut Node {
        self.witness.write();
        // SAFETY: obligation 1.
        unsafe { &mut *self.node.get() }
    }

    /// The driver's last access: the entry has left its slot and its waker is taken.
    ///
    /// # Safety
    /// 1. The entry waited until now, and the lock is held. Afterwards the entry may be gone.
    pub(super) unsafe fn finish(entry: NonNull<Entry>, closed: bool) {
        let order = if broken(Step::WheelFireRelease) { Relaxed } else { Release };
        // SAFETY: obligation 1: the owner takes the entry out under the lock before it drops it.
        let state = unsafe { &(*entry.as_ptr()).state };
        state.store(if closed { CLOSED } else { FIRED }, order); // O2
    }
}

impl Default for Entry {
    fn default() -> Entry {
        Entry::new()
    }
}

impl Drop for Entry {
    #[inline]
    fn drop(&mut self) {
        if !model_has_failed() {
            self.leave();
            self.witness.write();
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.state()).finish()
    }
}
