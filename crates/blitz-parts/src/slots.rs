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
    fn places_do_not_overlap_and_cover_the_counters_range() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(FIRST_ROW - 1), (0, FIRST_ROW - 1));
        assert_eq!(place(FIRST_ROW), (1, 0));
        assert!(place(usize::from(u16::MAX)).0 < ROWS);
    }
}
