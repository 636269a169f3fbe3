//! A lane with one writer.

use super::event::Event;
use crate::prim::{
    Acquire, AtomicPtr, AtomicU64, MODELLED, Relaxed, Release, Step, Turns, broken, fence,
};
use core::ptr::null_mut;
use std::alloc::{Layout, alloc_zeroed, dealloc};

/// The newest events of one writer.
#[derive(Debug)]
pub struct Lane {
    slots: Slots<Slot>,
    head: AtomicU64,
    turns: Turns,
}

/// The two words of an event.
type Slot = [AtomicU64; 2];

/// The events that a reader found in a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The oldest first.
    pub events: Vec<Event>,
    /// How many events there ever were, including those that are not among `events` and those that
    /// were lost.
    pub recorded: u64,
    /// How many events were dropped instead of recorded.
    pub lost: u64,
}

impl Lane {
    /// Creates an empty lane. It allocates at most `bytes` when it is first used.
    pub fn new(bytes: usize) -> Lane {
        Lane { slots: Slots::new(bytes), head: AtomicU64::new(0), turns: Turns::default() }
    }

    /// Records an event, in place of the oldest if the lane is full.
    ///
    /// Only one thread may call it at a time: otherwise events would be torn.
    #[inline]
    pub fn record(&self, event: Event) {
        if !self.is_on() {
            return;
        }
        let Some(slots) = self.slots.get_or_allocate() else { return };
        let head = self.head.load(Relaxed);
        let [first, second] = event.pack();
        let slot = &slots[self.slots.place(head)];
        if !broken(Step::RecorderEventFence) {
            fence(Release); // O1
        }
        slot[0].store(first, Relaxed);
        slot[1].store(second, Relaxed);
        let order = if broken(Step::RecorderHeadRelease) { Relaxed } else { Release };
        self.turns.take();
        self.head.store(head + 1, order); // O2
    }

    /// Whether events are kept at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.slots.is_on()
    }

    /// How many events were ever recorded, including overwritten ones.
    pub fn recorded(&self) -> u64 {
        self.head.load(Relaxed)
    }

    /// Copies the newest events, oldest first. The writer goes on meanwhile.
    pub fn read(&self) -> Snapshot {
        self.turns.take();
        let end = self.head.load(Acquire); // O3
        let Some(slots) = self.slots.get() else { return Snapshot::default() };
        let room = slots.len() as u64;
        let begin = end.saturating_sub(room);
        let copy = |index| {
            let slot = &slots[self.slots.place(index)];
            [slot[0].load(Relaxed), slot[1].load(Relaxed)]
        };
        let copies: Vec<_> = (begin..end).map(copy).collect();
        if !broken(Step::RecorderReadFence) {
            fence(Acquire); // O4
        }
        self.turns.take();
        let now = if broken(Step::RecorderSecondLook) { end } else { self.head.load(Relaxed) };
        // The writer may be writing the slot of event `now`.
        let whole = (now + 1).saturating_sub(room).max(begin);
        let torn = usize::try_from(whole - begin).unwrap_or(usize::MAX);
        let events = copies.into_iter().skip(torn).map(Event::unpack).collect();
        Snapshot { events, recorded: end, lost: 0 }
    }
}

/// A slot of a lane.
///
/// # Safety
/// 1. A slot whose bytes are all zero is [`empty`](Empty::empty), unless a model is checked.
pub(super) unsafe trait Empty {
    /// How many bytes a slot has, outside models.
    const BYTES: usize;

    fn empty() -> Self;
}

// SAFETY: a slot consists of two integers, and both are zero in an empty slot.
unsafe impl Empty for Slot {
    const BYTES: usize = 16;

    fn empty() -> Slot {
        [AtomicU64::new(0), AtomicU64::new(0)]
    }
}

/// Slots that are allocated when they are first used.
#[derive(Debug)]
pub(super) struct Slots<T: Empty> {
    first: AtomicPtr<T>,
    /// A power of two, or zero.
    len: usize,
}

impl<T: Empty> Slots<T> {
    pub(super) fn new(bytes: usize) -> Slots<T> {
        // No allocation is larger than `isize::MAX`.
        let most = bytes.min(isize::MAX as usize) / T::BYTES;
        let len = if most < 2 { 0 } else { 1 << most.ilog2() };
        Slots { first: AtomicPtr::new(null_mut()), len }
    }

    /// Whether there are slots, or will be.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.len > 0
    }

    /// Returns the slot of event `index`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the upper bits are cut off anyway")]
    pub(super) fn place(&self, index: u64) -> usize {
        index as usize & (self.len - 1)
    }

    /// The slots, if there are any yet.
    #[inline]
    pub(super) fn get(&self) -> Option<&[T]> {
        let first = self.first.load(Acquire); // O6
        // SAFETY: `allocate` has made `len` slots, and they stay until `self` is dropped.
        (!first.is_null()).then(|| unsafe { core::slice::from_raw_parts(first, self.len) })
    }

    /// The slots; `None` if there is no memory for them.
    #[inline]
    pub(super) fn get_or_allocate(&self) -> Option<&[T]> {
        self.get().or_else(|| self.allocate())
    }

    #[cold]
    fn allocate(&self) -> Option<&[T]> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: the length is not zero.
        let memory = unsafe { alloc_zeroed(self.layout()) }.cast::<T>();
        if memory.is_null() {
            // If memory is short, a missing trace does not matter.
            return None;
        }
        if MODELLED {
            for place in 0..self.len {
                // SAFETY: this thread owns the memory, which has room for `len` slots.
                unsafe { memory.wrapping_add(place).write(T::empty()) };
            }
        }
        // O5
        let before = self.first.compare_exchange(null_mut(), memory, Release, Relaxed);
        if before.is_err() {
            // SAFETY: no other thread has seen these slots.
            unsafe { self.free(memory) };
        }
        self.get()
    }

    fn layout(&self) -> Layout {
        match Layout::array::<T>(self.len) {
            Ok(layout) => layout,
            Err(_) => unreachable!("no machine has so much memory"),
        }
    }

    /// Frees slots.
    ///
    /// # Safety
    /// 1. They come from [`allocate`](Self::allocate), and no thread uses them any more.
    unsafe fn free(&self, first: *mut T) {
        if MODELLED {
            for place in 0..self.len {
                // SAFETY: obligation 1.
                unsafe { first.wrapping_add(place).drop_in_place() };
            }
        }
        // SAFETY: obligation 1.
        unsafe { dealloc(first.cast(), self.layout()) };
    }
}

impl<T: Empty> Drop for Slots<T> {
    fn drop(&mut self) {
        let first = self.first.load(Relaxed);
        if !first.is_null() {
            // SAFETY: no reference is left.
            unsafe { self.free(first) };
        }
    }
}
