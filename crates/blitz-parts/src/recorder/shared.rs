//! A lane that any number of threads write.

use super::event::Event;
use super::lane::{Empty, Slots, Snapshot};
use crate::prim::{Acquire, AtomicU64, Relaxed, Release, Step, Turns, broken, fence};

/// The newest events of many writers.
#[derive(Debug)]
pub struct SharedLane {
    slots: Slots<Slot>,
    next: AtomicU64,
    lost: AtomicU64,
    turns: Turns,
}

#[derive(Debug)]
struct Slot {
    sequence: AtomicU64,
    words: [AtomicU64; 2],
}

// SAFETY: a slot consists of three integers, and all of them are zero in an empty slot.
unsafe impl Empty for Slot {
    const BYTES: usize = 24;

    fn empty() -> Slot {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        Slot { sequence: AtomicU64::new(0), words }
    }
}

impl SharedLane {
    /// Creates an empty lane. It allocates at most `bytes` when it is first used.
    ///
    /// ```
    /// use blitz_parts::recorder::{Event, Kind, SharedLane};
    /// let lane = SharedLane::new(1 << 10);
    /// let event = Event { ticks: 7, kind: Kind::STALL, aux: 0, id: 3, arg: 1 };
    /// lane.record(event);
    /// assert_eq!(lane.read().events, [event]);
    /// ```
    pub fn new(bytes: usize) -> SharedLane {
        let (next, lost) = (AtomicU64::new(0), AtomicU64::new(0));
        SharedLane { slots: Slots::new(bytes), next, lost, turns: Turns::default() }
    }

    /// Records an event, in place of the oldest if the lane is full. Any thread may call it.
    ///
    /// The event is lost in two cases. Another thread may still write an older event into the same
    /// slot. Or the lane has wrapped around during this call, and another thread has taken the slot
    /// for a newer event.
    pub fn record(&self, event: Event) {
        if !self.is_on() {
            return;
        }
        let Some(slots) = self.slots.get_or_allocate() else { return };
        let ticket = self.next.fetch_add(1, Relaxed);
        let slot = &slots[self.slots.place(ticket)];
        self.turns.take();
        let seen = slot.sequence.load(Relaxed);
        let (writes, written) = (ticket * 2 + 1, ticket * 2 + 2);
        let is_free = (seen % 2 == 0 || broken(Step::RecorderSlotTaken)) && seen < writes;
        // O8
        self.turns.take();
        let take = |seen| slot.sequence.compare_exchange(seen, writes, Acquire, Relaxed);
        if !is_free || take(seen).is_err() {
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        if !broken(Step::RecorderSharedFence) {
            fence(Release); // O7
        }
        for (word, value) in slot.words.iter().zip(event.pack()) {
            word.store(value, Relaxed);
        }
        let order = if broken(Step::RecorderSequenceRelease) { Relaxed } else { Release };
        slot.sequence.store(written, order); // O9
    }

    /// Whether events are kept at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.slots.is_on()
    }

    /// How many events there ever were, including overwritten and lost ones.
    pub fn recorded(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// How many events were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Copies the newest events, oldest first. Writers go on meanwhile.
    pub fn read(&self) -> Snapshot {
        let slots = self.slots.get().into_iter().flatten();
        let mut found: Vec<_> = slots.filter_map(|slot| slot.read(&self.turns)).collect();
        found.sort_unstable_by_key(|&(sequence, _)| sequence);
        Snapshot {
            events: found.into_iter().map(|(_, event)| event).collect(),
            recorded: self.recorded(),
            lost: self.lost(),
        }
    }
}

impl Slot {
    /// Returns the slot's sequence and event, unless it is empty or being written.
    fn read(&self, turns: &Turns) -> Option<(u64, Event)> {
        turns.take();
        let before = self.sequence.load(Acquire); // O10
        if before == 0 || before % 2 == 1 {
            return None;
        }
        let copy = [self.words[0].load(Relaxed), self.words[1].load(Relaxed)];
        if !broken(Step::RecorderReadFence) {
            fence(Acquire); // O4
        }
        let is_whole = before == self.sequence.load(Relaxed);
        is_whole.then(|| (before, Event::unpack(copy)))
    }
}
