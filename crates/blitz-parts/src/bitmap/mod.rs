//! Keeps each runnable task as one bit.
//!
//! It never happens that a task is runnable while all workers that could run it sleep.
//!
//! # Who calls it
//! Any thread that makes a task runnable: `reserve_outside`, `signal`. Workers: `take_own`,
//! `take_behind`, `take_any`, `take_beside`, `take_in_turn`, and `tell` if a look asks for it;
//! `reserve`, `identity`, `free`; around their sleep `lie_down`, `has_task`, `get_up`,
//! `try_acquire`. The pool's end: `close`, `take_left`. A setter that is told `Closed`:
//! `take_left`. Dumps and metrics: the rest.
//!
//! # State
//! | where | bits | meaning | who sets | who clears |
//! |---|---|---|---|---|
//! | root word r | bit l | leaf 64 r + l may have tasks | setters; scanners that look again | scanners that find none |
//! | leaf word l | bit w | signal word w of leaf l may have tasks | setters; scanners that look again | scanners that find none |
//! | signal word | bit b | the task in slot b is runnable; the bit is its queue entry | the setter | the taker |
//! | reserved word | bit b | slot b belongs to a task, or is in a slot cache | reserving | giving back |
//! | slot | task, generation | the tenant, and how many tenants there were before it | the thread that reserves it | the thread that frees it |
//! | crew | sleepers, 0-31 | workers that sleep, are about to, or are waking | the worker | the worker |
//! | crew | permits, 32-62 | sleepers that are to wake | setters, and scanners that set a summary again | the worker that wakes, or an awake worker (`try_acquire`) |
//! | crew | closed, 63 | no worker looks any more | `close` | never |
//!
//! # Transitions
//! ```text
//!  signal: bit in the signal word ─▶ leaf bit, if clear ─▶ root bit, if clear
//!             ─▶ a permit, if a sleeper has none ─▶ wake one
//!
//!  take:   root bit ─▶ leaf bit ─▶ signal word ─▶ clear one bit; then the owner clears some bits
//!             │ nothing below          │            behind it, a thief half of the others
//!             │                        │ nothing in it
//!             └─▶ clear, look again ◀──┘
//!                    └─ something: set it again, and release a permit as a setter does
//!
//!  sleep:  lie_down: +1 sleeper ─▶ last look from the roots down ─▶ block
//!          … woken ─▶ get_up: -1 sleeper, -1 permit ─▶ look
//! ```
//! A scanner that finds nothing below a summary bit clears the bit. The taker of a word's last task
//! leaves the word's summary bits set: so in a busy word, a signal changes only the word itself.
//!
//! The types enforce three rules. A bit comes from a task, since setting it consumes a
//! [`Runnable`]. A permit comes from the tree, since [`Marked`] is made where a bit was set. Only a
//! worker that was counted as a sleeper is counted out, since [`get_up`](Bitmap::get_up) consumes
//! its [`Sleeper`].
//!
//! # Invariants
//! - **BITMAP-1** A task that was signalled leaves the bitmap once: one `take` returns it, or the
//!   arena cancels it when it is dropped.
//! - **BITMAP-2** What was written before `signal` is visible to the taker of the task.
//! - **BITMAP-3** While a bit of a signal word is set, the bits above it, in the leaf and in the
//!   root, are set, too, unless a setter or a scanner is about to set them: no clearing loses a
//!   task.
//! - **BITMAP-4** For each signalled task, a worker that is awake takes it, or a sleeper sees it in
//!   its last look, or its setter is told to wake a sleeper. That setter sees what the sleepers
//!   wrote before `lie_down`.
//! - **BITMAP-5** There are never more permits than sleepers.
//! - **BITMAP-6** While there is a permit, a sleeper is waking or about to be woken, and then looks
//!   for tasks. So a setter may leave its task to that sleeper.
//! - **BITMAP-7** A scanner that finds nothing below a summary bit clears it: an idle tree is
//!   empty.
//! - **BITMAP-8** A slot has one tenant at a time. The identity of a tenant frees the slot once.
//! - **BITMAP-9** Slots and words never move; the arena grows by whole leaves, and a task keeps its
//!   place.
//! - **BITMAP-10** A task that is signalled after `close` is taken by the closer, or `signal`
//!   returns `Closed` to its setter.
//! - **BITMAP-11** Only the worker itself writes its [`BitmapWaker`], and only dumps read it: no
//!   look relies on it.
//! - **BITMAP-12** Tasks of a partition leave in turn: a worker takes each of them once before it
//!   takes any of them twice.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | setting and clearing a signal bit | AcqRel | each other | BITMAP-1, BITMAP-2 |
//! | O2 | fence after setting a level, before reading the one above | after_exchange | O3 | BITMAP-3: setter and clearer cannot both miss each other |
//! | O3 | fence after clearing a level, before looking below | after_exchange | O2 | the same |
//! | O4 | fence after the root is marked, before reading the crew; after `lie_down`, before the last look | after_exchange | each other | BITMAP-4 |
//! | O5 | fence after `get_up`, before looking | after_exchange | O4 | BITMAP-6: the worker sees the task of a setter that saw its permit |
//! | O6 | fence after `close`, before the last look | after_exchange | O4 | BITMAP-10 |
//! | O7 | reserving, giving back | AcqRel, Release | each other | BITMAP-8 |
//! | O8 | exchanges of roots and leaves and the exchange that closes, loads of signal words and of the crew | Relaxed | – | they lead to no memory: tasks come through O1, and each exchange has its fence (O2 to O4, O6) |
//! | O9 | loads of roots and leaves by a scanner that goes on below | Acquire | O2 | a scanner that sees a bit sees what is below it. Otherwise the scanner would clear the bit, look again (O3) and set the bit again |
//! | O10 | exchanges of the crew: `lie_down`, a permit, `get_up` | AcqRel | each other | BITMAP-4: a setter that grants a permit sees how to wake the sleeper, which wrote that before `lie_down` |
//!
//! # What this does not do
//! It knows no threads and wakes none: callers wake workers through `sleep`. It orders tasks only
//! by BITMAP-12. A task in a worker's yield queue or LIFO slot is not in here.
//!
//! # Lineage
//! The bitmap document of `docs/coverage.md`, with its errata: setters look at every level; a
//! scanner that clears a summary looks again and announces what it finds; there is one permit per
//! task, and never more permits than sleepers. Leaves go to the workers in turn, so growth moves no
//! leaf to another worker. Summaries are cleared late. There is no condition variable: each sleeper
//! sleeps on its own word.

