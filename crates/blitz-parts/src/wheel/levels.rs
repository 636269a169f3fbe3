//! The slots of a wheel: finds an entry's slot by its tick, and the next tick that is due. Callers
//! hold the wheel's lock.

use super::entry::Entry;
use crate::prim::{Step, broken};
use crate::tuning::WHEEL_LEVELS;
use core::ptr::NonNull;
use core::task::Waker;
use std::collections::VecDeque;

/// Bits of a tick that one level uses: 64 slots, one bit of a word each.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;

/// The slots of all levels.
pub(super) const ALL_SLOTS: usize = WHEEL_LEVELS * SLOTS;

/// An entry's place in the wheel, with its tick and its waker.
pub(super) struct Node {
    /// The entries of a slot form a ring, in which the newest comes before the oldest. `None` while
    /// the entry is in no slot.
    links: Option<Links>,
    tick: u64,
    pub(super) level: u8,
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
    /// The oldest entry.
    oldest: Option<NonNull<Entry>>,
    /// No entry of this slot is due before this tick.
    soonest: u64,
}

struct Level {
    /// Bit `s`: slot `s` has entries.
    in_use: u64,
    slots: [Slot; SLOTS],
}

pub(super) struct Levels {
    /// See WHEEL-5.
    pub(super) elapsed: u64,
    /// Bits of a tick that set a minimum for the level of a new entry. The entry's level is that of
    /// the highest of these bits, or that of the highest bit in which the entry's tick differs from
    /// `elapsed`, whichever is higher. The bits are [`FINEST`], or those of the level that is being
    /// cleared and of the levels below.
    coarseness: u64,
    /// The slot that is being cleared: its entries move to lower levels, a few at a time
    /// (WHEEL-10).
    clearing: Option<Place>,
    /// How far a search for the next tick has come (WHEEL-11).
    search: Option<Search>,
    /// Bit `l`: level `l` has entries.
    in_use: u16,
    levels: [Level; WHEEL_LEVELS],
}

/// An entry may be in any level.
const FINEST: u64 = SLOTS as u64 - 1;

/// Where a slot is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    level: u8,
    slot: u8,
}

/// A search through the entries of a slot, a few at a time.
struct Search {
    place: Place,
    /// The entry to look at next. If it leaves its slot, the next entry takes its place here.
    at: NonNull<Entry>,
    /// The least tick that the search has seen so far.
    least: u64,
}

// SAFETY: the holder of the wheel's lock may touch the entries that it points to (WHEEL-4).
unsafe impl Send for Levels {}

/// The slot that is due first.
struct First {
    level: usize,
    slot: usize,
    /// The first tick of the slot.
    start: u64,
    soonest: u64,
}

impl First {
    fn place(&self) -> Place {
        Place { level: self.level as u8, slot: self.slot as u8 }
    }
}

/// There were more entries than one call may touch.
#[derive(Debug)]
pub(super) struct Unfinished;

impl Levels {
    pub(super) fn new() -> Levels {
        let slot = Slot { oldest: None, soonest: 0 };
        let level = || Level { in_use: 0, slots: [slot; SLOTS] };
        Levels {
            elapsed: 0,
            coarseness: FINEST,
            clearing: None,
            search: None,
            in_use: 0,
            levels: core::array::from_fn(|_| level()),
        }
    }

    /// Puts an entry into the slot of `tick`, as the newest.
    ///
    /// # Safety
    /// 1. The entry is in no slot, and stays where it is until it has left.
    /// 2. The wheel's lock is held.
    #[inline]
    pub(super) unsafe fn place(&mut self, entry: NonNull<Entry>, tick: u64) {
        // SAFETY: obligations 1 and 2.
        unsafe { self.place_above(entry, tick, self.coarseness) };
    }

