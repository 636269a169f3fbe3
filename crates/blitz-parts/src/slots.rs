//! An append-only table with stable addresses: workers can be added while others scan it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};

/// A table whose entries are never moved or removed. One thread at a time adds entries.
///
/// Rows double in size, so a look-up is two loads and growth copies nothing.
#[derive(Debug)]
pub struct Slots<T> {
    rows: [OnceLock<Box<[OnceLock<T>]>>; ROWS],
    len: AtomicUsize,
}

const FIRST_ROW: usize = 8;
/// 8 · (2^14 - 1) entries: more than the 65,535 that the packed counters can count.
const ROWS: usize = 14;

impl<T> Slots<T> {
    /// An empty table.
    pub fn new() -> Slots<T> {
        Slots { rows: [const { OnceLock::new() }; ROWS], len: AtomicUsize::new(0) }
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at `index`, if it has been added.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (row, column) = place(index);
        self.rows.get(row)?.get()?[column].get()
    }

    /// Adds an entry and returns it with its index. Callers take turns.
    ///
    /// # Panics
    /// If the table is full or two threads add at once.
    pub fn add(&self, entry: T) -> (usize, &T) {
        let index = self.len();
        let (row, column) = place(index);
        let cells =
            self.rows[row].get_or_init(|| (0..FIRST_ROW << row).map(|_| OnceLock::new()).collect());
        assert!(cells[column].set(entry).is_ok(), "two threads add entries at once");
        self.len.store(index + 1, Release);
        match cells[column].get() {
            Some(entry) => (index, entry),
            None => unreachable!("the entry was set above"),
        }
    }

    /// All entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Calls `find` for the entry at `start`, for those after it and then for those before it,
    /// until it returns a value, and returns that value. Goes from row to row, and so takes less
    /// than half of the time that a look-up of each entry would take.
    #[inline]
    pub fn find_from<R>(&self, start: usize, mut find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        let len = self.len();
        let start = start.min(len);
        let found = self.find_in(start, len, &mut find);
        if found.is_some() { found } else { self.find_in(0, start, &mut find) }
    }

    /// Works like `find_from` for the entries from `start` to before `end`.
    #[inline]
    fn find_in<R>(
        &self,
        start: usize,
        end: usize,
        find: &mut impl FnMut(&T) -> Option<R>,
    ) -> Option<R> {
        let (mut row, mut column) = place(start);
        let mut left = end - start;
        while left > 0 {
            let entries = self.rows.get(row)?.get()?.get(column..)?;
            let entries = &entries[..left.min(entries.len())];
            let found = entries.iter().filter_map(OnceLock::get).find_map(&mut *find);
            if found.is_some() {
                return found;
            }
            left -= entries.len();
            (row, column) = (row + 1, 0);
        }
        None
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots::new()
    }
}

/// Row and column of `index`.
#[inline]
fn place(index: usize) -> (usize, usize) {
    let shifted = index + FIRST_ROW;
    let row = (shifted.ilog2() - FIRST_ROW.ilog2()) as usize;
    (row, shifted - (FIRST_ROW << row))
}

#[cfg(all(test, not(blitz_loom)))]
mod tests {
    use super::{FIRST_ROW, ROWS, Slots, place};

    #[test]
    fn entries_keep_index_and_address() {
        let slots = Slots::new();
        let mut addresses = Vec::new();
        for i in 0..1_000usize {
            let (index, entry) = slots.add(i);
            assert_eq!(index, i);
            addresses.push(std::ptr::from_ref(entry));
        }
        assert_eq!(slots.len(), 1_000);
        for (i, address) in addresses.iter().enumerate() {
            assert_eq!(slots.get(i).map(std::ptr::from_ref), Some(*address));
        }
        assert_eq!(slots.iter().copied().sum::<usize>(), 499_500);
        assert_eq!(slots.get(1_000), None);
    }

    #[test]
    fn a_walk_begins_anywhere_and_meets_each_entry_once() {
        for len in [0, 1, FIRST_ROW - 1, FIRST_ROW, FIRST_ROW + 1, 10 * FIRST_ROW] {
            let slots = Slots::new();
            (0..len).for_each(|i| _ = slots.add(i));
            for start in 0..=len + 1 {
                let mut met = Vec::new();
                let walk = |&entry: &usize| {
                    met.push(entry);
                    None::<()>
                };
                assert_eq!(slots.find_from(start, walk), None);
                let first = start.min(len);
                let expected: Vec<_> = (first..len).chain(0..first).collect();
                assert_eq!(met, expected, "{start} of {len}");
                let next = expected.get(len / 2).copied();
                assert_eq!(slots.find_from(start, |&i| (Some(i) == next).then_some(i)), next);
            }
        }
    }

    #[test]
    fn places_do_not_overlap_and_cover_the_counters_range() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(FIRST_ROW - 1), (0, FIRST_ROW - 1));
        assert_eq!(place(FIRST_ROW), (1, 0));
        assert!(place(usize::from(u16::MAX)).0 < ROWS);
    }
}