mod arena;
mod bits;
mod crew;
#[cfg(all(test, blitz_loom))]
mod model;
#[cfg(all(test, not(blitz_loom)))]
mod test;
mod tree;
mod waker;

pub use arena::{Position, SlotCache, SlotId};
pub use crew::{Marked, Permit, Sleeper, Told};
pub use tree::SummaryTree;
pub use waker::{BitmapWaker, WakerOwner};

use crate::prim::{AcqRel, Mutex, MutexGuard, Relaxed, Step, broken, model_has_failed};
use crate::slots::Slots;
use crate::task::{Header, Place, Runnable};
use arena::{BITS, Leaf};
use core::cell::Cell;
use core::fmt;
use core::ptr::NonNull;
use std::sync::PoisonError;

/// The arena of a pool's tasks, and the tree above it.
pub struct Bitmap {
    tree: SummaryTree,
    leaves: Slots<Leaf>,
    growing: Mutex<()>,
    /// Slots for threads that are not workers.
    outside: Mutex<SlotCache>,
}

/// What [`Bitmap::signal`] returns.
#[must_use]
#[derive(Debug)]
pub struct Signalled {
    /// What the setter has to do next.
    pub told: Told,
    /// Whether the task's leaf had no bit in the root before.
    pub activated: bool,
}

/// What a look found.
#[must_use]
#[derive(Debug, Default)]
pub struct Scan {
    /// A task, to be run.
    pub task: Option<Runnable>,
    /// Set if other tasks have to be announced: see [`Bitmap::tell`].
    pub again: Option<Marked>,
}

