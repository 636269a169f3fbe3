//! Labels that events refer to by number: types of tasks and closures, regions.

#![forbid(unsafe_code)]

use super::histogram::Octaves;
use blitz_parts::counter::Counter;
use blitz_parts::prim::{MODELLED, Mutex, MutexGuard};
use blitz_parts::slots::Slots;
use blitz_parts::tuning::{REGIONS_MAX, TYPES_MAX};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::PoisonError;

/// The number of a name in its [`Labels`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub(crate) u16);

/// The names of one team. A name that was given a number keeps it.
#[derive(Default)]
pub(crate) struct Labels(Mutex<Table>);

#[derive(Default)]
struct Table {
    numbers: HashMap<&'static str, Label>,
    names: Vec<&'static str>,
}

impl Labels {
    /// The label of all names for which there is no number left.
    pub(crate) const OTHER: Label = Label(u16::MAX);

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a name.
    #[cold]
    pub(crate) fn number(&self, name: &'static str) -> Label {
        let mut table = self.lock();
        if let Some(&number) = table.numbers.get(name) {
            return number;
        }
        match u16::try_from(table.names.len()) {
            Ok(number) if Label(number) != Labels::OTHER => {
                table.names.push(name);
                table.numbers.insert(name, Label(number));
                Label(number)
            }
            _ => Labels::OTHER,
        }
    }

    /// The names, by number.
    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.lock().names.clone()
    }
}

/// A worker's counts for the tasks of one type, from a sample of polls.
pub(crate) struct TypeRow {
    pub(crate) name: Label,
    /// The extrapolated number of polls.
    pub(crate) polls: Counter,
    /// The extrapolated number of ticks in polls.
    pub(crate) ticks: Counter,
    /// The extrapolated numbers of polls by time.
    pub(crate) times: Octaves,
}

impl TypeRow {
    fn new(name: Label) -> TypeRow {
        let [polls, ticks] = [const { Counter::new() }; 2];
        TypeRow { name, polls, ticks, times: Octaves::new() }
    }

    /// The rows of a worker. The first is for all types without their own row. There is room for
    /// some others, so a worker does not allocate for a few types.
    pub(crate) fn rows() -> Slots<TypeRow> {
        let rows = Slots::new();
        rows.add(TypeRow::new(Labels::OTHER));
        rows
    }
}

/// A worker's counts for the regions of one name that it has run.
pub(crate) struct RegionRow {
    pub(crate) name: Label,
    pub(crate) runs: Counter,
    /// The ticks between beginning and end.
    pub(crate) ticks: Counter,
    /// How many jobs other workers took from this worker meanwhile.
    pub(crate) stolen: Counter,
}

impl RegionRow {
    fn new(name: Label) -> RegionRow {
        let [runs, ticks, stolen] = [const { Counter::new() }; 3];
        RegionRow { name, runs, ticks, stolen }
    }

    /// The row of a name. Adds a row if there is none. Names beyond the limit share one row.
    pub(crate) fn of(rows: &Slots<RegionRow>, name: Label) -> &RegionRow {
        let known = rows.iter().find(|row| row.name == name);
        known.unwrap_or_else(|| RegionRow::add(rows, name))
    }

    #[cold]
    fn add(rows: &Slots<RegionRow>, name: Label) -> &RegionRow {
        let name = if rows.len() < REGIONS_MAX { name } else { Labels::OTHER };
        let known = rows.iter().find(|row| row.name == name);
        known.unwrap_or_else(|| rows.add(RegionRow::new(name)).1)
    }
}

/// How many names a worker finds without a lock: enough for the types of a busy moment.
const CACHED: usize = 64;

/// A cache of a worker's look-ups. Each name has one place, which it shares with other names. The
/// cache is not `Sync`.
pub(crate) struct LabelCache([Cell<Entry>; CACHED]);

#[derive(Clone, Copy, Default)]
struct Entry {
    /// Zero if there is nothing here.
    key: usize,
    name: Label,
    /// For a type, the number of its row; otherwise the length of the name.
    row: usize,
}

impl Default for LabelCache {
    fn default() -> LabelCache {
        LabelCache([const { Cell::new(Entry { key: 0, name: Label(0), row: 0 }) }; CACHED])
    }
}

impl LabelCache {
    /// The number of a name, which the cache finds by its address.
    pub(crate) fn number(&self, names: &Labels, name: &'static str) -> Label {
        let cell = self.place(name.as_ptr().addr());
        // Names that begin at the same address may differ in length. The keys of types are even, so
        // this key is odd.
        let (key, len) = (name.as_ptr().addr().wrapping_mul(2) | 1, name.len());
        if (cell.get().key, cell.get().row) != (key, len) {
            cell.set(Entry { key, name: names.number(name), row: len });
        }
        cell.get().name
    }

    /// The row of the type with this `kind`, an even number. Adds a row if there is none.
    pub(crate) fn row<'a>(
        &self,
        names: &Labels,
        rows: &'a Slots<TypeRow>,
        kind: usize,
        name: impl FnOnce() -> &'static str,
    ) -> Option<&'a TypeRow> {
        let cell = self.place(kind);
        if cell.get().key != kind {
            let name = names.number(name());
            cell.set(Entry { key: kind, name, row: row_of(rows, name) });
        }
        rows.get(cell.get().row)
    }

    fn place(&self, address: usize) -> &Cell<Entry> {
        // In a model all names share one place: addresses differ between processes, and a seed that
        // fails in one process must fail in another.
        let address = if MODELLED { 0 } else { address };
        // The lowest bits are the same for all addresses.
        &self.0[(address >> 4 ^ address >> 10) % CACHED]
    }
}

/// The row of a name. Adds one if needed.
#[cold]
fn row_of(rows: &Slots<TypeRow>, name: Label) -> usize {
    match rows.iter().position(|row| row.name == name) {
        Some(row) => row,
        None if rows.len() < TYPES_MAX => rows.add(TypeRow::new(name)).0,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{LabelCache, Labels, TypeRow};
    use blitz_parts::tuning::TYPES_MAX;
    use std::sync::OnceLock;

    #[test]
    fn a_name_keeps_its_number() {
        let (names, cache) = (Labels::default(), LabelCache::default());
        let numbers = ["a", "bc", "a"].map(|name| cache.number(&names, name));
        assert_eq!(numbers[0], numbers[2]);
        assert_ne!(numbers[0], numbers[1]);
        assert_eq!(names.all(), ["a", "bc"]);
        let text: &'static str = "prefix and more";
        let (short, long) = (&text[..6], text);
        assert_ne!(cache.number(&names, short), cache.number(&names, long));
        assert_eq!(names.all()[2..], ["prefix", "prefix and more"]);
    }

    #[test]
    fn more_types_than_rows_are_counted_together() {
        // Each name is a different part of a static text.
        static TEXT: OnceLock<String> = OnceLock::new();
        let text = TEXT.get_or_init(|| "-".repeat(TYPES_MAX + 99));
        let (names, cache, rows) = (Labels::default(), LabelCache::default(), TypeRow::rows());
        for kind in 1..TYPES_MAX + 99 {
            let name = || &text[..kind];
            cache.row(&names, &rows, kind * 8, name).unwrap().polls.add(1);
        }
        assert_eq!(rows.len(), TYPES_MAX);
        let others = rows.get(0).unwrap();
        assert_eq!((others.name, others.polls.get()), (Labels::OTHER, 99));
        // A type that has a row still finds it.
        assert_eq!(cache.row(&names, &rows, 8, || "-").unwrap().polls.get(), 1);
    }
}
