//! The slots: where an entry is by its tick, and what is due next. All of it under the wheel's lock.

use super::entry::Entry;
use crate::tuning::WHEEL_LEVELS;
use core::ptr::NonNull;
use core::task::Waker;
use std::collections::VecDeque;

/// Bits of a tick that one level looks at: 64 slots, one bit of a word each.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;

/// What an entry is to its slot.
pub(super) struct Node {
    /// A slot's entries are a ring, the newest before the oldest. None while in no slot.
    links: Option<Links>,
    tick: u64,
    level: u8,
    slot: u8,
    pub(super) waker: Option<Waker>,
}

#[derive(Clone, Copy)]
struct Links {
    before: NonNull<Entry>,
    after: NonNull<Entry>,
}

impl Node {
    pub(super) const fn new() -> Node {
        Node { links: None, tick: 0, level: 0, slot: 0, waker: None }
    }
}

#[derive(Clone, Copy)]
struct Slot {
    /// The entry that has been here longest.
    oldest: Option<NonNull<Entry>>,
    /// No entry of this slot is due before.
    soonest: u64,
}

struct Level {
    /// Bit `s`: slot `s` has entries.
    in_use: u64,
    slots: [Slot; SLOTS],
}

pub(super) struct Levels {
    /// See WHEEL-5.
    elapsed: u64,
    /// Bit `l`: level `l` has entries.
    in_use: u16,
    levels: [Level; WHEEL_LEVELS],
}

// SAFETY: the entries that it points to may be touched by whoever holds the wheel's lock (WHEEL-4).
unsafe impl Send for Levels {}

/// The slot that is due first.
struct First {
    level: usize,
    slot: usize,
    /// When the slot begins.
    start: u64,
    soonest: u64,
}

impl Levels {
    pub(super) fn new() -> Levels {
        let slot = Slot { oldest: None, soonest: 0 };
        let level = || Level { in_use: 0, slots: [slot; SLOTS] };
        Levels { elapsed: 0, in_use: 0, levels: core::array::from_fn(|_| level()) }
    }

    /// Puts an entry into the slot of `tick`, behind those that are there.
    ///
    /// # Safety
    /// 1. The entry is in no slot, and stays where it is until it has left.
    /// 2. The wheel's lock is held.
    #[inline]
    pub(super) unsafe fn place(&mut self, entry: NonNull<Entry>, tick: u64) {
        // What is overdue goes where the wheel is.
        let tick = tick.max(self.elapsed);
        let digits = (tick ^ self.elapsed) | (SLOTS as u64 - 1);
        let level = ((u64::BITS - 1 - digits.leading_zeros()) / DIGIT) as usize;
        let slot = (tick >> (level as u32 * DIGIT)) as usize % SLOTS;
        self.in_use |= 1 << level;
        let in_level = &mut self.levels[level];
        let place = &mut in_level.slots[slot];
        let links = match place.oldest {
            None => {
                in_level.in_use |= 1 << slot;
                *place = Slot { oldest: Some(entry), soonest: tick };
                Links { before: entry, after: entry }
            }
            Some(oldest) => {
                place.soonest = place.soonest.min(tick);
                // SAFETY: it is in this slot, and the lock is held.
                let newest = unsafe { set_before(oldest, entry) };
                // SAFETY: as above.
                unsafe { set_after(newest, entry) };
                Links { before: newest, after: oldest }
            }
        };
        // SAFETY: obligations 1 and 2.
        let node = unsafe { node_of(entry) };
        node.links = Some(links);
        node.tick = tick;
        node.level = level as u8;
        node.slot = slot as u8;
    }

    /// Takes an entry out of its slot.
    ///
    /// # Safety
    /// 1. The entry is in a slot of this wheel.
    /// 2. The wheel's lock is held.
    #[inline]
    pub(super) unsafe fn unlink(&mut self, entry: NonNull<Entry>) {
        // SAFETY: obligations 1 and 2.
        let node = unsafe { node_of(entry) };
        let (level, slot) = (usize::from(node.level), usize::from(node.slot));
        let Some(links) = node.links.take() else { panic!("the timer is in no slot") };
        let in_level = &mut self.levels[level];
        if links.after == entry {
            in_level.slots[slot].oldest = None;
            in_level.in_use &= !(1 << slot);
            if in_level.in_use == 0 {
                self.in_use &= !(1 << level);
            }
            return;
        }
        if in_level.slots[slot].oldest == Some(entry) {
            in_level.slots[slot].oldest = Some(links.after);
        }
        // SAFETY: its neighbours are in the same slot, and the lock is held.
        unsafe { set_before(links.after, links.before) };
        // SAFETY: as above.
        unsafe { set_after(links.before, links.after) };
    }

    /// The first slot in use: that of the lowest level, for what is in a level comes before what is in those
    /// above; and there the lowest, for slots before `elapsed` are empty (WHEEL-5).
    fn first_slot(&self) -> Option<First> {
        if self.in_use == 0 {
            return None;
        }
        let level = self.in_use.trailing_zeros() as usize;
        let in_level = &self.levels[level];
        let slot = in_level.in_use.trailing_zeros() as usize;
        let shift = level as u32 * DIGIT;
        let above = self.elapsed.checked_shr(shift + DIGIT).unwrap_or(0);
        let start = above.checked_shl(shift + DIGIT).unwrap_or(0) | (slot as u64) << shift;
        Some(First { level, slot, start, soonest: in_level.slots[slot].soonest })
    }