/// Where a worker looks next. Not `Sync`: one thread at a time looks with it.
///
/// ```compile_fail,E0277
/// # use blitz_parts::bitmap::Cursor;
/// let cursor = Cursor::default();
/// std::thread::scope(|scope| _ = scope.spawn(|| format!("{cursor:?}")));
/// ```
#[derive(Debug, Default)]
pub struct Cursor {
    leaf: Cell<usize>,
    /// The slot behind that of the last task; perhaps behind the leaf's last slot.
    slot: Cell<usize>,
}

/// A task in the arena, as a dump shows it.
#[derive(Clone, Copy, Debug)]
pub struct Tenant {
    /// Which slot, and which tenant of it.
    pub id: SlotId,
    /// Whether the slot's signal bit is set: then the task is runnable.
    pub signalled: bool,
    /// Where the task is, or was: it may be gone by now.
    pub address: usize,
}

impl Bitmap {
    /// Creates an empty bitmap with one leaf for each of `workers`.
    pub fn new(workers: usize) -> Bitmap {
        let signals = Bitmap {
            tree: SummaryTree::new(),
            leaves: Slots::new(),
            growing: Mutex::new(()),
            outside: Mutex::new(SlotCache::of_everybody()),
        };
        (0..workers.max(1)).for_each(|_| signals.add_leaf());
        signals
    }

    /// The summaries.
    pub fn tree(&self) -> &SummaryTree {
        &self.tree
    }

    /// Adds a leaf. Only one thread at a time may call this.
    fn add_leaf(&self) {
        self.leaves.add(Leaf::new(self.tree.add_leaf()));
    }

    /// Gives a task a slot from `stock`. The leaves are distributed among `workers` workers.
    #[inline]
    pub fn reserve(&self, stock: &mut SlotCache, workers: usize, task: NonNull<Header>) -> Place {
        loop {
            if let Some(place) = stock.take() {
                let (leaf, at) = self.find(place);
                leaf.words[at.word].slot(at.bit).move_in(task);
                return place;
            }
            if !stock.refill(&self.leaves, workers) {
                self.grow(stock, workers);
            }
        }
    }

    /// Gives a task a slot, as [`reserve`](Self::reserve) does, for a thread outside the pool.
    pub fn reserve_outside(&self, task: NonNull<Header>) -> Place {
        self.reserve(&mut self.outside(), 1, task)
    }