    /// Does the work of [`place`](Levels::place), with `coarseness` instead of the wheel's own.
    ///
    /// # Safety
    /// 1. As for [`place`](Levels::place).
    #[inline]
    unsafe fn place_above(&mut self, entry: NonNull<Entry>, tick: u64, coarseness: u64) {
        // An overdue entry goes to the wheel's current slot.
        let tick = tick.max(self.elapsed);
        let digits = (tick ^ self.elapsed) | coarseness;
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
        // SAFETY: the entry stays where it is, and the lock is held (obligation 1).
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
        if self.search.as_ref().is_some_and(|search| search.at == entry) {
            self.pass(links.after);
        }
        let in_level = &mut self.levels[level];
        if links.after == entry {
            in_level.slots[slot].oldest = None;
            in_level.in_use &= !(1 << slot);
            if in_level.in_use == 0 {
                self.in_use &= !(1 << level);
            }
            if self.clearing == Some(Place { level: level as u8, slot: slot as u8 }) {
                self.clearing = None;
                self.coarseness = FINEST;
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

    /// The slot whose entries come first. It is the slot that is being cleared, if there is one.
    /// Otherwise it is in the lowest level in use, because entries of a level come before those of
    /// the levels above; and there it is the lowest slot in use, because slots before `elapsed` are
    /// empty (WHEEL-5).
    fn first_slot(&self) -> Option<First> {
        if self.in_use == 0 {
            return None;
        }
        let (level, slot) = match self.clearing {
            Some(place) if !broken(Step::WheelClearFirst) => {
                (place.level as usize, place.slot as usize)
            }
            _ => {
                let level = self.in_use.trailing_zeros() as usize;
                (level, self.levels[level].in_use.trailing_zeros() as usize)
            }
        };
        let shift = level as u32 * DIGIT;
        let above = self.elapsed.checked_shr(shift + DIGIT).unwrap_or(0);
        let start = above.checked_shl(shift + DIGIT).unwrap_or(0) | (slot as u64) << shift;
        Some(First { level, slot, start, soonest: self.levels[level].slots[slot].soonest })
    }

    /// The earliest tick at which an entry may be due.
    pub(super) fn first(&self) -> Option<u64> {
        self.first_slot().map(|first| first.soonest)
    }

    /// Looks for the first tick at which an entry is due, and touches at most `max` entries.
    /// Returns `Err` if another call has to continue.
    pub(super) fn next(&mut self, max: usize) -> Result<Option<u64>, Unfinished> {
        let mut left = max;
        // A slot that is being cleared is not searched, because its entries have to move in any
        // case.
        while let Some(place) = self.clearing {
            if left == 0 {
                return Err(Unfinished);
            }
            left -= 1;
            self.move_oldest(place);
        }
        let Some(first) = self.first_slot() else { return Ok(None) };
        // The entries of a slot of the lowest level are all due at once.
        let Some(oldest) = self.oldest(first.place()).filter(|_| first.level > 0) else {
            return Ok(Some(first.soonest));
        };
        if self.search.as_ref().is_none_or(|search| search.place != first.place()) {
            self.search = Some(Search { place: first.place(), at: oldest, least: u64::MAX });
        }
        while let Some(search) = &mut self.search {
            if left == 0 {
                return Err(Unfinished);
            }
            left -= 1;
            // SAFETY: it is in a slot (WHEEL-11); callers hold the lock.
            let node = unsafe { node_of(search.at) };
            search.least = search.least.min(node.tick);
            match &node.links {
                Some(links) => self.pass(links.after),
                None => unreachable!("an entry in a slot has neighbours"),
            }
        }
        // The search is at its end, and has noted the least tick in the slot.
        Ok(self.first())
    }

    /// Moves the search on to `after`, the next entry. After the newest entry the search is over.
    #[cold]
    fn pass(&mut self, after: NonNull<Entry>) {
        let Some(search) = &mut self.search else { return };
        let slot = &mut self.levels[search.place.level as usize].slots[search.place.slot as usize];
        search.at = after;
        if slot.oldest == Some(after) {
            // Entries that were added during the search are behind the others, so the search saw
            // them, too.
            slot.soonest = slot.soonest.max(search.least);
            self.search = None;
        }
    }

    /// Calls `each` with the waker and the tick of each of the `max` oldest entries in slot number
    /// `slot`, counted over all levels. `each` must not touch the wheel.
    pub(super) fn for_each_in(&self, slot: usize, max: usize, each: &mut dyn FnMut(&Waker, u64)) {
        let (level, slot) = (slot / SLOTS, slot % SLOTS);
        let Some(oldest) = self.levels[level].slots[slot].oldest else { return };
        let mut at = oldest;
        for _ in 0..max {
            // SAFETY: it is in this slot; callers hold the lock.
            let node = unsafe { node_of(at) };
            if let Some(waker) = &node.waker {
                each(waker, node.tick);
            }
            match &node.links {
                Some(links) if links.after != oldest => at = links.after,
                _ => return,
            }
        }
    }

    fn oldest(&self, place: Place) -> Option<NonNull<Entry>> {
        self.levels[place.level as usize].slots[place.slot as usize].oldest
    }

    /// Moves the wheel to `now`, or as far as it can go without moving entries.
    #[inline]
    pub(super) fn forward(&mut self, now: u64) {
        if now > self.elapsed {
            let limit = self.first_slot().map_or(u64::MAX, |first| first.start.saturating_sub(1));
            self.elapsed = self.elapsed.max(limit.min(now));
        }
    }

    /// See [`Wheel::expire`](super::Wheel::expire).
    pub(super) fn expire(
        &mut self,
        now: u64,
        max: usize,
        fired: &mut VecDeque<Waker>,
        mut on_fire: impl FnMut(u64),
    ) -> bool {
        let mut left = max;
        while let Some(first) = self.first_slot().filter(|first| first.soonest <= now) {
            // Entries in this slot are due from `soonest` on, entries in other slots later.
            self.elapsed = self.elapsed.max(first.soonest);
            if first.level > 0 {
                self.begin_clearing(first.place());
            }
            while let Some(entry) = self.oldest(first.place()) {
                if left == 0 {
                    return true;
                }
                left -= 1;
                if first.level > 0 {
                    self.move_oldest(first.place());
                } else {
                    // All entries of a finest slot are due at the same tick.
                    on_fire(first.soonest);
                    // SAFETY: it is in this slot; callers hold the lock.
                    fired.extend(unsafe { self.finish(entry, false) });
                }
            }
        }
        self.forward(now);
        false
    }

    /// Begins to move the entries of this slot to lower levels. The wheel is at the slot's
    /// `soonest`.
    fn begin_clearing(&mut self, place: Place) {
        self.clearing = Some(place);
        self.coarseness =
            u64::MAX >> u64::BITS.saturating_sub((u32::from(place.level) + 1) * DIGIT);
    }

    /// Moves the oldest entry of the slot that is being cleared to a lower level. Callers hold the
    /// lock.
    fn move_oldest(&mut self, place: Place) {
        let Some(entry) = self.oldest(place) else { return };
        // SAFETY: it is in this slot; callers hold the lock.
        unsafe { self.unlink(entry) };
        // SAFETY: it waits; callers hold the lock.
        let tick = unsafe { node_of(entry) }.tick;
        // SAFETY: it is in no slot now; callers hold the lock.
        unsafe { self.place_above(entry, tick, FINEST) };
    }

    /// Takes out up to `max` entries, and moves their wakers to `woken`. Returns whether there may
    /// be more entries.
    pub(super) fn close(&mut self, max: usize, woken: &mut VecDeque<Waker>) -> bool {
        for _ in 0..max {
            let Some(entry) = self.first_slot().and_then(|first| self.oldest(first.place())) else {
                self.elapsed = 0;
                return false;
            };
            // SAFETY: it is in a slot; callers hold the lock.
            woken.extend(unsafe { self.finish(entry, true) });
        }
        true
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
        // SAFETY: as above, and this function does not touch it any more.
        unsafe { Entry::finish(entry, closed) };
        waker
    }
}

/// The node of an entry.
///
/// # Safety
/// 1. The entry waits, and the wheel's lock is held.
/// 2. The caller has no other reference to the node, and drops this one before it releases the
///    lock.
unsafe fn node_of<'a>(entry: NonNull<Entry>) -> &'a mut Node {
    // SAFETY: obligation 1: the owner takes the entry out under the lock before it drops the entry.
    let entry = unsafe { &*entry.as_ptr() };
    // SAFETY: obligations 1 and 2.
    unsafe { entry.node() }
}

/// Links `before` in front of `entry`. Returns the entry that was there.
///
/// # Safety
/// 1. `entry` is in a slot, and the wheel's lock is held.
unsafe fn set_before(entry: NonNull<Entry>, before: NonNull<Entry>) -> NonNull<Entry> {
    // SAFETY: obligation 1.
    let node = unsafe { node_of(entry) };
    match &mut node.links {
        Some(links) => core::mem::replace(&mut links.before, before),
        None => unreachable!("an entry in a slot has neighbours"),
    }
}

/// Links `after` as the next of `entry`.
///
/// # Safety
/// 1. `entry` is in a slot, and the wheel's lock is held.
unsafe fn set_after(entry: NonNull<Entry>, after: NonNull<Entry>) {
    // SAFETY: obligation 1.
    let node = unsafe { node_of(entry) };
    match &mut node.links {
        Some(links) => links.after = after,
        None => unreachable!("an entry in a slot has neighbours"),
    }
}
