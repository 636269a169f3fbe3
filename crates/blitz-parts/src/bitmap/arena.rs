//! The arena of tasks: slots that are identified by leaf, signal word and bit, and never move.

use super::bits::Bits;
use super::tree::{Branch, SummaryTree};
use crate::prim::{AcqRel, AtomicPtr, AtomicU32, Relaxed, Release, Step, Witness, broken};
use crate::slots::Slots;
use crate::task::{Header, Place};
use crate::tuning::{SIGNALS_PER_LEAF, SLOTS_PER_SIGNAL, STOCK_MAX};
use core::array;
use core::ptr::{NonNull, null_mut};
use std::sync::{Arc, OnceLock};

/// Bits of a signal word that stand for slots.
pub(super) const BITS: usize = SLOTS_PER_SIGNAL;
/// The bits of all slots of a word.
const ALL: u64 = u64::MAX >> (64 - BITS);
/// Slots behind one leaf.
pub(super) const SLOTS_PER_LEAF: usize = SIGNALS_PER_LEAF * BITS;

/// A slot's number and the generation of one of its tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId {
    place: Place,
    generation: u32,
}

impl SlotId {
    pub(super) fn new(place: Place, generation: u32) -> SlotId {
        SlotId { place, generation }
    }

    /// Which slot.
    pub fn place(self) -> Place {
        self.place
    }

    /// How many tasks had this slot before.
    pub fn generation(self) -> u32 {
        self.generation
    }
}

/// Where a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which leaf.
    pub leaf: usize,
    /// Which signal word of the leaf.
    pub word: usize,
    /// Which bit of the word.
    pub bit: usize,
}

impl Position {
    /// The position of a place in the arena.
    #[inline]
    pub fn of(place: Place) -> Position {
        let index = place.index();
        Position {
            leaf: index / SLOTS_PER_LEAF,
            word: index / BITS % SIGNALS_PER_LEAF,
            bit: index % BITS,
        }
    }

    pub(super) fn place(self) -> Place {
        Place::new(self.leaf * SLOTS_PER_LEAF + self.word * BITS + self.bit)
    }

    pub(super) fn mask(self) -> u64 {
        1 << self.bit
    }
}

/// One leaf's signal words and slots.
pub(super) struct Leaf {
    pub(super) branch: Arc<Branch>,
    pub(super) words: [Word; SIGNALS_PER_LEAF],
}

/// One signal word and its slots.
#[derive(Default)]
pub(super) struct Word {
    /// Bit i: the task in slot i is runnable. The bit is its queue entry: the thread that clears it
    /// takes the task.
    pub(super) signals: Bits,
    /// Bit i: slot i belongs to a task, or is in a [`SlotCache`].
    reserved: Bits,
    /// The slots of this word, made when the first of them is reserved.
    slots: OnceLock<Box<[Slot; BITS]>>,
}

/// A place for one task.
#[derive(Default)]
pub(super) struct Slot {
    /// The task; null while the slot has no tenant.
    task: AtomicPtr<Header>,
    generation: AtomicU32,
    uses: Witness,
}

impl Leaf {
    pub(super) fn new(branch: Arc<Branch>) -> Leaf {
        Leaf { branch, words: array::from_fn(|_| Word::default()) }
    }
}

impl Word {
    /// Returns slot `bit`, which must have been reserved before.
    #[inline]
    pub(super) fn slot(&self, bit: usize) -> &Slot {
        match self.slots.get() {
            Some(slots) => &slots[bit],
            None => unreachable!("slots are reserved before they are used"),
        }
    }

    /// Returns bit, generation and task of each slot that has a tenant, for dumps. The task is only
    /// an address, and may be gone already.
    pub(super) fn tenants(&self) -> impl Iterator<Item = (usize, u32, usize)> + '_ {
        let slots = self.slots.get().map(|slots| slots.iter()).into_iter().flatten();
        slots.enumerate().filter_map(|(bit, slot)| {
            let task = slot.task.load(Relaxed);
            (!task.is_null()).then(|| (bit, slot.generation.load(Relaxed), task.addr()))
        })
    }

    /// Reserves all slots that are free, and returns them as bits.
    fn reserve_all(&self) -> u64 {
        if self.reserved.load(Relaxed) == ALL {
            return 0;
        }
        self.slots.get_or_init(|| Box::new(array::from_fn(|_| Slot::default())));
        ALL & !self.reserved.set(ALL, AcqRel) // O7
    }

    fn give_back(&self, bits: u64) {
        let order = if broken(Step::SignalGiveBackRelease) { Relaxed } else { Release };
        self.reserved.clear(bits, order); // O7
    }
}