    /// Adds leaves until this stock can reserve from one of them.
    #[cold]
    fn grow(&self, stock: &SlotCache, workers: usize) {
        // A poisoned lock does no harm: no panic leaves the table half changed.
        let _turn = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let index = self.leaves.len();
            self.add_leaf();
            if stock.wants(index, workers) {
                return;
            }
        }
    }

    /// Returns the identity of a slot's tenant. Only the holder of the tenant's queue entry, or the
    /// worker that runs the tenant, calls this.
    #[inline]
    pub fn identity(&self, place: Place) -> SlotId {
        let (leaf, at) = self.find(place);
        SlotId::new(place, leaf.words[at.word].slot(at.bit).generation())
    }

    /// Frees the slot of a task that has ended, into `stock`. Returns false and changes nothing if
    /// the slot has another tenant by now.
    #[inline]
    pub fn free(&self, stock: &mut SlotCache, slot: SlotId) -> bool {
        let (leaf, at) = self.find(slot.place());
        if !leaf.words[at.word].slot(at.bit).move_out(slot.generation()) {
            return false;
        }
        if stock.put(slot.place()) {
            stock.shrink(&self.leaves);
        }
        true
    }

    fn outside(&self) -> MutexGuard<'_, SlotCache> {
        // Only numbers change under the lock, so poisoning does no harm.
        self.outside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn find(&self, place: Place) -> (&Leaf, Position) {
        let position = Position::of(place);
        match self.leaves.get(position.leaf) {
            Some(leaf) => (leaf, position),
            None => unreachable!("a place is in a leaf that was added"),
        }
    }

    /// Makes a task runnable for all workers. Once the bit is set the task may run and end.
    /// `is_any_looking`: see [`tell`](Bitmap::tell).
    ///
    /// # Panics
    /// If the task has no slot of this arena.
    #[inline]
    pub fn signal(&self, task: Runnable, is_any_looking: impl FnOnce() -> bool) -> Signalled {
        let Some(place) = task.place() else { unreachable!("a task is signalled in its slot") };
        let (leaf, at) = self.find(place);
        let word = &leaf.words[at.word];
        assert_eq!(word.slot(at.bit).task(), task.header().as_ptr(), "another task's slot");
        let ordering = if broken(Step::SignalSetRelease) { Relaxed } else { AcqRel };
        let _entry = task.into_raw();
        let before = word.signals.set(at.mask(), ordering); // O1
        debug_assert_eq!(before & at.mask(), 0, "a task has one queue entry");
        let activated = leaf.branch.mark_signal_active(at.word);
        Signalled { told: self.tell(Marked(()), is_any_looking), activated }
    }

    /// Returns what the setter of a task has to do. `is_any_looking` returns whether a worker that
    /// does not count as a sleeper looks for work. Such a worker sees the task, or announces it
    /// when it stops looking.
    #[inline]
    pub fn tell(&self, task: Marked, is_any_looking: impl FnOnce() -> bool) -> Told {
        self.tree.release(task, is_any_looking)
    }

    /// Takes a task of the partition of `worker`, one of `workers`. Starts after the last task of
    /// the cursor.
    #[inline]
    pub fn take_own(&self, cursor: &Cursor, worker: usize, workers: usize) -> Scan {
        let owns = |leaf| SummaryTree::compute_partition_owner(leaf, workers) == worker;
        self.take(cursor, cursor.leaf.get() + 1, owns)
    }

    /// Takes a task of any partition. Starts after the last task of the cursor, then goes on at
    /// leaf `start`.
    #[inline]
    pub fn take_any(&self, cursor: &Cursor, start: usize) -> Scan {
        self.take(cursor, start, |_| true)
    }

    /// Takes up to `most` tasks that follow the last task of this cursor, in the same signal word.
    /// Only the partition's owner calls this. It takes all of them by one exchange, because an
    /// exchange for each task would take the word's cache line from setters each time. Returns how
    /// many tasks it took. No worker sees these tasks while they move, so the caller announces them
    /// where it puts them.
    pub fn take_behind(&self, cursor: &Cursor, most: usize, keep: impl FnMut(Runnable)) -> usize {
        let (word, skipped) = (cursor.slot.get() / BITS, cursor.slot.get() % BITS);
        let leaf = self.leaves.get(cursor.leaf.get());
        let (Some(leaf), true) = (leaf, skipped != 0) else { return 0 };
        let taken = leaf.words[word].take_several(u64::MAX << skipped, |_| most, keep);
        if taken != 0 {
            cursor.slot.set(word * BITS + taken.ilog2() as usize + 1);
        }
        taken.count_ones() as usize
    }

    /// Takes half of the other tasks in the signal word of a task that the caller has just taken,
    /// and at most `most`. A thief calls this, and leaves the rest to the owner. Returns how many
    /// tasks it took. The caller announces them, as in `take_behind`.
    pub fn take_beside(&self, place: Place, most: usize, keep: impl FnMut(Runnable)) -> usize {
        let (leaf, at) = self.find(place);
        let half = |seen: usize| seen.div_ceil(2).min(most);
        leaf.words[at.word].take_several(u64::MAX, half, keep).count_ones() as usize
    }

    /// Takes the task after the last task of this cursor, in any partition. So the cursor reaches
    /// every task.
    pub fn take_in_turn(&self, cursor: &Cursor) -> Scan {
        self.take(cursor, cursor.leaf.get() + 1, |_| true)
    }

    /// Takes one of the tasks that are left, for the thread that cancels them all. When this
    /// returns `None`, there may still be tasks that only another scanner or their setter can see.
    pub fn take_left(&self) -> Option<Runnable> {
        loop {
            let scan = self.take_any(&Cursor::default(), 0);
            // If this look set a summary again, look once more: perhaps no other scanner sees the
            // task below that summary.
            if scan.again.is_none() || scan.task.is_some() {
                return scan.task;
            }
        }
    }

    /// Takes a task of one of the leaves that are `wanted`.
    #[inline]
    fn take(&self, cursor: &Cursor, start: usize, wanted: impl Fn(usize) -> bool) -> Scan {
        let mut scan = Scan::default();
        if !self.has_any() {
            return scan;
        }
        let at = cursor.leaf.get();
        // Finding a leaf's owner takes a division. Skip it for a leaf that is not in the root.
        let is_here = self.tree.is_marked(at) && wanted(at);
        if !is_here || !self.scan_leaf(at, cursor.slot.get(), cursor, &mut scan) {
            self.scan_roots(start, cursor, wanted, &mut scan);
        }
        scan
    }

    /// Looks into those leaves that are in the root and `wanted`, from leaf `start` on.
    fn scan_roots(
        &self,
        start: usize,
        cursor: &Cursor,
        wanted: impl Fn(usize) -> bool,
        scan: &mut Scan,
    ) {
        let roots = self.tree.root_count();
        let wrapped = |root: usize| if root < roots { root } else { 0 };
        let mut next = wrapped(start / 64);
        let behind = u64::MAX << (start % 64);
        for turn in 0..=roots {
            let root = next;
            next = wrapped(root + 1);
            let mut bits = self.tree.root(root);
            if turn == 0 {
                bits &= behind;
            } else if turn == roots {
                bits &= !behind;
            }
            while bits != 0 {
                let leaf = root * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if wanted(leaf) && self.scan_leaf(leaf, 0, cursor, scan) {
                    return;
                }
            }
        }
    }

    /// Looks into one leaf, from slot `from` to its end; returns whether it found a task.
    #[inline]
    fn scan_leaf(&self, index: usize, from: usize, cursor: &Cursor, scan: &mut Scan) -> bool {
        let Some(leaf) = self.leaves.get(index) else { return false };
        let summary = leaf.branch.leaf();
        if summary == 0 {
            if leaf.branch.is_in_root() {
                scan.keep(leaf.branch.clear_root());
            }
            return false;
        }
        let (first, skipped) = (from / BITS, from % BITS);
        let mut words = summary & u64::MAX.checked_shl(first as u32).unwrap_or(0);
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let mask = if word == first { u64::MAX << skipped } else { u64::MAX };
            if let Some((task, bit)) = leaf.words[word].take(mask) {
                scan.task = Some(task);
                cursor.leaf.set(index);
                cursor.slot.set(word * BITS + bit + 1);
                return true;
            }
            if mask == u64::MAX {
                let is_set = || leaf.words[word].signals.load(Relaxed) != 0;
                scan.keep(leaf.branch.mark_signal_inactive(word, is_set));
            }
        }
        false
    }

    /// Whether there may be a task that is signalled: summaries are cleared late.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.tree.has_any()
    }

    /// Whether there is a task that is signalled, or was a moment ago. A worker asks this in its
    /// last look, and when it may have to wake another worker. It reads the signal words, too: so
    /// the summaries of tasks that are gone do not keep a worker awake.
    #[inline]
    pub fn has_task(&self) -> bool {
        self.has_any() && self.is_any_signalled()
    }

    fn is_any_signalled(&self) -> bool {
        let leaves = |root| ones(self.tree.root(root)).map(move |bit| root * 64 + bit);
        let mut leaves =
            (0..self.tree.root_count()).flat_map(leaves).filter_map(|leaf| self.leaves.get(leaf));
        leaves.any(|leaf| {
            let is_signalled = |word: usize| leaf.words[word].signals.load(Relaxed) != 0;
            ones(leaf.branch.leaf()).any(is_signalled)
        })
    }

    /// How many tasks are signalled. The words are read one after the other, while they may change.
    pub fn count(&self) -> usize {
        if !self.has_any() {
            return 0;
        }
        let leaves = self.leaves.iter().filter(|leaf| leaf.branch.leaf() != 0);
        let words = leaves.flat_map(|leaf| leaf.words.iter());
        words.map(|word| word.signals.load(Relaxed).count_ones() as usize).sum()
    }

    /// The tasks that have slots. The slots are read one after the other, while they may change.
    pub fn tenants(&self) -> Vec<Tenant> {
        let mut tenants = Vec::new();
        for (leaf, words) in self.leaves.iter().enumerate() {
            for (word, row) in words.words.iter().enumerate() {
                let signals = row.signals.load(Relaxed);
                tenants.extend(row.tenants().map(|(bit, generation, address)| {
                    let place = Position { leaf, word, bit }.place();
                    let id = SlotId::new(place, generation);
                    Tenant { id, signalled: signals >> bit & 1 != 0, address }
                }));
            }
        }
        tenants
    }

    /// Announces that the worker is about to look for the last time, and then to sleep. The worker
    /// must be wakeable from before this call until `get_up`: a permit may be for a task that was
    /// taken already, and then only the wake-up itself reaches the sleeper.
    pub fn lie_down(&self) -> Sleeper {
        self.tree.lie_down()
    }

    /// Announces that the worker is awake, or has not slept after all. The worker has to look for
    /// tasks now, or let another worker look. If it finds more tasks than it takes, it has to wake
    /// another worker, because it may have taken that worker's permit.
    pub fn get_up(&self, sleeper: Sleeper) -> Option<Permit> {
        self.tree.get_up(sleeper)
    }

    /// Takes a permit, if there is one. A worker calls this if it may have been woken although it
    /// did not count as a sleeper.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit> {
        self.tree.try_acquire()
    }

    /// Closes the tree. After this the caller takes the tasks that are left, and so does each
    /// setter that is told [`Told::Closed`].
    pub fn close(&self) {
        self.tree.close();
    }
}