    /// When something is due, at the earliest.
    pub(super) fn first(&self) -> Option<u64> {
        self.first_slot().map(|first| first.soonest)
    }

    /// When something is due.
    pub(super) fn next(&self) -> Option<u64> {
        let first = self.first_slot()?;
        let oldest = self.levels[first.level].slots[first.slot].oldest?;
        let mut next = u64::MAX;
        let mut entry = oldest;
        loop {
            // SAFETY: it is in this slot; callers hold the lock.
            let node = unsafe { node_of(entry) };
            next = next.min(node.tick);
            match &node.links {
                // Those of a slot of the lowest level are all due at once.
                Some(links) if links.after != oldest && first.level > 0 => entry = links.after,
                _ => return Some(next),
            }
        }
    }

    /// The wheel is at `now`, or as far as it can be without moving entries.
    #[inline]
    pub(super) fn forward(&mut self, now: u64) {
        if now > self.elapsed {
            let limit = self.first_slot().map_or(u64::MAX, |first| first.start.saturating_sub(1));
            self.elapsed = self.elapsed.max(limit.min(now));
        }
    }

    /// See [`Wheel::expire`](super::Wheel::expire).
    pub(super) fn expire(&mut self, now: u64, max: usize, fired: &mut VecDeque<Waker>) -> bool {
        let mut left = max;
        while let Some(first) = self.first_slot().filter(|first| first.soonest <= now) {
            // What is left in the slot is due from `soonest` on, and what is in others later.
            self.elapsed = self.elapsed.max(first.soonest);
            while let Some(entry) = self.levels[first.level].slots[first.slot].oldest {
                if first.level > 0 {
                    // SAFETY: it is in this slot; callers hold the lock.
                    unsafe { self.unlink(entry) };
                    // SAFETY: it waits; callers hold the lock.
                    let tick = unsafe { node_of(entry) }.tick;
                    // SAFETY: it is in no slot now; callers hold the lock.
                    unsafe { self.place(entry, tick) };
                } else if left > 0 {
                    left -= 1;
                    // SAFETY: it is in this slot; callers hold the lock.
                    fired.extend(unsafe { self.finish(entry, false) });
                } else {
                    return true;
                }
            }
        }
        self.forward(now);
        false
    }

    /// Moves the wakers of all entries to `woken`.
    pub(super) fn close(&mut self, woken: &mut VecDeque<Waker>) {
        while let Some(first) = self.first_slot() {
            while let Some(entry) = self.levels[first.level].slots[first.slot].oldest {
                // SAFETY: it is in this slot; callers hold the lock.
                woken.extend(unsafe { self.finish(entry, true) });
            }
        }
        self.elapsed = 0;
    }

    /// Takes an entry out of its slot and leaves it to its owner.
    ///
    /// # Safety
    /// 1. The entry is in a slot of this wheel.
    /// 2. The wheel's lock is held.
    unsafe fn finish(&mut self, entry: NonNull<Entry>, closed: bool) -> Option<Waker> {
        // SAFETY: obligations 1 and 2.
        unsafe { self.unlink(entry) };
        // SAFETY: it waits still, and obligation 2.
        let waker = unsafe { node_of(entry) }.waker.take();
        // SAFETY: as above, and nothing here touches it any more.
        unsafe { Entry::finish(entry, closed) };
        waker
    }
}

/// What an entry is to its slot.
///
/// # Safety
/// 1. The entry waits, and the wheel's lock is held.
/// 2. The caller has no other reference to the node, and forgets this one before it gives the lock back.
unsafe fn node_of<'a>(entry: NonNull<Entry>) -> &'a mut Node {
    // SAFETY: obligation 1: its owner takes it out under the lock before it drops it.
    let entry = unsafe { &*entry.as_ptr() };
    // SAFETY: obligations 1 and 2.
    unsafe { entry.node() }
}

/// Makes `before` the one before `entry`; returns the one that was.
///
/// # Safety
/// 1. `entry` is in a slot, and the wheel's lock is held.
unsafe fn set_before(entry: NonNull<Entry>, before: NonNull<Entry>) -> NonNull<Entry> {
    // SAFETY: obligation 1.
    let node = unsafe { node_of(entry) };
    match &mut node.links {
        Some(links) => core::mem::replace(&mut links.before, before),
        None => unreachable!("what is in a slot has neighbours"),
    }
}

/// Makes `after` the one after `entry`.
///
/// # Safety
/// 1. `entry` is in a slot, and the wheel's lock is held.
unsafe fn set_after(entry: NonNull<Entry>, after: NonNull<Entry>) {
    // SAFETY: obligation 1.
    let node = unsafe { node_of(entry) };
    match &mut node.links {
        Some(links) => links.after = after,
        None => unreachable!("what is in a slot has neighbours"),
    }
}