impl Slot {
    /// Moves a task into the slot, which belongs to the caller.
    #[inline]
    pub(super) fn move_in(&self, task: NonNull<Header>) {
        self.uses.write();
        self.task.store(task.as_ptr(), Relaxed);
    }

    /// The task in the slot. The caller has cleared the slot's signal bit, or is about to set it.
    #[inline]
    pub(super) fn task(&self) -> *mut Header {
        self.uses.read();
        self.task.load(Relaxed)
    }

    /// Moves the task out if the slot still has this generation. Only the worker that has run the
    /// task to its end calls this.
    #[inline]
    pub(super) fn move_out(&self, generation: u32) -> bool {
        let is_meant = self.generation() == generation;
        if is_meant {
            self.uses.write();
            // No exchange is needed: after a task's end only its last worker uses the slot.
            self.generation.store(generation.wrapping_add(1), Relaxed);
            self.task.store(null_mut(), Relaxed);
        }
        is_meant
    }

    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }
}

/// Reserved slots without a task: those of one worker, or those that all other threads share.
#[derive(Debug)]
pub struct SlotCache {
    free: Vec<Place>,
    whose: Whose,
    /// The signal word where the next search begins, counted over all leaves of this cache.
    next: usize,
}

/// The leaves from which slots are reserved.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// The leaves of this worker's partition, one after the other.
    Worker(usize),
    /// All leaves in turn, so that each partition gets its share.
    Everybody,
}

impl SlotCache {
    /// Creates an empty cache for worker `index`.
    pub fn of_worker(index: usize) -> SlotCache {
        SlotCache { free: Vec::new(), whose: Whose::Worker(index), next: 0 }
    }

    pub(super) fn of_everybody() -> SlotCache {
        SlotCache { free: Vec::new(), whose: Whose::Everybody, next: 0 }
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<Place> {
        self.free.pop()
    }

    /// Puts a free slot into the cache. Returns whether the cache is too large now.
    #[inline]
    pub(super) fn put(&mut self, place: Place) -> bool {
        self.free.push(place);
        self.free.len() > STOCK_MAX
    }

    /// Gives the older half back.
    #[cold]
    pub(super) fn shrink(&mut self, leaves: &Slots<Leaf>) {
        let mut places = self.free.drain(..STOCK_MAX / 2).map(Position::of).peekable();
        while let Some(Position { leaf, word, bit }) = places.next() {
            // Tasks that began together often end together: their slots go back in one exchange.
            let mut bits = 1 << bit;
            while let Some(more) = places.next_if(|more| (more.leaf, more.word) == (leaf, word)) {
                bits |= more.mask();
            }
            if let Some(leaf) = leaves.get(leaf) {
                leaf.words[word].give_back(bits);
            }
        }
    }

    /// Reserves the free slots of one signal word. Returns false if no leaf of this cache has a
    /// free slot.
    #[cold]
    pub(super) fn refill(&mut self, leaves: &Slots<Leaf>, workers: usize) -> bool {
        let count = leaves.len();
        let words = SIGNALS_PER_LEAF * self.own_leaves(count, workers);
        for at in (0..words).map(|i| (self.next + i) % words) {
            let (leaf, word) = match self.whose {
                Whose::Worker(index) => {
                    (index + at / SIGNALS_PER_LEAF * workers, at % SIGNALS_PER_LEAF)
                }
                Whose::Everybody => (at % count, at / count),
            };
            let Some(row) = leaves.get(leaf).map(|leaf| &leaf.words[word]) else { continue };
            let mut bits = row.reserve_all();
            if bits == 0 {
                continue;
            }
            self.next = (at + 1) % words;
            while bits != 0 {
                // Push the highest bit first, so that `take` pops the lowest one first.
                let bit = bits.ilog2() as usize;
                bits &= !(1 << bit);
                self.free.push(Position { leaf, word, bit }.place());
            }
            return true;
        }
        false
    }

    /// Returns how many of `count` leaves this cache reserves slots from.
    fn own_leaves(&self, count: usize, workers: usize) -> usize {
        match self.whose {
            Whose::Worker(index) => (count + workers - 1).saturating_sub(index) / workers,
            Whose::Everybody => count,
        }
    }

    /// Whether this cache would reserve from a new leaf with this index.
    pub(super) fn wants(&self, leaf: usize, workers: usize) -> bool {
        match self.whose {
            Whose::Worker(index) => SummaryTree::compute_partition_owner(leaf, workers) == index,
            Whose::Everybody => true,
        }
    }
}