impl Scan {
    fn keep(&mut self, again: Option<Marked>) {
        if !broken(Step::SignalAgainTells) {
            self.again = again.or(self.again.take());
        }
    }
}

impl arena::Word {
    /// Takes the task of the lowest bit in `mask`, and returns it with the number of its bit.
    #[inline]
    fn take(&self, mask: u64) -> Option<(Runnable, usize)> {
        let mut seen = self.signals.load(Relaxed) & mask;
        while seen != 0 {
            let bit = seen.trailing_zeros() as usize;
            let before = self.signals.clear(1 << bit, AcqRel); // O1
            if before >> bit & 1 != 0 {
                return Some((self.entry(bit), bit));
            }
            seen = before & mask;
        }
        None
    }

    /// Takes the lowest tasks in `mask` by one exchange, and returns their bits. `wanted` maps the
    /// number of tasks there to the number to take.
    fn take_several(
        &self,
        mask: u64,
        wanted: impl FnOnce(usize) -> usize,
        keep: impl FnMut(Runnable),
    ) -> u64 {
        let seen = self.signals.load(Relaxed) & mask;
        let wanted = wanted(seen.count_ones() as usize);
        let wanted = ones(seen).take(wanted).fold(0, |bits, bit| bits | 1 << bit);
        if wanted == 0 {
            return 0;
        }
        let taken = self.signals.clear(wanted, AcqRel) & wanted; // O1
        ones(taken).map(|bit| self.entry(bit)).for_each(keep);
        taken
    }

    /// Returns the queue entry of a task whose bit the caller has just cleared.
    #[inline]
    fn entry(&self, bit: usize) -> Runnable {
        let Some(task) = NonNull::new(self.slot(bit).task()) else {
            unreachable!("a signalled slot has a task");
        };
        // SAFETY: `signal` took the entry apart when it set the bit, and by O1 one caller clears
        // this bit.
        unsafe { Runnable::from_raw(task) }
    }
}

/// Returns the set bits of a word, lowest first.
fn ones(word: u64) -> impl Iterator<Item = usize> {
    core::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)))
        .take_while(|&left| left != 0)
        .map(|left| left.trailing_zeros() as usize)
}

impl Drop for Bitmap {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        while let Some(task) = self.take_left() {
            drop(task);
        }
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bitmap")
            .field("tree", &self.tree)
            .field("signalled", &self.count())
            .finish_non_exhaustive()
    }
}
